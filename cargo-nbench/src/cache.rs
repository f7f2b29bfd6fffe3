//! The user's cache directory: where it is, whether it is ours to write to, and how large it may
//! become. It must not know what lies in it, and writes nothing before it knows that it may.

use std::path::{Component, Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest as _, Sha256};

use crate::failure::{Exit, Failure};

/// 20 GB: room for two sides of several large workspaces.
const SIZE_LIMIT: u64 = 20_000_000_000;

/// Directory of what is built in place of other harnesses, for all repositories.
pub const STAND_INS: &str = "stand-ins";

/// Tag that tells backup programs that everything here can be made again, and us that it is ours.
const TAG: &str = "CACHEDIR.TAG";
const SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55";
const OURS: &str = "cargo-nbench";

/// The cache directory, which may not exist: `NBENCH_CACHE_DIR`, else `nbench` in the user's cache
/// directory.
///
/// # Errors
/// A usage failure when neither is set nor the home directory is known.
pub fn path() -> Result<PathBuf, Failure> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(directory) = variable("NBENCH_CACHE_DIR") {
        return std::path::absolute(directory).map_err(|error| {
            Failure::new(Exit::Usage, format!("cannot resolve NBENCH_CACHE_DIR: {error}"))
        });
    }
    // The specification says that a relative path there is to be ignored.
    let xdg = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|path| path.is_absolute());
    let user = if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        home().map(|home| home.join(".cache"))
    };
    xdg.or(user).map(|directory| directory.join("nbench")).ok_or_else(|| {
        Failure::new(Exit::Usage, "there is no home directory to keep checkouts in")
            .hint("set NBENCH_CACHE_DIR to a directory outside the repository")
    })
}

/// The cache directory `path`, made and marked as ours, canonical. It must lie outside of
/// `outside`.
///
/// # Errors
/// A usage failure when it lies in one of those, is no directory, or holds files of somebody else;
/// a host failure when it cannot be written to. Nothing was written then.
pub fn open(path: &Path, outside: &[&Path]) -> Result<PathBuf, Failure> {
    let place = resolved(path);
    if let Some(root) = outside.iter().find(|root| place.starts_with(root)) {
        return Err(Failure::new(
            Exit::Usage,
            format!("the cache directory `{}` lies inside `{}`", path.display(), root.display()),
        )
        .hint(
            "cargo would take it for a part of the workspace; set NBENCH_CACHE_DIR to a directory \
             outside the repository",
        ));
    }
    if !is_ours(path)? {
        fs::create_dir_all(path).map_err(|error| failure("create", path, &error))?;
        let text =
            format!("{SIGNATURE}\n# Checkouts of {OURS}. Free them with `cargo nbench clean`.\n");
        let tag = path.join(TAG);
        fs::write(&tag, text).map_err(|error| failure("write", &tag, &error))?;
    }
    path.canonicalize().map_err(|error| failure("resolve", path, &error))
}

/// The cache directory for what cargo is to take as a package: one that the user chose must not lie
/// in the workspace around the current directory.
///
/// # Errors
/// As for [`open`].
pub fn open_outside_of_workspace() -> Result<PathBuf, Failure> {
    let is_chosen = env::var_os("NBENCH_CACHE_DIR").is_some_and(|value| !value.is_empty());
    let here = env::current_dir().unwrap_or_default();
    let manifests = here.ancestors().filter(|place| place.join("Cargo.toml").is_file());
    let outermost: Vec<&Path> = manifests.last().into_iter().filter(|_| is_chosen).collect();
    open(&path()?, &outermost)
}

/// Whether `path` is a directory that we marked; `false` when it is empty or absent.
///
/// # Errors
/// A usage failure when there is something else, a host failure when it cannot be read.
pub fn is_ours(path: &Path) -> Result<bool, Failure> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(foreign(path, "is not a directory"));
        }
        Err(error) => return Err(failure("read", path, &error)),
    };
    if entries.next().is_none() {
        return Ok(false);
    }
    match fs::read_to_string(path.join(TAG)) {
        Ok(text) if text.starts_with(SIGNATURE) && text.contains(OURS) => Ok(true),
        _ => Err(foreign(path, "holds files that are not nbench's")),
    }
}

fn foreign(path: &Path, what: &str) -> Failure {
    Failure::new(Exit::Usage, format!("the cache directory `{}` {what}", path.display())).hint(
        "checkouts are made and deleted there: set NBENCH_CACHE_DIR to a new or an empty directory",
    )
}

/// `path` with the links in it followed, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(canonical) = existing.canonicalize() {
            let mut place = canonical;
            for part in missing.iter().rev() {
                match part {
                    Component::ParentDir => {
                        place.pop();
                    }
                    other => place.push(other),
                }
            }
            return place;
        }
        let Some(last) = existing.components().next_back() else { return path.to_owned() };
        missing.push(last);
        let Some(parent) = existing.parent() else { return path.to_owned() };
        existing = parent;
    }
}

