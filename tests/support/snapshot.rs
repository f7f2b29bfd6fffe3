//! What a user owns in a repository, bit for bit, so that a test can tell what a command changed.
//! It leaves out build results, and the folder and admin files that belong to nbench.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Fixture;

/// The state of a repository: index, HEAD, refs, stash, status and every file with mode and times.
#[derive(PartialEq)]
pub struct Snapshot(BTreeMap<String, Vec<u8>>);

impl Snapshot {
    pub(super) fn take(fixture: &Fixture) -> Snapshot {
        let mut parts = BTreeMap::new();
        for name in ["index", "HEAD", "packed-refs", "logs/HEAD", "logs/refs/stash", "config"] {
            let bytes = fs::read(fixture.root().join(".git").join(name)).unwrap_or_default();
            parts.insert(format!("git {name}"), bytes);
        }
        // Without this a status would itself refresh the index.
        let status = ["--no-optional-locks", "status", "--porcelain=v2", "--ignored=matching"];
        for args in [
            &["for-each-ref"][..],
            &["stash", "list"],
            &["rev-parse", "HEAD"],
            &["config", "--list", "--local"],
        ] {
            parts.insert(format!("git {args:?}"), fixture.git(args).into_bytes());
        }
        let status = fixture.git(&status);
        let ours = |line: &&str| !line.contains(".nbench") && !line.contains("target/");
        let status: Vec<&str> = status.lines().filter(ours).collect();
        parts.insert("git status".to_owned(), status.join("\n").into_bytes());
        parts.insert("git objects".to_owned(), objects(&fixture.root().join(".git/objects")));
        let mut folders = vec![fixture.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(fixture.root()).expect("inside").to_path_buf();
                if name == Path::new(".git") || is_ours(&name) {
                    continue;
                }
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    parts.insert(format!("file {}", name.display()), file(&path));
                }
            }
        }
        Snapshot(parts)
    }

    /// Names of all parts that are not equal in `other`.
    pub fn differences(&self, other: &Snapshot) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.0.keys().chain(other.0.keys()).collect();
        let differs = |name: &&&String| self.0.get(**name) != other.0.get(**name);
        names.iter().filter(differs).map(|name| (**name).clone()).collect()
    }
}

fn is_ours(name: &PathBuf) -> bool {
    name == Path::new("target") || name == Path::new(".nbench")
}

/// Mode and time of change, since a touched file costs a rebuild, and then the content.
fn file(path: &Path) -> Vec<u8> {
    let about = fs::symlink_metadata(path).expect("a file");
    let time = about.modified().expect("the platform has times");
    let mut bytes = format!("{:o} {time:?}\n", about.permissions().mode()).into_bytes();
    if about.is_symlink() {
        bytes.extend(fs::read_link(path).expect("a link").as_os_str().as_encoded_bytes());
    } else {
        bytes.extend(fs::read(path).expect("readable"));
    }
    bytes
}

/// Names of all files of an object directory: it must not grow by what we do.
fn objects(directory: &Path) -> Vec<u8> {
    let mut names = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
            names.push(entry.path().display().to_string());
        }
    }
    names.sort();
    names.join("\n").into_bytes()
}
