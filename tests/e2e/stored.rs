//! `compare`: two stored runs told apart without measuring, never worded as a paired verdict, and
//! refused when more than the code differs.

use crate::support::Fixture;
use crate::{AB, RUN, with};

#[test]
fn stored_runs_are_compared_and_marked_as_not_paired() {
    let fixture = Fixture::alone();
    let first = fixture.git(&["rev-parse", "HEAD"]);
    fixture.nbench(&RUN).exits(0);
    // Four times the work: no noise of a busy machine hides it.
    fixture.set_work(4000);
    let second = fixture.commit("Four times the work");
    fixture.nbench(&RUN).exits(0);

    let output = fixture.nbench(&["compare", "HEAD~1", "HEAD", "--format", "json"]).exits(0);
    assert_eq!(output.named("independent_comparison"), ["spin", "table"]);
    let mut lines = output.of_type("independent_comparison");
    lines.retain(|line| line["benchmark"] == "spin");
    let spin = &lines[0];
    assert_eq!(spin["design"], "independent");
    assert_eq!(spin["verdict"], "slower", "{spin}");
    assert!(spin["low"].as_f64().unwrap() > 0.5, "{spin}");
    assert_eq!(spin["reference"]["commit"], first.as_str());
    assert_eq!(spin["contender"]["commit"], second.as_str());
    assert!(spin["note"].as_str().unwrap().contains("not paired"), "{spin}");

    for method in ["two-gate", "blocks"] {
        let words = ["compare", "2", "1", "spin", "--method", method];
        let shown = fixture.nbench(&words).exits(0).stdout;
        for part in ["independent: faster", "not paired", method, "spin"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("table"), "{shown}");
    }
    fixture.nbench(&["compare", "1", "2", "no-such-name"]).exits(5).complains(&["hint:"]);
    assert_eq!(fixture.number("SELECT count(*) FROM run"), 2, "nothing was measured");
}

#[test]
fn runs_that_differ_in_more_than_the_code_are_refused() {
    let fixture = Fixture::new();
    fixture.nbench(&["compare", "1", "2"]).exits(9).complains(&["no store", "hint:"]);
    fixture.nbench(&with(&RUN, &["spin"])).exits(0);
    fixture.nbench(&with(&RUN, &["spin", "--precision", "7%"])).exits(0);
    let refused = fixture.nbench(&["compare", "1", "2"]).exits(2);
    let refused =
        refused.complains(&["settings", "precision: 0.05 against 0.07", "nbench ab", "hint:"]);
    assert_eq!(refused.stdout, "");
    // Another order of the same measurement is no other setting.
    fixture.nbench(&with(&RUN, &["spin", "--seed", "77"])).exits(0);
    fixture.nbench(&["compare", "1", "3"]).exits(0);
    // A history joins the same runs, and says what parts the others in the same words.
    let points = fixture.nbench(&["history", "--format", "json"]).exits(0);
    let changes: Vec<bool> = points
        .lines()
        .iter()
        .filter(|line| line["type"] == "point")
        .map(|line| line["change_to_previous"].is_null())
        .collect();
    assert_eq!(
        changes,
        [true, true, true],
        "the first has none, and 7 % stands between the others"
    );
    let shown = fixture.nbench(&["history"]).exits(0).stdout;
    assert!(shown.contains("settings: precision: 0.05 against 0.07"), "{shown}");
    fixture.nbench(&with(&RUN, &["spin", "--seed", "78"])).exits(0);
    let points = fixture.nbench(&["history", "--format", "json"]).exits(0).lines();
    assert!(points[3]["change_to_previous"].is_number(), "seeds part nothing: {points:?}");
    // Who does not know the numbers is told them, newest first.
    let listed = fixture.nbench(&["compare"]).exits(0);
    let commit = &fixture.git(&["rev-parse", "HEAD"])[..12];
    let runs: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(runs.len(), 4, "{}", listed.stdout);
    assert!(runs[0].starts_with("run 4 ") && runs[3].starts_with("run 1 "), "{}", listed.stdout);
    assert!(runs.iter().all(|r| r.contains(commit) && r.contains("1 benchmark")), "{runs:?}");
    fixture.nbench(&["compare", "1"]).exits(2).complains(&["<B>"]);
    fixture.nbench(&["compare", "1", "1"]).exits(2).complains(&["both sides", "hint:"]);
    fixture.nbench(&["compare", "1", "#99"]).exits(2).complains(&["#99", "hint:"]);
    fixture.set_work(1200);
    fixture.commit("More work");
    fixture.nbench(&["compare", "1", "HEAD"]).exits(2).complains(&["no stored results", "hint:"]);
    fixture.nbench(&with(&AB, &["HEAD~1", "HEAD", "--filter", "spin"])).exits(0);
    fixture.nbench(&["compare", "1", "5"]).exits(2).complains(&["paired", "hint:"]);
}
