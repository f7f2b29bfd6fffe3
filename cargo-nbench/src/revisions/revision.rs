//! Names revisions: resolves what the user wrote, takes a snapshot of the
//! working tree as it is, and chooses a reference when none was given. It must
//! not know where or how a revision is built.

mod commit;
mod default_reference;
mod discover;
mod file;
mod hint;
mod library;
pub(crate) mod objects;
mod snapshot;

use std::cell::{OnceCell, RefCell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use discover::Undiscovered;
use library::Library;
use objects::Objects;

use crate::failure::Failure;
use crate::revisions::error::RevisionError;
use crate::revisions::git::Git;

/// One state of the sources, resolved to a commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Revision {
    /// Name as the user wrote it, or `@tree` for the working tree.
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

/// The user's repository, which is only ever read. The git program knows every format that a
/// repository may have; libgit2 reads commits without a process for each, where it knows the
/// format.
pub struct Repository {
    root: PathBuf,
    /// The git directory of this working tree.
    git_dir: PathBuf,
    common: PathBuf,
    shallow: bool,
    library: Library,
    /// Made when the first snapshot is.
    objects: OnceCell<Objects>,
    /// The cache directory when it is not the user's.
    cache: Option<PathBuf>,
    remarks: RefCell<Vec<String>>,
}

impl Repository {
    /// The repository that holds `from`.
    ///
    /// # Errors
    ///
    /// Why there is none, or why the one there cannot be used.
    pub fn find(from: &Path) -> Result<Self, Undiscovered> {
        let root = discover::top(from)?;
        Self::open(&root).map_err(Undiscovered::Refused)
    }

    /// The repository that holds `from`, for commands that need one.
    ///
    /// # Errors
    ///
    /// A usage failure when there is none, or when it cannot be used.
    pub fn discover(from: &Path) -> Result<Self, Failure> {
        Ok(Self::find(from)?)
    }

    fn open(root: &Path) -> Result<Self, Failure> {
        let git = Git::at(root);
        let git_dir = canonical(&git.path(&["rev-parse", "--git-dir"])?)?;
        let common = canonical(&git.path(&["rev-parse", "--git-common-dir"])?)?;
        Ok(Self {
            root: canonical(root)?,
            library: Library::open(&git_dir, &common),
            git_dir,
            common,
            shallow: git.line(&["rev-parse", "--is-shallow-repository"])? == "true",
            objects: OnceCell::new(),
            cache: None,
            remarks: RefCell::default(),
        })
    }

    /// The same with another cache directory than the user's.
    #[cfg(test)]
    pub(crate) fn with_cache(self, cache: PathBuf) -> Self {
        Self { cache: Some(cache), ..self }
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
        self.shallow
    }

    /// The git program, started at the top of the working tree. It fetches nothing on its own and
    /// sees the snapshots that were taken.
    pub(crate) fn git(&self) -> Git {
        let git = Git::at(&self.root).env("GIT_NO_LAZY_FETCH", "1");
        match self.objects.get() {
            Some(objects) => git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(objects.path())),
            None => git,
        }
    }

    /// The git program for reading what a commit holds. A partial clone may lack it; what is
    /// fetched then goes to our objects.
    ///
    /// # Errors
    ///
    /// As for [`Repository::objects`].
    pub(crate) fn git_for_content(&self) -> Result<Git, Failure> {
        let objects = self.objects()?;
        Ok(Git::at(&self.root)
            .env("GIT_OBJECT_DIRECTORY", objects)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(&self.common.join("objects"))))
    }

    /// Where objects of snapshots are kept.
    ///
    /// # Errors
    ///
    /// A usage failure when not even a temporary directory can be made.
    pub(crate) fn objects(&self) -> Result<&Path, Failure> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects.path());
        }
        let made = match &self.cache {
            Some(cache) => Objects::open_in(cache, &self.common, &self.root)?,
            None => Objects::open(&self.common, &self.root)?,
        };
        Ok(self.objects.get_or_init(|| made).path())
    }

    /// Remarks on the snapshots that were taken, each only once.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.take()
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
            let side = |name: &str| match name {
                "" => self.commit_of("HEAD"),
                name => self
                    .peeled(name)
                    .ok_or_else(|| Failure::from(hint::unknown_revision(self, name, spec))),
            };
            self.merge_base(spec, &side(left)?, &side(right)?)?
        } else if spec.contains("..") && self.commit_of(spec).is_err() {
            return Err(RevisionError::Range(spec.to_owned()).into());
        } else {
            self.commit_of(spec)?
        };
        self.describe(spec, &commit)
    }

    /// The current commit, or nothing on a branch without commits.
    pub(crate) fn head(&self) -> Option<String> {
        self.peeled("HEAD")
    }

    /// Paths that differ between two trees or commits, renames as both names.
    /// Sorted, relative to the root, with `/` as separator.
    ///
    /// # Errors
    ///
    /// A usage failure when one of them cannot be read: an empty list would
    /// claim that nothing changed.
    pub fn changed_paths(&self, a: &str, b: &str) -> Result<Vec<String>, Failure> {
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=none",
            "--end-of-options",
            a,
            b,
        ];
        let listed = self
            .git_for_content()?
            .paths(&arguments)
            .map_err(|source| RevisionError::Unreadable { spec: a.to_owned(), source })?;
        let mut paths: Vec<String> =
            listed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
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
        let Some(head) = self.head() else { return Ok(Vec::new()) };
        if let Some(order) = self.first_parents(&head, limit) {
            return Ok(order);
        }
        let count = format!("--max-count={limit}");
        let hashes = self.git().run(&["rev-list", "--first-parent", &count, &head])?;
        let output = self.git().run_with(&["cat-file", "--batch"], &hashes)?;
        let objects = commit::batch(&output);
        let revision = |object: &Option<(String, &[u8])>| {
            let (hash, raw) = object.as_ref()?;
            commit::parse(hash, hash, raw)
        };
        objects
            .iter()
            .map(|object| {
                revision(object).ok_or_else(|| RevisionError::Damaged(head.clone()).into())
            })
            .collect()
    }

    /// The same through libgit2; nothing where it cannot read all of them.
    fn first_parents(&self, head: &str, limit: usize) -> Option<Vec<Revision>> {
        let mut order: Vec<Revision> = Vec::new();
        let mut next = Some(head.to_owned()).filter(|_| !self.shallow);
        next.as_ref()?;
        while let Some(hash) = next.filter(|_| order.len() < limit) {
            let revision = commit::parse(&hash, &hash, &self.library.commit(&hash)?)?;
            next = revision.parents.first().cloned();
            order.push(revision);
        }
        Some(order)
    }

    fn commit_of(&self, spec: &str) -> Result<String, Failure> {
        self.peeled(spec).ok_or_else(|| hint::unknown_revision(self, spec, spec).into())
    }

    /// The commit that a name stands for.
    fn peeled(&self, spec: &str) -> Option<String> {
        let hash = |name: &str| {
            let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
            self.git().line(&arguments).ok().filter(|hash| !hash.is_empty())
        };
        // In two steps: all that follows `:/` is what to search for.
        hash(&format!("{}^{{commit}}", hash(spec)?))
    }

    fn merge_base(&self, spec: &str, left: &str, right: &str) -> Result<String, Failure> {
        let bases = self.git().line(&["merge-base", left, right]);
        let base = bases.ok().filter(|hash| !hash.is_empty());
        base.ok_or_else(|| {
            let shallow_remote = hint::remote(self).filter(|_| self.is_shallow());
            RevisionError::NoAncestor { spec: spec.to_owned(), shallow_remote }.into()
        })
    }

    fn describe(&self, label: &str, hash: &str) -> Result<Revision, Failure> {
        let raw = match self.library.commit(hash) {
            Some(raw) => raw,
            None => self
                .git()
                .run(&["cat-file", "commit", hash])
                .map_err(|source| RevisionError::Unreadable { spec: label.to_owned(), source })?,
        };
        commit::parse(label, hash, &raw)
            .ok_or_else(|| RevisionError::Damaged(label.to_owned()).into())
    }
}

/// A path as it stands in `GIT_ALTERNATE_OBJECT_DIRECTORIES`, whose entries colons part.
fn alternate(path: &Path) -> OsString {
    let special = path.as_os_str().as_encoded_bytes().iter().any(|b| matches!(b, b':' | b'"'));
    if special { crate::revisions::git::quoted(path) } else { path.as_os_str().to_owned() }
}

fn canonical(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|source| RevisionError::Unresolved { path: path.to_owned(), source }.into())
}

#[cfg(test)]
pub(crate) mod tests;
