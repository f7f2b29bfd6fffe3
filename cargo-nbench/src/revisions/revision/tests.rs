//! Revisions against real repositories in temporary directories. It must not
//! touch the repository that the tests run in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Repository;
use crate::failure::{Exit, Failure};

/// A repository of its own, removed with its owner.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    /// An empty repository on branch `main`.
    pub(crate) fn new() -> Self {
        let fixture = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(fixture.path()).unwrap();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    /// The top of the working tree.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("repository")
    }

    /// A sibling of the repository that vanishes with it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.path(), arguments)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn repository(&self) -> Repository {
        self.repository_at(&self.path())
    }

    /// The repository around a directory, with the cache of this fixture.
    pub(crate) fn repository_at(&self, path: &Path) -> Repository {
        Repository::discover(path).unwrap().with_cache(self.beside("cache"))
    }

    /// Runs git as [`Fixture::git`], which also sees the objects of snapshots.
    pub(crate) fn git_with_snapshots(&self, arguments: &[&str]) -> String {
        let repository = self.repository();
        let output = repository.objects().map(|objects| {
            Command::new("git")
                .current_dir(self.path())
                .args(arguments)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
                .output()
                .unwrap()
        });
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    }

    /// Everything of git's that must survive us, as bytes.
    pub(crate) fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let git = self.path().join(".git");
        let mut state = BTreeMap::new();
        for name in ["index", "HEAD", "config", "ORIG_HEAD", "packed-refs"] {
            state.insert(name.to_owned(), fs::read(git.join(name)).unwrap_or_default());
        }
        state.insert("files".to_owned(), files_below(&git).join("\n").into_bytes());
        let listed = [
            ("refs", &["for-each-ref"][..]),
            ("stash", &["stash", "list"]),
            ("worktrees", &["worktree", "list", "--porcelain"]),
            ("status", &["--no-optional-locks", "status", "--porcelain=v2", "--ignored"]),
            ("reflog", &["reflog"]),
        ];
        for (name, arguments) in listed {
            state.insert(name.to_owned(), self.git(arguments).into_bytes());
        }
        state
    }
}

/// Every file below a directory, with its size.
fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            found.push(format!("{} {}", entry.path().display(), metadata.len()));
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Runs git with an identity of its own and without the user's settings.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn failure<T>(result: Result<T, Failure>) -> Failure {
    result.err().unwrap()
}

#[test]
fn resolves_names_hashes_and_merge_bases() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let first = fixture.commit("first");
    fixture.git(&["tag", "-a", "v1", "-m", "annotated"]);
    fixture.git(&["checkout", "-q", "-b", "topic"]);
    fixture.write("b", "2");
    let topic = fixture.commit("on topic\n\nbody");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("c", "3");
    let main = fixture.commit("on main");

    let repository = fixture.repository();
    let commit = |spec: &str| repository.resolve(spec).unwrap().commit;
    assert_eq!(commit("v1"), first, "a tag object peels to its commit");
    assert_eq!(commit("HEAD"), main);
    assert_eq!(commit("HEAD~1"), first);
    assert_eq!(commit(topic.get(..8).unwrap()), topic);
    assert_eq!(commit(":/on topic"), topic);
    assert_eq!(commit("topic..."), first);
    assert_eq!(commit("topic...main"), first);
    assert_eq!(commit("...topic"), first);

    let revision = repository.resolve("topic").unwrap();
    assert_eq!((revision.label.as_str(), revision.subject.as_str()), ("topic", "on topic"));
    assert_eq!(revision.parents, std::slice::from_ref(&first));
    assert_eq!(revision.tree, fixture.git(&["rev-parse", "topic^{tree}"]));
    assert!(!revision.snapshot && revision.dirty.is_none());

    let order = repository.first_parent_order(10).unwrap();
    let commits: Vec<_> = order.iter().map(|r| r.commit.clone()).collect();
    assert_eq!(commits, [main, first]);
    assert_eq!(repository.first_parent_order(1).unwrap().len(), 1);
}

