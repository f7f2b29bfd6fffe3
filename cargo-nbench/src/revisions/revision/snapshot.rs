//! Commits the working tree as it is, uncommitted and untracked files
//! included, through a copied index. It must leave index, stash, references and
//! files of the user as they were, to the byte.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Repository, Revision, alternate};
use crate::failure::Failure;
use crate::private;
use crate::revisions::error::RevisionError;
use crate::revisions::git::{Git, path_from_bytes};

impl Repository {
    /// The working tree as one revision. When it equals `HEAD`'s tree this is
    /// `HEAD` itself, otherwise a snapshot commit on top of `HEAD` that no
    /// reference points to. The same sources always give the same commit.
    ///
    /// # Errors
    ///
    /// A usage failure when a file cannot be read, or when a submodule holds
    /// changes of its own, which a snapshot cannot carry.
    pub fn working_tree(&self) -> Result<Revision, Failure> {
        self.refuse_dirty_submodules()?;
        let directory =
            private::directory("nbench").map_err(RevisionError::NoTemporaryDirectory)?;
        let index = directory.path().join("index");
        copy_index(&self.git_dir, &index).map_err(RevisionError::IndexNotCopied)?;
        // A sparse tree lacks files on purpose: without its patterns they
        // would look deleted.
        let sparse = self.git().line(&["config", "--type=bool", "core.sparseCheckout"]);
        let git = self
            .git()
            .env("GIT_INDEX_FILE", &index)
            .env("GIT_OBJECT_DIRECTORY", self.objects()?)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(&self.common.join("objects")))
            .setting("advice.addEmbeddedRepo=false")
            .setting("core.safecrlf=false")
            .setting(format!("core.sparseCheckout={}", sparse.is_ok_and(|value| value == "true")));
        look_at_marked_files(&git, self.root())?;
        self.add_everything(&git)?;
        let tree = git.line(&["write-tree"])?;
        let head = match self.head() {
            Some(hash) => Some(self.describe("@tree", &hash)?),
            None => None,
        };
        if let Some(head) = &head
            && head.tree == tree
        {
            return Ok(head.clone());
        }
        let commit = commit(&git, &tree, head.as_ref())?;
        let mut revision = self.describe("@tree", &commit)?;
        revision.dirty = Some(tree);
        revision.snapshot = true;
        Ok(revision)
    }

    /// Adds all that git does not ignore to the copied index. A repository in the tree that has no
    /// commit is nothing that git can add; it is left out and named.
    fn add_everything(&self, git: &Git) -> Result<(), Failure> {
        let mut arguments: Vec<OsString> = ["add", "--all", "--", ":/"].map(Into::into).into();
        for nested in unborn_repositories(git, self.root())? {
            let shown = nested.display();
            self.remarks.borrow_mut().push(format!(
                "`{shown}` is a git repository of its own without a commit: it is not part of the \
                 working tree that is measured"
            ));
            let mut pathspec = OsString::from(":(top,exclude,literal)");
            pathspec.push(&nested);
            arguments.push(pathspec);
        }
        git.run(&arguments).map_err(RevisionError::NotAdded)?;
        Ok(())
    }

    fn refuse_dirty_submodules(&self) -> Result<(), Failure> {
        if !self.root().join(".gitmodules").exists() {
            return Ok(());
        }
        let arguments = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=no",
            "--no-renames",
            "--ignore-submodules=none",
        ];
        let output = self.git().run(&arguments)?;
        for entry in output.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            // Ordinary entries: `1 XY S<c><m><u> mH mI mW hH hI path`.
            let mut fields = entry.splitn(9, ' ');
            let (Some("1"), Some(state)) = (fields.next(), fields.nth(1)) else { continue };
            if state.starts_with('S') && state.contains('M') {
                let path = fields.nth(5).unwrap_or_default();
                return Err(RevisionError::DirtySubmodule(path.to_owned()).into());
            }
        }
        Ok(())
    }
}

/// A commit with a fixed author and date, so that equal sources are one
/// commit and no identity need be configured.
fn commit(git: &Git, tree: &str, parent: Option<&Revision>) -> Result<String, Failure> {
    let date = parent.map_or(0, |commit| commit.committer_time);
    // Without the `@` git takes a small number for a calendar date.
    let date = format!("@{date} +0000");
    let mut git = git.clone();
    for role in ["AUTHOR", "COMMITTER"] {
        git = git
            .env(format!("GIT_{role}_NAME"), "nbench")
            .env(format!("GIT_{role}_EMAIL"), "nbench@localhost")
            .env(format!("GIT_{role}_DATE"), &date);
    }
    let mut arguments =
        vec!["commit-tree", tree, "--no-gpg-sign", "-m", "Working tree as measured"];
    if let Some(parent) = parent {
        arguments.extend(["-p", parent.commit.as_str()]);
    }
    Ok(git.line(&arguments)?)
}

/// Untracked repositories in the tree that have no commit, relative to its root.
fn unborn_repositories(git: &Git, root: &Path) -> Result<Vec<PathBuf>, Failure> {
    // Git lists a repository as one directory.
    let mut found = git.paths(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    found.retain(|path| {
        let place = root.join(path);
        place.is_dir()
            && place.join(".git").exists()
            && Git::at(&place).run(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_err()
    });
    Ok(found)
}

/// Takes the marks `assume-unchanged` and `skip-worktree` from the copied index:
/// git would pass over changes of those files, and the snapshot would be
/// another tree than the one on disk. A skipped file that is absent stays
/// marked, because a sparse tree lacks it on purpose.
fn look_at_marked_files(git: &Git, root: &Path) -> Result<(), Failure> {
    let listing = git.run(&["ls-files", "-v", "-z"])?;
    let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
    for entry in listing.split(|byte| *byte == 0) {
        let [tag, b' ', path @ ..] = entry else { continue };
        let path = path_from_bytes(path);
        if tag.is_ascii_lowercase() {
            assumed.push(path.clone());
        }
        if tag.eq_ignore_ascii_case(&b'S') && fs::symlink_metadata(root.join(&path)).is_ok() {
            skipped.push(path);
        }
    }
    for (flag, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
        // A command line holds a limited number of bytes.
        for some in paths.chunks(200) {
            let mut arguments = ["update-index", flag, "--"].map(OsStr::new).to_vec();
            arguments.extend(some.iter().map(|path| path.as_os_str()));
            git.run(&arguments)?;
        }
    }
    Ok(())
}

/// Copies the index with its time stamp. Git takes a file for possibly changed
/// when it is not older than the index: a copy with a newer time would make it
/// trust what it must look at.
fn copy_index(git_dir: &Path, to: &Path) -> io::Result<()> {
    let from = git_dir.join("index");
    let modified = match fs::metadata(&from) {
        Ok(metadata) => metadata.modified()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // Without its permissions: an index that is read-only is one in a repository that is.
    let mut copy = File::create(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.set_modified(modified)
}
