//! Suites that are driven by the runner of the criterion they were built with: because they do not
//! compile with what stands in for it, or on request. That criterion is one of the fixtures.

use rustix::process::Signal;

use crate::support::Fixture;
use crate::{AB, RUN, with};

const CRITERION: &str = "criterion = \"0.5\"";

/// Compiles with either.
const PLAIN: &str = r#"use criterion::{black_box, criterion_group, criterion_main, Criterion};

fn work(c: &mut Criterion) {
    c.bench_function("spin", |b| b.iter(|| black_box(subject_lib::spin())));
    let mut group = c.benchmark_group("tables");
    group.bench_function("sum (all)", |b| b.iter(|| subject_lib::sum(&subject_lib::TABLE)));
    group.finish();
}

criterion_group!(benches, work);
criterion_main!(benches);
"#;

const NOTE: &str = "driven by criterion's own runner in blocks: weaker pairing";

/// [`PLAIN`] with something that only the fixture's criterion has.
fn rare() -> String {
    PLAIN.replace(
        "criterion_main!(benches);",
        "criterion_main!(benches);\nconst _: fn() = criterion::rare;",
    )
}

fn fixture(targets: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::existing(CRITERION, targets);
    fixture.write("vendor/criterion/src/lib.rs", include_str!("../fixtures/criterion/lib.rs"));
    fixture.write("vendor/anes/src/lib.rs", "");
    fixture.commit("A criterion that compiles");
    fixture
}

#[test]
fn a_suite_that_does_not_compile_with_the_stand_in_is_measured_all_the_same() {
    let fixture = fixture(&[("work", PLAIN), ("rare", &rare())]);
    let before = fixture.snapshot();
    let output = fixture.nbench(&RUN).exits(0).complains(&["`rare` does not compile", "E0425"]);
    assert_eq!(
        output.named("measurement"),
        ["spin", "spin", "tables/sum (all)", "tables/sum (all)"]
    );
    assert_eq!(output.said("target", "work", "harness"), "criterion 0.5.1 (stand-in)");
    assert_eq!(output.said("target", "rare", "harness"), "criterion 0.5.1 (own runner)");
    for line in output.of_type("measurement") {
        let notes = line["notes"].as_array().map_or(0, Vec::len);
        assert_eq!(notes, usize::from(line["target"] == "rare"), "{line}");
        assert!(line["estimate"].as_f64().is_some_and(|ns| ns > 0.0), "{line}");
        let has_amount = line["throughput"]["amount"] == 64.0;
        assert_eq!(has_amount, line["target"] == "rare", "{line}");
    }
    let list = fixture.nbench(&["list", "--bench", "rare"]).exits(0);
    assert!(list.stderr.contains("criterion 0.5.1 (own runner) serves rare"), "{}", list.stderr);
    assert!(list.stdout.contains("rare  tables/sum (all)"), "{}", list.stdout);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
}

#[test]
fn both_revisions_go_the_same_way() {
    let fixture = fixture(&[("work", PLAIN)]);
    fixture.edit("src/lib.rs", "WORK: u64 = 1000;", "WORK: u64 = 4000;");
    fixture.write("benches/work.rs", &rare());
    fixture.commit("More work, and something rare");
    let before = fixture.snapshot();
    for (reference, contender, verdict) in
        [("HEAD~1", "HEAD", "slower"), ("HEAD", "HEAD~1", "faster")]
    {
        let output = fixture.nbench(&with(&AB, &[reference, contender])).exits(0);
        assert_eq!(output.said("target", "work", "harness"), "criterion 0.5.1 (own runner)");
        assert_eq!(output.named("comparison"), ["spin", "tables/sum (all)"]);
        let spin = output.comparison("spin");
        assert_eq!(spin["verdict"], verdict, "{spin}");
        assert_eq!((&spin["layout"], &spin["launches"]), (&"unconfirmed".into(), &spin["pairs"]));
        assert!(spin["notes"].as_array().is_some_and(|n| n.contains(&NOTE.into())), "{spin}");
    }
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
}

