//! Finds out whether a side failed because a checkout lacks a file that the user has: git ignores
//! it, or it lies outside of the repository. It reads what compilers and benchmarks say and looks
//! at paths; it must not decide what a failure is.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::revisions::git::Git;

/// Most manifests below which a missing file is looked for.
const MANIFESTS: usize = 200;

/// Ignored entries that are named when a message names no file.
const NAMED: usize = 3;

/// Ignored by nearly everybody, and no input of anything.
const NO_INPUTS: [&str; 9] = [
    "target",
    ".nbench",
    "Cargo.lock",
    ".cargo",
    ".idea",
    ".vscode",
    ".DS_Store",
    "node_modules",
    ".direnv",
];

/// The user's tree and a checkout of the same repository.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trees<'t> {
    /// The root of the user's working tree.
    pub(super) user: &'t Path,
    /// The root of the checkout.
    pub(super) checkout: &'t Path,
    /// Where in both the workspace lies.
    pub(super) workspace: &'t Path,
}

impl Trees<'_> {
    /// The reason and the remedy, when `message` is about a file that only the user's tree has.
    pub(super) fn explain(&self, message: &str) -> Option<String> {
        let bases = self.bases();
        let named = candidates(message);
        named
            .iter()
            .find_map(|path| self.inside(path, &bases).or_else(|| self.outside(path, &bases)))
            .or_else(|| self.unnamed(message))
    }

    /// Directories that relative paths in messages start from, as seen from the root.
    fn bases(&self) -> Vec<PathBuf> {
        let manifests = ["ls-files", "-z", "--", ":(glob)**/Cargo.toml"];
        let mut bases = vec![self.workspace.to_owned(), PathBuf::new()];
        for manifest in Git::at(self.checkout).paths(&manifests).unwrap_or_default() {
            bases.extend(manifest.parent().map(Path::to_owned));
        }
        let mut seen = BTreeSet::new();
        bases.retain(|base| seen.insert(base.clone()));
        bases.truncate(MANIFESTS);
        bases
    }

    /// A path in the repository that git does not carry, or that is a link out of it.
    fn inside(&self, path: &Path, bases: &[PathBuf]) -> Option<String> {
        let places: Vec<PathBuf> = if path.is_absolute() {
            vec![normal(path.strip_prefix(self.checkout).ok()?)?]
        } else {
            bases.iter().filter_map(|base| normal(&base.join(path))).collect()
        };
        places.iter().filter(|place| !place.as_os_str().is_empty()).find_map(|place| {
            let is_missing = !self.checkout.join(place).exists() && self.user.join(place).exists();
            if !is_missing { None } else { self.link(place).or_else(|| self.ignored(place)) }
        })
    }

    /// The part of `place` that git ignores or takes for another repository.
    fn ignored(&self, place: &Path) -> Option<String> {
        let mut parts: Vec<&Path> =
            place.ancestors().filter(|p| !p.as_os_str().is_empty()).collect();
        parts.reverse();
        let git = Git::at(self.user);
        for part in parts {
            let (shown, full) = (place.display(), self.user.join(part));
            if full.is_dir() && full.join(".git").exists() {
                return Some(format!(
                    "`{shown}` is in your tree but in no checkout: `{}` is a git repository of its own; \
                     make it a submodule, or commit its files",
                    part.display()
                ));
            }
            let ask = ["check-ignore".as_ref(), "-q".as_ref(), "--".as_ref(), part.as_os_str()];
            if git.run(&ask).is_ok() {
                return Some(format!(
                    "`{shown}` is in your tree but in no checkout, since git ignores it: commit it, \
                     or give it to every side with `share = [{:?}]` in nbench.toml",
                    self.seen_from_workspace(part).display().to_string()
                ));
            }
        }
        None
    }

    /// The part of `place` that is a link which leads nowhere from a checkout.
    fn link(&self, place: &Path) -> Option<String> {
        let mut parts = place.ancestors().filter(|part| !part.as_os_str().is_empty());
        let link = parts.find(|part| {
            let there = self.checkout.join(part);
            there.is_symlink() && !there.exists()
        })?;
        Some(format!(
            "`{}` is a link that leads out of the repository, where a checkout has nothing: make its \
             target absolute, or commit what it leads to",
            link.display()
        ))
    }

    /// A path that leaves the repository by `..`.
    fn outside(&self, path: &Path, bases: &[PathBuf]) -> Option<String> {
        let seen = if path.is_absolute() {
            vec![above(self.checkout, path)?]
        } else {
            bases.iter().map(|base| base.join(path)).collect()
        };
        seen.iter().filter(|path| normal(path).is_none()).find_map(|path| {
            let (here, there) = (self.user.join(path), self.checkout.join(path));
            (here.exists() && !there.exists()).then(|| {
                format!(
                    "`{}` lies outside of the repository, where a checkout has nothing: name it by \
                     an absolute path, or move it into the repository",
                    path.display()
                )
            })
        })
    }

    /// Files that a message may be about that says only that some file is missing.
    fn unnamed(&self, message: &str) -> Option<String> {
        let signs = ["No such file or directory", "kind: NotFound", "os error 2)"];
        if !signs.iter().any(|sign| message.contains(sign)) {
            return None;
        }
        let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let mut ignored = Git::at(self.user).paths(&list).ok()?;
        ignored.retain(|path| {
            let known =
                |part: Component<'_>| NO_INPUTS.iter().any(|name| part.as_os_str() == *name);
            !path.components().any(known) && !self.checkout.join(path).exists()
        });
        if ignored.is_empty() {
            return None;
        }
        let more = if ignored.len() > NAMED { ", .." } else { "" };
        let named: Vec<String> = ignored
            .iter()
            .take(NAMED)
            .map(|path| format!("`{}`", self.seen_from_workspace(path).display()))
            .collect();
        Some(format!(
            "a checkout has only what git tracks, and git ignores {}{more} in your tree: if it reads \
             one of those, commit it, or give it to every side with `share = [..]` in nbench.toml",
            named.join(", ")
        ))
    }

    /// A path in the repository as `share` wants it.
    fn seen_from_workspace(&self, path: &Path) -> PathBuf {
        if let Ok(inside) = path.strip_prefix(self.workspace) {
            return inside.components().collect();
        }
        let up = self.workspace.components().map(|_| Component::ParentDir);
        up.chain(path.components()).collect()
    }
}

