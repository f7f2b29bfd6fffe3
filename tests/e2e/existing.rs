//! Suites written for other harnesses, measured without an edit: their real packages are vendored
//! and do not compile, so that every number here comes from a stand-in.

use serde_json::Value;

use crate::support::Fixture;
use crate::{AB, RUN, with};

const CRITERION: &str = "criterion = { version = \"0.5\", features = [\"html_reports\"] }";

/// A suite in the usual form. Its words stand in the library and in the source alike.
const WORK: &str = r#"use criterion::{black_box, criterion_group, criterion_main, Criterion};

fn work(c: &mut Criterion) {
    c.bench_function("spin", |b| b.iter(|| black_box(subject_lib::spin())));
    let mut group = c.benchmark_group("tables");
    group.bench_function("sum", |b| b.iter(|| subject_lib::sum(black_box(&subject_lib::TABLE))));
    group.finish();
}

criterion_group!(benches, work);
criterion_main!(benches);
"#;

const BUILT_IN: &str = "#![feature(test)]\nextern crate test;\n\
                        #[bench]\nfn spin(b: &mut test::Bencher) { b.iter(subject_lib::spin) }\n";

#[test]
fn a_criterion_suite_is_measured_and_nothing_is_touched() {
    let fixture = Fixture::existing(CRITERION, &[("work", WORK)]);
    let before = fixture.snapshot();
    let output = fixture.nbench(&RUN).exits(0);
    assert_eq!(output.named("measurement"), ["spin", "tables/sum"]);
    assert_eq!(output.said("target", "work", "harness"), "criterion 0.5.1 (stand-in)");
    // Cargo's own remark on overrides would frighten, and there is nothing to be done about it.
    assert!(!output.stderr.contains("override"), "{}", output.stderr);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());

    fixture.git(&["rm", "--quiet", "Cargo.lock"]);
    fixture.commit("No lock file");
    let before = fixture.snapshot();
    for _ in 0..2 {
        let list = fixture.nbench(&["list"]).exits(0);
        assert!(list.stdout.contains("tables/sum"), "{}", list.stdout);
        assert!(list.stderr.contains("criterion 0.5.1 (stand-in)"), "{}", list.stderr);
        assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    }
}

#[test]
fn revisions_of_a_criterion_suite_are_compared_with_fresh_layouts() {
    let fixture = Fixture::existing(CRITERION, &[("work", WORK)]);
    fixture.edit("src/lib.rs", "WORK: u64 = 1000;", "WORK: u64 = 1300;");
    fixture.commit("More work");
    let before = fixture.snapshot();
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_eq!(output.named("comparison"), ["spin", "tables/sum"]);
    assert_eq!(output.comparison("spin")["layout"], "fresh");
    assert_eq!(output.said("target", "work", "harness"), "criterion 0.5.1 (stand-in)");
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());

    fixture.write("README.md", "What it is, in other words.\n");
    fixture.commit("Words");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(0);
    for id in ["spin", "tables/sum"] {
        assert_eq!(output.comparison(id)["verdict"], "identical");
    }
    let overlay = fixture.nbench(&with(&AB, &["--overlay-benches", "HEAD~2", "HEAD"])).exits(0);
    assert_eq!(overlay.named("comparison"), ["spin", "tables/sum"]);
}

#[test]
fn several_versions_and_other_names_are_stood_in_for_at_once() {
    let old = WORK.replace("criterion::{", "older::{");
    let dependencies = "criterion = \"0.5\"\n\
                        older = { package = \"criterion\", version = \"0.3\" }\n\
                        codspeed = { package = \"codspeed-criterion-compat\", version = \"2\" }";
    let speed = WORK.replace("criterion::{", "codspeed::{");
    let fixture =
        Fixture::existing(dependencies, &[("work", WORK), ("older", &old), ("speed", &speed)]);
    let before = fixture.snapshot();
    let output = fixture.nbench(&RUN).exits(0);
    assert_eq!(output.of_type("measurement").len(), 6, "{}", output.stdout);
    let harness = |target| output.said("target", target, "harness");
    assert_eq!(harness("work"), "criterion 0.5.1 (stand-in)");
    assert_eq!(harness("older"), "criterion 0.3.6 (stand-in)");
    assert_eq!(harness("speed"), "codspeed-criterion-compat 2.7.2 (stand-in)");
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
}

