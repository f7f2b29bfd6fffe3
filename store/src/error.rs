//! What can go wrong with the store, in kinds that a caller can act on, and how SQLite's codes map
//! to them. It must not know exit codes or how an error is printed.

use std::error::Error;
use std::{fmt, io};

use rusqlite::ErrorCode;

/// The kinds of failure that call for different reactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no store at the path.
    Missing,
    /// The store was written by a newer version; it was left as it is.
    Newer {
        /// Schema version of the file.
        found: i64,
        /// Newest schema version that this build reads.
        supported: i64,
    },
    /// The file is not a store, or its contents contradict themselves.
    Damaged,
    /// The file or its folder cannot be written.
    ReadOnly,
    /// The disk is full.
    Full,
    /// Another process held the store for longer than [`crate::BUSY_TIMEOUT`].
    Busy,
    /// Anything else; the message says what.
    Other,
}

/// A failure of the store: a fragment that fits after "failed to", and a hint at what helps.
#[derive(Debug)]
pub struct StoreError {
    kind: ErrorKind,
    message: String,
    hint: &'static str,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// Kind of this failure.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Step that failed, as a lower-case fragment that fits after "failed to".
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Hint for the user, one clause without a full stop.
    pub fn hint(&self) -> &str {
        self.hint
    }

    pub(crate) fn new(kind: ErrorKind, message: String, hint: &'static str) -> Self {
        Self { kind, message, hint, source: None }
    }

    pub(crate) fn damaged(what: &str, finding: &str) -> Self {
        Self::new(ErrorKind::Damaged, format!("{what}: {finding}"), hint_of(ErrorKind::Damaged))
    }

    pub(crate) fn invalid(what: &str, problem: &str) -> Self {
        Self::new(
            ErrorKind::Other,
            format!("{what}: {problem}"),
            "this is a defect of the program that writes the store, please report it",
        )
    }

    pub(crate) fn newer(what: &str, found: i64, supported: i64) -> Self {
        let kind = ErrorKind::Newer { found, supported };
        let message =
            format!("{what}: it has schema {found}, this version reads up to {supported}");
        Self::new(kind, message, hint_of(kind))
    }

    pub(crate) fn from_io(what: &str, error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::Missing,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::ReadOnly
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Full,
            _ => ErrorKind::Other,
        };
        Self {
            kind,
            message: format!("{what}: {error}"),
            hint: hint_of(kind),
            source: Some(Box::new(error)),
        }
    }

    pub(crate) fn from_sqlite(what: &str, error: rusqlite::Error) -> Self {
        let kind = kind_of(&error);
        Self {
            kind,
            message: format!("{what}: {error}"),
            hint: hint_of(kind),
            source: Some(Box::new(error)),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}

fn kind_of(error: &rusqlite::Error) -> ErrorKind {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => ErrorKind::Damaged,
            // SQLite answers "cannot open" both for a folder that cannot be written and for the
            // shared-memory file that it cannot make beside a store on a read-only file
            // system.
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                ErrorKind::ReadOnly
            }
            ErrorCode::DiskFull => ErrorKind::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Busy,
            _ => ErrorKind::Other,
        },
        // A column that does not hold what its own schema promises was not written by this program.
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::Utf8Error(..) => ErrorKind::Damaged,
        _ => ErrorKind::Other,
    }
}

fn hint_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Missing => "`cargo nbench run` or `cargo nbench ab` creates it",
        ErrorKind::Newer { .. } => "update `cargo-nbench`, or give `--store` another path",
        ErrorKind::Damaged => "move the file away and keep it; the next run starts a new store",
        ErrorKind::ReadOnly => "give `--store` a path that can be written",
        ErrorKind::Full => {
            "free some space on the disk of the store; what was stored before is kept"
        }
        ErrorKind::Busy => {
            "wait for the other `cargo nbench` that is using this store, or give `--store` another path"
        }
        ErrorKind::Other => "`--store` gives another path",
    }
}
