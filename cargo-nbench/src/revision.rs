//! Names revisions: resolves what the user wrote, takes a snapshot of the
//! working tree as it is, and chooses a reference when none was given. It must
//! not know where or how a revision is built.

mod default_reference;
mod hint;
mod snapshot;

use crate::failure::{Exit, Failure};
use crate::git::Git;
use std::path::{Path, PathBuf};

/// One state of the sources, resolved to a commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Revision {
    /// What the user wrote, or `@tree` for the working tree.
    pub label: String,
    /// Full hash of the commit.
    pub commit: String,
    /// Full hash of the commit's tree: equal trees are equal sources.
    pub tree: String,
    /// Full hashes of the parents, first parent first.
    pub parents: Vec<String>,
    /// Author time in seconds since the epoch.
    pub author_time: i64,
    /// Committer time in seconds since the epoch.
    pub committer_time: i64,
    /// First line of the message.
    pub subject: String,
    /// Hash of the snapshot's tree when the working tree differs from `HEAD`.
    pub dirty: Option<String>,
    /// Whether `commit` is a snapshot of ours rather than a commit of the user.
    pub snapshot: bool,
}

impl Revision {
    /// The first twelve digits of the commit, for people.
    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }
}

/// The user's repository, which is only ever read.
pub struct Repository {
    git2: git2::Repository,
    root: PathBuf,
    common: PathBuf,
}