#[test]
fn what_cannot_be_measured_is_named_and_costs_no_other() {
    let broken = WORK.replace("subject_lib::spin()", "subject_lib::gone()");
    let silent = "use criterion as _;\nfn main() { println!(\"1 ns/iter\"); }\n";
    let tango = "fn main() {}\n";
    let targets =
        [("work", WORK), ("broken", broken.as_str()), ("silent", silent), ("tango", tango)];
    let fixture = Fixture::existing(CRITERION, &targets);
    fixture.write("benches/old.rs", BUILT_IN);
    let needy = "\n[[bench]]\nname = \"needy\"\npath = \"benches/work.rs\"\nharness = false\n\
                 required-features = [\"extra\"]\n";
    let manifest = fixture.read("Cargo.toml") + needy;
    fixture.write("Cargo.toml", &manifest);
    fixture.commit("Other targets");
    let output = fixture.nbench(&RUN).exits(4);
    assert_eq!(output.named("measurement"), ["spin", "tables/sum"]);
    let broken = output.said("failure", "broken", "error");
    assert!(broken.contains("E0425") && broken.contains("benches/broken.rs:4"), "{broken}");
    assert!(output.said("skipped", "old", "reason").contains("nightly"));
    assert!(output.said("skipped", "needy", "reason").contains("--features extra"));
    for target in ["silent", "tango"] {
        assert!(output.said("skipped", target, "reason").contains("criterion"));
    }
    // Alone, it is no suite that lacks a target but a build that fails.
    fixture.nbench(&with(&RUN, &["--bench", "broken"])).exits(3).complains(&["gone", "hint:"]);
    let tango = fixture.nbench(&with(&RUN, &["--bench", "tango"])).exits(5);
    tango.complains(&["hint:"]);
}

#[test]
fn a_target_that_ends_or_computes_instead_of_connecting_is_told() {
    let main = "fn main() {\n    if std::env::var_os(\"PATH\").is_some() { std::process::exit(0) }\n\
                \x20   benches();\n    Criterion::default().final_summary();\n}\n";
    let source = WORK.replace("criterion_main!(benches);\n", main).replace(", criterion_main", "");
    let fixture = Fixture::existing(CRITERION, &[("work", &source)]);
    let output = fixture.nbench(&RUN).exits(4);
    let error = output.said("failure", "work", "error");
    assert!(error.contains("code 0") && error.contains("`main`"), "{error}");
}

#[test]
fn a_change_of_harness_in_history_is_told_and_equal_ids_are_compared() {
    let harness = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness");
    let native = format!("nbench = {{ path = {harness:?} }}");
    let suite = "use nbench::{black_box, Suite};\n\
                 fn work(suite: &mut Suite<'_>) {\n\
                 \x20   suite.bench(\"spin\", || black_box(subject_lib::spin()));\n}\n\
                 nbench::main!(work);\n";
    let fixture = Fixture::existing(CRITERION, &[("work", WORK)]);
    fixture.set_suite("tango-bench = \"0.6\"", &[("work", "fn main() {}\n")]);
    fixture.cargo(&["generate-lockfile"]).exits(0);
    fixture.commit("Another harness");
    fixture.set_suite(CRITERION, &[("work", WORK)]);
    fixture.cargo(&["generate-lockfile"]).exits(0);
    fixture.commit("Criterion again");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(5);
    assert!(output.said("not_measurable", "work", "reason").contains("tango-bench"));

    fixture.set_suite(&native, &[("work", suite)]);
    fixture.cargo(&["generate-lockfile"]).exits(0);
    fixture.commit("And nbench");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(0);
    assert_eq!(output.named("comparison"), ["spin"]);
    assert_eq!(output.named("unmatched"), ["tables/sum"]);
}

