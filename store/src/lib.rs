//! The baseline store of `cargo nbench`: every result by commit, host and toolchain, in one SQLite
//! file. This file owns opening and closing; `schema` owns the tables, `write` and `read` the
//! statements. It must not know how results are measured or shown: it takes and gives plain rows.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};

mod error;
mod read;
mod row;
mod samples;
mod schema;
mod write;

pub use error::{ErrorKind, StoreError};
pub use row::*;
pub use samples::{decode_samples, encode_samples};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};

/// How long a statement waits for another process that holds the write lock.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open store. Several processes may hold the same file open and write to it in turn.
///
/// Each writing method is one transaction of its own, so whatever returned `Ok` survives a killed
/// process.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

impl Store {
    /// Opens the store at `path`, creating the file and its folder when they are missing, and
    /// brings an older schema up to date.
    ///
    /// A folder named `.nbench` also gets a `.gitignore` that ignores everything in it.
    ///
    /// # Errors
    /// [`ErrorKind::Newer`] and [`ErrorKind::Damaged`] leave the file as it was;
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::Full`] and [`ErrorKind::Busy`] name what the file
    /// system or another process prevents.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_within(path, BUSY_TIMEOUT)
    }

    /// As [`Store::open`], where each step of opening and each later statement waits so long for
    /// another process.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_within(path: impl AsRef<Path>, patience: Duration) -> Result<Self, StoreError> {
        let path = path.as_ref();
        prepare_folder(path).map_err(|error| StoreError::from_io(&opening(path), error))?;
        Self::open_writable(path, OpenFlags::SQLITE_OPEN_CREATE, patience)
    }

    /// Changes how long a statement waits for another process that holds the write lock.
    pub fn set_patience(&self, patience: Duration) {
        // It only sets a number, and cannot fail on an open connection.
        let _ = self.connection.busy_timeout(patience);
    }

    /// Opens an existing store for reading only; it also works on a read-only file system.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`] when there is no file; [`ErrorKind::ReadOnly`] when the newest
    /// results are still in the write-ahead log and cannot be reached without writing, or when
    /// the schema is older than this version; otherwise as [`Store::open`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        must_exist(path)?;
        let plain = Self::open_for_reading(path, false);
        match plain {
            // SQLite needs a shared-memory file beside a store in WAL mode. Where it cannot be made
            // nobody can be writing either, so the file may be taken as immutable,
            // unless the log still holds results.
            Err(error) if *error.kind() == ErrorKind::ReadOnly => {
                if log_holds_data(path) {
                    return Err(StoreError::new(
                        ErrorKind::ReadOnly,
                        format!("{}: its newest results are in its `-wal` file", opening(path)),
                        "copy the store together with its `-wal` file to a folder that can be written",
                    ));
                }
                Self::open_for_reading(path, true)
            }
            other => other,
        }
    }

    /// Reads every page and reports damage that opening does not see. The cost grows with the file.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] with the first finding of SQLite.
    pub fn check(&self) -> Result<(), StoreError> {
        let what = format!("check the store `{}`", self.path.display());
        let finding: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| StoreError::from_sqlite(&what, error))?;
        if finding == "ok" { Ok(()) } else { Err(StoreError::damaged(&what, &finding)) }
    }

    /// Closes the store and reports what dropping it would hide.
    ///
    /// # Errors
    /// Whatever SQLite meets while it folds the write-ahead log into the file.
    pub fn close(self) -> Result<(), StoreError> {
        let what = format!("close the store `{}`", self.path.display());
        self.connection.close().map_err(|(_, error)| StoreError::from_sqlite(&what, error))
    }

    fn open_writable(
        path: &Path,
        extra: OpenFlags,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let what = opening(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra;
        let mut connection = connect(path, flags, &what, patience)?;
        // Both checks come before the first statement that may write, so that a refused file stays
        // as it was.
        schema::check_version(&connection, &what)?;
        let sqlite = |error| StoreError::from_sqlite(&what, error);
        if connection.is_readonly("main").map_err(sqlite)? {
            return Err(StoreError::new(
                ErrorKind::ReadOnly,
                format!("{what}: the file cannot be written"),
                "give `--store` a path that can be written",
            ));
        }
        enter_wal(&connection, &what, patience)?;
        // A killed process loses nothing at NORMAL: committed pages are already with the kernel.
        // FULL would only add a sync per launch against a power cut.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(sqlite)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
        schema::migrate(&mut connection, &what)?;
        Ok(Self { connection, path: path.to_path_buf() })
    }

    fn open_for_reading(path: &Path, immutable: bool) -> Result<Self, StoreError> {
        let what = opening(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if immutable {
            let uri = immutable_uri(path);
            connect(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI, &what, BUSY_TIMEOUT)?
        } else {
            connect(path, flags, &what, BUSY_TIMEOUT)?
        };
        let found = schema::check_version(&connection, &what)?;
        if found < SCHEMA_VERSION {
            return Err(StoreError::new(
                ErrorKind::ReadOnly,
                format!(
                    "{what}: its schema {found} would have to be brought to {SCHEMA_VERSION} first"
                ),
                "open it once where it can be written",
            ));
        }
        Ok(Self { connection, path: path.to_path_buf() })
    }
}

fn opening(path: &Path) -> String {
    format!("open the store `{}`", path.display())
}

fn connect(
    path: &Path,
    flags: OpenFlags,
    what: &str,
    patience: Duration,
) -> Result<Connection, StoreError> {
    let sqlite = |error| StoreError::from_sqlite(what, error);
    let connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.busy_timeout(patience).map_err(sqlite)?;
    Ok(connection)
}

fn must_exist(path: &Path) -> Result<(), StoreError> {
    let what = opening(path);
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(StoreError::new(
            ErrorKind::Other,
            format!("{what}: it is not a file"),
            "give `--store` the path of a file",
        )),
        Err(error) => Err(StoreError::from_io(&what, error)),
    }
}