impl Repository {
    /// The repository that holds `from`.
    ///
    /// # Errors
    ///
    /// A usage failure when there is none, or when it has no working tree.
    pub fn discover(from: &Path) -> Result<Self, Failure> {
        // `discover` would forget the `.git` file that led to a separate git
        // directory, and take that directory's parent for the working tree.
        let git2 = git2::Repository::open_ext(
            from,
            git2::RepositoryOpenFlags::empty(),
            &[] as &[&std::ffi::OsStr],
        )
        .map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("no usable git repository at `{}`: {}", from.display(), error.message()),
            )
            .hint("run inside a git repository; `cargo nbench run` works without one")
        })?;
        let root = git2.workdir().ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format!("the repository at `{}` is bare", git2.path().display()),
            )
            .hint("run inside a working tree of it")
        })?;
        let root = canonical(root)?;
        let common = canonical(git2.commondir())?;
        Ok(Self { git2, root, common })
    }

    /// The top of the working tree, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory that all worktrees of the repository share, canonical.
    pub fn common_dir(&self) -> &Path {
        &self.common
    }

    /// Whether history was cut off by `--depth`.
    pub fn is_shallow(&self) -> bool {
        self.git2.is_shallow()
    }

    /// The git program, started at the top of the working tree.
    pub(crate) fn git(&self) -> Git {
        Git::at(&self.root)
    }

    /// Resolves anything git resolves, and `X...` or `X...Y` to the merge base
    /// of `X` and `HEAD` or `Y`.
    ///
    /// # Errors
    ///
    /// A usage failure with the command that helps: an unknown revision, a
    /// range, or history that a shallow clone lacks.
    pub fn resolve(&self, spec: &str) -> Result<Revision, Failure> {
        let commit = if let Some((left, right)) = spec.split_once("...") {
            let side = |name: &str| self.find(if name.is_empty() { "HEAD" } else { name });
            self.merge_base(spec, side(left)?, side(right)?)?
        } else if spec.contains("..") && self.find(spec).is_err() {
            return Err(Failure::new(
                Exit::Usage,
                format!("`{spec}` is a range of revisions, not one revision"),
            )
            .hint("name both revisions: `cargo nbench ab REV REV2`; `X...Y` is their merge base"));
        } else {
            self.find(spec)?
        };
        self.describe(spec, commit)
    }

    /// The current commit, or nothing on a branch without commits.
    pub(crate) fn head(&self) -> Option<git2::Oid> {
        Some(self.git2.head().ok()?.peel_to_commit().ok()?.id())
    }

    /// Paths that differ between two trees or commits, renames as both names.
    /// Sorted, relative to the root, with `/` as separator.
    ///
    /// # Errors
    ///
    /// A usage failure when one of them cannot be read: an empty list would
    /// claim that nothing changed.
    pub fn changed_paths(&self, a: &str, b: &str) -> Result<Vec<String>, Failure> {
        let tree = |spec: &str| {
            self.git2
                .revparse_single(spec)
                .and_then(|object| object.peel_to_tree())
                .map_err(|error| unreadable(spec, &error))
        };
        let diff = self
            .git2
            .diff_tree_to_tree(Some(&tree(a)?), Some(&tree(b)?), None)
            .map_err(|error| unreadable(b, &error))?;
        let mut paths: Vec<String> = diff
            .deltas()
            .flat_map(|delta| {
                let name = |file: git2::DiffFile<'_>| {
                    file.path_bytes().map(|path| String::from_utf8_lossy(path).into_owned())
                };
                [name(delta.old_file()), name(delta.new_file())]
            })
            .flatten()
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// `HEAD` and its first parents, newest first, at most `limit` of them.
    /// Shorter in a shallow clone, where history ends early.
    ///
    /// # Errors
    ///
    /// A usage failure when a commit cannot be read.
    pub fn first_parent_order(&self, limit: usize) -> Result<Vec<Revision>, Failure> {
        let mut order = Vec::new();
        let mut next = self.head();
        while let Some(oid) = next.filter(|_| order.len() < limit) {
            let hash = oid.to_string();
            let Ok(commit) = self.git2.find_commit(oid) else { break };
            next = commit.parent_id(0).ok();
            order.push(self.describe(&hash, oid)?);
        }
        Ok(order)
    }

    fn find(&self, spec: &str) -> Result<git2::Oid, Failure> {
        let found = self.git2.revparse_single(spec).and_then(|object| object.peel_to_commit());
        if let Ok(commit) = found {
            return Ok(commit.id());
        }
        // The program knows a few forms more, such as dates in reflogs.
        let commit = format!("{spec}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        self.git()
            .line(&arguments)
            .ok()
            .and_then(|hash| git2::Oid::from_str(&hash).ok())
            .filter(|oid| self.git2.find_commit(*oid).is_ok())
            .ok_or_else(|| hint::unknown_revision(self, spec))
    }

    fn merge_base(
        &self,
        spec: &str,
        left: git2::Oid,
        right: git2::Oid,
    ) -> Result<git2::Oid, Failure> {
        self.git2.merge_base(left, right).map_err(|_| {
            let failure = Failure::new(
                Exit::Usage,
                format!("the two sides of `{spec}` have no common ancestor here"),
            );
            match hint::remote(self) {
                Some(remote) if self.is_shallow() => failure
                    .hint(format!("this clone is shallow; run `git fetch --unshallow {remote}`")),
                _ => failure.hint("name the revision to compare with directly"),
            }
        })
    }

    fn describe(&self, label: &str, oid: git2::Oid) -> Result<Revision, Failure> {
        let commit = self.git2.find_commit(oid).map_err(|error| unreadable(label, &error))?;
        let subject = commit.message_bytes().split(|byte| *byte == b'\n').find(|l| !l.is_empty());
        Ok(Revision {
            label: label.to_owned(),
            commit: oid.to_string(),
            tree: commit.tree_id().to_string(),
            parents: commit.parent_ids().map(|id| id.to_string()).collect(),
            author_time: commit.author().when().seconds(),
            committer_time: commit.time().seconds(),
            subject: String::from_utf8_lossy(subject.unwrap_or_default()).trim().to_owned(),
            dirty: None,
            snapshot: false,
        })
    }
}

fn unreadable(spec: &str, error: &git2::Error) -> Failure {
    Failure::new(Exit::Usage, format!("cannot read `{spec}`: {}", error.message()))
        .hint("`git fsck` names objects that are missing or damaged")
}

fn canonical(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot resolve `{}`: {error}", path.display()))
    })
}

#[cfg(test)]
pub(crate) mod tests;
