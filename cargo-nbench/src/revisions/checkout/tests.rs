//! Checkouts of real repositories in cache directories of their own. It must
//! not read the user's cache.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{CheckoutRequest, Slot, Slots, disk, seed_lock_files, seed_target};
use crate::failure::{Exit, Failure};
use crate::revisions::revision::Revision;
use crate::revisions::revision::tests::{Fixture, git};

const LIMIT: u64 = 1 << 40;

impl Slots {
    /// The checkout of one revision.
    pub(crate) fn acquire(
        &self,
        revision: &Revision,
        wanted: CheckoutRequest<'_>,
    ) -> Result<Slot, Failure> {
        self.acquire_all(&[revision], wanted).map(|mut slots| slots.remove(0))
    }
}

impl Slot {
    fn commit(&self) -> Option<&str> {
        self.meta.commit.as_deref()
    }
}

fn open(fixture: &Fixture) -> Slots {
    Slots::open_in(&fixture.repository(), &fixture.beside("cache"), LIMIT).unwrap()
}

fn wanted() -> CheckoutRequest<'static> {
    CheckoutRequest { flags: "flags", workspace: Path::new(""), share: &[] }
}

fn acquire(fixture: &Fixture, spec: &str) -> Slot {
    let revision = fixture.repository().resolve(spec).unwrap();
    open(fixture).acquire(&revision, wanted()).unwrap()
}

fn read(slot: &Slot, name: &str) -> String {
    fs::read_to_string(slot.tree().join(name)).unwrap()
}

/// Two commits that differ in `a` and share `b`.
fn two_commits() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a", "old");
    fixture.write("b", "same");
    fixture.commit("first");
    fixture.write("a", "new");
    fixture.commit("second");
    fixture
}

#[test]
fn a_slot_is_a_repository_of_its_own_that_the_users_knows_nothing_of() {
    let fixture = two_commits();
    fixture.git(&["tag", "-a", "v1", "-m", "annotated", "HEAD~1"]);
    let before = fixture.state();
    let slot = acquire(&fixture, "HEAD~1");
    assert_eq!(read(&slot, "a"), "old");
    assert_eq!(git(slot.tree(), &["status", "--porcelain"]), "");
    assert_eq!(git(slot.tree(), &["rev-parse", "HEAD"]), slot.commit().unwrap());
    assert_eq!(git(slot.tree(), &["describe"]), "v1");
    // Build scripts read this file, and some write below its directory.
    let head = fs::read_to_string(slot.tree().join(".git/HEAD")).unwrap();
    assert_eq!(head.trim(), slot.commit().unwrap());
    git(slot.tree(), &["config", "core.hooksPath", "hooks"]);
    git(slot.tree(), &["tag", "theirs"]);
    assert_eq!(fixture.state(), before, "while it is held");
    drop(slot);
    assert_eq!(fixture.state(), before);
}

#[test]
fn going_to_another_commit_rewrites_only_what_differs() {
    let fixture = two_commits();
    let slot = acquire(&fixture, "HEAD~1");
    let modified =
        |slot: &Slot, name: &str| fs::metadata(slot.tree().join(name)).unwrap().modified().unwrap();
    let (a, b) = (modified(&slot, "a"), modified(&slot, "b"));
    let tree = slot.tree().to_owned();
    fs::write(tree.join("generated"), "by a build script").unwrap();
    fs::create_dir(slot.target_dir()).unwrap();
    assert!(!slot.reused);
    drop(slot);
    let slot = acquire(&fixture, "HEAD");
    assert_eq!(slot.tree(), tree, "the free slot is used again");
    assert_eq!(read(&slot, "a"), "new");
    assert!(modified(&slot, "a") > a);
    assert_eq!(modified(&slot, "b"), b);
    assert!(!slot.tree().join("generated").exists());
    assert!(slot.target_dir().is_dir());
}

