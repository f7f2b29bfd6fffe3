//! What cargo does around `cargo bench` is done here as well: variables, directories, runners,
//! colours; and what does not build is told once.

use std::collections::BTreeMap;

use crate::support::Fixture;
use crate::{AB, RUN, with};

/// Writes the variables it sees to the file `SEEN`, before its first benchmark.
const TELLTALE: &str = r#"fn suite(suite: &mut nbench::Suite) {
    let mut seen: Vec<String> = std::env::vars().map(|(k, v)| format!("{k}={v:?}")).collect();
    seen.push(format!("cwd={:?}", std::env::current_dir().unwrap().display().to_string()));
    seen.sort();
    if let Ok(file) = std::env::var("SEEN") {
        std::fs::write(file, seen.join("\n")).unwrap();
    }
    assert_eq!(std::env::var("DEMO_LICENCE").as_deref(), Ok("yes"), "started without the runner");
    suite.bench("spin", subject_lib::spin);
}
nbench::main!(suite);
"#;

/// Variables that a process sees, but for those that differ from one start to the next.
fn variables(text: &str) -> BTreeMap<String, String> {
    let ours = |name: &str| name.starts_with("NBENCH_") || matches!(name, "SEEN" | "_" | "SHLVL");
    text.lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| !ours(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn telltale(configuration: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("subject/benches/work.rs", TELLTALE);
    fixture.write("subject/src/bin/tool.rs", "fn main() {}\n");
    fixture.write(
        "subject/build.rs",
        "fn main() { println!(\"cargo:rustc-env=SUBJECT_BUILT=a value\"); }\n",
    );
    fixture.write(".cargo/config.toml", configuration);
    fixture.write("tools/with-licence", "#!/bin/sh\nDEMO_LICENCE=yes exec \"$@\"\n");
    let script = fixture.root().join("tools/with-licence");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).unwrap();
    fixture.commit("A suite that looks around");
    fixture
}

const ENVIRONMENT: &str = "[env]\nDEMO_DATA = { value = \"subject/data\", relative = true }\n\
                           DEMO_LEVEL = \"7\"\nHOME_OF_DEMO = { value = \"x\", force = true }\n";

#[test]
fn a_worker_sees_what_cargo_bench_shows_it() {
    let runner = "[target.'cfg(unix)']\nrunner = \"tools/with-licence\"\n";
    let fixture = telltale(&format!("{ENVIRONMENT}{runner}"));
    let file = fixture.root().parent().unwrap().join("seen");
    let file = file.to_str().unwrap();
    let seen = || variables(&std::fs::read_to_string(file).unwrap());
    let inherited = [("SEEN", file), ("HOME_OF_DEMO", "y"), ("DEMO_OWN", "1")];
    fixture.cargo_with(&inherited, &["bench", "-p", "subject-lib"]).exits(0);
    let expected = seen();
    for name in ["DEMO_DATA", "DEMO_LEVEL", "SUBJECT_BUILT", "CARGO_BIN_EXE_tool", "DEMO_OWN"] {
        assert!(expected.contains_key(name), "cargo sets {name}: {expected:?}");
    }
    fixture.nbench_with(&inherited, &["list"]).exits(0);
    let found = seen();
    let differences: Vec<_> = expected
        .iter()
        .filter(|(name, value)| found.get(*name) != Some(*value))
        .chain(found.iter().filter(|(name, _)| !expected.contains_key(*name)))
        .collect();
    assert_eq!(differences, Vec::<(&String, &String)>::new());
}

#[test]
fn the_users_runner_starts_every_worker() {
    let fixture = telltale(
        "[target.'cfg(all(unix, not(windows)))']\nrunner = [\"tools/with-licence\", \"env\"]\n",
    );
    fixture.set_work(1100);
    fixture.commit("More work");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(0);
    assert_eq!(output.named("comparison"), ["spin"]);
    // A variable names it, as it does for cargo.
    fixture.write(".cargo/config.toml", "");
    fixture.nbench(&RUN).exits(4);
    let script = fixture.root().join("tools/with-licence");
    let host = fixture.host_triple().to_uppercase().replace('-', "_");
    let runner = [(format!("CARGO_TARGET_{host}_RUNNER"), script.display().to_string())];
    let runner: Vec<(&str, &str)> = runner.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let output = fixture.nbench_with(&runner, &RUN).exits(0);
    assert_eq!(output.named("measurement"), ["spin"]);
    // One that nbench cannot learn of is refused by name.
    let named = format!("target.{}.runner='tools/with-licence'", fixture.host_triple());
    fixture.nbench(&with(&RUN, &["--config", &named])).exits(5).complains(&["runner", "--config"]);
}

#[test]
fn one_broken_target_costs_no_other_whatever_cargo_looks_like() {
    let fixture = Fixture::with(&["work", "plain"]);
    fixture.edit("subject/benches/plain.rs", "fn main() {", "fn main() { let x: u8 = \"\";");
    fixture.commit("Break one of two");
    for (name, value) in [
        ("CARGO_TERM_COLOR", "always"),
        ("CARGO_TERM_QUIET", "true"),
        ("CARGO_TERM_VERBOSE", "true"),
        ("CLICOLOR_FORCE", "1"),
    ] {
        let variables = [(name, value), ("RUSTFLAGS", "-Cdebuginfo=0")];
        let words = with(&RUN, &["spin", "--no-default-features"]);
        let output = fixture.nbench_with(&variables, &words).exits(4);
        assert_eq!(output.named("measurement"), ["spin"], "{name}");
        let error = output.said("failure", "plain", "error");
        assert!(error.contains("mismatched types (subject/benches/plain.rs:"), "{name}: {error}");
        // What is to be tried without us has the same flags.
        let command = "`cargo bench --no-run -p subject-lib --bench plain --no-default-features`";
        assert!(error.contains(command), "{name}: {error}");
        assert_eq!(
            output.stderr.matches("mismatched types").count(),
            2,
            "{name}: {}",
            output.stderr
        );
    }
    // A checkout has another manifest, but that is not what was typed.
    let words = with(&AB, &["HEAD~1", "HEAD", "-f", "spin", "--manifest-path", "../Cargo.toml"]);
    let output = fixture.nbench_in(&fixture.root().join("subject"), &words).exits(4);
    let error = output.said("failure", "plain", "error");
    assert!(error.contains("--bench plain --manifest-path ../Cargo.toml`"), "{error}");
    // What the compiler says keeps its colours where the user wants them.
    let colours = fixture.nbench_with(&[("CARGO_TERM_COLOR", "always")], &RUN).stderr;
    assert!(colours.contains("\u{1b}["), "{colours}");
}

#[test]
fn a_library_that_does_not_compile_is_told_once_and_nothing_else_is_built() {
    let suite = "use criterion::{criterion_group, criterion_main, Criterion};\n\
                 fn work(c: &mut Criterion) { c.bench_function(\"spin\", |b| b.iter(subject_lib::spin)); }\n\
                 criterion_group!(benches, work);\ncriterion_main!(benches);\n";
    let fixture = Fixture::existing("criterion = \"0.5\"", &[("work", suite)]);
    let good = fixture.read("src/lib.rs");
    for broken in ["pub fn oops( {}\n", "pub fn oops() -> u8 { \"\" }\n", "mod absent_file;\n"] {
        fixture.write("src/lib.rs", &format!("{good}{broken}"));
        let output = fixture.nbench(&RUN).exits(3);
        let compiled = output.stderr.matches("error: could not compile").count();
        assert_eq!(compiled, 1, "{broken}: {}", output.stderr);
        assert!(!output.stderr.contains("real criterion"), "{}", output.stderr);
        assert_eq!(output.of_type("failure").len(), 1, "{broken}: {}", output.stdout);
    }
    // Nor for an error of the suite that has nothing to do with its harness.
    fixture.write("src/lib.rs", &good);
    fixture.edit("benches/work.rs", "fn work(", "use subject_lib::no_such_thing;\nfn work(");
    let output = fixture.nbench(&RUN).exits(3);
    assert!(!output.stderr.contains("compile_error"), "{}", output.stderr);
    assert_eq!(output.stderr.matches("unresolved import").count(), 2, "{}", output.stderr);
}

#[test]
fn outside_a_workspace_every_command_says_the_same() {
    let fixture = Fixture::new();
    let elsewhere = fixture.root().parent().unwrap().join("tmp");
    for command in ["run", "list", "history"] {
        let output = fixture.nbench_in(&elsewhere, &[command]).exits(2);
        output.complains(&["no cargo workspace found", "--manifest-path"]);
    }
}

#[test]
fn checkouts_that_share_a_target_directory_are_not_confused() {
    let suite = "fn suite(suite: &mut nbench::Suite) {\n    \
                 assert_eq!(std::env::var(\"WANTED\").unwrap(), subject_lib::WHICH);\n    \
                 suite.bench(\"spin\", subject_lib::spin);\n}\nnbench::main!(suite);\n";
    let fixture = Fixture::new();
    fixture.write("subject/benches/work.rs", suite);
    let library = fixture.read("subject/src/lib.rs");
    let which = |name: &str| format!("{library}pub const WHICH: &str = {name:?};\n");
    fixture.write("subject/src/lib.rs", &which("one"));
    fixture.commit("One");
    fixture.write("subject/src/lib.rs", &which("two"));
    fixture.commit("Two");
    let home = fixture.root().parent().unwrap().to_owned();
    let older = home.join("older");
    fixture.git(&["worktree", "add", "--quiet", "--detach", older.to_str().unwrap(), "HEAD~1"]);
    let shared = home.join("shared");
    let shared = shared.to_str().unwrap();
    // By a variable, by a flag, and by the configuration.
    for (variables, flags, configured) in [
        (vec![("CARGO_TARGET_DIR", shared)], vec![], false),
        (vec![], vec!["--target-dir", shared], false),
        (vec![], vec![], true),
    ] {
        let configuration = format!("[build]\ntarget-dir = {shared:?}\n");
        for (directory, wanted) in [(fixture.root(), "two"), (older.as_path(), "one")] {
            if configured {
                std::fs::create_dir_all(directory.join(".cargo")).unwrap();
                std::fs::write(directory.join(".cargo/config.toml"), &configuration).unwrap();
            }
            let mut variables = variables.clone();
            variables.push(("WANTED", wanted));
            let output = fixture.nbench_as(directory, &variables, &with(&RUN, &flags)).exits(0);
            assert_eq!(output.named("measurement"), ["spin"], "{configured}");
        }
    }
}

/// A build script that stops where git or its directory says anything else than in the user's tree,
/// and a benchmark whose ids hold paths.
const LOOKS_FOR_GIT: &str = r#"use std::{env, fs, path::Path, process::Command};
fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().to_owned();
    let head = fs::read_to_string(root.join(".git/HEAD")).expect("a git directory");
    assert_eq!(head.trim(), "ref: refs/heads/main");
    fs::read(root.join(".git/index")).expect("an index");
    println!("cargo:rustc-env=DESCRIBED={}", git(&["describe", "--tags", "--always", "--dirty"]));
    println!("cargo:rustc-env=TOP={}", git(&["rev-parse", "--show-toplevel"]));
}
"#;

#[test]
fn a_tree_without_a_lock_file_looks_as_under_cargo_bench() {
    let suite = "fn suite(suite: &mut nbench::Suite) {\n    \
                 suite.bench(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/x\"), subject_lib::spin);\n    \
                 suite.bench(concat!(env!(\"TOP\"), \" at \", env!(\"DESCRIBED\")), subject_lib::spin);\n\
                 }\nnbench::main!(suite);\n";
    let fixture = Fixture::new();
    fixture.write("subject/build.rs", LOOKS_FOR_GIT);
    fixture.write("subject/benches/work.rs", suite);
    fixture.commit("A suite that names its places");
    fixture.git(&["tag", "v1"]);
    assert!(!fixture.root().join("Cargo.lock").exists());
    let root = fixture.root().display();
    for described in ["v1", "v1-dirty"] {
        let ids = [format!("{root} at {described}"), format!("{root}/subject/x")];
        let output = fixture.nbench(&RUN).exits(0);
        assert_eq!(output.named("measurement"), ids);
        fixture.write("subject/data/words.csv", "another\n");
    }
}
