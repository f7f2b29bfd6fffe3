//! Checkouts that revisions are built in: numbered slots in the user's cache
//! directory, each a git repository of its own with a target directory. It must
//! not know what is built there or why, and writes nothing to the user's repository.

mod disk;
mod generated;
mod lock;
mod private;
mod seed;
mod share;
mod submodule;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub use disk::clean;
use lock::Lock;
use private::Source;
pub use seed::{seed_lock_files, seed_target};
use serde::{Deserialize, Serialize};
pub use share::paths as shared_paths;

use crate::cache;
use crate::failure::Failure;
use crate::revisions::error::RevisionError;
use crate::revisions::revision::{Repository, Revision};

/// More runs at once than this wait for nobody: they are told to.
const SLOTS: usize = 16;

/// Description of what a slot last held, kept beside it while nobody uses it.
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
    /// The git directory of the repository whose revisions are checked out here.
    common: PathBuf,
    /// Where in the repository the workspace lies that was built here.
    workspace: PathBuf,
    /// Links in the checkout that lead to the user's tree.
    links: Vec<PathBuf>,
}

impl Meta {
    /// Description of the slot; nothing when this directory is none of ours.
    fn known(slot: &Path) -> Option<Self> {
        let bytes = fs::read(slot.join("meta.json")).ok()?;
        let meta: Self = serde_json::from_slice(&bytes).ok()?;
        meta.common.is_absolute().then_some(meta)
    }

    fn read(slot: &Path) -> Self {
        Self::known(slot).unwrap_or_default()
    }

    /// A killed run leaves the old one or the new one.
    fn write(&self, slot: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(RevisionError::NotDescribed)?;
        cache::write_whole(&slot.join("meta.json"), &text)
            .map_err(|error| cache::failure("write", slot, &error))
    }

    fn holds(&self, revision: &Revision, wanted: &CheckoutRequest<'_>) -> bool {
        self.tree.as_deref() == Some(&revision.tree) && self.fits(wanted)
    }

    fn fits(&self, wanted: &CheckoutRequest<'_>) -> bool {
        self.flags == wanted.flags && self.workspace == wanted.workspace
    }
}

/// Digest of all that decides, beside the sources, what is built in a checkout.
#[derive(Clone, Copy, Debug)]
pub struct CheckoutRequest<'w> {
    /// Digest of flags, toolchain and settings.
    pub flags: &'w str,
    /// Where in the repository the workspace lies. Packages of two workspaces may have one name,
    /// and cargo would confuse them in one target directory.
    pub workspace: &'w Path,
    /// Inputs that git does not carry, relative to the root of the repository.
    pub share: &'w [PathBuf],
}

/// The checkouts of one repository.
pub struct Slots {
    directory: PathBuf,
    common: PathBuf,
    source: Source,
    /// The user's working tree, which has submodules and an ignored lock file.
    user: PathBuf,
}

impl Slots {
    /// The checkouts of `repository` in the user's cache directory. Deletes the checkouts that were
    /// not used for longest while all of them exceed the size limit.
    ///
    /// # Errors
    ///
    /// A usage failure for impossible settings, a host failure when the cache
    /// directory cannot be written to.
    pub fn open(repository: &Repository) -> Result<Self, Failure> {
        Self::open_in(repository, &cache::path()?, cache::size_limit()?)
    }

    /// Like [`Slots::open`] with the cache directory and its limit in bytes.
    ///
    /// # Errors
    ///
    /// As for [`Slots::open`].
    pub fn open_in(repository: &Repository, cache: &Path, limit: u64) -> Result<Self, Failure> {
        let cache = cache::open(cache, &[repository.root(), repository.common_dir()])?;
        let directory = cache.join(cache::repository_name(repository.common_dir()));
        fs::create_dir_all(&directory)
            .map_err(|error| cache::failure("create", &directory, &error))?;
        if !cache::is_directory(&directory) {
            let error = std::io::Error::other("it is a link");
            return Err(cache::failure("use", &directory, &error));
        }
        let source = Source::read(repository.common_dir(), Some(repository.objects()?))?;
        let slots = Self {
            directory,
            common: repository.common_dir().to_owned(),
            source,
            user: repository.root().to_owned(),
        };
        disk::evict(&cache, limit);
        Ok(slots)
    }

