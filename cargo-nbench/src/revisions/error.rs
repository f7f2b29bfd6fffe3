//! Failures of git, revisions and checkouts: what each is in words, what helps, and with which exit
//! code it ends a command. It must not know how any of them is found.

use std::io;
use std::path::PathBuf;

use crate::failure::{Cause, Exit, Failure};
use crate::revisions::git::{GitError, trust_hint};

/// Failure of finding, reading or checking out a revision.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RevisionError {
    /// Git takes the directory for no repository that it can use.
    #[error("no usable git repository at `{}`: {message}", from.display())]
    NoRepository {
        /// The directory.
        from: PathBuf,
        /// Message of git.
        message: String,
        /// Hint on what helps.
        hint: String,
    },
    /// The word names no revision that is here.
    #[error("no revision `{spec}` in this repository")]
    Unknown {
        /// The word.
        spec: String,
        /// Hint on what may have been meant, or on where it may be had.
        hint: String,
    },
    /// The word names several revisions.
    #[error("`{0}` is a range of revisions, not one revision")]
    Range(String),
    /// `X...Y` of two that have nothing in common.
    #[error("the two sides of `{spec}` have no common ancestor here")]
    NoAncestor {
        /// The word.
        spec: String,
        /// The remote that has what a shallow clone lacks.
        shallow_remote: Option<String>,
    },
    /// Git cannot read the commit.
    #[error("cannot read `{spec}`: {source}")]
    Unreadable {
        /// The word.
        spec: String,
        /// Failure of git.
        source: GitError,
    },
    /// The commit is no commit as git writes them.
    #[error("`{0}` leads to a commit that cannot be read")]
    Damaged(String),
    /// The path of the repository cannot be followed.
    #[error("cannot resolve `{}`: {source}", path.display())]
    Unresolved {
        /// The path.
        path: PathBuf,
        /// Reason of the system.
        source: io::Error,
    },
    /// There is no commit on this branch.
    #[error("this branch has no commit to compare with")]
    NoCommit,
    /// There is one commit and no change.
    #[error(
        "HEAD is the first commit and the working tree is clean, so there is nothing to compare with"
    )]
    NothingToCompare,
    /// A file of a revision is none that can be used.
    #[error("cannot read `{}` at `{label}`: {why}", path.display())]
    UnusableFile {
        /// The file.
        path: PathBuf,
        /// The revision as the user wrote it.
        label: String,
        /// Fault, as a fragment.
        why: &'static str,
    },
    /// There is no place for what is needed for a moment.
    #[error("cannot make a temporary directory: {0}")]
    NoTemporaryDirectory(#[source] io::Error),
    /// The index cannot be copied for a snapshot.
    #[error("cannot copy the index: {0}")]
    IndexNotCopied(#[source] io::Error),
    /// A file of the working tree cannot be taken into a snapshot.
    #[error(transparent)]
    NotAdded(GitError),
    /// A submodule has changes that a snapshot cannot carry.
    #[error("the submodule `{0}` has uncommitted changes")]
    DirtySubmodule(String),
    /// A submodule lacks the commit that the revision names.
    #[error("the submodule `{path}` has no commit `{commit}` here: {reason}")]
    MissingSubmoduleCommit {
        /// Its path.
        path: String,
        /// The commit.
        commit: String,
        /// Failure of checking it out.
        reason: String,
    },
    /// A directory of the cache is a link.
    #[error("`{}` is a link", .0.display())]
    CacheIsLink(PathBuf),
    /// The description of a checkout cannot be written as text.
    #[error("cannot describe the checkout: {0}")]
    NotDescribed(#[source] serde_json::Error),
    /// Every checkout is in use.
    #[error("all {0} checkouts of this repository are in use")]
    AllInUse(usize),
    /// The setting `share` names what cannot be shared.
    #[error("`share` names `{shown}`, {what}")]
    NotShared {
        /// The path as the user wrote it.
        shown: String,
        /// Fault, as a fragment.
        what: &'static str,
        /// Hint on what helps.
        hint: String,
    },
}

impl RevisionError {
    fn exit(&self) -> Exit {
        match self {
            RevisionError::CacheIsLink(_)
            | RevisionError::NotDescribed(_)
            | RevisionError::AllInUse(_) => Exit::Host,
            _ => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            RevisionError::Unknown { hint, .. }
            | RevisionError::NotShared { hint, .. }
            | RevisionError::NoRepository { hint, .. } => hint.clone(),
            RevisionError::Range(_) => {
                "name both revisions: `cargo nbench ab REV REV2`; `X...Y` is their merge base"
                    .to_owned()
            }
            RevisionError::NoAncestor { shallow_remote: Some(remote), .. } => {
                format!("this clone is shallow; run `git fetch --unshallow {remote}`")
            }
            RevisionError::NoAncestor { shallow_remote: None, .. } => {
                "name the revision to compare with directly".to_owned()
            }
            RevisionError::Unreadable { .. } | RevisionError::Damaged(_) => {
                "`git fsck` names objects that are missing or damaged".to_owned()
            }
            RevisionError::NoCommit => {
                "commit something first, or name a revision: `cargo nbench ab REV`".to_owned()
            }
            RevisionError::NothingToCompare => {
                "change something, or name a revision: `cargo nbench ab REV`".to_owned()
            }
            RevisionError::NoTemporaryDirectory(_) => {
                "point TMPDIR at a directory that can be written to".to_owned()
            }
            RevisionError::NotAdded(_) => {
                "make every untracked file readable, or ignore it".to_owned()
            }
            RevisionError::DirtySubmodule(path) => {
                format!("commit them first: `git -C {path} commit -a`")
            }
            RevisionError::MissingSubmoduleCommit { path, commit, .. } => {
                format!("run `git -C {path} fetch origin {commit}`")
            }
            RevisionError::AllInUse(_) => "wait for the other runs to finish".to_owned(),
            RevisionError::Unresolved { .. }
            | RevisionError::UnusableFile { .. }
            | RevisionError::IndexNotCopied(_)
            | RevisionError::CacheIsLink(_)
            | RevisionError::NotDescribed(_) => return None,
        })
    }
}

impl From<RevisionError> for Failure {
    fn from(error: RevisionError) -> Failure {
        let failure = Failure::new(error.exit(), error.to_string());
        let failure = match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        };
        match error {
            RevisionError::Unknown { spec, .. } => failure.because(Cause::UnknownRevision(spec)),
            _ => failure,
        }
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Failure {
        let failure = Failure::new(Exit::Usage, error.to_string());
        match error {
            GitError::NotStarted { .. } => {
                failure.hint("install git and make sure that it is on the PATH")
            }
            GitError::NotTrusted { trust, .. } => failure.hint(trust_hint(&trust)),
            GitError::Failed { .. } => failure,
        }
    }
}
