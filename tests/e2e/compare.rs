//! `ab`: when two revisions are the same code, when they are measured, and the verdicts of changes
//! of known size. Sizes are 20 % and more, so that a loaded machine gives the same verdict.

use serde_json::Value;

use crate::support::{Fixture, Output};
use crate::{AB, with};

#[track_caller]
fn assert_identical(output: &Output) {
    assert_eq!(output.named("comparison"), ["spin", "table"]);
    for line in output.of_type("comparison") {
        assert_eq!((&line["verdict"], &line["pairs"]), (&"identical".into(), &0.into()), "{line}");
        assert_eq!(line["change"], Value::Null, "nothing was measured: {line}");
    }
}

#[track_caller]
fn assert_measured(output: &Output) {
    assert_eq!(output.named("comparison"), ["spin", "table"]);
    for line in output.of_type("comparison") {
        assert_ne!(line["verdict"], "identical", "{line}");
        assert!(line["pairs"].as_u64() > Some(0), "{line}");
        assert!(line["launches"].as_u64() >= Some(6), "{line}");
    }
}

#[test]
fn a_change_of_documentation_is_identical_unless_forced() {
    let fixture = Fixture::new();
    let first = fixture.git(&["rev-parse", "HEAD"]);
    fixture.write("README.md", "# Subject\n");
    let second = fixture.commit("Describe it");
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_identical(&output);
    let line = output.comparison("spin");
    assert_eq!(line["reference"]["rev"], "HEAD~1");
    assert_eq!(line["reference"]["commit"], first.as_str());
    assert_eq!(line["contender"]["commit"], second.as_str());
    assert_eq!(line["contender"]["dirty"], false);
    assert_eq!(fixture.number("SELECT count(*) FROM comparison_launch"), 0);
    assert_measured(&fixture.nbench(&with(&AB, &["HEAD~1", "--force"])).exits(0));
}

#[test]
fn a_changed_constant_or_data_file_is_measured() {
    let fixture = Fixture::new();
    fixture.edit("subject/src/lib.rs", "[3, 1, 4,", "[3, 1, 6,");
    fixture.commit("Change a constant of the table");
    assert_measured(&fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0));
    fixture.write("subject/data/words.csv", "alpha,beta\n");
    fixture.commit("Change the data");
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_measured(&output);
    let pairs = "SELECT count(*) FROM comparison WHERE pairs > 0 AND state = 'complete'";
    assert_eq!(fixture.number(pairs), 4);
}

#[test]
fn a_fifth_more_work_is_slower_and_a_gate_says_so() {
    let fixture = Fixture::alone();
    fixture.set_work(1200);
    fixture.commit("More work");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "--filter", "spin"])).exits(0);
    let line = output.comparison("spin");
    assert_eq!(line["verdict"], "slower", "{line}");
    let change = line["change"].as_f64().unwrap_or(f64::NAN);
    assert!((0.1..0.3).contains(&change), "{line}");
    assert!(line["low"].as_f64() > Some(0.0) && line["high"].as_f64() >= Some(change), "{line}");
    let gate = ["HEAD~1", "--filter", "spin", "--gate"];
    assert_eq!(fixture.nbench(&with(&AB, &gate)).exits(1).named("comparison"), ["spin"]);
    // The other way round the same difference is a gain, at which no gate closes.
    let back = ["HEAD", "HEAD~1", "--filter", "spin", "--gate"];
    let line = fixture.nbench(&with(&AB, &back)).exits(0).comparison("spin");
    assert_eq!(line["verdict"], "faster", "{line}");
}

#[test]
fn the_working_tree_is_the_contender_and_dirt_decides_the_reference() {
    let fixture = Fixture::alone();
    fixture.set_work(2000);
    let output = fixture.nbench(&with(&AB, &["--filter", "spin"])).exits(0);
    let line = output.comparison("spin");
    assert_eq!(line["verdict"], "slower", "{line}");
    assert_eq!(line["contender"]["dirty"], true, "{line}");
    assert!(output.stderr.contains("HEAD"), "it says what it compares with: {}", output.stderr);
    let second = fixture.commit("More work");
    // A clean tree on the default branch is compared with the commit before.
    let line = fixture.nbench(&with(&AB, &["--filter", "spin"])).exits(0).comparison("spin");
    assert_eq!(line["verdict"], "slower", "{line}");
    assert_eq!(line["contender"]["commit"], second.as_str());
}

