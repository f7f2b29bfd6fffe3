//! Checkouts that revisions are built in: numbered slots in the user's cache
//! directory, each a git worktree with a target directory of its own. It must
//! not know what is built there or why, and leaves no trace in the repository.

mod admin;
mod disk;
mod lock;
mod seed;
mod submodule;
mod tree;

pub use disk::{STAND_INS, cache_root, clean};
pub use seed::{seed_lock_files, seed_target};

use crate::failure::{Exit, Failure};
use crate::revision::{Repository, Revision};
use lock::Lock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// More runs at once than this wait for nobody: they are told to.
const SLOTS: usize = 16;

/// What a slot last held, kept beside it while nobody uses it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Meta {
    /// The tree that is checked out; absent while it is being changed.
    tree: Option<String>,
    commit: Option<String>,
    /// Digest of everything but the sources that decides what is built.
    flags: String,
    /// Nanoseconds since the epoch of the last use.
    used: u64,
    /// Bytes on disk when it was last put aside.
    size: u64,
    /// The git directory that the worktree belongs to.
    common: PathBuf,
}

impl Meta {
    fn read(slot: &Path) -> Self {
        fs::read(slot.join("meta.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Written to the side and renamed, so that a killed run leaves the old
    /// one or the new one.
    fn write(&self, slot: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| {
            Failure::new(Exit::Host, format!("cannot describe the checkout: {error}"))
        })?;
        let partial = slot.join("meta.json.partial");
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, slot.join("meta.json")))
            .map_err(|error| cache_failure("write", slot, &error))
    }

    fn holds(&self, revision: &Revision, flags: &str) -> bool {
        self.tree.as_deref() == Some(&revision.tree) && self.flags == flags
    }
}

/// The checkouts of one repository.
pub struct Slots {
    directory: PathBuf,
    common: PathBuf,
    /// The user's working tree, which has submodules and an ignored lock file.
    user: PathBuf,
}

impl Slots {
    /// The checkouts of `repository` in the user's cache directory. Puts aside
    /// what a killed run left in the repository, and deletes the checkouts
    /// that were not used for longest while all of them exceed the size limit.
    ///
    /// # Errors
    ///
    /// A usage failure for impossible settings, a host failure when the cache
    /// directory cannot be written to.
    pub fn open(repository: &Repository) -> Result<Self, Failure> {
        Self::open_in(repository, &cache_root()?, disk::size_limit()?)
    }

    /// Like [`Slots::open`] with the cache directory and its limit in bytes.
    ///
    /// # Errors
    ///
    /// As for [`Slots::open`].
    pub fn open_in(repository: &Repository, cache: &Path, limit: u64) -> Result<Self, Failure> {
        fs::create_dir_all(cache).map_err(|error| cache_failure("create", cache, &error))?;
        let cache =
            cache.canonicalize().map_err(|error| cache_failure("resolve", cache, &error))?;
        if cache.starts_with(repository.root()) {
            return Err(Failure::new(
                Exit::Usage,
                format!("the cache directory `{}` lies inside the repository", cache.display()),
            )
            .hint("cargo would take it for a part of the workspace; set NBENCH_CACHE_DIR to a directory elsewhere"));
        }
        disk::mark_as_cache(&cache);
        let directory = cache.join(directory_name(repository.common_dir()));
        fs::create_dir_all(&directory)
            .map_err(|error| cache_failure("create", &directory, &error))?;
        let slots = Self {
            directory,
            common: repository.common_dir().to_owned(),
            user: repository.root().to_owned(),
        };
        slots.recover();
        disk::evict(&cache, limit);
        Ok(slots)
    }

    /// Puts aside the worktrees of runs that ended without doing so, and
    /// returns how many there were. Those of running processes are left alone.
    pub fn recover(&self) -> usize {
        admin::recover(&self.common)
    }

    /// A checkout of `revision` for this process alone, until it is dropped.
    ///
    /// # Errors
    ///
    /// A host failure when every slot is in use or the disk is not writable; a
    /// usage failure when git cannot check the revision out.
    pub fn acquire(&self, revision: &Revision, flags: &str) -> Result<Slot, Failure> {
        let mut slots = self.acquire_all(&[revision], flags)?;
        slots.pop().ok_or_else(exhausted)
    }

