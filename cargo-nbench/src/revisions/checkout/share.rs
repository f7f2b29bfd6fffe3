//! Links from a checkout to inputs that git does not carry, which the user named. It must never
//! delete or write through such a link, and never replaces what a revision tracks.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::tree::remove;
use crate::cache;
use crate::failure::Failure;
use crate::revisions::error::RevisionError;
use crate::revisions::git::Git;

/// Takes away the links of `old` that are not among `kept`. Anything but a link stays.
pub(super) fn unlink(tree: &Path, old: &[PathBuf], kept: &[PathBuf]) -> Result<(), Failure> {
    for path in old.iter().filter(|path| !kept.contains(path)) {
        let link = tree.join(path);
        let is_link = fs::symlink_metadata(&link).is_ok_and(|metadata| metadata.is_symlink());
        if is_link && is_within(tree, path) {
            fs::remove_file(&link).map_err(|error| cache::failure("delete", &link, &error))?;
        }
    }
    Ok(())
}

/// Links every path to the same one in the user's tree.
///
/// # Errors
/// A usage failure when there is no such path or git tracks it, a host failure when it cannot be
/// made.
pub(super) fn link(tree: &Path, user: &Path, share: &[PathBuf]) -> Result<(), Failure> {
    for path in share {
        let (from, to) = (user.join(path), tree.join(path));
        let usage = |what, hint| -> Failure {
            RevisionError::NotShared { shown: path.display().to_string(), what, hint }.into()
        };
        if fs::metadata(&from).is_err() {
            return Err(usage(
                "which does not exist",
                format!("make `{}`, or take it from `share` in nbench.toml", from.display()),
            ));
        }
        if is_tracked(user, path)? {
            return Err(usage(
                "which git tracks",
                "every side has its own: `share` is for what git does not carry".to_owned(),
            ));
        }
        // A revision that tracks it has its own.
        if is_tracked(tree, path)? || fs::read_link(&to).is_ok_and(|target| target == from) {
            continue;
        }
        if !is_within(tree, path) {
            return Err(usage(
                "which lies behind a link in a checkout",
                "name the path that the link leads to".to_owned(),
            ));
        }
        remove(&to)?;
        let directory = to.parent().unwrap_or(tree);
        fs::create_dir_all(directory)
            .and_then(|()| symlink(&from, &to))
            .map_err(|error| cache::failure("write", &to, &error))?;
    }
    Ok(())
}

/// Paths of the setting `share`, which are relative to the workspace, relative to the repository.
///
/// # Errors
/// A usage failure for one that leaves the repository or stands for all of it.
pub fn paths(share: &[String], workspace: &Path) -> Result<Vec<PathBuf>, Failure> {
    let path = |text: &String| {
        let mut path = PathBuf::new();
        for part in workspace.join(text).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir if path.pop() => {}
                _ => path.push("/"),
            }
        }
        let in_git = path.components().any(|part| part.as_os_str() == ".git");
        if path.as_os_str().is_empty() || path.is_absolute() || in_git {
            return Err(RevisionError::NotShared {
                shown: text.clone(),
                what: "which is no path inside the repository",
                hint: "paths in `share` start at the workspace root and lie in the repository"
                    .to_owned(),
            }
            .into());
        }
        Ok(path)
    };
    share.iter().map(path).collect()
}

fn is_tracked(tree: &Path, path: &Path) -> Result<bool, Failure> {
    let listed = Git::at(tree).env("GIT_LITERAL_PATHSPECS", "1").run(&[
        "ls-files".as_ref(),
        "-z".as_ref(),
        "--".as_ref(),
        path.as_os_str(),
    ])?;
    Ok(!listed.is_empty())
}

/// Whether no directory on the way from `tree` to `path` is a link.
fn is_within(tree: &Path, path: &Path) -> bool {
    let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    parents.into_iter().all(|parent| {
        !fs::symlink_metadata(tree.join(parent)).is_ok_and(|metadata| metadata.is_symlink())
    })
}

#[cfg(unix)]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn symlink(_from: &Path, _to: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::paths;

    #[test]
    fn shared_paths_start_at_the_workspace_and_stay_in_the_repository() {
        let of = |text: &str| paths(&[text.to_owned()], Path::new("crates/app"));
        assert_eq!(of("corpus/big").unwrap(), [PathBuf::from("crates/app/corpus/big")]);
        assert_eq!(of("./corpus/").unwrap(), [PathBuf::from("crates/app/corpus")]);
        assert_eq!(of("../../data").unwrap(), [PathBuf::from("data")]);
        for text in ["../../..", "../..", "/etc", "../../../x", "../../.git/hooks"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
