//! Mirrors of throw-away workspaces, without cargo.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Mirror, Original};
use crate::revisions::revision::tests::{Fixture, git};

/// A repository with a workspace in `bench`, which depends on the package above it.
fn repository(home: &Path) -> PathBuf {
    let root = home.join("team/project/bench");
    for directory in [&root, &root.join("benches"), &home.join("team/other")] {
        fs::create_dir_all(directory).unwrap();
    }
    fs::create_dir(home.join("team/project/.git")).unwrap();
    fs::write(root.join("Cargo.toml"), "[dependencies]\nproject = { path = \"..\" }\n").unwrap();
    fs::write(root.join("benches/a.rs"), "fn main() {}").unwrap();
    fs::write(home.join("team/project/Cargo.toml"), "[package]\nname = \"project\"\n").unwrap();
    fs::write(home.join("team/project/README.md"), "read").unwrap();
    fs::write(home.join("team/other/Cargo.toml"), "[package]\nname = \"other\"\n").unwrap();
    root
}

fn mirror(root: &Path) -> Mirror {
    let place = root.join("target/nbench");
    // A process that another test starts at this moment holds the lock until it is another program.
    Mirror::of(&Original { root, members: &[], place: &place }, &mut || ()).unwrap()
}

#[test]
fn what_is_written_to_the_lock_file_never_reaches_the_users_and_is_there_the_next_time() {
    let home = tempfile::tempdir().unwrap();
    let root = repository(home.path());
    let lock = root.join("Cargo.lock");
    // None of the user's.
    let first = mirror(&root);
    assert!(!first.lock_file().exists());
    fs::write(first.lock_file(), "resolved").unwrap();
    first.keep();
    assert!(!lock.exists());
    assert_eq!(fs::read_to_string(mirror(&root).lock_file()).unwrap(), "resolved");
    // That one was dropped as a failure, which may be the fault of what was resolved.
    assert!(!mirror(&root).lock_file().exists());
    // One of the user's, and another one later.
    for text in ["theirs", "newer"] {
        fs::write(&lock, text).unwrap();
        let second = mirror(&root);
        assert_eq!(fs::read_to_string(second.lock_file()).unwrap(), text);
        fs::write(second.lock_file(), format!("{text}, patched")).unwrap();
        second.keep();
        assert_eq!(fs::read_to_string(&lock).unwrap(), text);
        let third = mirror(&root);
        assert_eq!(fs::read_to_string(third.lock_file()).unwrap(), format!("{text}, patched"));
        third.keep();
    }
}

#[test]
fn a_mirror_follows_the_tree_and_does_not_hold_itself() {
    let home = tempfile::tempdir().unwrap();
    let root = repository(home.path());
    let of = mirror(&root);
    let inside = |path: &str| of.inside(&root).join(path);
    assert_eq!(fs::read_to_string(inside("benches/a.rs")).unwrap(), "fn main() {}");
    assert_eq!(fs::read_to_string(inside("../README.md")).unwrap(), "read");
    assert!(!inside("target").exists() && !inside("../.git").exists());
    assert_eq!(of.outside(&inside("benches/a.rs")), root.join("benches/a.rs"));
    assert_eq!(of.outside(Path::new("/elsewhere")), Path::new("/elsewhere"));
    assert_eq!(
        of.outside_text(&inside("a").display().to_string()),
        root.join("a").display().to_string()
    );
    assert!(!of.inside(&home.path().join("team/other")).exists(), "nothing leads there");
    of.keep();
    // A file is gone, another is new, and one manifest leads farther up.
    fs::remove_dir_all(root.join("benches")).unwrap();
    fs::write(root.join("build.rs"), "").unwrap();
    fs::write(
        home.path().join("team/project/Cargo.toml"),
        "[workspace.dependencies.other]\npath = \"../other\"\n",
    )
    .unwrap();
    let of = mirror(&root);
    let inside = |path: &str| of.inside(&root).join(path);
    assert!(!inside("benches").exists() && inside("build.rs").exists());
    assert!(of.inside(&home.path().join("team/other/Cargo.toml")).exists());
    assert!(of.inside(&home.path().join("team/project")).is_dir());
}

#[test]
fn one_process_at_a_time_uses_a_mirror() {
    let home = tempfile::tempdir().unwrap();
    let root = repository(home.path());
    let first = mirror(&root);
    let place = root.join("target/nbench");
    let mut waits = 0;
    let second = Mirror::of(&Original { root: &root, members: &[], place: &place }, &mut || {
        waits += 1;
        fs::write(first.lock_file(), "of the first").unwrap();
        first.keep();
    });
    assert_eq!(fs::read_to_string(second.unwrap().lock_file()).unwrap(), "of the first");
    assert_eq!(waits, 1);
}