#[test]
fn what_builds_generated_stays_with_its_tree_and_never_meets_another() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "made\n");
    fixture.write("Cargo.toml", "[package]\nname = \"demo\"\n");
    fixture.write("checked-in", "as committed");
    fixture.commit("first");
    fixture.write("a", "more");
    fixture.commit("second");
    let state = "release/.fingerprint/demo-0123456789abcdef/run-build-script-build-script-build";
    let (slot, state) = {
        let slot = acquire(&fixture, "HEAD");
        let state = slot.target_dir().join(state);
        fs::create_dir_all(state.parent().unwrap()).unwrap();
        (slot, state)
    };
    let tree = slot.tree().to_owned();
    let build = || {
        fs::write(&state, "").unwrap();
        fs::write(tree.join("made"), "ignored").unwrap();
        fs::write(tree.join("untracked"), "x").unwrap();
    };
    build();
    drop(slot);
    drop(acquire(&fixture, "HEAD"));
    assert!(tree.join("made").exists() && tree.join("untracked").exists() && state.exists());
    // A file that git restores is one that the build script has to write again.
    fs::write(tree.join("checked-in"), "as generated").unwrap();
    let slot = acquire(&fixture, "HEAD");
    assert_eq!(read(&slot, "checked-in"), "as committed");
    assert!(tree.join("made").exists() && !state.exists());
    drop(slot);
    build();
    let slot = acquire(&fixture, "HEAD~1");
    assert_eq!(slot.tree(), tree);
    assert!(!tree.join("made").exists() && !tree.join("untracked").exists() && !state.exists());
    drop(slot);
    // What a killed run left is not known for what some build made.
    build();
    kill(acquire(&fixture, "HEAD~1"));
    fs::write(tree.parent().unwrap().join("meta.json"), "{}").unwrap();
    drop(acquire(&fixture, "HEAD~1"));
    assert!(!tree.join("made").exists() && !state.exists());
}

#[test]
fn two_workspaces_of_a_repository_never_share_a_target_directory() {
    let fixture = two_commits();
    let revision = fixture.repository().resolve("HEAD").unwrap();
    let slots = open(&fixture);
    let at = |place: &'static str| CheckoutRequest { workspace: Path::new(place), ..wanted() };
    let built = |slot: Slot| {
        let artifact = slot.target_dir().join("artifact");
        let found = artifact.exists();
        fs::create_dir_all(slot.target_dir()).unwrap();
        fs::write(artifact, "x").unwrap();
        (slot.tree().to_owned(), slot.reused, found)
    };
    let (root, ..) = built(slots.acquire(&revision, at("")).unwrap());
    let (other, reused, found) = built(slots.acquire(&revision, at("other")).unwrap());
    assert!(root != other && !reused && !found);
    assert_eq!(built(slots.acquire(&revision, at("")).unwrap()), (root, true, true));
    assert_eq!(built(slots.acquire(&revision, at("other")).unwrap()), (other, true, true));
    // With every slot taken once, a third one gets the oldest, without what was built there.
    let held: Vec<Slot> = (0..16).map(|_| slots.acquire(&revision, at("third")).unwrap()).collect();
    for slot in held {
        assert!(!slot.reused && !slot.target_dir().exists());
    }
}