#[test]
fn unknown_revisions_come_with_the_command_that_helps() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("first");
    fixture.git(&["branch", "feature"]);
    let repository = fixture.repository();

    let typo = failure(repository.resolve("featrue"));
    assert_eq!(typo.exit, Exit::Usage);
    assert_eq!(typo.hint.as_deref(), Some("did you mean `feature`?"));
    let swapped = failure(repository.resolve("mian"));
    assert_eq!(swapped.hint.as_deref(), Some("did you mean `main`?"));
    let ancestor = failure(repository.resolve("mian~1"));
    assert_eq!(ancestor.hint.as_deref(), Some("did you mean `main~1`?"));
    for (base, meant) in
        [("mian...", "main..."), ("master...", "main..."), ("main...featrue", "main...feature")]
    {
        let hint = failure(repository.resolve(base)).hint;
        assert_eq!(hint, Some(format!("did you mean `{meant}`?")), "{base}");
    }
    let deep = failure(repository.resolve("main~7")).hint.unwrap();
    assert!(deep.contains("`main` has fewer commits"), "{deep}");
    let filter = failure(repository.resolve("parse/json")).hint.unwrap();
    assert!(filter.contains("--filter parse/json") && !filter.contains("fetch"), "{filter}");
    let hash = "1".repeat(40);
    let hint = failure(repository.resolve(&hash)).hint.unwrap();
    assert!(!hint.contains("fetch"), "there is nothing to fetch from: {hint}");
    fixture.git(&["remote", "add", "origin", "nowhere"]);
    let hint = failure(repository.resolve(&hash)).hint.unwrap();
    assert!(hint.contains(&format!("git fetch origin {hash}")), "{hint}");
    let range = failure(repository.resolve("main..feature"));
    assert!(range.error.contains("range"), "{}", range.error);
    let option = failure(repository.resolve("--all"));
    assert_eq!(option.exit, Exit::Usage);
}

