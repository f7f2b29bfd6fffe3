//! Finds the repository around a directory and tells "there is none" from "git does not take it".
//! It must not know revisions, and changes no setting of the user's to make git agree.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::revisions::error::RevisionError;
use crate::revisions::git::{Git, GitError, trust_command, trust_hint};

/// Why no repository was found.
#[derive(Debug)]
pub enum Undiscovered {
    /// The directory lies outside of any repository.
    Outside(Failure),
    /// There is one, and it cannot be used; the failure says why.
    Refused(Failure),
}

impl From<Undiscovered> for Failure {
    fn from(reason: Undiscovered) -> Self {
        match reason {
            Undiscovered::Outside(failure) | Undiscovered::Refused(failure) => failure,
        }
    }
}

/// The top of the working tree that holds `from`.
pub(super) fn top(from: &Path) -> Result<PathBuf, Undiscovered> {
    let git = Git::at(from);
    let output = git.output(&["rev-parse", "--show-toplevel"], &[]).map_err(|error| {
        let failure =
            GitError::NotStarted { command: "rev-parse".to_owned(), source: error }.into();
        // Without git and without a repository nothing is amiss.
        match marker(from) {
            Some(_) => Undiscovered::Refused(failure),
            None => Undiscovered::Outside(failure),
        }
    })?;
    if output.status.success() {
        let top = git.path(&["rev-parse", "--show-toplevel"]);
        return top.map_err(|error| Undiscovered::Refused(error.into()));
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(explain(from, &message, marker(from).as_deref()))
}

/// Meaning of git's refusal where `marker` is the `.git` that it may have meant.
fn explain(from: &Path, message: &str, marker: Option<&Path>) -> Undiscovered {
    let first = message.lines().next().unwrap_or("git says nothing").trim_start_matches("fatal: ");
    let failure = |hint: String| -> Failure {
        let (from, message) = (from.to_owned(), first.to_owned());
        RevisionError::NoRepository { from, message, hint }.into()
    };
    let refused = |hint: &str| Undiscovered::Refused(failure(hint.to_owned()));
    if let Some(command) = trust_command(message) {
        return Undiscovered::Refused(failure(trust_hint(&command)));
    }
    if message.contains("must be run in a work tree") {
        return refused(
            "it is bare, or this is its git directory: run inside a working tree of it",
        );
    }
    if message.contains("filesystem boundary") && marker.is_some() {
        return refused(
            "the repository lies on another file system: set GIT_DISCOVERY_ACROSS_FILESYSTEM=1",
        );
    }
    if message.contains("unknown repository extension") || message.contains("repo version") {
        return refused("the repository needs a newer git than the one on the PATH");
    }
    match marker {
        None if message.contains("not a git repository") => Undiscovered::Outside(failure(
            "run inside a git repository; `cargo nbench run` works without one".to_owned(),
        )),
        None => refused("`git status` in the same directory shows the whole message"),
        Some(marker) => Undiscovered::Refused(failure(format!(
            "there is `{}`, which git does not accept: `git status` there says more",
            marker.display()
        ))),
    }
}

/// The nearest `.git` around a directory, where git would look for it.
fn marker(from: &Path) -> Option<PathBuf> {
    let from = from.canonicalize().ok()?;
    let ceilings: Vec<PathBuf> = env::var_os("GIT_CEILING_DIRECTORIES")
        .map(|value| env::split_paths(&value).collect())
        .unwrap_or_default();
    let places = from.ancestors().take_while(|place| !ceilings.iter().any(|c| c == place));
    places.map(|place| place.join(".git")).find(|path| path.symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Undiscovered, explain};
    use crate::failure::Failure;

    #[test]
    fn only_an_absent_repository_is_outside_of_git() {
        let owner = "fatal: detected dubious ownership in repository at '/r'\n\
                     To add an exception for this directory, call:\n\n\
                     \tgit config --global --add safe.directory /r";
        let nothing = "fatal: not a git repository (or any of the parent directories): .git";
        let mount = "fatal: not a git repository (or any parent up to mount point /r)\n\
                     Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set).";
        let version = "fatal: unknown repository extension found:\n\trefstorage";
        let bare = "fatal: this operation must be run in a work tree";
        let link = "fatal: not a git repository: /gone/.git/worktrees/x";
        let cases = [
            (owner, true, false, "git config --global --add safe.directory /r"),
            (nothing, false, true, "works without one"),
            (nothing, true, false, "which git does not accept"),
            (mount, true, false, "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
            (mount, false, true, "works without one"),
            (version, true, false, "newer git"),
            (bare, false, false, "working tree"),
            (link, true, false, "which git does not accept"),
            ("fatal: unable to read config file", false, false, "git status"),
        ];
        for (message, marked, outside, hint) in cases {
            let marker = marked.then(|| Path::new("/r/.git"));
            let reason = explain(Path::new("/r/sub"), message, marker);
            assert_eq!(matches!(reason, Undiscovered::Outside(_)), outside, "{message}");
            let failure = Failure::from(reason);
            assert!(failure.hint.is_some_and(|h| h.contains(hint)), "{message}");
        }
    }
}
