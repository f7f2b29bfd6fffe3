//! Suites whose benchmarks depend on the process that offers them, and workers that hold or leave
//! something: what is measured all the same, and what is said. No test here expects a certain time.

use serde_json::Value;

use crate::support::{Fixture, Output};
use crate::{AB, RUN, with};

const HARNESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness");

/// A repository with these bench targets, each the body of one suite function, at two commits whose
/// library differs.
fn repository(targets: &[(&str, &str)]) -> Fixture {
    let sources: Vec<(&str, String)> = targets
        .iter()
        .map(|(name, body)| {
            let source = format!(
                "use subject_lib::spin;\n#[allow(unused_mut)]\nfn suite(suite: &mut nbench::Suite) {{\n{body}\n}}\nnbench::main!(suite);\n"
            );
            (*name, source)
        })
        .collect();
    let sources: Vec<(&str, &str)> = sources.iter().map(|(n, s)| (*n, s.as_str())).collect();
    let fixture = Fixture::existing(&format!("nbench = {{ path = {HARNESS:?} }}"), &sources);
    // No test here is about figures: launches are as short as they can be.
    fixture.write("nbench.toml", "launch_time = \"5ms\"\nmax_rounds = 4\nwarmup = \"1ms\"\n");
    fixture.edit("src/lib.rs", "WORK: u64 = 1000;", "WORK: u64 = 1100;");
    fixture.commit("Second commit");
    fixture
}

const CHANGING: &str = r#"
    let boxed = Box::new(1);
    suite.bench("plain", spin);
    suite.bench(format!("pid {}", std::process::id()), spin);
    suite.bench(format!("{:p}/sum", boxed), spin);
    suite.bench(format!("{}/here", std::env::current_dir().unwrap().display()), spin);
"#;

const SHUFFLED: &str = r#"
    let all: std::collections::HashMap<String, u64> = (0..6).map(|i| (format!("case-{i}"), i)).collect();
    for (name, _) in all { suite.bench(name, spin); }
"#;

const UNSURE: &str = r#"
    suite.bench("stable", spin);
    for i in 0..2 { suite.bench(format!("size-{}", i * 100_000_000 + std::process::id()), spin); }
"#;

const EXCLUSIVE: &str = r#"
    let held = std::fs::File::create(concat!(env!("CARGO_MANIFEST_DIR"), "/../exclusive.lock")).unwrap();
    held.try_lock().expect("the data base is locked");
    suite.bench("first", spin);
    suite.bench("second", spin);
"#;

const LEAVES: &str = r#"
    use std::os::unix::process::CommandExt;
    std::process::Command::new("tail").args(["-f", "/dev/null"]).process_group(0).spawn().unwrap();
    suite.bench("leaves", spin);
"#;

fn notes(output: &Output, kind: &str, benchmark: &str) -> String {
    let mut found = output.of_type(kind);
    found.retain(|line| line["benchmark"] == benchmark);
    assert_eq!(found.len(), 1, "{kind} of `{benchmark}` in:\n{}", output.stdout);
    found[0]["notes"].to_string()
}

#[test]
fn what_depends_on_the_process_is_measured_where_it_is_sure_what_it_is() {
    let fixture = repository(&[("changing", CHANGING), ("shuffled", SHUFFLED), ("unsure", UNSURE)]);
    let here = format!("{}/here", fixture.root().display());
    let wanted: Vec<String> = ["*/sum", &here, "case-0", "case-1", "case-2", "case-3", "case-4"]
        .into_iter()
        .chain(["case-5", "pid *", "plain", "stable"])
        .map(str::to_owned)
        .collect();
    let mut wanted = wanted;
    wanted.sort();
    let words = with(&AB, &["HEAD~1", "HEAD", "--layouts", "off"]);
    let compared = fixture.nbench(&words).exits(0);
    assert_eq!(compared.named("comparison"), wanted, "{}", compared.stderr);
    let measured = fixture.nbench(&RUN).exits(0);
    assert_eq!(measured.named("measurement"), wanted, "{}", measured.stderr);
    for (output, kind) in [(&compared, "comparison"), (&measured, "measurement")] {
        assert!(notes(output, kind, "pid *").contains("changes from process to process"));
        assert!(!notes(output, kind, "plain").contains("changes from process"));
        let reason = output.said("skipped", "unsure", "reason");
        assert!(reason.contains("`size-") && reason.contains("told apart"), "{reason}");
        assert_eq!(output.of_type("unmatched"), Vec::<Value>::new());
        assert_eq!(output.of_type("failure"), Vec::<Value>::new());
    }
}

#[test]
fn what_only_one_process_can_hold_is_compared_one_side_at_a_time() {
    let fixture = repository(&[("exclusive", EXCLUSIVE)]);
    // Both checkouts must find the same file.
    let shared = fixture.root().parent().unwrap().join("exclusive.lock");
    let source = fixture.read("benches/exclusive.rs");
    let at = "concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../exclusive.lock\")";
    fixture.write("benches/exclusive.rs", &source.replace(at, &format!("{shared:?}")));
    fixture.commit("One place");
    fixture.edit("src/lib.rs", "WORK: u64 = 1100;", "WORK: u64 = 1200;");
    fixture.commit("Third commit");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD", "--layouts", "off"])).exits(0);
    assert_eq!(output.named("comparison"), ["first", "second"]);
    let said = notes(&output, "comparison", "second");
    assert!(said.contains("one after the other"), "{said}");
    assert!(said.contains("the data base is locked"), "the panic's own line: {said}");
}

#[cfg(target_os = "linux")]
#[test]
fn processes_that_a_benchmark_leaves_behind_are_ended_and_told_once() {
    let fixture = repository(&[("leaves", LEAVES)]);
    let output = fixture.nbench(&RUN).exits(0);
    assert_eq!(output.named("measurement"), ["leaves"]);
    assert_eq!(output.stderr.matches("left").count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains("behind"), "{}", output.stderr);
    let is_left = |entry: std::fs::DirEntry| {
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        cwd.starts_with(fixture.root()).then(|| entry.path())
    };
    let left: Vec<_> = std::fs::read_dir("/proc").unwrap().flatten().filter_map(is_left).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}
