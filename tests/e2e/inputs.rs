//! `ab`: what else than the library differs between two revisions. Files that a benchmark may read
//! are never taken for none of its business; a benchmark's own change and a toolchain's are told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::{self, Fixture, Output};
use crate::{AB, with};

/// Nothing here is about how long anything takes.
const SHORT: &str = "launch_time = \"20ms\"\nmax_rounds = 10\nwarmup = \"2ms\"\n";

const READERS: [(&str, &str, &str); 8] = [
    ("subject", "joined", "std::fs::read([\"../HIST\", \"ORY.md\"].concat()).unwrap().len()"),
    ("subject", "built", "std::fs::read(concat!(env!(\"OUT_DIR\"), \"/x1\")).unwrap().len()"),
    ("subject", "named", "std::fs::read(\"../README.md\").unwrap().len()"),
    (
        "subject",
        "listed",
        "std::fs::read_dir(\"../docs\").unwrap().map(|e| e.unwrap().metadata().unwrap().len() as usize).sum()",
    ),
    (
        "subject",
        "counted",
        "include_str!(\"../files.txt\").lines().map(|f| std::fs::read(f).unwrap().len()).sum()",
    ),
    ("subject", "packaged", "std::fs::read(env!(\"CARGO_PKG_README\")).unwrap().len()"),
    ("subject", "embedded", "{ const TEXT: &str = include_str!(\"../../LICENSE\"); TEXT.len() }"),
    ("other", "indirect", "reader::length()"),
];

/// Adds a bench target with one benchmark, over the number that `body` reads.
fn add(fixture: &Fixture, package: &str, target: &str, body: &str) {
    let source = format!(
        "#![doc = include_str!(\"../../README.md\")]\n\
         fn suite(suite: &mut nbench::Suite) {{\n    let n: usize = {body};\n    \
         suite.bench(\"{target}\", move || (0..n.min(900)).fold(1_u64, |a, i| a ^ (i as u64).rotate_left((a & 31) as u32)));\n}}\n\
         nbench::main!(suite);\n"
    );
    fixture.write(&format!("{package}/benches/{target}.rs"), &source);
    let manifest = fixture.read(&format!("{package}/Cargo.toml"));
    let bench = format!("\n[[bench]]\nname = \"{target}\"\nharness = false\n");
    fixture.write(&format!("{package}/Cargo.toml"), &(manifest + &bench));
}

#[test]
fn what_a_benchmark_may_read_is_measured_and_the_rest_is_identical() {
    let fixture = Fixture::new();
    fixture.write("nbench.toml", SHORT);
    for file in ["README.md", "LICENSE", "NEWS.md", "docs/guide.md", ".github/workflows/ci.yml"] {
        fixture.write(file, "A line.\n");
    }
    fixture.write("subject/files.txt", "../NEWS.md\n");
    fixture.edit("subject/Cargo.toml", "[lib]", "readme = \"../README.md\"\n\n[lib]");
    let manifest = fixture.read("subject/Cargo.toml");
    let harness = manifest.lines().find(|l| l.starts_with("nbench =")).expect("it has one");
    fixture.write(
        "other/Cargo.toml",
        &format!(
            "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\nbench = false\n\n\
             [dependencies]\nreader = {{ path = \"../reader\" }}\n\n[dev-dependencies]\n{harness}\n"
        ),
    );
    fixture.write("other/src/lib.rs", "");
    fixture.write(
        "reader/Cargo.toml",
        "[package]\nname = \"reader\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    fixture.write(
        "reader/src/lib.rs",
        "pub fn length() -> usize { std::fs::read(\"../README.md\").unwrap().len() }\n",
    );
    fixture.edit("Cargo.toml", "[\"subject\"]", "[\"subject\", \"other\", \"reader\"]");
    for (package, target, body) in READERS {
        add(&fixture, package, target, body);
    }
    fixture.write("docs/made.md", "1\n");
    fixture.write("HISTORY.md", "Old.\n");
    fixture.write(
        "subject/build.rs",
        "fn main() {\n    println!(\"cargo:rerun-if-changed=../docs/made.md\");\n    \
         let out = std::path::PathBuf::from(std::env::var_os(\"OUT_DIR\").unwrap());\n    \
         std::fs::copy(\"../docs/made.md\", out.join(\"x1\")).unwrap();\n}\n",
    );
    fixture.commit("Benchmarks that read");
    for file in [
        "docs/made.md",
        "HISTORY.md",
        "README.md",
        "NEWS.md",
        "docs/guide.md",
        ".github/workflows/ci.yml",
    ] {
        fixture.write(file, "A line.\nAnd another.\n");
    }
    let library = fixture.read("subject/src/lib.rs") + "// A remark.\n";
    fixture.write("subject/src/lib.rs", &library);
    fixture.commit("Only words");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD", "--workspace"])).exits(0);
    let verdict = |id: &str| output.comparison(id)["verdict"].as_str().map(str::to_owned);
    for id in ["spin", "table", "embedded"] {
        assert_eq!(verdict(id).as_deref(), Some("identical"), "{id}");
    }
    for id in ["joined", "built", "named", "listed", "counted", "packaged", "indirect"] {
        assert_ne!(verdict(id).as_deref(), Some("identical"), "{id}");
    }
    let notes = output.comparison("named")["notes"].to_string();
    assert!(notes.contains("`README.md`"), "an input that differs is told: {notes}");
    assert!(!notes.contains("own source"), "{notes}");
}

