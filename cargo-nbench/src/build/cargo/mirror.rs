//! A mirror of a workspace: a directory of links to its files in which cargo finds, and writes, a
//! lock file of ours instead of the user's. It knows where things lie, and not why cargo would
//! write the file.
//!
//! Cargo always writes the lock file beside the manifest of the workspace. Whatever is done
//! afterwards to put it back is not done by a process that was killed, so the user's file is never
//! given to cargo. Not a copy but links, because a tree may be large, and what a benchmark reads
//! must be what the user has. Paths are mirrored from the root of the file system, so that `..` in
//! a manifest, which cargo follows without asking the file system, leads to the same places.

mod git_dir;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::build::error::BuildError;
use crate::failure::Failure;
use crate::{cache, interrupt};

const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
const GIT: &str = ".git";

/// How often a process that waits for another one looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// A mirror that is in use by this process.
#[derive(Debug)]
pub struct Mirror {
    /// Where `/` is mirrored.
    base: PathBuf,
    /// The user's workspace.
    root: PathBuf,
    /// Lock file that is worth another use, for the user's lock file as it is now.
    kept: PathBuf,
    /// Held while the mirror is written or built from; two builds would share its lock file.
    held: Mutex<Option<File>>,
}

/// A workspace to be mirrored.
#[derive(Debug)]
pub(super) struct Original<'o> {
    /// The directory of its manifest and lock file.
    pub(super) root: &'o Path,
    /// Manifests of its members.
    pub(super) members: &'o [PathBuf],
    /// The directory that takes the mirror.
    pub(super) place: &'o Path,
}

impl Mirror {
    /// Makes the mirror, or brings it up to date. While another process uses it, `on_wait` is
    /// called and the other one waited for.
    pub(super) fn of(original: &Original<'_>, on_wait: &mut dyn FnMut()) -> Result<Self, Failure> {
        let Original { root, place, .. } = *original;
        let base = place.join("tree");
        let place_of_it = base.clone();
        let locks = place.join("locks");
        let unusable = |source| -> Failure {
            BuildError::NoMirror { place: place_of_it.clone(), source }.into()
        };
        fs::create_dir_all(&base).and_then(|()| fs::create_dir_all(&locks)).map_err(unusable)?;
        let held = hold(&place.join("tree.lock"), on_wait, &unusable)?;
        let text = match fs::read(root.join(LOCK)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unusable(error)),
        };
        let kept = locks.join(text.as_ref().map_or("none".to_owned(), |text| digest(text)));
        let mirror = Self { base, root: root.to_owned(), kept, held: Mutex::new(Some(held)) };
        mirror.link(&packages(root, original.members)).map_err(unusable)?;
        mirror.write_lock(text).map_err(unusable)?;
        Ok(mirror)
    }

    /// Where a path of the user's is mirrored.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        self.base.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Where `/` is mirrored: what paths of the mirror have before the user's own.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// Path of the user's that one of the mirror stands for.
    pub(super) fn outside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.base)
            .map_or_else(|_| path.to_owned(), |inside| Path::new("/").join(inside))
    }

    /// A text of cargo or the compiler with the user's own paths.
    pub(super) fn outside_text(&self, text: &str) -> String {
        text.replace(&self.base.display().to_string(), "")
    }

    /// The lock file that cargo uses.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.inside(&self.root).join(LOCK)
    }

    /// Ends with a lock file that something was built from: it is kept for the next time, and
    /// others may use the mirror.
    pub(super) fn keep(&self) {
        // Without it the next build resolves anew, which is what happened now.
        let _ = fs::read(self.lock_file()).and_then(|lock| cache::write_whole(&self.kept, &lock));
        for other in fs::read_dir(self.kept.parent().unwrap_or(&self.kept)).into_iter().flatten() {
            if let Ok(other) = other
                && other.path() != self.kept
            {
                let _ = fs::remove_file(other.path());
            }
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn write_lock(&self, text: Option<Vec<u8>>) -> io::Result<()> {
        let file = self.lock_file();
        match fs::read(&self.kept).ok().or(text) {
            Some(text) => fs::write(file, text),
            None => match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// Every package's directory, and those on the way to it, become directories of links to all
    /// that lies in them. Were a package behind a link, cargo would look for its files in the
    /// user's repository, find none of those that it knows, and never run its build script
    /// again.
    fn link(&self, packages: &Packages) -> io::Result<()> {
        let within = |directory: &&Path| directory.starts_with(&packages.top);
        let directories: BTreeSet<&Path> = packages
            .directories
            .iter()
            .map(PathBuf::as_path)
            .chain([self.root.as_path()])
            .flat_map(|directory| directory.ancestors().take_while(within))
            .collect();
        // Outer ones come first.
        for real in &directories {
            let copy = self.inside(real);
            // What was a link when less was mirrored.
            for ancestor in copy.ancestors().take_while(|a| a.starts_with(&self.base)) {
                if ancestor.is_symlink() {
                    fs::remove_file(ancestor)?;
                }
            }
            fs::create_dir_all(&copy)?;
            self.link_entries(real, &copy, &directories)?;
        }
        Ok(())
    }

    fn link_entries(
        &self,
        real: &Path,
        copy: &Path,
        directories: &BTreeSet<&Path>,
    ) -> io::Result<()> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(real)? {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            // The mirror must not hold itself.
            let is_ours = real == self.root && name == LOCK;
            if directories.contains(path.as_path()) || self.base.starts_with(&path) || is_ours {
                continue;
            }
            let link = copy.join(&name);
            if name == GIT {
                git_dir::prepare(real, &link)?;
                continue;
            }
            names.insert(name);
            if fs::read_link(&link).is_ok_and(|target| target == path) {
                continue;
            }
            remove(&link)?;
            symlink(&path, &link)?;
        }
        if !real.join(GIT).exists() {
            remove(&copy.join(GIT))?;
        }
        for entry in fs::read_dir(copy)? {
            let entry = entry?;
            // Only links are ours; a build script may have made files beside its manifest.
            if entry.path().is_symlink() && !names.contains(&entry.file_name()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() {
            // A failure may be the fault of what was resolved.
            let _ = fs::remove_file(&self.kept);
        }
    }
}

/// Whatever is in the way of a link, in a directory of ours.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes the mirror for this process. The system gives it back however the process ends.
fn hold(
    path: &Path,
    on_wait: &mut dyn FnMut(),
    unusable: &dyn Fn(io::Error) -> Failure,
) -> Result<File, Failure> {
    let file = File::create(path).map_err(unusable)?;
    let mut has_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
            Err(TryLockError::WouldBlock) if interrupt::requested() => {
                return Err(BuildError::InterruptedWaiting.into());
            }
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut has_told, true) {
                    on_wait();
                }
                std::thread::sleep(TICK);
            }
        }
    }
}