/// The limit of `NBENCH_CACHE_SIZE` in bytes, else 20 GB.
///
/// # Errors
/// A usage failure when it is no size.
pub fn size_limit() -> Result<u64, Failure> {
    match env::var("NBENCH_CACHE_SIZE") {
        Err(env::VarError::NotPresent) => Ok(SIZE_LIMIT),
        Ok(value) if value.trim().is_empty() => Ok(SIZE_LIMIT),
        Ok(value) => bytes(&value).ok_or_else(|| size_failure(&value)),
        Err(env::VarError::NotUnicode(value)) => Err(size_failure(&value.to_string_lossy())),
    }
}

fn size_failure(value: &str) -> Failure {
    Failure::new(Exit::Usage, format!("NBENCH_CACHE_SIZE is `{value}`, which is no size"))
        .hint("write bytes or a unit: `20000000000`, `20GB`, `18.5 GiB`")
}

/// A number of bytes with an optional unit, decimal (`GB`, `G`) or binary (`GiB`), case ignored.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim();
    let factor = match unit.strip_suffix('b').unwrap_or(unit) {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1_u64 << 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    // A fraction of a byte is nothing that anybody means.
    let product = number.parse::<f64>().ok().filter(|_| factor > 1)? * factor as f64;
    (product.is_finite() && product < 9e18).then_some(product as u64)
}

/// Sixteen hexadecimal digits that stand for one repository, by its git directory.
pub fn repository_name(common: &Path) -> String {
    digest(common.as_os_str().as_encoded_bytes())
}

/// The first sixteen hexadecimal digits of SHA-256.
pub fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `name` is what [`digest`] gives.
pub fn is_digest(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A directory itself, not a link to one.
pub fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// A failure in the cache directory, with what helps against its kind.
pub fn failure(verb: &str, path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "`cargo nbench clean` frees space; NBENCH_CACHE_DIR names a directory on another disk"
        }
        _ => "set NBENCH_CACHE_DIR to a directory that can be written to",
    };
    Failure::new(Exit::Host, format!("cannot {verb} `{}`: {error}", path.display())).hint(hint)
}

/// Writes a file so that whoever reads it meanwhile, or after a kill, finds the old text or the new
/// one.
///
/// The text goes to a file beside it whose name is always the same: what a kill leaves there is
/// written over by the next. Two writers of one file take turns by a lock of their own.
///
/// # Errors
/// When the file or the one beside it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{bytes, is_ours, open, resolved, write_whole};
    use crate::failure::Exit;

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("20000000000", 20_000_000_000),
            ("5GB", 5_000_000_000),
            ("5 g", 5_000_000_000),
            ("512MiB", 512 << 20),
            ("1.5 kB", 1500),
            ("0", 0),
            ("7b", 7),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for text in ["", "GB", "5 XB", "-1", "1.5", "nan", "1e9", "99999999999TB", "5 GBs"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let (file, partial) = (place.path().join("a.json"), place.path().join("a.json.partial"));
        write_whole(&file, b"old").unwrap();
        // What a kill left is longer than what comes next.
        fs::write(&partial, "a long text without an end").unwrap();
        write_whole(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing lies beside it");
        // Where the text cannot be written, the old one stays.
        fs::create_dir(&partial).unwrap();
        assert!(write_whole(&file, b"newer").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let cache = home.join("cache");
        fs::create_dir(&cache).unwrap();
        assert!(!is_ours(&cache).unwrap(), "an empty one may be taken");
        fs::create_dir_all(cache.join("games/slot-machine")).unwrap();
        fs::write(cache.join("games/slot-machine/save.txt"), "level 7").unwrap();
        let failure = open(&cache, &[]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(!cache.join("CACHEDIR.TAG").exists());
        // Cargo marks its target directories in the same way.
        let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# created by cargo\n";
        fs::write(cache.join("CACHEDIR.TAG"), tag).unwrap();
        assert!(open(&cache, &[]).is_err());
        let file = home.join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(open(&file, &[]).unwrap_err().exit, Exit::Usage);
        let new = home.join("deep/new");
        assert_eq!(open(&new, &[]).unwrap(), new);
        assert_eq!(open(&new, &[]).unwrap(), new, "it is ours now");
    }

    #[test]
    fn a_place_inside_the_repository_is_refused_before_it_is_made() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("repository");
        fs::create_dir(&root).unwrap();
        let mut places = vec![root.join("a/cache"), home.join("x/../repository/a")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&root, home.join("link")).unwrap();
            places.push(home.join("link/a/cache"));
        }
        for place in places {
            let failure = open(&place, &[&root]).unwrap_err();
            assert!(failure.error.contains("inside"), "{}", failure.error);
            assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "{}", place.display());
        }
        assert!(!home.join("x").exists());
        assert_eq!(resolved(Path::new("/nowhere/at/all")), Path::new("/nowhere/at/all"));
    }
}
