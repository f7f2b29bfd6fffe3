//! What checkouts hold and what they leave: inputs that git does not carry, files that build
//! scripts write, and nothing outside of the cache directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::support::Fixture;
use crate::{AB, RUN, with};

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

#[test]
fn a_library_outside_of_the_workspace_of_its_benchmarks_has_one_path_on_both_sides() {
    let fixture = Fixture::new();
    let manifest = fixture.read("subject/Cargo.toml");
    let (library, _) = manifest.split_once("[dev-dependencies]").expect("it has some");
    let bench = manifest.replace("subject-lib", "outside").replace(
        "[lib]\nbench = false\n",
        "[workspace]\n[dependencies]\nsubject-lib = { path = \"../subject\" }\n",
    );
    fixture.write("Cargo.toml", "[workspace]\nmembers = [\"subject\"]\nexclude = [\"bench\"]\n");
    fixture.write("subject/Cargo.toml", library);
    fixture.write("bench/Cargo.toml", &bench);
    fixture.write("bench/src/lib.rs", "pub const PLACE: &str = env!(\"CARGO_MANIFEST_DIR\");\n");
    let benches = fixture.read("subject/benches/work.rs");
    let head = "fn work(suite: &mut Suite) {";
    let read = "let place = std::path::Path::new(outside::PLACE);\n    assert!(place.join(\"Cargo.toml\").exists());";
    fixture.write("bench/benches/work.rs", &benches.replace(head, &format!("{head}\n    {read}")));
    fixture.git(&["rm", "-r", "-q", "subject/benches"]);
    fixture.commit("Benchmarks beside the library");
    let library = fixture.read("subject/src/lib.rs");
    // A panic message that names its file, and no line that moves.
    fixture.write("subject/src/lib.rs", &format!("{library}\n// A remark.\n"));
    fixture.commit("A remark");
    let place = fixture.root().join("bench/Cargo.toml").display().to_string();
    let words = with(&AB, &["--manifest-path", &place, "HEAD~1", "HEAD"]);
    // The repository is that of the manifest, wherever the command is given.
    for (words, at) in [(words.clone(), "/"), (with(&words, &["--overlay-benches"]), ".")] {
        let output = fixture.nbench_at(&words, Path::new(at)).exits(0);
        assert_eq!(output.comparison("spin")["verdict"], "identical", "{words:?}");
    }
    fixture.write("subject/src/lib.rs", &format!("{library}pub const FILE: &str = file!();\n"));
    let named = "    suite.bench(subject_lib::FILE, subject_lib::spin);";
    fixture.edit("bench/benches/work.rs", head, &format!("{head}\n{named}"));
    fixture.commit("A benchmark that is called by the library's path");
    fixture.set_work(2000);
    fixture.commit("Twice the work");
    let output = fixture.nbench(&words).exits(0);
    assert_ne!(output.comparison("spin")["verdict"], "identical");
    // An id with a path of the library is the same in `run`, where it is the user's.
    let file = fixture.root().join("subject/src/lib.rs").display().to_string();
    output.comparison(&file);
    let run = with(&RUN, &["--manifest-path", &place, "--exact", &file]);
    assert_eq!(fixture.nbench(&run).exits(0).named("measurement"), [file]);
}
