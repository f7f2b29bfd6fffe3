//! What is written for a stand-in. Building one is left to the end-to-end tests.

use std::fs;

use super::{STAND_INS, find, materialise, quieted, release, specialise};

#[test]
fn a_release_is_the_first_two_numbers() {
    assert_eq!(release("0.8.2"), (0, 8));
    assert_eq!(release("4.7.0-rc.1"), (4, 7));
    assert_eq!(release("1"), (1, 0));
    assert_eq!(release("odd"), (0, 0));
}

#[test]
fn options_are_decided_and_the_version_is_given() {
    let text = "#[cfg(since_0_7)] a; #[cfg(since_0_4)] b; env!(\"CARGO_PKG_VERSION\")";
    let text = specialise(text, &[("since_0_7", false), ("since_0_4", true)]);
    let version = nbench::sources::VERSION;
    assert_eq!(text, format!("#[cfg(any())] a;  b; \"{version}\""));
}

#[test]
fn warnings_are_silenced_behind_the_documentation() {
    assert_eq!(
        quieted("//! A.\n//! B.\n\nmod c;\n"),
        "//! A.\n//! B.\n#![allow(warnings)]\n\nmod c;\n"
    );
}

/// A misspelt or undeclared option would silently be off.
#[test]
fn every_option_in_the_sources_is_decided() {
    for stand_in in STAND_INS {
        for version in ["0.3.6", "0.4.0", "0.5.1", "0.7.0", "0.8.2", "4.7.0"] {
            for (path, text) in stand_in.package_files(version) {
                for option in ["cfg(since", "cfg(before", "cfg(is_"] {
                    assert!(!text.contains(option), "{} {version}: {path}", stand_in.package);
                }
                assert!(!text.contains("CARGO_PKG_VERSION\")"), "{path}");
            }
        }
    }
}

#[test]
fn a_stand_in_is_written_once_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("new");
    let path = materialise(&dir, "criterion", "0.5.1").unwrap();
    assert_eq!(path, dir.join("criterion"));
    for (file, text) in find("criterion").unwrap().package_files("0.5.1") {
        assert_eq!(fs::read_to_string(path.join(&file)).unwrap(), text, "{file}");
    }
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"criterion\"\nversion = \"0.5.1\"\n"), "{manifest}");
    assert!(manifest.parse::<toml::Table>().is_ok(), "{manifest}");
    fs::write(path.join("src/lib.rs"), "mine").unwrap();
    assert_eq!(materialise(&dir, "criterion", "0.5.1").unwrap(), path);
    assert_eq!(fs::read_to_string(path.join("src/lib.rs")).unwrap(), "mine");
    let left: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["criterion"]);
}

#[test]
fn processes_that_write_at_once_agree() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| materialise(dir.path(), "criterion2", "3.0.5").unwrap());
        }
    });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_unknown_package_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let failure = materialise(dir.path(), "no-such-harness", "1.0.0").unwrap_err();
    assert!(failure.error.contains("no-such-harness"));
    fs::write(dir.path().join("file"), "").unwrap();
    let failure = materialise(&dir.path().join("file"), "criterion", "0.5.1").unwrap_err();
    assert!(failure.error.contains("failed to write the stand-in"));
    assert!(failure.hint.is_some());
}
