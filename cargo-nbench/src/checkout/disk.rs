//! Where checkouts live on disk, how much they take, and how they are deleted.
//! It never deletes what a running process holds.

use super::lock::{self, Lock};
use super::{Meta, admin, directory_name};
use crate::failure::{Exit, Failure};
use crate::revision::Repository;
use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// 20 GB: room for two sides of several large workspaces.
const SIZE_LIMIT: u64 = 20_000_000_000;

/// The directory of all checkouts: `NBENCH_CACHE_DIR`, else `nbench` in the
/// user's cache directory.
///
/// # Errors
///
/// A usage failure when neither is set nor the home directory is known.
pub fn cache_root() -> Result<PathBuf, Failure> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(directory) = variable("NBENCH_CACHE_DIR") {
        return std::path::absolute(directory).map_err(|error| {
            Failure::new(Exit::Usage, format!("cannot resolve NBENCH_CACHE_DIR: {error}"))
        });
    }
    // The specification says that a relative path there is to be ignored.
    let xdg = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|path| path.is_absolute());
    let user = if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        home().map(|home| home.join(".cache"))
    };
    xdg.or(user).map(|directory| directory.join("nbench")).ok_or_else(|| {
        Failure::new(Exit::Usage, "there is no home directory to keep checkouts in")
            .hint("set NBENCH_CACHE_DIR to a directory outside the repository")
    })
}

/// The limit of `NBENCH_CACHE_SIZE` in bytes, else 20 GB.
pub(super) fn size_limit() -> Result<u64, Failure> {
    match env::var("NBENCH_CACHE_SIZE") {
        Err(env::VarError::NotPresent) => Ok(SIZE_LIMIT),
        Ok(value) if value.trim().is_empty() => Ok(SIZE_LIMIT),
        Ok(value) => value.trim().parse().map_err(|_| size_failure(&value)),
        Err(env::VarError::NotUnicode(value)) => Err(size_failure(&value.to_string_lossy())),
    }
}

fn size_failure(value: &str) -> Failure {
    Failure::new(Exit::Usage, format!("NBENCH_CACHE_SIZE is `{value}`, not a number of bytes"))
        .hint("20 GB are NBENCH_CACHE_SIZE=20000000000")
}

/// Directory of what is built in place of other harnesses, for all repositories.
pub const STAND_INS: &str = "stand-ins";

/// Tells backup programs that everything here can be made again.
pub(super) fn mark_as_cache(cache: &Path) {
    let tag = cache.join("CACHEDIR.TAG");
    if !tag.exists() {
        let _ = fs::write(
            tag,
            "Signature: 8a477f597d28d172789f06886806bc55\n\
             # Checkouts of cargo-nbench. Free them with `cargo nbench clean`.\n",
        );
    }
}

/// Deletes checkouts, those of one repository or all of them, and returns the
/// bytes that were freed. Those that a running process holds are skipped.
///
/// # Errors
///
/// A usage failure when the cache directory is not known.
pub fn clean(repository: Option<&Repository>) -> Result<u64, Failure> {
    Ok(clean_in(&cache_root()?, repository))
}

pub(super) fn clean_in(cache: &Path, repository: Option<&Repository>) -> u64 {
    let only = repository.map(|repository| directory_name(repository.common_dir()));
    if let Some(repository) = repository {
        admin::recover(repository.common_dir());
    }
    let mut freed = 0;
    if only.is_none() {
        let stand_ins = cache.join(STAND_INS);
        let bytes = size(&stand_ins);
        if fs::remove_dir_all(&stand_ins).is_ok() {
            freed += bytes;
        }
    }
    let slots = slots(cache)
        .into_iter()
        .filter(|slot| {
            let owner = slot.parent().and_then(Path::file_name);
            only.as_ref().is_none_or(|only| owner.is_some_and(|owner| owner == only.as_str()))
        })
        .filter_map(|slot| delete(&slot));
    freed + slots.sum::<u64>()
}

/// Deletes the checkouts that were not used for longest until the rest fits.
pub(super) fn evict(cache: &Path, limit: u64) {
    let mut known: Vec<(u64, u64, PathBuf)> = slots(cache)
        .into_iter()
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

/// Every slot of every repository.
fn slots(cache: &Path) -> Vec<PathBuf> {
    let directories = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    directories(cache)
        .iter()
        .flat_map(|repository| directories(repository))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("slot-") && !name.contains('.'))
        })
        .collect()
}

fn delete(slot: &Path) -> Option<u64> {
    let _lock = Lock::try_new(&lock::beside(slot))?;
    let bytes = size(slot);
    let meta = Meta::read(slot);
    if meta.common.is_absolute() {
        admin::forget(slot, &slot.join(admin::worktree_name(slot)), &meta.common);
    }
    fs::remove_dir_all(slot).ok()?;
    Some(bytes)
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