    /// One checkout for each revision, in their order. Taken together, a
    /// revision that is already built somewhere keeps its slot, instead of
    /// losing it to one that comes before it.
    ///
    /// # Errors
    ///
    /// As for [`Slots::acquire`].
    pub fn acquire_all(&self, revisions: &[&Revision], flags: &str) -> Result<Vec<Slot>, Failure> {
        let mut existing: Vec<(usize, Meta)> = (0..SLOTS)
            .filter(|number| self.path(*number).is_dir())
            .map(|number| (number, Meta::read(&self.path(number))))
            .collect();
        // Artifacts of other flags are of no use: those slots go last.
        existing.sort_by_key(|(_, meta)| (meta.flags != flags, meta.used));
        let mut taken: Vec<Option<(usize, Lock)>> = Vec::new();
        for revision in revisions {
            let found = existing.iter().find_map(|(number, meta)| {
                let lock = meta.holds(revision, flags).then(|| self.lock(*number)).flatten()?;
                // Someone may have used it between reading and locking.
                Meta::read(&self.path(*number)).holds(revision, flags).then_some((*number, lock))
            });
            taken.push(found);
        }
        let fresh = (0..SLOTS).filter(|number| !self.path(*number).is_dir());
        let order: Vec<usize> = existing.iter().map(|(number, _)| *number).chain(fresh).collect();
        let mut slots = Vec::new();
        for (revision, slot) in revisions.iter().zip(taken) {
            let found = slot
                .or_else(|| order.iter().find_map(|number| Some((*number, self.lock(*number)?))));
            let (number, lock) = found.ok_or_else(exhausted)?;
            slots.push(self.fill(number, lock, revision, flags)?);
        }
        Ok(slots)
    }

    fn fill(
        &self,
        number: usize,
        lock: Lock,
        revision: &Revision,
        flags: &str,
    ) -> Result<Slot, Failure> {
        let directory = self.path(number);
        fs::create_dir_all(&directory)
            .map_err(|error| cache_failure("create", &directory, &error))?;
        let mut meta = Meta::read(&directory);
        let reused = meta.holds(revision, flags);
        let changed_flags = meta.flags != flags;
        meta.tree = None;
        meta.common.clone_from(&self.common);
        meta.used = now();
        if changed_flags {
            flags.clone_into(&mut meta.flags);
        }
        meta.write(&directory)?;
        let tree = directory.join(admin::worktree_name(&directory));
        // From here on dropping the slot puts the worktree aside, even when
        // git fails half-way.
        let mut slot = Slot {
            target: directory.join("target"),
            directory,
            tree,
            common: self.common.clone(),
            meta,
            reused,
            lock,
        };
        tree::populate(&slot.directory, &slot.tree, &self.common, &self.user, &revision.commit)?;
        slot.meta.tree = Some(revision.tree.clone());
        slot.meta.commit = Some(revision.commit.clone());
        slot.meta.write(&slot.directory)?;
        Ok(slot)
    }

    /// All names have the same length, because paths may end up in what is
    /// built, and nothing but the sources should differ between two sides.
    fn path(&self, number: usize) -> PathBuf {
        self.directory.join(format!("slot-{number:02}"))
    }

    fn lock(&self, number: usize) -> Option<Lock> {
        Lock::try_new(&lock::beside(&self.path(number)))
    }
}

/// One checkout and its target directory, held until dropped.
#[derive(Debug)]
pub struct Slot {
    directory: PathBuf,
    tree: PathBuf,
    target: PathBuf,
    common: PathBuf,
    meta: Meta,
    reused: bool,
    lock: Lock,
}

impl Slot {
    /// The root of the checkout: a real git worktree while the slot is held.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// The target directory that only this slot uses.
    pub fn target_dir(&self) -> &Path {
        &self.target
    }

    /// The directory of the slot, for what is generated for this checkout. It
    /// lives as long as the slot's target directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The commit that is checked out.
    pub fn commit(&self) -> Option<&str> {
        self.meta.commit.as_deref()
    }

    /// The digest that was given for everything but the sources.
    pub fn flags(&self) -> &str {
        &self.meta.flags
    }

    /// Whether this very tree was here before, with the same flags.
    pub fn reused(&self) -> bool {
        self.reused
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // What cannot be put aside now is put aside by the next run.
        let _ = admin::park(&self.directory, &self.tree, &self.common);
        self.meta.used = now();
        self.meta.size = disk::size(&self.directory);
        let _ = self.meta.write(&self.directory);
        self.lock.release();
    }
}

/// Sixteen hexadecimal digits that stand for one repository.
fn directory_name(common: &Path) -> String {
    digest(common.as_os_str().as_encoded_bytes())
}

/// The first sixteen hexadecimal digits of SHA-256.
fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn exhausted() -> Failure {
    Failure::new(Exit::Host, format!("all {SLOTS} checkouts of this repository are in use"))
        .hint("wait for the other runs to finish")
}

fn cache_failure(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Host, format!("cannot {verb} `{}`: {error}", path.display()))
        .hint("`cargo nbench clean` frees space; NBENCH_CACHE_DIR names another directory")
}

#[cfg(test)]
mod tests;
