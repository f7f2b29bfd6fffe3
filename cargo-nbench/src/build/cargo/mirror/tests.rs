//! Mirrors of throw-away workspaces, without cargo.

use super::{Mirror, Original};
use std::fs;
use std::path::{Path, PathBuf};

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
    Mirror::of(&Original { root, members: &[], place: &place }, &mut || panic!("it is free"))
        .unwrap()
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
fn a_mirror_follows_the_tree_and_holds_neither_itself_nor_git() {
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