fn digest(text: &[u8]) -> String {
    Sha256::digest(text).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// Where packages lie that a workspace is built from.
struct Packages {
    /// The directory below which all lies that `..` in manifests leads to: that of the repository,
    /// or one above it.
    top: PathBuf,
    directories: BTreeSet<PathBuf>,
}

fn packages(root: &Path, members: &[PathBuf]) -> Packages {
    let repository = root.ancestors().find(|directory| directory.join(GIT).exists());
    let mut top = repository.unwrap_or(root).to_owned();
    let mut manifests: Vec<PathBuf> = members.to_vec();
    manifests.push(root.join(MANIFEST));
    let mut directories = BTreeSet::new();
    while let Some(manifest) = manifests.pop() {
        let Some(directory) = manifest.parent() else { continue };
        if !directories.insert(directory.to_owned()) {
            continue;
        }
        while !directory.starts_with(&top) {
            let Some(parent) = top.parent() else { break };
            top = parent.to_owned();
        }
        let table = fs::read_to_string(&manifest).ok().and_then(|text| text.parse().ok());
        let mut paths = Vec::new();
        relative_paths(&toml::Value::Table(table.unwrap_or_default()), &mut paths);
        for path in paths.iter().filter(|path| path.is_relative()) {
            let leads_out = path.starts_with("..");
            let path = normalised(&directory.join(path));
            let is_package = |manifest: &PathBuf| manifest.is_file();
            if leads_out && !path.starts_with(root) {
                // The other package's workspace may name more.
                manifests.extend(path.ancestors().map(|a| a.join(MANIFEST)).filter(is_package));
            } else {
                manifests.extend(Some(path.join(MANIFEST)).filter(is_package));
            }
        }
    }
    Packages { top, directories }
}

/// Every `path` below a table of a manifest, be it of a dependency, a patch or a target.
fn relative_paths(value: &toml::Value, found: &mut Vec<PathBuf>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                match value.as_str() {
                    Some(path) if key == "path" => found.push(PathBuf::from(path)),
                    _ => relative_paths(value, found),
                }
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|v| relative_paths(v, found)),
        _ => {}
    }
}

/// A path as cargo reads it: `..` goes up by name, whatever links there are.
fn normalised(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests;
