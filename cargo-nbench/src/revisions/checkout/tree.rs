//! Brings a checkout to a commit, rewriting only files that differ: cargo decides by time stamps
//! what to build again. It must not write to the user's repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::private::{self, Source};
use super::{generated, submodule};
use crate::cache;
use crate::failure::Failure;
use crate::revisions::git::Git;

/// Repositories that a checkout is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct CloneOf<'o> {
    /// The user's repository.
    pub(super) source: &'o Source,
    /// The user's working tree, which has submodules and an ignored lock file.
    pub(super) user: &'o Path,
    /// Paths that lead from every checkout to the user's tree.
    pub(super) links: &'o [PathBuf],
}

/// Checks `commit` out in `tree`, which may hold another commit, nothing, or what a killed run
/// left. With `same` it holds this very tree, and what builds have generated in it stays. Returns
/// whether something was taken away that a build script may have made.
pub(super) fn populate(
    tree: &Path,
    origin: CloneOf<'_>,
    commit: &str,
    same: bool,
) -> Result<bool, Failure> {
    let CloneOf { source, user, links } = origin;
    // A new checkout is the answer to everything that may be wrong with an old
    // one, such as a commit that was garbage-collected meanwhile.
    let old = if private::exists(tree) {
        private::prepare(tree, source, links).and_then(|()| update(tree, commit, same)).ok()
    } else {
        None
    };
    let mut lost = match old {
        Some(lost) => lost,
        None => {
            remove(tree)?;
            private::prepare(tree, source, links)?;
            update(tree, commit, false)?;
            true
        }
    };
    lost |= submodule::update(tree, source, user, same)?;
    copy_from_user(user, tree)?;
    Ok(lost)
}

/// Checks a commit out where a repository is, and says whether generated files were lost by it.
pub(super) fn update(tree: &Path, commit: &str, same: bool) -> Result<bool, Failure> {
    let git = Git::at(tree).setting("core.quotePath=false");
    // A build script may write to files that are tracked. They get their old content here, which it
    // does not learn of.
    let mut lost = match git.line(&["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Ok(_) => {
            // Times alone make files differ for git, and a new slot's files are touched: it would
            // write all of them again, and cargo would build everything again.
            let _ = git.run(&["update-index", "-q", "--refresh"]);
            let changed = ["diff-index", "--name-only", "--ignore-submodules=all", "HEAD", "--"];
            !git.run(&changed)?.is_empty()
        }
        Err(_) => false,
    };
    git.run(&["checkout", "--quiet", "--detach", "--force", commit, "--"])?;
    if !same {
        let removed = String::from_utf8_lossy(&git.run(&["clean", "-ffdx"])?).into_owned();
        lost |= removed
            .lines()
            .filter_map(|line| line.strip_prefix("Removing "))
            .any(|path| !generated::is_ours(Path::new(path)));
    }
    Ok(lost)
}

/// Names of the packages in a checkout.
pub(super) fn packages(tree: &Path) -> Result<Vec<String>, Failure> {
    let manifests = ["ls-files", "-z", "--recurse-submodules", "--", ":(glob)**/Cargo.toml"];
    let names = Git::at(tree)
        .paths(&manifests)?
        .into_iter()
        .filter_map(|path| generated::package_name(&fs::read_to_string(tree.join(path)).ok()?));
    Ok(names.collect())
}

/// Deletes a directory, a file or a link, whatever is there.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let removed = if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(|error| cache::failure("delete", path, &error))
}

/// A lock file that is not committed still decides what is built: every side gets the one of the
/// user's working tree. So does cargo's configuration that git ignores; one that is only not
/// committed yet belongs to the contender. What an earlier run left instead is taken away.
fn copy_from_user(user: &Path, tree: &Path) -> Result<(), Failure> {
    let ignored = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
    let names = [".cargo/config.toml", ".cargo/config"];
    let mut wanted = untracked_lock_files(user)?;
    wanted.extend(Git::at(user).paths(&[&ignored[..], &names[..]].concat())?);
    let mut left = untracked_lock_files(tree)?;
    left.extend(
        Git::at(tree).paths(&[&["ls-files", "-z", "--others", "--"], &names[..]].concat())?,
    );
    for path in left.iter().filter(|path| !wanted.contains(path)) {
        remove(&tree.join(path))?;
    }
    for path in wanted {
        let (from, to) = (user.join(&path), tree.join(&path));
        let is_tracked = to.exists() && !left.contains(&path);
        let is_configuration = names.iter().any(|name| Path::new(name) == path);
        let directory = to.parent().unwrap_or(tree);
        if is_tracked || !(is_configuration || directory.is_dir()) {
            continue;
        }
        let text = fs::read(&from).map_err(|error| cache::failure("read", &from, &error))?;
        // One that stays the same keeps its time, at which build scripts may look.
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&to, text))
            .map_err(|error| cache::failure("write", &to, &error))?;
    }
    Ok(())
}

/// Every `Cargo.lock` of a working tree that git does not track, outside of
/// directories that are untracked as a whole.
pub(super) fn untracked_lock_files(tree: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Git::at(tree).paths(&["ls-files", "-z", "--others", "--directory"])?;
    paths.retain(|path| path.file_name().is_some_and(|name| name == "Cargo.lock"));
    Ok(paths)
}