#[test]
#[cfg(unix)]
fn shared_inputs_are_links_that_nothing_deletes_through() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new();
    fixture.write(".gitignore", "/corpus\n/big.bin\n");
    fixture.write("a", "1");
    fixture.commit("first");
    fixture.write("corpus/words", "seven");
    fixture.write("deep/er/input", "untracked");
    fixture.write("big.bin", "x");
    let repository = fixture.repository();
    let (head, slots) = (repository.resolve("HEAD").unwrap(), open(&fixture));
    let share = ["corpus", "big.bin", "deep/er"].map(Into::into);
    let with = |share| slots.acquire(&head, CheckoutRequest { share, ..wanted() });
    for _ in 0..2 {
        let slot = with(&share).unwrap();
        assert_eq!(read(&slot, "corpus/words"), "seven");
        assert_eq!(read(&slot, "deep/er/input"), "untracked");
        assert_eq!(git(slot.tree(), &["status", "--porcelain"]), "");
    }
    let slot = with(&share[..1]).unwrap();
    assert!(slot.tree().join("corpus").is_symlink() && !slot.tree().join("big.bin").exists());
    drop(slot);

    // A revision that tracks such a path has its own.
    fixture.write("aside/corpus", "x");
    fs::rename(fixture.path().join("corpus"), fixture.beside("corpus")).unwrap();
    fixture.write(".gitignore", "/big.bin\n");
    fixture.write("corpus/words", "tracked");
    let tracking = fixture.commit("a corpus of its own");
    fixture.git(&["checkout", "-q", "HEAD~1"]);
    symlink(fixture.beside("corpus"), fixture.path().join("corpus")).unwrap();
    let tracking = repository.resolve(&tracking).unwrap();
    let slot =
        slots.acquire(&tracking, CheckoutRequest { share: &share[..1], ..wanted() }).unwrap();
    assert_eq!(read(&slot, "corpus/words"), "tracked");
    drop(slot);
    assert!(disk::clean_in(&fixture.beside("cache"), None).unwrap() > 0);
    assert_eq!(fs::read_to_string(fixture.path().join("corpus/words")).unwrap(), "seven");

    for (path, told) in [("gone", "does not exist"), ("a", "git tracks")] {
        let share = [path.into()];
        let failure =
            slots.acquire(&head, CheckoutRequest { share: &share, ..wanted() }).unwrap_err();
        assert!(failure.error.contains(told), "{}", failure.error);
    }
}

#[test]
#[cfg(unix)]
fn only_slots_of_ours_are_deleted_and_links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let fixture = two_commits();
    drop(acquire(&fixture, "HEAD"));
    let (cache, outside) = (fixture.beside("cache"), fixture.beside("outside"));
    let repository = cache.join(crate::cache::repository_name(fixture.repository().common_dir()));
    let meta = fs::read(repository.join("slot-00/meta.json")).unwrap();
    let kept = [
        cache.join("games/slot-machine/save.txt"),
        cache.join("0123456789abcdef/slot-00/save.txt"),
        cache.join("stand-ins/mine/save.txt"),
        repository.join("slot-07/save.txt"),
        outside.join("slot-00/save.txt"),
        outside.join("slot-00/meta.json"),
        outside.join("save.txt"),
    ];
    for path in &kept {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &meta).unwrap();
    }
    symlink(&outside, cache.join("fedcba9876543210")).unwrap();
    symlink(outside.join("slot-00"), repository.join("slot-01")).unwrap();
    symlink(&outside, cache.join("stand-ins/0123456789abcdef")).unwrap();
    let held = [acquire(&fixture, "HEAD"), acquire(&fixture, "HEAD")];
    for slot in held {
        assert!(!slot.directory().is_symlink() && !slot.directory().ends_with("slot-07"));
    }
    Slots::open_in(&fixture.repository(), &cache, 0).unwrap();
    assert!(!repository.join("slot-00").exists(), "evicted");
    disk::clean_in(&cache, None).unwrap();
    for path in &kept {
        assert!(path.exists(), "{}", path.display());
    }
    fs::write(cache.join("CACHEDIR.TAG"), "theirs").unwrap();
    assert_eq!(disk::clean_in(&cache, None).unwrap_err().exit, Exit::Usage);
}

