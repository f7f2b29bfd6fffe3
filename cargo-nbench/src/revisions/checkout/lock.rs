//! The lock file of one slot. It knows nothing of what it guards.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// An exclusive lock, held until dropped or until the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// The lock, or nothing when someone else holds it. Lock files are never
    /// deleted: two processes could hold two files of the same name.
    pub(super) fn try_new(path: &Path) -> Option<Self> {
        let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
        match file.try_lock() {
            Ok(()) => Some(Self { file }),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    }
}

impl Lock {
    /// Lets the next one in. Closing alone would not be enough while a child
    /// between fork and exec has a copy of the descriptor.
    pub(super) fn release(&self) {
        let _ = self.file.unlock();
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.release();
    }
}

/// The lock file of a slot lies beside it, so that the slot can be deleted.
pub(super) fn beside(slot: &Path) -> PathBuf {
    slot.with_extension("lock")
}
