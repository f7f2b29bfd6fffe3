//! The git repository of one checkout: a `.git` directory of its own that borrows objects from the
//! user's repository, carries its names and settings, and is all that a build script ever writes
//! to. It must not write anything outside of that directory.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cache;
use crate::failure::Failure;
use crate::revisions::git::{Git, quoted};

/// Whose objects, names and settings a private repository has.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The git directory that all working trees of the repository share.
    common: PathBuf,
    /// Objects that are not there yet: those of snapshots.
    more: Option<PathBuf>,
    /// `sha1` or `sha256`.
    format: String,
    /// Names in the form of git's own file for them.
    names: Vec<u8>,
}

impl Source {
    /// The repository with this git directory.
    pub(super) fn read(common: &Path, more: Option<&Path>) -> Result<Self, Failure> {
        // Named outright, git asks neither who owns it nor whether it is bare, and does not go to a
        // working tree that its settings name: that of a submodule that is not checked out
        // any more is not there.
        let git = Git::at(common)
            .env("GIT_DIR", common)
            .env("GIT_WORK_TREE", common)
            .env("GIT_NO_LAZY_FETCH", "1");
        // Git before 2.25 has no other format and does not know the question.
        let format = git.line(&["rev-parse", "--show-object-format"]);
        let mut names = b"# pack-refs with: sorted \n".to_vec();
        names.extend(git.run(&[
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/heads",
            "refs/remotes",
            "refs/replace",
            "refs/tags",
        ])?);
        Ok(Self {
            common: common.to_owned(),
            more: more.map(Path::to_owned),
            format: format.unwrap_or_else(|_| "sha1".to_owned()),
            names,
        })
    }

    /// Where the repository keeps the git directories of its submodules.
    pub(super) fn modules(&self) -> PathBuf {
        self.common.join("modules")
    }

    fn config(&self) -> Vec<u8> {
        let is_default = self.format == "sha1";
        let mut text =
            format!("[core]\n\trepositoryformatversion = {}\n", if is_default { 0 } else { 1 })
                .into_bytes();
        if !is_default {
            text.extend(format!("[extensions]\n\tobjectFormat = {}\n", self.format).bytes());
        }
        // Filters, line ends, remotes: what holds in the user's tree holds here.
        text.extend(b"[include]\n\tpath = ");
        text.extend(quoted(&self.common.join("config")).as_encoded_bytes());
        text.extend(
            b"\n[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = false\n\
              \tsplitIndex = false\n\tsparseCheckout = false\n[index]\n\tsparse = false\n\
              [submodule]\n\trecurse = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n",
        );
        text
    }

    fn alternates(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let own = self.common.join("objects");
        for path in [Some(&own), self.more.as_ref()].into_iter().flatten() {
            let bytes = path.as_os_str().as_encoded_bytes();
            if bytes.first().is_some_and(|b| matches!(b, b'"' | b'#')) || bytes.contains(&b'\n') {
                text.extend(quoted(path).as_encoded_bytes());
            } else {
                text.extend(bytes);
            }
            text.push(b'\n');
        }
        text
    }
}

/// The git directory of a checkout.
pub(super) fn git_dir(tree: &Path) -> PathBuf {
    tree.join(".git")
}

/// Whether there is one that can be brought up to date.
pub(super) fn exists(tree: &Path) -> bool {
    cache::is_directory(tree)
        && cache::is_directory(&git_dir(tree))
        && git_dir(tree).join("HEAD").is_file()
}

/// Makes the repository of `tree`, or brings it up to the state of its source. `links` are paths
/// that lead out of the checkout, which git is to overlook.
pub(super) fn prepare(tree: &Path, source: &Source, links: &[PathBuf]) -> Result<(), Failure> {
    let directory = git_dir(tree);
    prepare_in(&directory, source, links)
        .map_err(|error| cache::failure("write", &directory, &error))
}

fn prepare_in(directory: &Path, source: &Source, links: &[PathBuf]) -> io::Result<()> {
    for part in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(directory.join(part))?;
    }
    // A killed git leaves its locks; nobody else can hold them here.
    for name in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"] {
        let _ = fs::remove_file(directory.join(name));
    }
    write(&directory.join("objects/info/alternates"), &source.alternates())?;
    write(&directory.join("config"), &source.config())?;
    write(&directory.join("packed-refs"), &source.names)?;
    for name in ["shallow", "info/grafts", "info/attributes"] {
        copy_or_remove(&source.common.join(name), &directory.join(name))?;
    }
    let mut exclude = read(&source.common.join("info/exclude"))?.unwrap_or_default();
    for link in links {
        exclude.extend(b"\n/");
        exclude.extend(link.as_os_str().as_encoded_bytes());
    }
    write(&directory.join("info/exclude"), &exclude)?;
    #[cfg(unix)]
    link_keys(&source.common, directory)?;
    let head = directory.join("HEAD");
    if !head.is_file() {
        write(&head, b"ref: refs/heads/nbench\n")?;
    }
    Ok(())
}

/// The filter of git-crypt looks for its key in the git directory.
#[cfg(unix)]
fn link_keys(common: &Path, directory: &Path) -> io::Result<()> {
    let (keys, link) = (common.join("git-crypt"), directory.join("git-crypt"));
    if keys.is_dir() && link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(keys, link)?;
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn copy_or_remove(from: &Path, to: &Path) -> io::Result<()> {
    match read(from)? {
        Some(bytes) => write(to, &bytes),
        None => match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Writes what differs: a build script may have told cargo to look at the time of such a file.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if read(path)?.as_deref() == Some(bytes) {
        return Ok(());
    }
    cache::write_whole(path, bytes)
}
