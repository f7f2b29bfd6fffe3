//! Leaves the lock file of a working tree as it was, whatever cargo writes while it is held: no file
//! where there was none, and the same text where there was one. It does not know why cargo writes.

use cargo_metadata::MetadataCommand;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The lock file as it was; put back when dropped.
#[derive(Debug)]
pub struct KeptLock {
    path: PathBuf,
    before: Option<(Vec<u8>, Option<SystemTime>)>,
    /// Where the lock file of a workspace without one is kept from run to run, so that all of them
    /// use the same dependencies.
    aside: PathBuf,
    is_good: bool,
}

impl KeptLock {
    /// For the workspace that cargo finds in `dir`; `None` where it finds none.
    pub fn of(dir: &Path, manifest: Option<&Path>) -> Option<Self> {
        let mut command = MetadataCommand::new();
        command.no_deps().current_dir(dir);
        if let Some(manifest) = manifest {
            command.manifest_path(manifest);
        }
        let metadata = command.exec().ok()?;
        let root = metadata.workspace_root.into_std_path_buf();
        let target = metadata.target_directory.into_std_path_buf();
        Some(Self::at(root.join("Cargo.lock"), target.join(super::OWN_TARGET).join("Cargo.lock")))
    }

    fn at(path: PathBuf, aside: PathBuf) -> Self {
        let time = fs::metadata(&path).and_then(|about| about.modified()).ok();
        let before = fs::read(&path).ok().map(|text| (text, time));
        if before.is_none() && aside.is_file() {
            let _ = fs::copy(&aside, &path);
        }
        Self { path, before, aside, is_good: false }
    }

    /// Ends with a lock file that something was built from, and that is worth another use.
    pub fn end(mut self) {
        self.is_good = true;
    }
}

impl Drop for KeptLock {
    fn drop(&mut self) {
        let now = fs::read(&self.path).ok();
        match &self.before {
            Some((text, _)) if now.as_ref() == Some(text) => {}
            Some((text, time)) => {
                if fs::write(&self.path, text).is_ok()
                    && let (Some(time), Ok(file)) =
                        (time, fs::File::options().write(true).open(&self.path))
                {
                    let _ = file.set_modified(*time);
                }
            }
            None => {
                if let (Some(text), Some(directory), true) =
                    (now, self.aside.parent(), self.is_good)
                {
                    let _ = fs::create_dir_all(directory);
                    let _ = fs::write(&self.aside, text);
                } else {
                    let _ = fs::remove_file(&self.aside);
                }
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeptLock;
    use std::fs;

    #[test]
    fn a_lock_file_that_was_not_there_is_gone_and_comes_back_for_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let (path, aside) = (directory.path().join("lock"), directory.path().join("own/lock"));
        let kept = KeptLock::at(path.clone(), aside.clone());
        fs::write(&path, "resolved").unwrap();
        kept.end();
        assert!(!path.exists());
        let kept = KeptLock::at(path.clone(), aside.clone());
        assert_eq!(fs::read_to_string(&path).unwrap(), "resolved");
        // A failure may be the fault of what was resolved.
        drop(kept);
        assert!(!path.exists() && !aside.exists());
    }

    #[test]
    fn a_lock_file_keeps_its_text_and_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let (path, aside) = (directory.path().join("lock"), directory.path().join("own/lock"));
        fs::write(&path, "theirs").unwrap();
        let time =
            fs::metadata(&path).unwrap().modified().unwrap() - std::time::Duration::from_secs(9);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let kept = KeptLock::at(path.clone(), aside.clone());
        fs::write(&path, "changed").unwrap();
        drop(kept);
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
        assert!(!aside.exists());
    }
}