#[test]
fn a_shallow_clone_names_how_to_deepen() {
    let fixture = Fixture::new();
    for text in ["1", "2", "3"] {
        fixture.write("a", text);
        fixture.commit(text);
    }
    let clone = fixture.beside("clone");
    let url = format!("file://{}", fixture.path().display());
    git(&fixture.path(), &["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    let repository = fixture.repository_at(&clone);
    assert!(repository.is_shallow());
    let hint = failure(repository.resolve("HEAD~2")).hint.unwrap();
    assert!(hint.contains("git fetch --deepen=2 origin"), "{hint}");
    let hint = failure(repository.default_reference()).hint.unwrap();
    assert!(hint.contains("git fetch --deepen=1 origin"), "{hint}");
    assert_eq!(repository.first_parent_order(10).unwrap().len(), 1);
}

#[test]
fn a_clean_tree_is_head_itself() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.write(".gitignore", "ignored\n");
    let head = fixture.commit("first");
    fixture.write("ignored", "does not count");
    let tree = fixture.repository().working_tree().unwrap();
    assert_eq!((tree.commit, tree.snapshot, tree.dirty), (head, false, None));
    assert_eq!(tree.label, "@tree");
}

#[test]
#[cfg(unix)]
fn a_snapshot_holds_everything_and_changes_nothing() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fixture = Fixture::new();
    for name in ["kept", "changed", "deleted", "renamed", "script", "staged"] {
        fixture.write(name, &format!("{name} with a line of text\n"));
    }
    fixture.write(".gitignore", "ignored\n");
    fixture.commit("first");
    fixture.write("stashed", "x");
    fixture.git(&["stash", "push", "-q", "-u"]);
    fixture.write("changed", "other\n");
    fs::remove_file(fixture.path().join("deleted")).unwrap();
    fs::rename(fixture.path().join("renamed"), fixture.path().join("moved")).unwrap();
    let script = fixture.path().join("script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("kept", fixture.path().join("link")).unwrap();
    fixture.write("staged", "staged\n");
    fixture.git(&["add", "staged"]);
    fixture.write("staged", "then changed again\n");
    fixture.write("new/file with space", "untracked\n");
    fixture.write("intended", "intended\n");
    fixture.git(&["add", "-N", "intended"]);
    fixture.write("ignored", "ignored\n");

    let before = fixture.state();
    let repository = fixture.repository();
    let snapshot = repository.working_tree().unwrap();
    assert_eq!(fixture.state(), before);

    assert!(snapshot.snapshot);
    assert_eq!(snapshot.dirty.as_ref(), Some(&snapshot.tree));
    assert_eq!(snapshot.parents, [fixture.git(&["rev-parse", "HEAD"])]);
    let listing = fixture.git_with_snapshots(&["ls-tree", "-r", &snapshot.commit]);
    let entries: Vec<(&str, &str)> = listing
        .lines()
        .map(|line| (line.split(' ').next().unwrap(), line.split('\t').nth(1).unwrap()))
        .collect();
    let expected = [
        ("100644", ".gitignore"),
        ("100644", "changed"),
        ("100644", "intended"),
        ("100644", "kept"),
        ("120000", "link"),
        ("100644", "moved"),
        ("100644", "new/file with space"),
        ("100755", "script"),
        ("100644", "staged"),
    ];
    assert_eq!(entries, expected);
    let staged = format!("{}:staged", snapshot.commit);
    assert_eq!(fixture.git_with_snapshots(&["show", &staged]), "then changed again");
    let again = repository.working_tree().unwrap();
    assert_eq!(again.commit, snapshot.commit, "equal sources are one commit");

    let paths = repository.changed_paths("HEAD", &snapshot.commit).unwrap();
    let changed =
        ["changed", "deleted", "intended", "link", "moved", "new/file with space", "renamed"];
    assert_eq!(paths.get(..7).unwrap(), changed);
    assert!(repository.changed_paths("HEAD", "nothing").is_err());
}

#[test]
fn a_change_of_equal_length_in_the_same_instant_is_seen() {
    let fixture = Fixture::new();
    for round in 0..20 {
        fixture.write("a", &format!("{round:04} a"));
        fixture.commit("before");
        fixture.write("a", &format!("{round:04} b"));
        let snapshot = fixture.repository().working_tree().unwrap();
        assert!(snapshot.dirty.is_some(), "round {round}");
    }
}

#[test]
fn files_that_git_is_told_to_overlook_are_seen() {
    let fixture = Fixture::new();
    for name in ["assumed", "skipped", "both", "absent"] {
        fixture.write(name, "1");
    }
    fixture.commit("first");
    fixture.git(&["update-index", "--assume-unchanged", "assumed", "both"]);
    fixture.git(&["update-index", "--skip-worktree", "skipped", "both", "absent"]);
    for name in ["assumed", "skipped", "both"] {
        fixture.write(name, "22");
    }
    fs::remove_file(fixture.path().join("absent")).unwrap();
    let before = fixture.state();
    let snapshot = fixture.repository().working_tree().unwrap();
    assert_eq!(fixture.state(), before);
    for (name, text) in [("assumed", "22"), ("skipped", "22"), ("both", "22"), ("absent", "1")] {
        let file = format!("{}:{name}", snapshot.commit);
        assert_eq!(fixture.git_with_snapshots(&["show", &file]), text, "{name}");
    }
}

#[test]
fn a_branch_without_commits_has_a_snapshot_but_no_reference() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let repository = fixture.repository();
    let snapshot = repository.working_tree().unwrap();
    assert!(snapshot.snapshot && snapshot.parents.is_empty());
    assert_eq!(failure(repository.default_reference()).exit, Exit::Usage);
}

