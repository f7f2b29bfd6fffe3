//! How much checkouts take on disk, and how they are deleted. It deletes neither what a running
//! process holds nor anything that it does not know for ours.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Meta;
use super::lock::{self, Lock};
use crate::cache::{self, is_directory};
use crate::failure::Failure;
use crate::revisions::revision::{Repository, objects};

/// Deletes checkouts, those of one repository or all of them, and returns the
/// bytes that were freed. Those that a running process holds are skipped.
///
/// # Errors
///
/// A usage failure when the cache directory is not known, or not ours.
pub fn clean(repository: Option<&Repository>) -> Result<u64, Failure> {
    clean_in(&cache::path()?, repository)
}

pub(super) fn clean_in(cache: &Path, repository: Option<&Repository>) -> Result<u64, Failure> {
    if !cache::is_ours(cache)? {
        return Ok(0);
    }
    let only = repository.map(|repository| cache::repository_name(repository.common_dir()));
    let mut freed = 0;
    if only.is_none() {
        // Every stand-in lies in a directory that its content names.
        let stand_ins = cache.join(cache::STAND_INS);
        for stand_in in digests(&stand_ins) {
            let bytes = size(&stand_in);
            if fs::remove_dir_all(&stand_in).is_ok() {
                freed += bytes;
            }
        }
        if is_directory(&stand_ins) {
            let _ = fs::remove_dir(&stand_ins);
        }
    }
    for repository in digests(cache) {
        let name = repository.file_name().unwrap_or_default();
        if only.as_ref().is_some_and(|only| name != only.as_str()) {
            continue;
        }
        freed += slots(&repository).iter().filter_map(|slot| delete(slot)).sum::<u64>();
        let kept = repository.join(objects::DIRECTORY);
        let bytes = size(&kept);
        if objects::delete(&kept) {
            freed += bytes;
        }
    }
    Ok(freed)
}

/// Deletes the checkouts that were not used for longest until the rest fits.
pub(super) fn evict(cache: &Path, limit: u64) {
    let mut known: Vec<(u64, u64, PathBuf)> = digests(cache)
        .iter()
        .flat_map(|repository| slots(repository))
        .map(|slot| {
            let meta = Meta::read(&slot);
            // Nothing is noted when a run was killed before the end.
            let bytes = if meta.size == 0 { size(&slot) } else { meta.size };
            (meta.used, bytes, slot)
        })
        .collect();
    known.sort();
    let mut total: u64 = known.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, slot) in known {
        if total <= limit {
            break;
        }
        if delete(&slot).is_some() {
            total = total.saturating_sub(bytes);
        }
    }
}

/// Directories in `parent` whose names are digests, as all of ours are. Links are none of ours.
fn digests(parent: &Path) -> Vec<PathBuf> {
    if !is_directory(parent) {
        return Vec::new();
    }
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(cache::is_digest))
        .map(|entry| entry.path())
        .filter(|path| is_directory(path))
        .collect()
}

/// The slots of one repository: what else is called like one has no description of ours.
fn slots(repository: &Path) -> Vec<PathBuf> {
    let numbers = 0..super::SLOTS;
    numbers
        .map(|number| super::slot_path(repository, number))
        .filter(|slot| is_directory(slot) && Meta::known(slot).is_some())
        .collect()
}

fn delete(slot: &Path) -> Option<u64> {
    let _lock = Lock::try_new(&lock::beside(slot))?;
    let bytes = size(slot);
    fs::remove_dir_all(slot).ok()?;
    Some(bytes)
}

/// Deletes a directory so that a kill in the middle leaves no half of it under
/// its own name.
pub(super) fn discard(path: &Path) {
    let aside = path.with_extension("discarded");
    let _ = fs::remove_dir_all(&aside);
    if fs::rename(path, &aside).is_ok() {
        let _ = fs::remove_dir_all(&aside);
    }
}

/// Bytes on disk of a directory, hard links counted once.
pub(super) fn size(directory: &Path) -> u64 {
    let mut seen = HashSet::new();
    let mut left = vec![directory.to_owned()];
    let mut total = 0;
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                left.push(entry.path());
            }
            total += occupied(&metadata, &mut seen);
        }
    }
    total
}

#[cfg(unix)]
fn occupied(metadata: &fs::Metadata, seen: &mut HashSet<(u64, u64)>) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let again = metadata.nlink() > 1
        && metadata.is_file()
        && !seen.insert((metadata.dev(), metadata.ino()));
    if again { 0 } else { metadata.blocks() * 512 }
}

#[cfg(not(unix))]
fn occupied(metadata: &fs::Metadata, _seen: &mut HashSet<(u64, u64)>) -> u64 {
    metadata.len()
}
