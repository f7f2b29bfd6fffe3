//! Moves a worktree's administrative directory between the repository, where
//! git needs it, and its slot, where the user does not see it. It must not
//! touch worktrees that are not ours or that a running process holds.

use super::digest;
use super::lock::{self, Lock};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = "nbench-";
const DISCARDED: &str = "discarded";

/// The name of a slot's worktree: the same in every run, different for every
/// slot of every cache directory, and always of the same length.
pub(super) fn worktree_name(slot: &Path) -> String {
    format!("{PREFIX}{}", digest(slot.as_os_str().as_encoded_bytes()))
}

/// Where git looks for the worktree.
pub(super) fn active(tree: &Path, common: &Path) -> PathBuf {
    common.join("worktrees").join(tree.file_name().unwrap_or_default())
}

fn parked(slot: &Path) -> PathBuf {
    slot.join("admin")
}

/// Gives the worktree back to git. `false` when there is nothing consistent to
/// give back and the checkout must be made anew.
pub(super) fn unpark(slot: &Path, tree: &Path, common: &Path) -> bool {
    let (parked, active) = (parked(slot), active(tree, common));
    if parked.is_dir() {
        // A copy that was interrupted: the parked one is whole, see `relocate`.
        discard(&active);
        if fs::create_dir_all(common.join("worktrees")).is_err()
            || relocate(&parked, &active).is_err()
        {
            return false;
        }
    }
    // A killed git leaves its locks; nobody else can hold them here.
    for name in ["index.lock", "HEAD.lock", "locked"] {
        let _ = fs::remove_file(active.join(name));
    }
    let link = fs::read_to_string(tree.join(".git")).unwrap_or_default();
    active.join("HEAD").is_file()
        && link.trim().strip_prefix("gitdir: ").is_some_and(|path| Path::new(path) == active)
}

/// Takes the worktree away from git and keeps it in its slot.
pub(super) fn park(slot: &Path, tree: &Path, common: &Path) -> io::Result<()> {
    let (parked, active) = (parked(slot), active(tree, common));
    if active.is_dir() {
        if parked.is_dir() {
            discard(&active);
        } else {
            relocate(&active, &parked)?;
        }
    }
    remove_if_empty(&common.join("worktrees"));
    Ok(())
}

/// Forgets the worktree on both sides.
pub(super) fn forget(slot: &Path, tree: &Path, common: &Path) {
    discard(&parked(slot));
    discard(&active(tree, common));
    remove_if_empty(&common.join("worktrees"));
}

/// Puts aside every worktree of ours that no process holds.
pub(super) fn recover(common: &Path) -> usize {
    let worktrees = common.join("worktrees");
    let Ok(entries) = fs::read_dir(&worktrees) else { return 0 };
    let mut recovered = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) {
            continue;
        }
        if path.extension().is_some_and(|extension| extension == DISCARDED) {
            let _ = fs::remove_dir_all(&path);
            continue;
        }
        let link = fs::read_to_string(path.join("gitdir")).unwrap_or_default();
        let Some(tree) = Path::new(link.trim()).parent() else { continue };
        let Some(slot) = tree.parent() else { continue };
        // Somebody else's worktree may be called the same.
        if tree.file_name() != Some(&entry.file_name()) || worktree_name(slot) != name {
            continue;
        }
        if !slot.is_dir() {
            discard(&path);
            recovered += 1;
        } else if let Some(_lock) = Lock::try_new(&lock::beside(slot))
            && park(slot, tree, common).is_ok()
        {
            recovered += 1;
        }
    }
    remove_if_empty(&worktrees);
    recovered
}

/// Git itself has no such directory until there is a worktree.
fn remove_if_empty(worktrees: &Path) {
    let _ = fs::remove_dir(worktrees);
}

/// Deletes a directory so that a kill in the middle leaves no half of it under
/// its own name.
pub(super) fn discard(path: &Path) {
    let aside = path.with_extension(DISCARDED);
    let _ = fs::remove_dir_all(&aside);
    if fs::rename(path, &aside).is_ok() {
        let _ = fs::remove_dir_all(&aside);
    }
}

/// Renames, or copies and discards when the two lie on different file systems.
fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let partial = to.with_extension(DISCARDED);
            let _ = fs::remove_dir_all(&partial);
            copy(from, &partial)?;
            fs::rename(&partial, to)?;
            discard(from);
            Ok(())
        }
        result => result,
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{copy, discard};
    use std::fs;

    #[test]
    fn copies_and_discards_whole_directories() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("logs")).unwrap();
        fs::write(from.join("logs/HEAD"), "x").unwrap();
        copy(&from, &to).unwrap();
        discard(&from);
        assert_eq!(fs::read_to_string(to.join("logs/HEAD")).unwrap(), "x");
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(left.len(), 1);
    }
}
