//! `run` and `list`: what is measured, what is passed over, and that one bad benchmark costs no
//! other. No test here expects a certain time.

use serde_json::Value;

use crate::support::Fixture;
use crate::{RUN, with};

#[test]
fn run_measures_every_kind_of_benchmark_and_stores_it() {
    let fixture = Fixture::with(&["work", "varied", "plain"]);
    let output = fixture.nbench(&RUN).exits(0);
    let names = output.named("measurement");
    for name in ["allocates", "data/cwd", "data/manifest", "sorts", "spin", "table", "threads"] {
        assert_eq!(names.iter().filter(|n| *n == name).count(), 1, "{name} in {names:?}");
    }
    // Cases are shown one by one, and beside each other.
    for case in ["binary", "linear"] {
        let shown = names.iter().any(|n| n.contains("search") && n.contains(case));
        assert!(shown, "{case} in {names:?}");
    }
    let compared = output.of_type("comparison");
    assert_eq!(compared.len(), 1, "{compared:?}");
    assert!(compared[0]["benchmark"].as_str().is_some_and(|id| id.contains("search")));
    for line in output.of_type("measurement") {
        let number = |field: &str| line[field].as_f64().unwrap_or(f64::NAN);
        assert_eq!((&line["package"], &line["unit"]), (&"subject-lib".into(), &"ns".into()));
        assert!(number("estimate") > 0.0, "{line}");
        assert!(number("low") <= number("estimate"), "{line}");
        assert!(number("estimate") <= number("high"), "{line}");
        assert!(number("confidence") > 0.9 && number("confidence") < 1.0, "{line}");
        assert!(number("samples") >= 6.0 && number("iters_per_sample") >= 1.0, "{line}");
        assert!(line["stop"].is_string(), "{line}");
    }
    let skipped = output.of_type("skipped");
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert_eq!(skipped[0]["target"], "plain");
    assert!(skipped[0]["reason"].as_str().is_some_and(|r| r.contains("nbench")), "{skipped:?}");
    assert_eq!(output.of_type("failure"), Vec::<Value>::new());
    let summaries = output.of_type("summary");
    assert_eq!(summaries.len(), 1);
    assert_eq!(output.lines().last(), summaries.first());

    let complete = "SELECT count(*) FROM measurement WHERE state = 'complete'";
    assert_eq!(fixture.number(complete), names.len() as i64);
    let fewest =
        "SELECT min(n) FROM (SELECT count(*) AS n FROM measurement_launch GROUP BY measurement)";
    assert!(fixture.number(fewest) >= 6, "launches in the store");
    assert_eq!(fixture.number("SELECT count(*) FROM run WHERE state = 'finished'"), 1);
    // The store keeps itself out of the user's way.
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn run_prints_a_card_for_each_selected_benchmark() {
    let fixture = Fixture::new();
    let output = fixture.nbench(&["run", "--preset", "quick", "spin"]).exits(0);
    assert!(output.stdout.contains("spin") && !output.stdout.contains("launches"));
    let output = fixture.nbench(&["run", "--preset", "quick", "spin", "-v"]).exits(0);
    assert!(output.stdout.contains("spin") && output.stdout.contains("launches"));
    assert!(!output.stdout.contains("table"), "{}", output.stdout);
    let none = fixture.nbench(&["run", "no_such_benchmark"]).exits(5).complains(&["hint:"]);
    assert!(!none.stdout.contains("launches"), "a card of nothing: {}", none.stdout);
    let list = fixture.nbench(&["nbench", "list"]).exits(0);
    assert!(list.stdout.contains("spin") && list.stdout.contains("table"), "{}", list.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn misbehaving_benchmarks_fail_one_by_one() {
    let fixture = Fixture::with(&["bad"]);
    let output = fixture.nbench(&with(&RUN, &["--batch-limit", "2s"])).exits(4);
    // Printing is no misbehaviour, however much it is.
    assert_eq!(output.named("measurement"), ["floods", "good_after", "good_before"]);
    assert_eq!(output.named("failure"), ["aborts", "exits", "hangs", "panics", "speaks"]);
    for line in output.of_type("failure") {
        let error = line["error"].as_str().unwrap_or_default();
        let said = match line["benchmark"].as_str() {
            Some("panics") => "on purpose",
            Some("aborts") => "signal 6",
            Some("exits") => "code 3",
            Some("hangs") => "no answer",
            _ => "",
        };
        assert!(!error.is_empty() && error.contains(said), "{line}");
        assert_eq!(line["target"], "bad");
    }
    fixture.outlived_by_nothing();
    assert_eq!(fixture.number("SELECT count(*) FROM failure"), 5);
    assert_eq!(fixture.number("SELECT count(*) FROM measurement WHERE state = 'complete'"), 3);
}
