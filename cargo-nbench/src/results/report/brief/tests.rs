//! What a reader of the last thirty lines learns, from few benchmarks to hundreds.

use nbench_templates::lines::{Rev, Summary};

use super::*;
use crate::term::kept::Kept;
use crate::term::{Colour, Format};

fn compared(id: &str, verdict: Verdict, change: f64) -> Line {
    let rev = |rev: &str| Rev { rev: rev.into(), ..Rev::default() };
    Line::Comparison(Box::new(Comparison {
        package: "p".into(),
        target: "t".into(),
        benchmark: id.into(),
        verdict,
        reference: rev("v1"),
        contender: rev("v2"),
        change: Some(change),
        low: Some(change - 0.01),
        high: Some(change + 0.01),
        reference_ns: Some(100.0),
        contender_ns: Some(100.0 * (1.0 + change)),
        launch_changes: vec![change; 10],
        launches: 10,
        ..Comparison::default()
    }))
}

fn failure(id: &str, error: &str) -> Line {
    Line::Failure(FailureLine {
        package: "p".into(),
        target: "t".into(),
        benchmark: Some(id.into()),
        error: error.into(),
        ..FailureLine::default()
    })
}

/// What is printed for `lines` and the end, by line.
pub(super) fn printed(lines: &[Line], sides: usize, verbose: bool) -> Vec<String> {
    let out = Kept::default();
    let mut term = Term::captured(Box::new(out.clone()), Box::new(out.clone()));
    term.configure(Format::Human, Colour::Never, false);
    term.set_verbose(verbose);
    let mut brief = Brief::new(sides);
    let mut summary = Summary::default();
    for line in lines {
        brief.emit(&mut term, line);
        summary.count(line);
    }
    brief.end(&mut term);
    super::super::print(&mut term, &Line::Summary(summary));
    let text = out.text();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_benchmark_is_one_line_unless_all_is_asked_for() {
    let lines = [compared("words/count", Verdict::Slower, 0.2)];
    let brief = printed(&lines, 2, false);
    assert_eq!(brief.len(), 2, "{brief:?}");
    assert_eq!(
        brief[0],
        "slower       p/t  words/count  +20.0 %  [+19.0 % .. +21.0 %]  100 ns -> 120 ns"
    );
    let all = printed(&lines, 2, true);
    assert!(all.iter().any(|line| line.contains("10 launches")), "{all:?}");
    assert!(printed(&lines, 3, false)[0].contains("(v2 against v1)"));
}

#[test]
fn the_last_thirty_lines_of_hundreds_tell_what_is_slower_faster_and_failed() {
    let mut lines: Vec<Line> =
        (0..160).map(|i| compared(&format!("same/{i}"), Verdict::Equivalent, 0.0)).collect();
    lines.extend(
        (0..17).map(|i| compared(&format!("worse/{i}"), Verdict::Slower, 0.01 * f64::from(i + 1))),
    );
    lines.extend(
        (0..3).map(|i| compared(&format!("better/{i}"), Verdict::Faster, -0.02 * f64::from(i + 1))),
    );
    lines.insert(5, failure("broken/1", "\nindex out of bounds\nstack backtrace:"));
    let all = printed(&lines, 2, false);
    assert!(all.len() < 215, "{}", all.len());
    let last = &all[all.len() - 30..];
    let at = |what: &str| {
        let found = last.iter().rposition(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("{what} in {last:#?}"))
    };
    assert!(last[at("worse/16") - 1].is_empty(), "a line divides them from the others");
    // All names stand in one column.
    let column = |what: &str| last[at(what)].find("p/t").unwrap();
    assert_eq!(column("worse/16"), column("broken/1"));
    // The worst first.
    assert!(at("worse/16") < at("worse/12"));
    assert!(last[at("worse/16")].contains("+17.0 %"));
    assert!(at("better/2") < at("better/0"));
    assert!(last[at("broken/1")].contains("index out of bounds"));
    assert!(last.last().unwrap().contains("17 slower, 3 faster, 160 equivalent, 1 failed"));
}

#[test]
fn however_much_changed_the_end_fits_a_screen_and_says_how_much_more() {
    let mut lines: Vec<Line> = (0..150)
        .map(|i| compared(&format!("worse/{i}"), Verdict::Slower, 0.01 * f64::from(i + 1)))
        .collect();
    lines.extend(
        (0..40)
            .map(|i| compared(&format!("better/{i}"), Verdict::Faster, -0.002 * f64::from(i + 1))),
    );
    lines.extend((0..30).map(|i| failure(&format!("broken/{i}"), &"long ".repeat(100))));
    let all = printed(&lines, 2, false);
    let last = &all[all.len() - 28..];
    for what in ["+150 %", "140 more, down to +1.0 %", "35 more", "25 more", "150 slower"] {
        assert!(last.iter().any(|line| line.contains(what)), "{what} in {last:#?}");
    }
    let end = &last[last.len() - 24..];
    assert!(end.iter().all(|line| line.chars().count() < 160), "{end:#?}");
}

#[test]
fn names_at_the_end_are_shared_by_importance() {
    let table = [
        ([150, 30, 40], [10, 5, 5]),
        ([17, 0, 0], [17, 0, 0]),
        ([0, 0, 200], [0, 0, 20]),
        ([2, 100, 1], [2, 17, 1]),
        ([0, 0, 0], [0, 0, 0]),
        ([12, 4, 4], [12, 4, 4]),
    ];
    for (wanted, expected) in table {
        assert_eq!(shares(wanted), expected, "{wanted:?}");
    }
}

#[test]
fn little_that_was_said_is_not_said_again_and_a_note_once() {
    let lines: Vec<Line> =
        (0..FEW).map(|i| compared(&format!("b{i}"), Verdict::Slower, 0.1)).collect();
    assert_eq!(printed(&lines, 2, false).len(), FEW + 1);
    let noted: Vec<Line> = (0..8)
        .map(|i| match compared(&format!("b{i}"), Verdict::Slower, 0.1) {
            Line::Comparison(c) => {
                Line::Comparison(Box::new(Comparison { notes: vec!["a doubt".into()], ..*c }))
            }
            other => other,
        })
        .collect();
    let all = printed(&noted, 2, false);
    assert_eq!(all.iter().filter(|line| line.contains("a doubt")).count(), 2, "{all:#?}");
    assert!(
        all.iter().any(|line| line == "note on 8 that are slower or faster: a doubt"),
        "{all:#?}"
    );
}

#[test]
fn the_host_is_told_in_a_line_that_fits() {
    let c = Context {
        host_summary: "Intel(R) Xeon(R) Processor @ 2.80GHz, 2 cores of 4, Debian 12, x86_64"
            .into(),
        toolchain_summary: "rustc 1.95.0 (59807616e 2026-04-14), bench, lld".into(),
        placement: "workers on CPU 1, addresses shared by the sides".into(),
        preset: "default".into(),
        ..Context::default()
    };
    let line = context(&c);
    assert!(line.chars().count() <= 100, "{line}");
    let expected =
        "Intel(R) Xeon(R) Processor @ 2.80GHz, 2 co.. \u{b7} rustc 1.95.0 \u{b7} default";
    assert_eq!(line, expected);
}

#[test]
fn why_most_are_inconclusive_is_told_once() {
    let noted =
        |id: usize, note: &str| match compared(&format!("b{id}"), Verdict::Inconclusive, 0.0) {
            Line::Comparison(c) => {
                Line::Comparison(Box::new(Comparison { notes: vec![note.into()], ..*c }))
            }
            other => other,
        };
    let reasons = |notes: &[&str], verbose: bool| -> Vec<String> {
        let lines: Vec<Line> = notes.iter().enumerate().map(|(i, note)| noted(i, note)).collect();
        let mut all = printed(&lines, 2, verbose);
        all.retain(|line| line.starts_with("why "));
        all
    };
    assert_eq!(reasons(&["too few"], false), ["why 1 inconclusive: too few"]);
    let most = ["one look", "one look", "3 launches", "one look"];
    assert_eq!(reasons(&most, false), ["why 3 inconclusive: one look"]);
    assert_eq!(reasons(&["a", "b", "c"], false), Vec::<String>::new());
    assert_eq!(reasons(&most, true), Vec::<String>::new(), "each says it itself");
    assert_eq!(printed(&[compared("b", Verdict::Slower, 0.2)], 2, false).len(), 2);
}

#[test]
fn a_measurement_that_missed_its_precision_says_so() {
    let line = |stop: Stop| {
        let m = Measurement { stop, low: Some(1.0), high: Some(2.0), ..Default::default() };
        printed(&[Line::Measurement(m)], 1, false).remove(0)
    };
    assert!(line(Stop::Budget).contains("not as precise as asked for: budget"));
    assert!(line(Stop::MaxLaunches).contains("not as precise as asked for: max-launches"));
    assert!(!line(Stop::PrecisionReached).contains("precise"));
}
