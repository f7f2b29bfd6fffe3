//! Gives a new slot what another one has already built or resolved. It must
//! never let cargo take the other side's artifacts for fresh.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::{Slot, disk, tree};
use crate::cache;
use crate::failure::Failure;
use crate::revisions::git::Git;

/// Copies `from`'s target directory to `to`, when `to` has none and both are
/// built with the same flags, and returns whether it did. Then every tracked
/// file of `to` is newer than what was copied, so that cargo compiles again
/// whatever the two revisions do not share.
///
/// # Errors
///
/// A host failure when something half-copied cannot be deleted. A copy that
/// fails otherwise is given up: it only costs time.
pub fn seed_target(from: &Slot, to: &Slot) -> Result<bool, Failure> {
    let target = to.target_dir();
    if target.exists() || !from.target_dir().is_dir() || from.flags() != to.flags() {
        return Ok(false);
    }
    // Renamed into place only after the files were touched: a run killed in
    // between must not leave artifacts that look fresh.
    let partial = target.with_extension("partial");
    remove(&partial)?;
    if copy(from.target_dir(), &partial) && touch_tracked_files(to.tree()).is_ok() {
        fs::rename(&partial, target).map_err(|error| cache::failure("write", target, &error))?;
        return Ok(true);
    }
    remove(&partial)?;
    Ok(false)
}

/// Copies every lock file that `from`'s revision does not track to `to`, where
/// it is not tracked either: both sides then use the same dependencies.
///
/// # Errors
///
/// A host failure when a file cannot be written, a usage failure of git.
pub fn seed_lock_files(from: &Slot, to: &Slot) -> Result<(), Failure> {
    let tracked = Git::at(to.tree()).paths(&["ls-files", "-z"])?;
    for path in tree::untracked_lock_files(from.tree())? {
        let destination = to.tree().join(&path);
        if !tracked.contains(&path) && destination.parent().is_some_and(Path::is_dir) {
            fs::copy(from.tree().join(&path), &destination)
                .map_err(|error| cache::failure("write", &destination, &error))?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        disk::discard(path);
        if path.exists() {
            let error = io::Error::other("it is still there");
            return Err(cache::failure("delete", path, &error));
        }
    }
    Ok(())
}

/// `cp` keeps time stamps and shares blocks where the file system can.
fn copy(from: &Path, to: &Path) -> bool {
    let mut command = Command::new("cp");
    command.arg("-a");
    if cfg!(target_os = "linux") {
        command.arg("--reflink=auto");
    }
    command.arg("--").arg(from).arg(to).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn touch_tracked_files(tree: &Path) -> io::Result<()> {
    let paths = Git::at(tree)
        .paths(&["ls-files", "-z", "--recurse-submodules"])
        .map_err(io::Error::other)?;
    let now = SystemTime::now();
    for path in paths {
        let path = tree.join(path);
        match fs::symlink_metadata(&path) {
            // A link may lead out of the checkout, to a file of the user's.
            Ok(metadata) if metadata.is_file() => {
                let file = if cfg!(windows) {
                    File::options().write(true).open(&path)?
                } else {
                    File::open(&path)?
                };
                file.set_modified(now)?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