#[test]
fn renamed_benchmarks_are_paired_by_their_alias() {
    let fixture = Fixture::existing(CRITERION, &[("work", WORK)]);
    fixture.nbench(&with(&RUN, &["spin"])).exits(0);
    fixture.edit("benches/work.rs", "\"spin\"", "\"turn\"");
    fixture.edit("src/lib.rs", "WORK: u64 = 1000;", "WORK: u64 = 1300;");
    fixture.write("nbench.toml", "[aliases.\"subject-lib/work\"]\n\"spin\" = \"turn\"\n");
    fixture.commit("Rename it");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD", "--filter", "turn"])).exits(0);
    assert_eq!(output.named("comparison"), ["turn"]);
    assert_eq!(output.named("unmatched"), Vec::<String>::new());
    fixture.nbench(&with(&RUN, &["turn"])).exits(0);
    let history = fixture.nbench(&["history", "--format", "json", "turn"]).exits(0);
    let points: Vec<Value> =
        history.lines().into_iter().filter(|l| l["benchmark"] == "turn").collect();
    assert!(points.len() >= 2, "{}", history.stdout);
    assert!(!history.stdout.contains("\"spin\""), "{}", history.stdout);
}

#[test]
fn a_patched_harness_is_stood_in_for_and_one_that_cannot_be_says_why() {
    let fixture = Fixture::existing(CRITERION, &[("work", WORK)]);
    for file in ["Cargo.toml", "src/lib.rs"] {
        fixture.write(&format!("fork/{file}"), &fixture.read(&format!("vendor/criterion/{file}")));
    }
    let manifest = fixture.read("Cargo.toml");
    let patch = "\n[patch.crates-io]\ncriterion = { path = \"fork\" }\n";
    fixture.write("Cargo.toml", &format!("{manifest}{patch}"));
    fixture.cargo(&["generate-lockfile"]).exits(0);
    fixture.commit("A fork of the harness");
    let before = fixture.snapshot();
    let list = fixture.nbench(&["list"]).exits(0);
    assert!(list.stdout.contains("tables/sum"), "{}", list.stdout);
    assert!(list.stderr.contains("(stand-in)"), "{}", list.stderr);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());

    // A feature that no version of the harness has had.
    fixture.edit("fork/Cargo.toml", "html_reports = []", "html_reports = []\nown_idea = []");
    fixture
        .write("Cargo.toml", &format!("{}{patch}", manifest.replace("html_reports", "own_idea")));
    let before = fixture.snapshot();
    let list = fixture.nbench(&["list"]).exits(5);
    list.complains(&["nothing can stand in for `criterion`", "own_idea", "hint:"]);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
}

/// Counts instead of timing: `STEPS` for each iteration.
const COUNTING: &str = r#"use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use std::cell::Cell;

const STEPS: u64 = 3;
thread_local!(static TAKEN: Cell<u64> = const { Cell::new(0) });

struct Steps;

impl ValueFormatter for Steps {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str { "steps" }
    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str { "steps" }
    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str { "steps" }
}

impl Measurement for Steps {
    type Intermediate = u64;
    type Value = u64;
    fn start(&self) -> u64 { TAKEN.with(Cell::get) }
    fn end(&self, from: u64) -> u64 { TAKEN.with(Cell::get) - from }
    fn add(&self, a: &u64, b: &u64) -> u64 { a + b }
    fn zero(&self) -> u64 { 0 }
    fn to_f64(&self, value: &u64) -> f64 { *value as f64 }
    fn formatter(&self) -> &dyn ValueFormatter { self }
}

fn work(c: &mut Criterion<Steps>) {
    c.bench_function("walk", |b| {
        b.iter(|| {
            TAKEN.with(|taken| taken.set(taken.get() + STEPS));
            subject_lib::spin()
        });
    });
}

criterion_group!(name = benches; config = Criterion::default().with_measurement(Steps); targets = work);
criterion_main!(benches);
"#;

#[test]
fn what_a_suite_counts_itself_is_reported_and_compared() {
    let fixture = Fixture::existing(CRITERION, &[("work", COUNTING)]);
    let output = fixture.nbench(&RUN).exits(0);
    let own = &output.of_type("measurement")[0]["own"][0];
    assert_eq!((own["name"].as_str(), own["unit"].as_str()), (Some("Steps"), Some("steps")));
    assert_eq!(own["value"], 3.0);
    fixture.edit("benches/work.rs", "STEPS: u64 = 3", "STEPS: u64 = 6");
    fixture.commit("Two steps at once");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(0);
    let own = &output.comparison("walk")["own"][0];
    assert_eq!((&own["reference"], &own["contender"]), (&3.0.into(), &6.0.into()));
    assert!((own["change"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{own}");
}
