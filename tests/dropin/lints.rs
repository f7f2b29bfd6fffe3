//! Stand-ins without the attribute that silences them, under all lints. A machine without Clippy
//! says that this was skipped.

use std::fs;
use std::io::Write;
use std::path::Path;

use cargo_nbench::foreign::dropin::{STAND_INS, materialise};

use crate::{cargo, told};

fn has_clippy() -> bool {
    let found = cargo(".".as_ref()).args(["clippy", "--version"]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let _ = std::io::stderr().write_all(b"skipped: no cargo clippy to check stand-ins with\n");
    }
    found
}

/// The executors are looked up when the stand-in is built for its own sake, and there is no
/// network.
fn without_dependencies(manifest: &Path) {
    let mut table: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
    table.remove("dependencies");
    if let Some(features) = table.get_mut("features").and_then(toml::Value::as_table_mut) {
        for (_, list) in features.iter_mut() {
            let list = list.as_array_mut().expect("a feature is a list");
            list.retain(|item| !item.as_str().is_some_and(|item| item.starts_with("dep:")));
        }
    }
    fs::write(manifest, table.to_string()).unwrap();
}

#[test]
fn no_stand_in_needs_to_be_silenced() {
    if !has_clippy() {
        return;
    }
    // The others have a macro beside them and are checked where that is.
    for stand_in in STAND_INS.iter().filter(|one| one.package.contains("criterion")) {
        let versions = match stand_in.package {
            "criterion" => &["0.3.6", "0.5.1", "0.8.2"][..],
            _ => &["4.7.0"][..],
        };
        for version in versions {
            let dir = tempfile::tempdir().unwrap();
            let path = materialise(dir.path(), stand_in.package, version).unwrap();
            let root = path.join("src/lib.rs");
            let text = fs::read_to_string(&root).unwrap();
            let loud = text.replace("#![allow(warnings)]\n", "");
            assert_ne!(loud, text, "{} is not silenced", stand_in.package);
            fs::write(&root, loud).unwrap();
            without_dependencies(&path.join("Cargo.toml"));
            let output = cargo(&path)
                .args(["clippy", "--quiet", "--", "-D", "warnings"])
                .env("RUSTFLAGS", "-Dwarnings")
                .output()
                .unwrap();
            let told = told(&output);
            assert!(output.status.success(), "{} {version}:\n{told}", stand_in.package);
        }
    }
}
