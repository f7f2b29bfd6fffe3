//! Brings a slot's worktree to a commit, rewriting only files that differ:
//! cargo decides by time stamps what to build again. It must not write to the
//! user's working tree or configuration.

use super::{admin, cache_failure, submodule};
use crate::failure::Failure;
use crate::git::Git;
use std::fs;
use std::path::Path;

/// Checks `commit` out in `tree`, which may hold another commit, nothing, or
/// what a killed run left.
pub(super) fn populate(
    slot: &Path,
    tree: &Path,
    common: &Path,
    user: &Path,
    commit: &str,
) -> Result<(), Failure> {
    // A new checkout is the answer to everything that may be wrong with an old
    // one, such as a commit that was garbage-collected meanwhile.
    let updated = admin::unpark(slot, tree, common) && update(tree, commit).is_ok();
    if !updated {
        admin::forget(slot, tree, common);
        if tree.exists() {
            fs::remove_dir_all(tree).map_err(|error| cache_failure("delete", tree, &error))?;
        }
        let arguments = ["worktree", "add", "--detach", "--no-checkout"].map(AsRef::as_ref);
        let mut arguments: Vec<&std::ffi::OsStr> = arguments.to_vec();
        arguments.extend([tree.as_os_str(), commit.as_ref()]);
        Git::at(user).run(&arguments)?;
        update(tree, commit)?;
    }
    submodule::update(tree, &common.join("modules"), user)?;
    copy_lock_files(user, tree)?;
    copy_ignored_configuration(user, tree)
}

fn update(tree: &Path, commit: &str) -> Result<(), Failure> {
    let git = Git::at(tree);
    git.run(&["checkout", "--quiet", "--detach", "--force", commit, "--"])?;
    git.run(&["clean", "-ffdxq"])?;
    Ok(())
}

/// A lock file that is not committed still decides what is built: every side
/// gets the one of the user's working tree.
fn copy_lock_files(user: &Path, tree: &Path) -> Result<(), Failure> {
    for path in untracked_lock_files(user)? {
        let (from, to) = (user.join(&path), tree.join(&path));
        if !to.exists() && to.parent().is_some_and(Path::is_dir) {
            fs::copy(&from, &to).map_err(|error| cache_failure("write", &to, &error))?;
        }
    }
    Ok(())
}

/// Cargo's configuration that git ignores holds for everything built in the working tree, so every
/// side gets it; one that is only not committed yet belongs to the contender.
fn copy_ignored_configuration(user: &Path, tree: &Path) -> Result<(), Failure> {
    let arguments = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
    let names = [".cargo/config.toml", ".cargo/config"];
    for path in Git::at(user).paths(&[&arguments[..], &names[..]].concat())? {
        let (from, to) = (user.join(&path), tree.join(&path));
        let known = names.iter().any(|name| Path::new(name) == path);
        if known && !to.exists() {
            let directory = to.parent().unwrap_or(tree);
            fs::create_dir_all(directory)
                .and_then(|()| fs::copy(&from, &to))
                .map_err(|error| cache_failure("write", &to, &error))?;
        }
    }
    Ok(())
}

/// Every `Cargo.lock` of a working tree that git does not track, outside of
/// directories that are untracked as a whole.
pub(super) fn untracked_lock_files(tree: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let mut paths = Git::at(tree).paths(&["ls-files", "-z", "--others", "--directory"])?;
    paths.retain(|path| path.file_name().is_some_and(|name| name == "Cargo.lock"));
    Ok(paths)
}
