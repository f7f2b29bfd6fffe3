//! The git directory of a mirror: build scripts read `.git/HEAD` and ask git for the commit, and
//! hear what they hear in the user's tree. It owns that directory and must not know why the tree is
//! mirrored.
//!
//! A link to the user's directory would not do: git would take the mirror for the working tree,
//! find links where files were, call everything changed, and note that in the user's index.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::revisions::git::{Git, quoted};

/// Files that have to be the mirror's own; locks are those of whoever works in the user's
/// directory.
fn is_own(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes(), b"HEAD" | b"index" | b"config" | b"commondir" | b"gitdir")
        || name.as_encoded_bytes().ends_with(b".lock")
}

/// Makes `copy` what a working tree at `real` has as its `.git`, or brings it up to date. Where git
/// does not take `real` for one there is nothing to have.
pub(super) fn prepare(real: &Path, copy: &Path) -> io::Result<()> {
    let git = Git::at(real);
    let of = |question| git.path(&["rev-parse", question]).ok();
    let (Some(own), Some(common)) = (of("--absolute-git-dir"), of("--git-common-dir")) else {
        return super::remove(copy);
    };
    if copy.is_symlink() || copy.is_file() {
        fs::remove_file(copy)?;
    }
    fs::create_dir_all(copy)?;
    for directory in [&common, &own] {
        for entry in fs::read_dir(directory)? {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            let link = copy.join(&name);
            // One of several working trees has files of its own beside names and objects that all
            // share.
            let is_shared =
                path.is_dir() || matches!(name.to_str(), Some("packed-refs" | "shallow"));
            let is_wanted = own == common || is_shared == (directory == &common);
            if is_wanted && !is_own(&name) && fs::read_link(&link).ok().as_ref() != Some(&path) {
                super::remove(&link)?;
                symlink(&path, &link)?;
            }
        }
    }
    for entry in fs::read_dir(copy)? {
        let path = entry?.path();
        if path.is_symlink() && !path.exists() {
            fs::remove_file(path)?;
        }
    }
    for name in ["HEAD", "index"] {
        write(&copy.join(name), fs::read(own.join(name)))?;
    }
    write(&copy.join("config"), Ok(config(real, &common)?))
}

/// The user's settings, and where the files are. Git reads the format of a repository from its own
/// file only.
fn config(real: &Path, common: &Path) -> io::Result<Vec<u8>> {
    let settings = common.join("config");
    let format = Git::at(common).output(
        &[
            OsStr::new("config"),
            OsStr::new("--file"),
            settings.as_os_str(),
            OsStr::new("--get-regexp"),
            OsStr::new("^(extensions\\.|core\\.repositoryformatversion)"),
        ],
        &[],
    )?;
    let mut text = Vec::new();
    for line in String::from_utf8_lossy(&format.stdout).lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, "true"));
        if let Some((section, key)) = name.split_once('.') {
            text.extend(format!("[{section}]\n\t{key} = {value}\n").bytes());
        }
    }
    text.extend(b"[include]\n\tpath = ");
    text.extend(quoted(&settings).as_encoded_bytes());
    text.extend(b"\n[core]\n\tbare = false\n\tworktree = ");
    text.extend(quoted(real).as_encoded_bytes());
    text.push(b'\n');
    Ok(text)
}

/// Writes what differs: a build script may have told cargo to look at the time of such a file.
fn write(path: &Path, text: io::Result<Vec<u8>>) -> io::Result<()> {
    match text {
        Ok(text) if fs::read(path).is_ok_and(|old| old == text) => Ok(()),
        Ok(text) => {
            super::remove(path)?;
            fs::write(path, text)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => super::remove(path),
        Err(error) => Err(error),
    }
}