fn prepare_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if folder.file_name().is_some_and(|name| name == ".nbench") && !ignore.exists() {
        match fs::write(ignore, "*\n") {
            // A store that can be written matters more than the ignore file of a folder that
            // cannot.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.exists() => {}
            other => other?,
        }
    }
    Ok(())
}

/// Switches to WAL. SQLite does not apply the busy timeout to this switch, so two processes that
/// create the store at the same moment need this loop.
fn enter_wal(connection: &Connection, what: &str, patience: Duration) -> Result<(), StoreError> {
    let deadline = Instant::now() + patience;
    loop {
        let result = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match result.map_err(|error| StoreError::from_sqlite(what, error)) {
            Err(error) if *error.kind() == ErrorKind::Busy && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn log_holds_data(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|found| found.len() > 0)
}

/// Characters of a path that are encoded in a URI: all but the plain ones.
const UNLIKE_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-');

/// `file:` URI of `path`. Everything but plain path characters is percent-encoded, so that `?` and
/// `#` in a folder's name are not read as a query.
fn immutable_uri(path: &Path) -> String {
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), UNLIKE_PATHS);
    format!("file:{path}?immutable=1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_encodes_what_sqlite_would_read_as_a_query() {
        assert_eq!(
            immutable_uri(Path::new("/a b/c?d#e%/ü.sqlite")),
            "file:/a%20b/c%3Fd%23e%25/%C3%BC.sqlite?immutable=1"
        );
    }

    #[test]
    fn an_immutable_store_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd ?#% name.sqlite");
        Store::open(&path).unwrap().close().unwrap();
        let store = Store::open_for_reading(&path, true).unwrap();
        assert_eq!(store.runs().unwrap().len(), 0);
    }

    #[test]
    fn a_full_disk_has_its_own_kind_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.sqlite")).unwrap();
        let host = Host { key: "h".into(), summary: "small".into(), components: "{}".into() };
        store.upsert_host(&host).unwrap();
        let pages: i64 =
            store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        store
            .connection
            .query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(()))
            .unwrap();
        let large = Host { key: "g".into(), summary: "x".repeat(1 << 20), components: "{}".into() };
        let error = store.upsert_host(&large).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Full);
        let kept: Vec<String> = store
            .connection
            .prepare("SELECT summary FROM host")
            .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect())
            .unwrap();
        assert_eq!(kept, [host.summary]);
    }
}