#[test]
fn git_says_in_a_mirror_what_it_says_in_the_tree() {
    let fixture = Fixture::new();
    fixture.write("Cargo.toml", "[workspace]\n");
    fixture.write(".gitignore", "/target\n");
    fixture.write("src/lib.rs", "one");
    fixture.commit("first");
    fixture.git(&["tag", "v1"]);
    let root = fixture.path().canonicalize().unwrap();
    let linked = fixture.beside("linked");
    fixture.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let questions: [&[&str]; 6] = [
        &["rev-parse", "HEAD"],
        &["rev-parse", "--show-toplevel"],
        &["symbolic-ref", "HEAD"],
        &["describe", "--tags", "--always", "--dirty"],
        &["status", "--porcelain"],
        &["log", "-1", "--format=%s"],
    ];
    for tree in [root, linked.canonicalize().unwrap()] {
        for change in ["one", "two"] {
            fs::write(tree.join("src/lib.rs"), change).unwrap();
            if change == "two" {
                fs::write(tree.join("new"), "untracked").unwrap();
            }
            fs::create_dir_all(tree.join("target")).unwrap();
            fs::write(tree.join("target/built"), "").unwrap();
            let answers = |place: &Path| questions.map(|question| git(place, question));
            let wanted = answers(&tree);
            let before = fixture.state();
            let of = mirror(&tree);
            let inside = of.inside(&tree);
            assert_eq!(answers(&inside), wanted, "{}", tree.display());
            let head = fs::read_to_string(inside.join(".git/HEAD")).unwrap();
            assert!(head.starts_with("ref: refs/heads/"), "{head}");
            let branch = inside.join(".git").join(head.trim().trim_start_matches("ref: "));
            assert_eq!(
                fs::read_to_string(branch).unwrap().trim(),
                git(&tree, &["rev-parse", "HEAD"])
            );
            assert!(inside.join(".git/index").is_file());
            assert!(fixture.state() == before, "nothing of the user's is written");
            of.keep();
        }
        // A build script that cargo is to run again when the commit changes sees it change.
        git(&tree, &["add", "--all"]);
        git(&tree, &["commit", "-q", "-m", "second"]);
        git(&tree, &["checkout", "-q", "--detach"]);
        let of = mirror(&tree);
        let head = fs::read_to_string(of.inside(&tree).join(".git/HEAD")).unwrap();
        assert_eq!(head.trim(), git(&tree, &["rev-parse", "HEAD"]));
        of.keep();
    }
}

#[test]
fn no_package_lies_behind_a_link() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let text = "[dependencies]\nvendored = { path = \"../vendor/one\" }\n";
    for (path, text) in
        [("crates/a", text), ("crates/b", ""), ("vendor/one", ""), ("vendor/two", ""), ("docs", "")]
    {
        fs::create_dir_all(root.join(path)).unwrap();
        fs::write(root.join(path).join("Cargo.toml"), text).unwrap();
    }
    fs::write(root.join("Cargo.toml"), "[patch.crates-io.two]\npath = \"vendor/two\"\n").unwrap();
    fs::rename(root.join("vendor"), root.join("crates/vendor")).unwrap();
    fs::create_dir(root.join("vendor")).unwrap();
    fs::rename(root.join("crates/vendor/two"), root.join("vendor/two")).unwrap();
    let members = ["crates/a/Cargo.toml", "crates/b/Cargo.toml"].map(|path| root.join(path));
    let original = Original { root: &root, members: &members, place: &root.join("target/nbench") };
    let of = Mirror::of(&original, &mut || ()).unwrap();
    for package in ["crates/a", "crates/b", "crates/vendor/one", "vendor/two"] {
        let copy = of.inside(&root.join(package));
        assert_eq!(copy.canonicalize().unwrap(), copy, "{package}");
        assert!(copy.join("Cargo.toml").is_symlink(), "{package}");
    }
    assert!(of.inside(&root.join("docs")).is_symlink(), "it is no package of this workspace");
    of.keep();
    // A member that is gone leaves nothing that cargo would take for one.
    fs::remove_dir_all(root.join("crates/b")).unwrap();
    let of = Mirror::of(&Original { members: &members[..1], ..original }, &mut || ()).unwrap();
    assert!(!of.inside(&members[1]).exists());
}