#[track_caller]
fn notes(output: &Output) -> String {
    output.comparison("spin")["notes"].to_string()
}

#[test]
fn a_benchmark_that_changed_itself_is_told_wherever_the_result_goes() {
    let fixture = Fixture::new();
    fixture.write("nbench.toml", SHORT);
    fixture.commit("Short launches");
    let twice = "|| subject_lib::spin() ^ subject_lib::spin()";
    fixture.edit("subject/benches/work.rs", "subject_lib::spin)", &format!("{twice})"));
    fixture.commit("The benchmark does twice the work");
    let (page, told) = (fixture.root().join("page.html"), "`subject/benches/work.rs`");
    let html = format!("--html={}", page.display());
    let ab = with(&AB, &["--filter", "spin"]);
    let output = fixture.nbench(&with(&ab, &["HEAD~1", "HEAD", &html, "--gate"]));
    let said = notes(&output);
    for part in [told, "library does not", "--overlay-benches", "the gate counts it"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let page = fs::read_to_string(page).expect("it was written");
    assert!(
        page.contains("subject&#x2f;benches&#x2f;work.rs")
            || page.contains("subject/benches/work.rs")
    );
    let comment = fixture.nbench(&["comment"]).exits(0).stdout;
    assert!(comment.contains("subject/benches/work.rs"), "{comment}");
    // One source against both libraries leaves nothing to tell.
    let overlaid = fixture.nbench(&with(&ab, &["HEAD~1", "HEAD", "--overlay-benches", "--force"]));
    assert!(!notes(&overlaid).contains("own source"), "{}", overlaid.stdout);

    // Moved and with a remark more, it is the same benchmark; then the library changes too.
    let source = fixture.read("subject/benches/work.rs") + "// A remark.\n";
    fs::remove_file(fixture.root().join("subject/benches/work.rs")).expect("it is there");
    fixture.write("subject/benches/work/main.rs", &source);
    fixture.set_work(1001);
    fixture.commit("Move the benchmark and change the library");
    let said = notes(&fixture.nbench(&with(&ab, &["HEAD~1", "HEAD"])).exits(0));
    assert!(!said.contains("own source"), "{said}");
    let said = notes(&fixture.nbench(&with(&ab, &["HEAD~2", "HEAD"])).exits(0));
    assert!(said.contains("as well") && said.contains("subject/benches/work"), "{said}");
}

/// A program beside the repository that shell runs.
fn script(directory: &Path, name: &str, text: &str) {
    fs::create_dir_all(directory).expect("a directory");
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}")).expect("it is writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn toolchains_that_differ_are_told_and_each_side_may_have_its_own() {
    let fixture = Fixture::new();
    fixture.write("nbench.toml", SHORT);
    let pin = |channel: &str| {
        let text = format!("[toolchain]\nchannel = \"{channel}\"\n");
        fixture.write("rust-toolchain.toml", &text);
        fixture.commit(channel);
    };
    pin("one");
    pin("two");
    // A rustup that has both, as names of the toolchain that there is, and a cargo for each.
    let active = std::env::var("RUSTUP_TOOLCHAIN").unwrap_or_else(|_| "the-one".to_owned());
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let bin = fixture.root().parent().expect("a folder").join("bin");
    for name in ["one", "two"] {
        let used = bin.join("used");
        let text = format!("echo {name} >> {used:?}\nexec {cargo:?} \"$@\"\n");
        script(&bin.join(name), "cargo", &text);
    }
    let rustup = format!(
        "[ -z \"$RUSTUP_TOOLCHAIN\" ] || {{ echo 'error: it was told' >&2; exit 1; }}\n\
         asked=$(sed -n 's/^channel = \"\\(.*\\)\"$/\\1/p' rust-toolchain.toml)\n\
         [ \"$asked\" != gone ] || {{ echo \"error: toolchain 'gone-x' is not installed\" >&2; exit 1; }}\n\
         [ \"$1\" = show ] && echo {active:?} '(overridden)' || echo {:?}/$asked/cargo\n",
        bin.display().to_string()
    );
    script(&bin, "rustup", &rustup);
    let path = std::env::var("PATH").expect("there is one");
    let path = format!("{}:{path}", bin.display());
    let variables = [("PATH", path.as_str()), ("RUSTUP_TOOLCHAIN", active.as_str())];
    let ab = |more: &[&str]| {
        let words = with(&with(&AB, &["--filter", "spin"]), more);
        fixture.nbench_as(fixture.root(), &variables, &words)
    };

    let output = ab(&["HEAD~1", "HEAD"]).exits(0);
    for part in ["HEAD~1 asks for `one`", "HEAD asks for `two`", &active] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    let line = output.comparison("spin");
    assert_ne!(line["verdict"], "identical", "what the other compiler makes of it is not known");
    let said = line["notes"].to_string();
    assert!(said.contains("`one`") && said.contains("--own-toolchains"), "{said}");
    assert!(!bin.join("used").exists(), "all are built with that of the user's directory");

    let output = ab(&["HEAD~1", "HEAD", "--own-toolchains", "--force"]).exits(0);
    let used = fs::read_to_string(bin.join("used")).expect("a cargo was started");
    assert!(used.contains("one") && used.contains("two"), "{used}");
    assert!(notes(&output).contains("its own"), "{}", notes(&output));
    // Built as each side asks, the same code is the same code.
    let output = ab(&["HEAD~1", "HEAD", "--own-toolchains"]).exits(0);
    assert_eq!(output.comparison("spin")["verdict"], "identical");

    pin("gone");
    let output = ab(&["HEAD~1", "HEAD", "--own-toolchains"]).exits(3);
    output.complains(&["`HEAD`", "not installed", "hint: `rustup toolchain install gone-x`"]);
}

#[test]
fn each_side_is_built_as_its_own_configuration_says() {
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "RUSTC"] {
        if std::env::var_os(name).is_some() {
            support::skipped(&format!("`{name}` is set and wins over every configuration"));
            return;
        }
    }
    let fixture = Fixture::new();
    fixture.write("nbench.toml", SHORT);
    let id = "if cfg!(by_compiler) { \"compiler\" } else if cfg!(by_flags) { \"flags\" } else { \"plain\" }";
    fixture.edit("subject/benches/work.rs", "\"table\"", id);
    script(&fixture.root().join("tools"), "rustc", "exec rustc --cfg by_compiler \"$@\"\n");
    fixture.commit("An id that tells how it was compiled");
    fixture.write(".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"by_flags\"]\n");
    fixture.commit("Flags");
    fixture.write(".cargo/config.toml", "[build]\nrustc = \"tools/rustc\"\n");
    fixture.commit("A compiler");
    let output = fixture.nbench(&with(&AB, &["HEAD~2", "HEAD~1", "HEAD"])).exits(0);
    let mut sides: Vec<(String, String)> = output
        .of_type("unmatched")
        .iter()
        .map(|line| (line["benchmark"].to_string(), line["side"].to_string()))
        .collect();
    sides.sort();
    let expected = [("compiler", "HEAD"), ("flags", "HEAD~1"), ("plain", "HEAD~2")];
    assert_eq!(sides, expected.map(|(id, side)| (format!("{id:?}"), format!("{side:?}"))));
}
