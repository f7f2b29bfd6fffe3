//! Fills the submodules of a checkout from what the user has on disk, without
//! network and without `git submodule`, which would write to the user's
//! configuration. It must not know slots.

use super::cache_failure;
use crate::failure::{Exit, Failure};
use crate::git::{Git, path_from_bytes};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks out every submodule of `tree`, and theirs. `modules` holds the git
/// directories that `git submodule` keeps, `user` is the user's working tree.
/// One that the user has not got stays empty, as it is there: perhaps no
/// benchmark needs it.
///
/// # Errors
///
/// A usage failure with the command that helps, when the user has the submodule
/// but not the commit that is needed of it.
pub(super) fn update(tree: &Path, modules: &Path, user: &Path) -> Result<(), Failure> {
    if !tree.join(".gitmodules").is_file() {
        return Ok(());
    }
    let names = names(tree)?;
    for (path, commit) in links(tree)? {
        // A link without a name is a nested repository; git ignores it too.
        let Some(name) = names.get(&path) else { continue };
        let (kept, used) = (modules.join(name), user.join(&path));
        let source = if kept.join("HEAD").is_file() {
            &kept
        } else if used.join(".git").exists() {
            &used
        } else {
            continue;
        };
        let destination = tree.join(&path);
        if check_out(&destination, &commit).is_err() {
            clone(source, &destination)?;
            check_out(&destination, &commit).map_err(|_| {
                let path = path.display();
                Failure::new(
                    Exit::Usage,
                    format!("the submodule `{path}` has no commit `{commit}` here"),
                )
                .hint(format!("run `git -C {path} fetch origin {commit}`"))
            })?;
        }
        update(&destination, &source.join("modules"), &used)?;
    }
    Ok(())
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

fn check_out(destination: &Path, commit: &str) -> Result<(), Failure> {
    if !destination.join(".git").is_dir() {
        // Git would walk up and move the superproject instead.
        return Err(Failure::new(Exit::Usage, "the submodule is empty"));
    }
    let git = Git::at(destination);
    git.run(&["checkout", "--quiet", "--detach", "--force", commit, "--"])?;
    git.run(&["clean", "-ffdxq"])?;
    Ok(())
}

fn clone(source: &Path, destination: &Path) -> Result<(), Failure> {
    if destination.exists() {
        fs::remove_dir_all(destination)
            .map_err(|error| cache_failure("delete", destination, &error))?;
    }
    let parent = destination.parent().unwrap_or(destination);
    fs::create_dir_all(parent).map_err(|error| cache_failure("create", parent, &error))?;
    let arguments = ["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--"];
    let mut arguments: Vec<&OsStr> = arguments.map(OsStr::new).to_vec();
    arguments.extend([source.as_os_str(), destination.as_os_str()]);
    Git::at(parent).run(&arguments)?;
    Ok(())
}
