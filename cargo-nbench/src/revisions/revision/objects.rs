//! The object directory of snapshots: in the cache where it can be written to, else a temporary
//! one. The user's repository is only an alternate of it, so that its git directory never grows. It
//! must not know what a snapshot holds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cache;
use crate::failure::Failure;
use crate::revisions::error::RevisionError;

/// Name of the directory beside the checkouts of a repository.
pub(crate) const DIRECTORY: &str = "objects";

/// Objects that no snapshot needed for this long are deleted.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// An object directory that stays as long as this does.
#[derive(Debug)]
pub(crate) struct Objects {
    path: PathBuf,
    /// Keeps others from deleting what this process refers to.
    _lock: Option<File>,
    _temporary: Option<tempfile::TempDir>,
}

impl Objects {
    /// The objects of the repository with this git directory and working tree.
    pub(super) fn open(common: &Path, root: &Path) -> Result<Self, Failure> {
        let kept = cache::path().and_then(|cache| Self::open_in(&cache, common, root));
        kept.or_else(|_| Self::temporary())
    }

    /// The same in the given cache directory.
    pub(super) fn open_in(cache: &Path, common: &Path, root: &Path) -> Result<Self, Failure> {
        let cache = cache::open(cache, &[root, common])?;
        let repository = cache.join(cache::repository_name(common));
        let path = repository.join(DIRECTORY);
        fs::create_dir_all(&path).map_err(|error| cache::failure("create", &path, &error))?;
        if !cache::is_directory(&repository) || !cache::is_directory(&path) {
            return Err(RevisionError::CacheIsLink(path).into());
        }
        let lock = lock_file(&path).map_err(|error| cache::failure("lock", &path, &error))?;
        if lock.try_lock().is_ok() {
            prune(&path, SystemTime::now());
            let _ = lock.unlock();
        }
        lock.lock_shared().map_err(|error| cache::failure("lock", &path, &error))?;
        // Whoever deleted it while we waited is done now.
        fs::create_dir_all(&path).map_err(|error| cache::failure("create", &path, &error))?;
        // The lock lasts only as long as the directory can be written to.
        tempfile::tempfile_in(&path).map_err(|error| cache::failure("write", &path, &error))?;
        Ok(Self { path, _lock: Some(lock), _temporary: None })
    }

    fn temporary() -> Result<Self, Failure> {
        let directory =
            crate::private::directory("nbench").map_err(RevisionError::NoTemporaryDirectory)?;
        let path = directory.path().to_owned();
        Ok(Self { path, _lock: None, _temporary: Some(directory) })
    }

    /// Where the objects are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The lock file of an object directory lies beside it, so that the directory can be deleted.
fn lock_file(path: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path.with_extension("lock"))
}

/// Deletes an object directory that no process refers to; says whether it did.
pub(crate) fn delete(path: &Path) -> bool {
    if !cache::is_directory(path) {
        return false;
    }
    let Ok(lock) = lock_file(path) else { return false };
    lock.try_lock().is_ok() && fs::remove_dir_all(path).is_ok()
}

/// Deletes what was not needed for a while. Git renews the time of an object that it would write
/// again, so the time is that of the last snapshot with it.
fn prune(path: &Path, now: SystemTime) {
    let mut left = vec![path.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                left.push(entry.path());
            } else if metadata
                .modified()
                .is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age > KEPT))
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::{KEPT, Objects, delete, prune};

    #[test]
    fn held_objects_stay_and_old_ones_go() {
        let home = tempfile::tempdir().unwrap();
        let (cache, common) = (home.path().join("cache"), Path::new("/r/.git"));
        let held = Objects::open_in(&cache, common, Path::new("/r")).unwrap();
        let again = Objects::open_in(&cache, common, Path::new("/r")).unwrap();
        assert_eq!(held.path(), again.path());
        let file = held.path().join("ab/cd");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "x").unwrap();
        drop(again);
        assert!(!delete(held.path()), "it is in use");
        prune(held.path(), SystemTime::now());
        assert!(file.exists());
        prune(held.path(), SystemTime::now() + KEPT + Duration::from_secs(60));
        assert!(!file.exists());
        let path = held.path().to_owned();
        drop(held);
        // A program that another test starts at this moment has the lock too, until it is that
        // program.
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !delete(&path) && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(!path.exists());
    }
}