#[test]
fn snapshots_work_from_a_linked_worktree() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("first");
    let linked = fixture.beside("linked");
    fixture.git(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    fs::write(linked.join("a"), "2").unwrap();
    let repository = fixture.repository_at(&linked);
    assert_eq!(repository.root(), linked);
    assert_eq!(repository.common_dir(), fixture.path().join(".git"));
    let snapshot = repository.working_tree().unwrap();
    assert_eq!(fixture.git_with_snapshots(&["show", &format!("{}:a", snapshot.commit)]), "2");
    assert!(fixture.repository().working_tree().unwrap().dirty.is_none());
}

#[test]
fn a_separate_git_directory_is_not_taken_for_the_working_tree() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("first");
    let (tree, git_dir) = (fixture.beside("tree"), fixture.path().join("store"));
    let separate = format!("--separate-git-dir={}", git_dir.display());
    fs::create_dir(&tree).unwrap();
    git(&tree, &["init", "-q", "-b", "main", &separate]);
    fs::write(tree.join("b"), "2").unwrap();
    let repository = fixture.repository_at(&tree);
    assert_eq!(repository.root(), tree);
    assert_eq!(repository.common_dir(), git_dir);
    let snapshot = repository.working_tree().unwrap();
    let listed = ["ls-tree", "--name-only", &snapshot.commit];
    assert_eq!(repository.git().line(&listed).unwrap(), "b");
}

#[test]
fn changes_inside_a_submodule_are_refused() {
    let inner = Fixture::new();
    inner.write("x", "1");
    inner.commit("inner");
    let fixture = Fixture::new();
    fixture.git(&["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "sub"]);
    fixture.commit("with submodule");
    assert!(fixture.repository().working_tree().unwrap().dirty.is_none());
    fixture.write("sub/x", "2");
    let refused = failure(fixture.repository().working_tree());
    assert!(refused.error.contains("`sub`"), "{}", refused.error);
}

#[test]
fn the_default_reference_follows_the_documented_order() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let first = fixture.commit("first");
    let root = failure(fixture.repository().default_reference());
    assert_eq!(root.exit, Exit::Usage);
    assert!(root.hint.is_some());

    fixture.write("a", "2");
    let second = fixture.commit("second");
    let (revision, why) = fixture.repository().default_reference().unwrap();
    assert_eq!(revision.commit, first);
    assert_eq!(why, "nothing here is ahead of `main`: compared with HEAD~1");

    fixture.git(&["checkout", "-q", "-b", "topic"]);
    for text in ["3", "4"] {
        fixture.write("a", text);
        fixture.commit(text);
    }
    let (revision, why) = fixture.repository().default_reference().unwrap();
    assert_eq!((revision.commit, revision.label.as_str()), (second, "main..."));
    assert_eq!(why, "compared with the merge base with `main`");

    fixture.git(&["update-ref", "refs/remotes/origin/trunk", &first]);
    fixture.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    let (revision, _) = fixture.repository().default_reference().unwrap();
    assert_eq!((revision.commit, revision.label.as_str()), (first, "origin/trunk..."));

    fixture.write("untracked", "x");
    let (revision, why) = fixture.repository().default_reference().unwrap();
    assert_eq!(revision.commit, fixture.git(&["rev-parse", "HEAD"]));
    assert_eq!(why, "the working tree is dirty: compared with HEAD");
}

#[test]
fn no_repository_is_a_usage_failure() {
    let directory = tempfile::tempdir().unwrap();
    let result = Repository::discover(directory.path());
    assert_eq!(failure(result).exit, Exit::Usage);
}

#[test]
fn every_format_of_a_repository_is_read() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("repository");
        fs::create_dir(&path).unwrap();
        let made = Command::new("git").current_dir(&path).args(["init", "-q", format]).output();
        if !made.unwrap().status.success() {
            let told = format!("skipped {format}: this git does not know it\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes());
            continue;
        }
        fs::write(path.join("a"), "1").unwrap();
        git(&path, &["add", "-A"]);
        git(&path, &["commit", "-q", "-m", "first"]);
        git(&path, &["tag", "v1"]);
        fs::write(path.join("a"), "2").unwrap();
        let cache = directory.path().join("cache");
        let repository = Repository::discover(&path).unwrap().with_cache(cache.clone());
        let first = repository.resolve("v1").unwrap();
        let snapshot = repository.working_tree().unwrap();
        assert_eq!(repository.changed_paths("v1", &snapshot.commit).unwrap(), ["a"], "{format}");
        assert_eq!(repository.first_parent_order(5).unwrap().len(), 1, "{format}");
        let slots =
            crate::revisions::checkout::Slots::open_in(&repository, &cache, 1 << 40).unwrap();
        let wanted = crate::revisions::checkout::CheckoutRequest {
            flags: "",
            workspace: Path::new(""),
            share: &[],
        };
        let held = slots.acquire_all(&[&first, &snapshot], wanted).unwrap();
        let texts: Vec<_> =
            held.iter().map(|slot| fs::read_to_string(slot.tree().join("a")).unwrap()).collect();
        assert_eq!(texts, ["1", "2"], "{format}");
        assert_eq!(git(held[0].tree(), &["describe", "--tags"]), "v1", "{format}");
    }
}

