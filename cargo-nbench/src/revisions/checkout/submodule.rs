//! Fills the submodules of a checkout from what the user has on disk, without
//! network and without `git submodule`, which would write to the user's
//! configuration. It must not know slots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::private::{self, Source};
use super::tree;
use crate::failure::Failure;
use crate::revisions::error::RevisionError;
use crate::revisions::git::{Git, path_from_bytes};

/// Checks out every submodule of `tree`, and theirs. `source` is the repository whose git directory
/// holds those that `git submodule` keeps, `user` the user's working tree. One that the user has
/// not got stays empty, as it is there: perhaps no benchmark needs it. Says whether generated files
/// were lost; with `same` they stay.
///
/// # Errors
///
/// A usage failure with the command that helps, when the user has the submodule
/// but not the commit that is needed of it.
pub(super) fn update(
    tree: &Path,
    source: &Source,
    user: &Path,
    same: bool,
) -> Result<bool, Failure> {
    let mut lost = false;
    if !tree.join(".gitmodules").is_file() {
        return Ok(lost);
    }
    let names = names(tree)?;
    for (path, commit) in links(tree)? {
        // A link without a name is a nested repository; git ignores it too.
        let Some(name) = names.get(&path) else { continue };
        let (kept, used) = (source.modules().join(name), user.join(&path));
        let common = if kept.join("HEAD").is_file() {
            kept
        } else if used.join(".git").exists() {
            Git::at(&used).path(&["rev-parse", "--git-common-dir"])?
        } else {
            continue;
        };
        let inner = Source::read(&common, None)?;
        let destination = tree.join(&path);
        lost |= check_out(&destination, &inner, &commit, same).map_err(|failure| {
            RevisionError::MissingSubmoduleCommit {
                path: path.display().to_string(),
                commit: commit.clone(),
                reason: failure.error,
            }
        })?;
        lost |= update(&destination, &inner, &used, same)?;
    }
    Ok(lost)
}

/// Paths of submodules by their name in `.gitmodules`.
fn names(tree: &Path) -> Result<BTreeMap<PathBuf, String>, Failure> {
    let arguments =
        ["config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let Ok(output) = Git::at(tree).run(&arguments) else { return Ok(BTreeMap::new()) };
    let entries = output.split(|byte| *byte == 0).filter_map(|entry| {
        let middle = entry.iter().position(|byte| *byte == b'\n')?;
        let (key, path) = (entry.get(..middle)?, entry.get(middle + 1..)?);
        let key = String::from_utf8_lossy(key);
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        // Git refuses names that leave its directory, and so do we.
        let outside = name.split(['/', '\\']).any(|part| part == "..");
        (!outside).then(|| (path_from_bytes(path), name.to_owned()))
    });
    Ok(entries.collect())
}

/// The commits that the superproject asks for, by path.
fn links(tree: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let output = Git::at(tree).run(&["ls-files", "-z", "--stage"])?;
    let entries = output.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = entry.strip_prefix(b"160000 ")?;
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let commit = String::from_utf8_lossy(entry.get(..tab)?);
        let commit = commit.split(' ').next()?.to_owned();
        Some((path_from_bytes(entry.get(tab + 1..)?), commit))
    });
    Ok(entries.collect())
}

fn check_out(
    destination: &Path,
    source: &Source,
    commit: &str,
    same: bool,
) -> Result<bool, Failure> {
    if private::exists(destination) {
        let old = private::prepare(destination, source, &[])
            .and_then(|()| tree::update(destination, commit, same));
        if let Ok(lost) = old {
            return Ok(lost);
        }
    }
    tree::remove(destination)?;
    private::prepare(destination, source, &[])?;
    tree::update(destination, commit, false)?;
    Ok(true)
}