#[test]
fn a_revision_that_cannot_go_the_same_way_is_told() {
    let fixture = fixture(&[("work", PLAIN)]);
    fixture.write("vendor/criterion/src/lib.rs", "compile_error!(\"not at this revision\");\n");
    fixture.commit("A criterion that does not compile");
    fixture.git(&["checkout", "--quiet", "HEAD~1", "--", "vendor"]);
    fixture.write("benches/work.rs", &rare());
    fixture.commit("Something rare");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(5);
    let reason = output.said("not_measurable", "work", "reason");
    assert!(reason.contains("the real criterion") && reason.contains("not at this"), "{reason}");
}

#[test]
fn the_own_runner_can_be_asked_for() {
    let slow = PLAIN.replace("\"spin\"", "\"slow\"");
    let fixture = fixture(&[("work", PLAIN), ("slow", &slow)]);
    let output = fixture.nbench(&with(&RUN, &["--criterion-runner", "s*"])).exits(0);
    assert_eq!(output.said("target", "work", "harness"), "criterion 0.5.1 (own runner)");
    assert_eq!(output.named("measurement"), ["slow", "spin"]);
    let words = ["ab", "--criterion-runner", "--overlay-benches"];
    fixture.nbench(&words).exits(2).complains(&["cannot be used with"]);
}

#[test]
fn what_goes_wrong_is_told_and_costs_no_other() {
    let more = "    for id in [\"garbage\", \"endless\", \"silent\", \"exits\", \"cycles\"] {\n\
                \x20       group.bench_function(id, |b| b.iter(|| 1));\n    }\n\
                \x20   group.bench_function(\"panics\", |_| panic!(\"at the disco\"));\n    group.finish();\n";
    let bad = rare().replace("    group.finish();\n", more);
    let broken = rare().replace("criterion::rare", "criterion::rarest");
    let fixture = fixture(&[("bad", &bad), ("broken", &broken)]);
    let output = fixture.nbench(&with(&RUN, &["--batch-limit", "2s"])).exits(4);
    assert_eq!(output.named("measurement"), ["spin", "tables/sum (all)"]);
    let failures = output.of_type("failure");
    let told = |id: &str| {
        let found = failures.iter().find(|line| line["benchmark"] == format!("tables/{id}"));
        found.unwrap_or_else(|| panic!("{id} in {failures:?}"))
    };
    for (id, reason) in [
        ("garbage", "not CBOR"),
        ("endless", "message of 4294967295 bytes"),
        ("silent", "no answer within 2.0 s"),
        ("exits", "exited with code 7 before"),
        ("cycles", "measures in `cycles`"),
        ("panics", "exited with code 101"),
    ] {
        let error = told(id)["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "{id}: {error}");
    }
    let tail = told("panics")["stderr_tail"].as_str().unwrap_or_default();
    assert!(tail.contains("at the disco"), "{tail}");
    let failure = output.said("failure", "broken", "error");
    assert!(failure.contains("rarest") && failure.contains("benches/broken.rs:"), "{failure}");
    fixture.outlived_by_nothing();
}

#[test]
fn nothing_outlives_a_driver_that_is_killed() {
    let silent = rare().replace("\"sum (all)\"", "\"silent\"");
    let fixture = fixture(&[("work", &silent)]);
    let mut running = fixture.spawn(&RUN);
    let executables = || {
        let names = fixture
            .workers()
            .into_iter()
            .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        names.filter(|name| name.starts_with("work-")).count()
    };
    // What compiles the suite lies elsewhere, so only the suite itself is seen.
    let rows = "SELECT count(*) FROM run";
    running.wait_until("a block runs", || fixture.number(rows) > 0 && executables() > 0);
    running.signal(Signal::KILL);
    drop(running.finish());
    fixture.outlived_by_nothing();
}