#[test]
fn every_revision_finds_its_own_slot_again() {
    let fixture = two_commits();
    let repository = fixture.repository();
    let (old, new) = (repository.resolve("HEAD~1").unwrap(), repository.resolve("HEAD").unwrap());
    let slots = open(&fixture);
    let held = slots.acquire_all(&[&old, &new], wanted()).unwrap();
    let [first, second] = held.try_into().unwrap();
    let places = (first.tree().to_owned(), second.tree().to_owned());
    assert_eq!(places.0.as_os_str().len(), places.1.as_os_str().len());
    drop((first, second));

    let held = slots.acquire_all(&[&new, &old], wanted()).unwrap();
    assert_eq!(held.iter().map(Slot::tree).collect::<Vec<_>>(), [&places.1, &places.0]);
    assert!(held.iter().all(|slot| slot.reused));
    drop(held);

    fixture.write("a", "newest");
    let snapshot = repository.working_tree().unwrap();
    let held = slots.acquire_all(&[&snapshot, &new], wanted()).unwrap();
    assert_eq!(held.iter().map(Slot::tree).collect::<Vec<_>>(), [&places.0, &places.1]);
    assert_eq!(held.first().map(|slot| read(slot, "a")).as_deref(), Some("newest"));
    drop(held);

    let other = slots.acquire(&new, CheckoutRequest { flags: "other flags", ..wanted() }).unwrap();
    assert!(!other.reused);
}

#[test]
fn runs_at_once_take_different_slots_up_to_a_limit() {
    let fixture = two_commits();
    let before = fixture.state();
    let held: Vec<Slot> = (0..16).map(|_| acquire(&fixture, "HEAD")).collect();
    let mut trees: Vec<_> = held.iter().map(|slot| slot.tree().to_owned()).collect();
    trees.sort();
    trees.dedup();
    assert_eq!(trees.len(), 16);
    let revision = fixture.repository().resolve("HEAD").unwrap();
    let failure = open(&fixture).acquire(&revision, wanted()).unwrap_err();
    assert_eq!(failure.exit, Exit::Host);
    drop(held);
    assert_eq!(fixture.state(), before);
}

/// What `kill -9` leaves: the lock is gone, nothing else was tidied up.
fn kill(mut slot: Slot) {
    let lock = std::mem::replace(
        &mut slot.lock,
        super::Lock::try_new(&slot.directory.join("unused.lock")).unwrap(),
    );
    drop(lock);
    std::mem::forget(slot);
}

#[test]
fn what_a_killed_run_left_is_used_again() {
    let fixture = two_commits();
    let before = fixture.state();
    let slot = acquire(&fixture, "HEAD~1");
    let tree = slot.tree().to_owned();
    fs::write(tree.join(".git/index.lock"), "").unwrap();
    fs::write(tree.join("a"), "half").unwrap();
    kill(slot);
    assert_eq!(fixture.state(), before);
    let slot = acquire(&fixture, "HEAD");
    assert_eq!((slot.tree(), read(&slot, "a").as_str()), (tree.as_path(), "new"));
}

#[test]
fn a_checkout_whose_commit_was_pruned_is_made_anew() {
    let fixture = two_commits();
    fixture.write("a", "uncommitted");
    let snapshot = fixture.repository().working_tree().unwrap();
    drop(open(&fixture).acquire(&snapshot, wanted()).unwrap());
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    fs::remove_dir_all(fixture.repository().objects().unwrap()).unwrap();
    assert_eq!(read(&acquire(&fixture, "HEAD~1"), "a"), "old");
}

#[test]
fn a_damaged_checkout_is_made_anew() {
    let fixture = two_commits();
    let slot = acquire(&fixture, "HEAD");
    let (tree, directory) = (slot.tree().to_owned(), slot.directory().to_owned());
    drop(slot);
    fs::remove_dir_all(tree.join(".git")).unwrap();
    fs::write(tree.join(".git"), "gitdir: /nowhere").unwrap();
    assert_eq!(read(&acquire(&fixture, "HEAD"), "a"), "new");
    fs::write(directory.join("meta.json"), "{").unwrap();
    fs::remove_file(tree.join(".git/HEAD")).unwrap();
    assert_eq!(read(&acquire(&fixture, "HEAD~1"), "a"), "old");
    fs::write(tree.join(".git/index"), "damaged").unwrap();
    assert_eq!(read(&acquire(&fixture, "HEAD~1"), "a"), "old");
}