#[test]
#[cfg(unix)]
fn a_repository_that_cannot_be_written_to_has_a_snapshot() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("first");
    fixture.write("a", "2");
    let git_dir = fixture.path().join(".git");
    let permit = |mode| {
        let mut left = vec![git_dir.clone()];
        while let Some(place) = left.pop() {
            for entry in fs::read_dir(&place).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    left.push(entry.path());
                }
            }
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    fs::set_permissions(git_dir.join("index"), fs::Permissions::from_mode(0o444)).unwrap();
    permit(0o555);
    // Root may write all the same; then only the bytes below show that we did not.
    let before = files_below(&git_dir);
    let snapshot = fixture.repository().working_tree();
    assert_eq!(files_below(&git_dir), before);
    permit(0o755);
    assert!(snapshot.unwrap().dirty.is_some());
}

#[test]
fn a_repository_without_a_commit_in_the_tree_is_left_out_and_named() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("first");
    fixture.write("new", "untracked");
    for place in ["play", "deep/er [x]"] {
        let nested = fixture.path().join(place);
        fs::create_dir_all(&nested).unwrap();
        git(&nested, &["init", "-q"]);
        fs::write(nested.join("file"), "x").unwrap();
    }
    let repository = fixture.repository();
    let snapshot = repository.working_tree().unwrap();
    assert_eq!(repository.changed_paths("HEAD", &snapshot.commit).unwrap(), ["new"]);
    let remarks = repository.remarks();
    assert_eq!(remarks.len(), 2);
    assert!(remarks.iter().any(|remark| remark.contains("`play/`")), "{remarks:?}");
    assert!(repository.remarks().is_empty());
}