/// Paths that a message may name, in its order, each once.
fn candidates(message: &str) -> Vec<PathBuf> {
    let quotes = ['"', '\'', '`'];
    let mut words: Vec<&str> = Vec::new();
    for quote in quotes {
        // Every second part stands between two quotes, and may hold spaces.
        words.extend(message.lines().flat_map(|line| line.split(quote).skip(1).step_by(2)));
    }
    let parts = |c: char| c.is_whitespace() || quotes.contains(&c) || "()[]{}<>,;|=".contains(c);
    words.extend(message.split(parts));
    let mut found = modules(message);
    for word in words {
        let word = without_position(word.trim_end_matches([':', '.', '!', '?']));
        let looks_like_one = word.len() > 2
            && word.len() < 4096
            && (word.contains('/') || word.contains('.'))
            && !word.contains("://")
            && !word.contains('\0');
        if looks_like_one {
            found.push(PathBuf::from(word));
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// `src/lib.rs` of `src/lib.rs:3:1`.
fn without_position(word: &str) -> &str {
    let mut word = word;
    while let Some((path, number)) = word.rsplit_once(':')
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        word = path;
    }
    word
}

/// Files in which rustc looked for a module, from the first line of its error alone.
fn modules(message: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let words = "file not found for module `";
    for (at, _) in message.match_indices(words) {
        let rest = &message[at + words.len()..];
        let Some((module, rest)) = rest.split_once('`') else { continue };
        let sources = rest.split(|c: char| c.is_whitespace() || "()".contains(c));
        let Some(source) =
            sources.map(without_position).find(|word| word.ends_with(".rs")).map(Path::new)
        else {
            continue;
        };
        let directory = source.parent().unwrap_or(Path::new(""));
        for place in [directory.to_owned(), source.with_extension("")] {
            found.push(place.join(module).with_extension("rs"));
            found.push(place.join(module).join("mod.rs"));
        }
    }
    found
}

/// A relative path without `.` and `..`; nothing when it leads out of where it starts.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

/// `path` as `../x` seen from `tree`, when `x` lies in one of the directories that hold `tree`. The
/// root of the file system holds everything and is not meant.
fn above(tree: &Path, path: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for ancestor in tree.ancestors().skip(1) {
        up.push(Component::ParentDir);
        ancestor.parent()?;
        if let Ok(rest) = path.strip_prefix(ancestor) {
            return Some(up.join(rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Trees, candidates};
    use crate::revisions::revision::tests::Fixture;

    #[test]
    fn messages_name_files_in_many_ways() {
        let cases = [
            ("couldn't read `src/../corpus/x.txt`: No such file", "src/../corpus/x.txt"),
            ("error[E0583]: file not found for module `gen` (src/lib.rs:2:1)", "src/gen.rs"),
            ("file not found for module `gen` --> src/a/mod.rs:1:1", "src/a/gen/mod.rs"),
            ("panicked at benches/b.rs:3:5:\ncannot open data/big.bin: os error 2", "data/big.bin"),
            ("open(\"my corpus/a b.txt\") failed", "my corpus/a b.txt"),
            ("Error { path: \"/c/tree/x.json\" }", "/c/tree/x.json"),
        ];
        for (message, path) in cases {
            assert!(candidates(message).contains(&PathBuf::from(path)), "{message}");
        }
        assert!(candidates("see https://example.com/a.txt").is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn what_a_checkout_lacks_is_told_by_its_kind() {
        let fixture = Fixture::new();
        fixture.write(".gitignore", "corpus/\n*.bin\ntarget\n");
        fixture.write("app/Cargo.toml", "[package]\nname = \"app\"\n");
        fixture.write("tracked.txt", "x");
        fixture.commit("first");
        fixture.write("later.txt", "not ignored: another revision may lack it");
        fixture.write("corpus/deep/words.txt", "x");
        fixture.write("app/big.bin", "x");
        fixture.write("target/debug/x.txt", "x");
        fs::write(fixture.beside("outside.txt"), "x").unwrap();
        std::os::unix::fs::symlink("../outside.txt", fixture.path().join("link.txt")).unwrap();
        fixture.git(&["clone", "-q", ".", fixture.path().join("nested").to_str().unwrap()]);
        let checkout = fixture.beside("cache/slot/tree");
        fixture.git(&["clone", "-q", ".", checkout.to_str().unwrap()]);
        std::os::unix::fs::symlink("../outside.txt", checkout.join("link.txt")).unwrap();

        let user = fixture.path();
        let trees = |workspace| Trees { user: &user, checkout: &checkout, workspace };
        let explain = |message: &str| trees(Path::new("")).explain(message);
        let absolute = checkout.join("corpus/deep/words.txt").display().to_string();
        let above = fixture.beside("cache/slot/outside.txt").display().to_string();
        let cases = [
            ("cannot open corpus/deep/words.txt", r#"share = ["corpus"]"#),
            (&absolute, r#"share = ["corpus"]"#),
            ("read `big.bin`", r#"share = ["app/big.bin"]"#),
            ("read ../outside.txt", "outside of the repository"),
            (&above, "outside of the repository"),
            ("`link.txt`: gone", "`link.txt` is a link"),
            ("nested/tracked.txt", "repository of its own"),
            ("Os { code: 2, kind: NotFound }", "ignores `app/big.bin`, `corpus`"),
        ];
        for (message, told) in cases {
            let explained = explain(message).unwrap_or_default();
            assert!(explained.contains(told), "{message}: {explained}");
        }
        let from_member = trees(Path::new("app")).explain("read ../corpus/deep/words.txt");
        assert!(from_member.is_some_and(|told| told.contains(r#"share = ["../corpus"]"#)));
        for other in ["index out of bounds", "tracked.txt", "later.txt", "gone.txt is missing"] {
            assert_eq!(explain(other), None, "{other}");
        }
    }
}