#[test]
fn ignored_configuration_of_cargo_holds_on_every_side() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "/.cargo\n");
    fixture.commit("first");
    fixture.write(".cargo/config.toml", "# ignored");
    fixture.write(".cargo/other", "not ours to copy");
    let slot = acquire(&fixture, "HEAD");
    assert_eq!(read(&slot, ".cargo/config.toml"), "# ignored");
    assert!(!slot.tree().join(".cargo/other").exists());
}

#[test]
fn hooks_sparse_patterns_and_an_ignored_lock_file() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.write("hidden/file", "not in the sparse tree");
    fixture.write(".gitignore", "Cargo.lock\ntarget\n");
    fixture.commit("first");
    fixture.write("Cargo.lock", "# the user's");
    fixture.write("target/deep/Cargo.lock", "# not ours to copy");
    fixture.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$PWD/hook-ran\"\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let hook = fixture.path().join(".git/hooks/post-checkout");
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/a"]);
    let _ = fs::remove_file(fixture.path().join("hook-ran"));
    assert!(!fixture.path().join("hidden/file").exists());
    assert!(fixture.repository().working_tree().unwrap().dirty.is_none());
    for _ in 0..2 {
        let slot = acquire(&fixture, "HEAD");
        assert_eq!(read(&slot, "hidden/file"), "not in the sparse tree");
        assert_eq!(read(&slot, "Cargo.lock"), "# the user's");
        assert!(!slot.tree().join("target").exists());
        assert!(!slot.tree().join("hook-ran").exists());
    }
}

#[test]
fn a_resolved_lock_file_is_passed_to_the_other_side() {
    let fixture = two_commits();
    let (from, to) = (acquire(&fixture, "HEAD"), acquire(&fixture, "HEAD~1"));
    fs::write(from.tree().join("Cargo.lock"), "# resolved").unwrap();
    seed_lock_files(&from, &to).unwrap();
    assert_eq!(read(&to, "Cargo.lock"), "# resolved");
}