    /// One checkout for each revision, in their order, for this process alone until they are
    /// dropped. Taken together, a revision that is already built somewhere keeps its slot,
    /// instead of losing it to one that comes before it.
    ///
    /// # Errors
    ///
    /// A host failure when every slot is in use or the disk is not writable; a
    /// usage failure when git cannot check a revision out.
    pub fn acquire_all(
        &self,
        revisions: &[&Revision],
        wanted: CheckoutRequest<'_>,
    ) -> Result<Vec<Slot>, Failure> {
        let wanted = &wanted;
        let mut existing: Vec<(usize, Meta)> = (0..SLOTS)
            .filter(|number| self.is_usable(*number))
            .map(|number| (number, Meta::read(&self.path(number))))
            .collect();
        // Artifacts of other flags are of no use, and those of another workspace are deleted: such
        // slots go last, the latter behind new ones.
        existing.sort_by_key(|(_, meta)| (!meta.fits(wanted), meta.used));
        let mut taken: Vec<Option<(usize, Lock)>> = Vec::new();
        for revision in revisions {
            let found = existing.iter().find_map(|(number, meta)| {
                let lock = meta.holds(revision, wanted).then(|| self.lock(*number)).flatten()?;
                // Someone may have used it between reading and locking.
                Meta::read(&self.path(*number)).holds(revision, wanted).then_some((*number, lock))
            });
            taken.push(found);
        }
        let fresh = (0..SLOTS).filter(|number| self.path(*number).symlink_metadata().is_err());
        let (near, far): (Vec<_>, Vec<_>) =
            existing.iter().partition(|(_, meta)| meta.workspace == wanted.workspace);
        let order: Vec<usize> = near
            .iter()
            .map(|(number, _)| *number)
            .chain(fresh)
            .chain(far.iter().map(|(number, _)| *number))
            .collect();
        let mut slots = Vec::new();
        for (revision, slot) in revisions.iter().zip(taken) {
            let found = slot
                .or_else(|| order.iter().find_map(|number| Some((*number, self.lock(*number)?))));
            let (number, lock) = found.ok_or(RevisionError::AllInUse(SLOTS))?;
            slots.push(self.fill(number, lock, revision, wanted)?);
        }
        Ok(slots)
    }

    fn fill(
        &self,
        number: usize,
        lock: Lock,
        revision: &Revision,
        wanted: &CheckoutRequest<'_>,
    ) -> Result<Slot, Failure> {
        let directory = self.path(number);
        fs::create_dir_all(&directory)
            .map_err(|error| cache::failure("create", &directory, &error))?;
        let (target, tree) = (directory.join("target"), directory.join("tree"));
        let mut meta = Meta::read(&directory);
        #[cfg(test)]
        let reused = meta.holds(revision, wanted);
        let same = meta.tree.as_deref() == Some(&revision.tree);
        if meta.workspace != wanted.workspace {
            tree::remove(&target)?;
        }
        meta.tree = None;
        meta.common.clone_from(&self.common);
        meta.used = now();
        wanted.flags.clone_into(&mut meta.flags);
        wanted.workspace.clone_into(&mut meta.workspace);
        meta.write(&directory)?;
        share::unlink(&tree, &meta.links, if same { wanted.share } else { &[] })?;
        let origin = tree::CloneOf { source: &self.source, user: &self.user, links: wanted.share };
        // From here on dropping the slot notes its size, even when git fails half-way.
        let mut slot = Slot {
            target,
            directory,
            tree,
            meta,
            #[cfg(test)]
            reused,
            lock,
        };
        if tree::populate(&slot.tree, origin, &revision.commit, same)? && slot.target.is_dir() {
            generated::forget_build_scripts(&slot.target, &tree::packages(&slot.tree)?);
        }
        slot.meta.links = wanted.share.to_vec();
        slot.meta.write(&slot.directory)?;
        share::link(&slot.tree, &self.user, wanted.share)?;
        slot.meta.tree = Some(revision.tree.clone());
        slot.meta.commit = Some(revision.commit.clone());
        slot.meta.write(&slot.directory)?;
        Ok(slot)
    }

    /// Whether there is a slot of ours, or what a killed run left of one.
    fn is_usable(&self, number: usize) -> bool {
        let slot = self.path(number);
        let is_empty = || fs::read_dir(&slot).is_ok_and(|mut entries| entries.next().is_none());
        cache::is_directory(&slot) && (slot.join("meta.json").is_file() || is_empty())
    }

    fn path(&self, number: usize) -> PathBuf {
        slot_path(&self.directory, number)
    }

    fn lock(&self, number: usize) -> Option<Lock> {
        Lock::try_new(&lock::beside(&self.path(number)))
    }
}

/// All names have the same length, because paths may end up in what is
/// built, and nothing but the sources should differ between two sides.
fn slot_path(repository: &Path, number: usize) -> PathBuf {
    repository.join(format!("slot-{number:02}"))
}

/// One checkout and its target directory, held until dropped.
#[derive(Debug)]
pub struct Slot {
    directory: PathBuf,
    tree: PathBuf,
    target: PathBuf,
    meta: Meta,
    /// Whether this very tree was here before, with the same flags.
    #[cfg(test)]
    reused: bool,
    lock: Lock,
}

impl Slot {
    /// The root of the checkout, a git repository of its own.
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

    /// The digest that was given for everything but the sources.
    pub fn flags(&self) -> &str {
        &self.meta.flags
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.meta.used = now();
        self.meta.size = disk::size(&self.directory);
        let _ = self.meta.write(&self.directory);
        self.lock.release();
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