#[test]
fn what_only_one_side_has_is_listed() {
    let fixture = Fixture::new();
    fixture.edit("subject/benches/work.rs", "\"table\"", "\"renamed\"");
    fixture.commit("Rename a benchmark");
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_eq!(output.named("unmatched"), ["renamed", "table"]);
    for line in output.of_type("unmatched") {
        let older = line["benchmark"] == "table";
        assert_eq!(line["side"] == "HEAD~1", older, "{line}");
    }
    assert_eq!(output.named("comparison"), ["spin"]);
    let hint =
        "1 benchmark is new at `@tree` and not compared: `--overlay-benches` measures today's";
    assert!(output.stderr.contains(hint), "{}", output.stderr);
}

#[test]
fn benchmarks_read_the_data_of_their_own_side() {
    let fixture = Fixture::with(&["varied"]);
    // Reading the other side's file would fail: its assertion on the content is of this revision.
    let guard = "let text = std::fs::read_to_string(&path).expect(\"the data file is beside the manifest\");";
    let first = format!("{guard}\n        assert!(text.starts_with(\"alpha\"), \"{{path:?}}\");");
    fixture.edit("subject/benches/varied.rs", guard, &first);
    fixture.commit("Check the data");
    fixture.edit("subject/benches/varied.rs", "\"alpha\"", "\"omega\"");
    fixture.write("subject/data/words.csv", "omega,psi,chichi\n");
    fixture.commit("Other data");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "--filter", "data/"])).exits(0);
    assert_eq!(output.named("comparison"), ["data/cwd", "data/manifest"]);
    assert_eq!(output.of_type("failure"), Vec::<Value>::new());
}

#[test]
fn new_benchmarks_can_be_laid_over_an_older_revision() {
    let fixture = Fixture::with(&["work", "varied"]);
    fixture.edit("subject/benches/work.rs", "\"table\"", "\"renamed\"");
    // What the older library does not have cannot be measured there.
    fixture.edit(
        "subject/benches/varied.rs",
        "scope.spawn(subject_lib::spin)",
        "scope.spawn(subject_lib::fresh)",
    );
    let library = fixture.read("subject/src/lib.rs");
    fixture.write("subject/src/lib.rs", &format!("{library}\n/// New.\npub fn fresh() {{}}\n"));
    fixture.commit("New benchmarks");
    let before = fixture.snapshot();
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "--overlay-benches"])).exits(0);
    assert_eq!(output.named("comparison"), ["renamed", "spin"]);
    assert!(!output.stderr.contains("is new at"), "{}", output.stderr);
    let building = "building the benchmarks of @tree against HEAD~1";
    assert!(output.stderr.contains(building), "{}", output.stderr);
    let missing = output.of_type("not_measurable");
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!((&missing[0]["target"], &missing[0]["rev"]), (&"varied".into(), &"HEAD~1".into()));
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
}

#[test]
fn two_comparisons_at_once_both_tell_the_truth() {
    let fixture = Fixture::alone();
    fixture.set_work(2000);
    fixture.commit("Twice the work");
    let before = fixture.snapshot();
    let words = with(&AB, &["--filter", "spin"]);
    let there = fixture.spawn(&with(&words, &["HEAD~1", "HEAD"]));
    let back = fixture.spawn(&with(&words, &["HEAD", "HEAD~1"]));
    assert_eq!(there.finish().exits(0).comparison("spin")["verdict"], "slower");
    assert_eq!(back.finish().exits(0).comparison("spin")["verdict"], "faster");
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    assert_eq!(fixture.worktrees(), 1);
    assert_eq!(fixture.number("SELECT count(*) FROM comparison WHERE state = 'complete'"), 2);
}