#[test]
fn submodules_come_from_the_users_copy_without_touching_it() {
    let inner = Fixture::new();
    inner.write("x", "first");
    inner.commit("inner");
    let outer = Fixture::new();
    outer.git(&["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "nested"]);
    outer.commit("outer");
    let fixture = Fixture::new();
    fixture.git(&["submodule", "--quiet", "add", outer.path().to_str().unwrap(), "dir/sub"]);
    fixture.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    fixture.commit("with submodule");
    outer.write("y", "second");
    let commit = outer.commit("more");
    git(&fixture.path().join("dir/sub"), &["fetch", "-q"]);
    git(&fixture.path().join("dir/sub"), &["checkout", "-q", &commit]);
    fixture.commit("moved on");

    let before = fixture.state();
    for (spec, has_more) in [("HEAD~1", false), ("HEAD", true), ("HEAD~1", false)] {
        let slot = acquire(&fixture, spec);
        assert_eq!(read(&slot, "dir/sub/nested/x"), "first");
        assert_eq!(slot.tree().join("dir/sub/y").exists(), has_more, "{spec}");
        assert_eq!(git(slot.tree(), &["status", "--porcelain"]), "");
    }
    assert_eq!(fixture.state(), before);
    // What was checked out once is still there, without the working tree that its settings name.
    fixture.git(&["submodule", "--quiet", "deinit", "--force", "--all"]);
    assert_eq!(read(&acquire(&fixture, "HEAD"), "dir/sub/nested/x"), "first");

    let clone = fixture.beside("clone");
    git(&fixture.path(), &["clone", "-q", ".", clone.to_str().unwrap()]);
    let repository = fixture.repository_at(&clone);
    let slots = Slots::open_in(&repository, &fixture.beside("cache"), LIMIT).unwrap();
    let head = repository.resolve("HEAD").unwrap();
    let acquire = || slots.acquire(&head, wanted()).unwrap();
    assert!(!acquire().tree().join("dir/sub/y").exists());
    git(&clone, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    assert_eq!(read(&acquire(), "dir/sub/y"), "second");
    assert_eq!(git(&clone, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_cache_inside_the_repository_is_refused() {
    let fixture = two_commits();
    let inside = fixture.path().join("cache");
    let failure = Slots::open_in(&fixture.repository(), &inside, LIMIT).err().unwrap();
    assert_eq!(failure.exit, Exit::Usage);
    assert!(!inside.exists());
}

#[test]
fn cleaning_and_the_size_limit_spare_what_is_held() {
    let fixture = two_commits();
    let cache = fixture.beside("cache");
    let held = acquire(&fixture, "HEAD");
    let free = acquire(&fixture, "HEAD~1");
    let gone = free.tree().to_owned();
    fs::create_dir(free.target_dir()).unwrap();
    fs::write(free.target_dir().join("artifact"), vec![1; 100_000]).unwrap();
    drop(free);
    Slots::open_in(&fixture.repository(), &cache, 50_000).unwrap();
    assert!(!gone.exists(), "evicted");
    assert!(held.tree().is_dir(), "a held slot stays");

    let free = acquire(&fixture, "HEAD~1");
    let kept = free.tree().to_owned();
    drop(free);
    let other = two_commits();
    assert_eq!(disk::clean_in(&cache, Some(&other.repository())), Ok(0));
    assert!(kept.is_dir());
    assert!(disk::clean_in(&cache, Some(&fixture.repository())).unwrap() > 0);
    assert!(!kept.exists() && held.tree().is_dir());
    drop(held);
    assert!(disk::clean_in(&cache, None).unwrap() > 0);
}

#[test]
#[cfg(unix)]
fn hard_links_are_counted_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, vec![1; 65536]).unwrap();
    let one = disk::size(directory.path());
    fs::hard_link(&file, directory.path().join("link")).unwrap();
    assert_eq!(disk::size(directory.path()), one);
    assert!(one >= 65536);
}

fn build(slot: &Slot) {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--target-dir"])
        .arg(slot.target_dir())
        .current_dir(slot.tree())
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn answer(target: &Path) -> String {
    let output = Command::new(target.join("debug/app")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_seeded_target_directory_serves_the_right_library() {
    let fixture = Fixture::new();
    fixture.write("Cargo.toml", "[workspace]\nmembers = [\"app\", \"dep\"]\nresolver = \"2\"\n");
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    fixture.write("dep/Cargo.toml", &package("dep"));
    fixture.write("dep/src/lib.rs", "pub fn answer() -> u32 { 1 }\n");
    let app = package("app") + "[dependencies]\ndep = { path = \"../dep\" }\n";
    fixture.write("app/Cargo.toml", &app);
    fixture.write("app/src/main.rs", "fn main() { print!(\"{}\", dep::answer()) }\n");
    fixture.commit("first");
    fixture.write("dep/src/lib.rs", "pub fn answer() -> u32 { 2 }\n");
    fixture.commit("second");

    // Both checkouts are older than the first build: that is the trap.
    let (old, new) = (acquire(&fixture, "HEAD~1"), acquire(&fixture, "HEAD"));
    build(&old);
    assert_eq!(answer(old.target_dir()), "1");
    // Git compares whole seconds, and the checkout is younger than that.
    let hour = std::time::Duration::from_secs(3600);
    let file = fs::File::open(new.tree().join("app/Cargo.toml")).unwrap();
    file.set_modified(std::time::SystemTime::now() - hour).unwrap();
    git(new.tree(), &["update-index", "--refresh"]);
    assert!(seed_target(&old, &new).unwrap());
    assert_eq!(answer(new.target_dir()), "1", "copied as it was");
    build(&new);
    assert_eq!(answer(new.target_dir()), "2");
    assert!(!seed_target(&old, &new).unwrap(), "only an absent directory is seeded");

    // The files were touched for that, and git must not write them once more: cargo would build
    // again.
    let manifest =
        |slot: &Slot| fs::metadata(slot.tree().join("app/Cargo.toml")).unwrap().modified().unwrap();
    let touched = manifest(&new);
    drop((old, new));
    assert_eq!(manifest(&acquire(&fixture, "HEAD")), touched);
}
