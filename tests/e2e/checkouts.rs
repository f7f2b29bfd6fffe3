//! What checkouts hold and what they leave: inputs that git does not carry, files that build scripts
//! write, and nothing outside of the cache directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::support::Fixture;
use crate::{AB, with};

/// A build script that writes into the sources and reads git's directory, and a library with both.
const BUILD_SCRIPT: &str = r#"
fn main() {
    println!("cargo:rerun-if-changed=steps.def");
    let head = std::fs::read_to_string("../.git/HEAD").expect("`.git` is a directory");
    let known = std::process::Command::new("git").args(["config", "demo.seen", head.trim()]).status();
    assert!(known.expect("git is there").success());
    std::fs::create_dir_all("src/made").unwrap();
    let steps = std::fs::read_to_string("steps.def").unwrap();
    std::fs::write("src/made/steps.rs", format!("pub const STEPS: u64 = {};", steps.trim())).unwrap();
}
"#;

fn generating() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "/target\n/Cargo.lock\n/subject/src/made\n/corpus\n");
    fixture.write("subject/build.rs", BUILD_SCRIPT);
    fixture.write("subject/steps.def", "1");
    let library = fixture.read("subject/src/lib.rs");
    let library = format!("{library}\npub mod made {{ include!(\"made/steps.rs\"); }}\n");
    fixture.write("subject/src/lib.rs", &library);
    fixture.commit("A build script that writes");
    fixture.edit("subject/src/lib.rs", "[3, 1, 4,", "[3, 1, 6,");
    fixture.commit("Other numbers");
    fixture
}

/// When each file below these directories was written.
fn times(directories: &[PathBuf]) -> BTreeMap<PathBuf, SystemTime> {
    let mut times = BTreeMap::new();
    let mut left = directories.to_vec();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let about = entry.metadata().expect("it is there");
            if about.is_dir() {
                left.push(entry.path());
            } else {
                times.insert(entry.path(), about.modified().expect("the platform has times"));
            }
        }
    }
    times
}

#[test]
fn a_second_comparison_builds_nothing_and_finds_what_build_scripts_wrote() {
    let fixture = generating();
    let before = fixture.snapshot();
    let words = with(&AB, &["--force", "--filter", "table"]);
    let again = with(&words, &["HEAD~1", "HEAD"]);
    fixture.nbench(&again).exits(0);
    let slots = fixture.checkouts();
    assert_eq!(slots.len(), 2);
    let built: Vec<PathBuf> = slots
        .iter()
        .filter_map(|tree| tree.parent())
        .map(|slot| slot.join("target/release/.fingerprint"))
        .collect();
    let compiled = |directory: &Path| directory.is_dir();
    assert!(built.iter().all(|directory| compiled(directory)));
    let first = times(&built);
    fixture.nbench(&again).exits(0);
    let second = times(&built);
    let changed: Vec<_> =
        first.keys().filter(|path| first.get(*path) != second.get(*path)).collect();
    assert_eq!(changed, Vec::<&PathBuf>::new(), "what cargo noted of the first build");
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());

    // The checkout of an older tree is used for a newer one, which needs the file again.
    fixture.write("subject/untracked.txt", &"not for the user's git directory ".repeat(1000));
    let before = fixture.snapshot();
    let output = fixture.nbench(&words).exits(0);
    assert_eq!(output.named("comparison"), ["table"]);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    assert_eq!(fixture.git(&["config", "--list", "--local"]).matches("demo.seen").count(), 0);
}

#[test]
fn an_input_that_git_ignores_is_named_and_can_be_shared() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "/target\n/Cargo.lock\n/corpus\n");
    fixture.write("corpus/words.txt", "seven");
    let head = "fn work(suite: &mut Suite) {";
    let read = "std::fs::read(\"../corpus/words.txt\").expect(\"../corpus/words.txt\");";
    fixture.edit("subject/benches/work.rs", head, &format!("{head}\n    {read}"));
    fixture.commit("With a corpus");
    fixture.edit("subject/src/lib.rs", "[3, 1, 4,", "[3, 1, 6,");
    fixture.commit("Other numbers");
    let output = fixture.nbench(&with(&AB, &["--force", "HEAD~1", "HEAD"])).exits(4);
    output.complains(&["git ignores it", "share = [\"corpus\"]"]);
    fixture.write("nbench.toml", "share = [\"corpus\"]\n");
    let before = fixture.snapshot();
    fixture.nbench(&with(&AB, &["--force", "HEAD~1", "HEAD"])).exits(0);
    for checkout in fixture.checkouts() {
        assert!(checkout.join("corpus").is_symlink());
    }
    fixture.nbench(&["clean", "--all"]).exits(0);
    assert_eq!(fixture.checkouts(), Vec::<PathBuf>::new());
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    assert_eq!(fixture.read("corpus/words.txt"), "seven");
}