#[test]
fn settings_of_the_user_do_not_change_what_is_read() {
    let inner = Fixture::new();
    inner.write("x", "1");
    inner.commit("inner");
    let fixture = Fixture::new();
    fixture.git(&["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "sub"]);
    fixture.write("\u{e9}/a", "1");
    let first = fixture.commit("  the subject\n\nbody");
    fixture.write("\u{e9}/a", "2");
    for (name, value) in [
        ("submodule.recurse", "true"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.external", "/bin/false"),
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("status.branch", "true"),
        ("status.short", "true"),
        ("status.showUntrackedFiles", "no"),
        ("log.showSignature", "true"),
        ("i18n.logOutputEncoding", "latin1"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
        ("core.pager", "/bin/false"),
        ("core.fsmonitor", "/bin/false"),
        ("core.hooksPath", "/nowhere"),
        ("core.abbrev", "4"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("checkout.defaultRemote", "nobody"),
        ("fetch.recurseSubmodules", "true"),
    ] {
        fixture.git(&["config", name, value]);
    }
    let repository = fixture.repository();
    let revision = repository.resolve("HEAD").unwrap();
    assert_eq!((revision.commit.as_str(), revision.subject.as_str()), (&*first, "the subject"));
    let snapshot = repository.working_tree().unwrap();
    let changed = repository.changed_paths("HEAD", &snapshot.commit).unwrap();
    assert_eq!(changed, ["\u{e9}/a"]);
    let wanted = crate::revisions::checkout::CheckoutRequest {
        flags: "",
        workspace: Path::new(""),
        share: &[],
    };
    let cache = fixture.beside("cache");
    let slots = crate::revisions::checkout::Slots::open_in(&repository, &cache, 1 << 40).unwrap();
    for (revision, text) in [(&revision, "1"), (&snapshot, "2"), (&revision, "1")] {
        let slot = slots.acquire(revision, wanted).unwrap();
        assert_eq!(fs::read_to_string(slot.tree().join("\u{e9}/a")).unwrap(), text);
        assert_eq!(fs::read_to_string(slot.tree().join("sub/x")).unwrap(), "1");
    }
    fixture.write("sub/x", "2");
    assert!(repository.working_tree().is_err(), "a change that settings would hide");
}

#[test]
fn attributes_and_filters_of_the_repository_hold_in_checkouts() {
    let fixture = Fixture::new();
    fixture.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
    fixture.git(&["config", "filter.shout.clean", "tr A-Z a-z"]);
    fixture.write(".git/info/attributes", "*.shout filter=shout\n*.crlf text eol=crlf\n");
    fixture.write("word.shout", "HELLO");
    fixture.write("line.crlf", "a\r\n");
    fixture.commit("first");
    let repository = fixture.repository();
    let head = repository.resolve("HEAD").unwrap();
    let cache = fixture.beside("cache");
    let slots = crate::revisions::checkout::Slots::open_in(&repository, &cache, 1 << 40).unwrap();
    let wanted = crate::revisions::checkout::CheckoutRequest {
        flags: "",
        workspace: Path::new(""),
        share: &[],
    };
    let slot = slots.acquire(&head, wanted).unwrap();
    let read = |name: &str| fs::read_to_string(slot.tree().join(name)).unwrap();
    assert_eq!((read("word.shout").as_str(), read("line.crlf").as_str()), ("HELLO", "a\r\n"));
    assert!(repository.working_tree().unwrap().dirty.is_none());
}

#[test]
fn a_partial_clone_is_checked_out_without_growing() {
    let origin = Fixture::new();
    origin.write("a", "old");
    origin.commit("first");
    origin.write("a", "new");
    origin.commit("second");
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let clone = origin.beside("clone");
    let url = format!("file://{}", origin.path().display());
    git(&origin.path(), &["clone", "-q", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    let before = files_below(&clone.join(".git"));
    let repository = origin.repository_at(&clone);
    assert!(repository.resolve(&"1".repeat(40)).is_err(), "and nothing is fetched");
    let first = repository.resolve("HEAD~1").unwrap();
    let cache = origin.beside("cache");
    let slots = crate::revisions::checkout::Slots::open_in(&repository, &cache, 1 << 40).unwrap();
    let wanted = crate::revisions::checkout::CheckoutRequest {
        flags: "",
        workspace: Path::new(""),
        share: &[],
    };
    let slot = slots.acquire(&first, wanted).unwrap();
    assert_eq!(fs::read_to_string(slot.tree().join("a")).unwrap(), "old");
    let text = repository.file_at(&first, Path::new("a")).unwrap();
    assert_eq!(text.as_deref(), Some("old"));
    assert_eq!(files_below(&clone.join(".git")), before);
}
