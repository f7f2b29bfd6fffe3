//! Snapshots of the comment, and what must hold for every comment: its length, its closed elements,
//! its harmlessness.

use nbench_templates::lines::{Comparison, FailureLine, Rev, Summary, Unmatched, Verdict};
use nbench_templates::*;

fn side(label: &str, dirty: bool) -> Rev {
    Rev { rev: label.into(), commit: "abc1234".into(), dirty }
}

fn row(name: &str, verdict: Verdict, change: f64) -> Comparison {
    Comparison {
        package: "parser".into(),
        target: "benches".into(),
        benchmark: name.into(),
        verdict,
        change: Some(change),
        low: Some(change - 0.004),
        high: Some(change + 0.004),
        reference_ns: Some(12_400.0),
        contender_ns: Some(12_400.0 * (1.0 + change)),
        smallest: Some(0.012),
        ..Comparison::default()
    }
}

fn view() -> CommentView {
    CommentView {
        marker_id: "default".into(),
        reference: side("main", false),
        contender: side("@tree", true),
        failed: None,
        several: false,
        counts: Summary {
            slower: 2,
            faster: 1,
            equivalent: 2,
            inconclusive: 1,
            identical: 1,
            failed: 1,
            unmatched: 1,
            ..Summary::default()
        },
        rows: vec![
            row("tiny", Verdict::Equivalent, 0.001),
            row("decode/1k", Verdict::Slower, 0.021),
            row("encode", Verdict::Faster, -0.34),
            Comparison {
                notes: vec!["may be layout".into()],
                ..row("sort", Verdict::Slower, 0.12)
            },
            row("noisy", Verdict::Inconclusive, 0.008),
            Comparison {
                change: None,
                low: None,
                high: None,
                reference_ns: None,
                contender_ns: None,
                smallest: None,
                ..row("same", Verdict::Identical, 0.0)
            },
            row("steady", Verdict::Equivalent, -0.002),
        ],
        failures: vec![FailureLine {
            package: "parser".into(),
            target: "benches".into(),
            benchmark: Some("panics".into()),
            side: Some("contender".into()),
            error: "panicked: index | out of `bounds`".into(),
            stderr_tail: String::new(),
        }],
        unmatched: vec![Unmatched {
            package: "parser".into(),
            target: "benches".into(),
            benchmark: Some("new".into()),
            side: "contender".into(),
        }],
        host: "8 x Example CPU, Linux 6.1".into(),
        method: "10 to 24 launches of 80 pairs, 95 % intervals, threshold 1 %.".into(),
        together: vec![
            "Geometric mean of 3 benchmarks at @tree: -4.0 %  [-5.0 % .. -3.0 %]".into(),
        ],
        command: "cargo nbench ab main".into(),
    }
}

fn quiet() -> CommentView {
    CommentView {
        counts: Summary::default(),
        rows: Vec::new(),
        failures: Vec::new(),
        unmatched: Vec::new(),
        together: Vec::new(),
        ..view()
    }
}

/// What must hold whatever the view holds.
fn check(text: &str) {
    assert!(text.len() <= COMMENT_LIMIT, "{} bytes", text.len());
    assert!(text.starts_with("<!-- cargo-nbench:"), "the marker comes first");
    for element in ["details", "summary", "code", "sub"] {
        let opened = text.matches(&format!("<{element}>")).count();
        let closed = text.matches(&format!("</{element}>")).count();
        assert_eq!(opened, closed, "<{element}>");
    }
    let mut columns = None;
    for line in text.lines() {
        let bars = line.matches('|').count();
        if line.starts_with("|---") {
            columns = Some(bars);
        } else if line.starts_with('|') {
            assert!(
                columns.is_none_or(|columns| columns == bars || line.starts_with("| Benchmark")),
                "{line}"
            );
        } else {
            columns = None;
            assert_eq!(bars, 0, "{line}");
        }
    }
}

#[test]
fn a_full_comment() {
    let text = comment(&view()).unwrap();
    check(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_comment_about_nothing() {
    let text = comment(&quiet()).unwrap();
    check(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn targets_are_named_when_there_are_several() {
    let mut view = view();
    view.rows.truncate(2);
    assert!(!comment(&view).unwrap().contains("<sub>parser"));
    view.rows[0].target = "other".into();
    let text = comment(&view).unwrap();
    assert!(text.contains("<code>tiny</code><br><sub>parser other</sub>"), "{text}");
}

#[test]
fn unchanged_rows_go_first_when_the_comment_is_too_long() {
    let mut view = view();
    for index in 0..2_000 {
        view.rows.push(row(&format!("unchanged {index:04} ünïcødé ☃☃☃"), Verdict::Equivalent, 0.0));
    }
    for index in 0..50 {
        view.rows.push(row(&format!("undecided {index}"), Verdict::Inconclusive, 0.0));
    }
    let text = comment(&view).unwrap();
    check(&text);
    assert!(text.len() > COMMENT_LIMIT - 2_000, "the room is used: {} bytes", text.len());
    assert_eq!(text.matches("undecided ").count(), 50);
    let shown = text.matches("| <code>unchanged ").count();
    assert!((100..2_000).contains(&shown), "{shown}");
    // Of the three unchanged rows of the small view two lead and the identical one comes last.
    let note = format!("{} more unchanged rows are in the job's output.", 2_001 - shown);
    assert!(text.contains(&note), "{note}");
    for kept in ["decode/1k", "sort", "encode", "panics", "Repeat with"] {
        assert!(text.contains(kept), "{kept}");
    }
}

#[test]
fn the_largest_changes_stay_when_there_are_too_many() {
    let mut view = quiet();
    view.rows = (0..3_000)
        .map(|index| row(&format!("row {index}"), Verdict::Slower, 0.01 + f64::from(index) * 1e-4))
        .collect();
    let text = comment(&view).unwrap();
    check(&text);
    assert!(text.contains("row 2999<"), "the largest change is shown");
    assert!(!text.contains("row 0<"), "the smallest is not");
    assert!(text.contains("more changed rows are in the job's output."));
}

#[test]
fn nothing_in_a_view_can_break_the_comment() {
    let nasty = [
        "</details></code></sub>",
        "a|b\n| x |\n",
        "<!-- --> <script>alert(1)</script>",
        "@octocat #123 www.x.y http://x.y [a](b) `c`",
        "\u{202e}\u{0}\r\n- x",
    ];
    for text in
        nasty.map(str::to_owned).into_iter().chain(["@".repeat(200_000), "☃".repeat(100_000)])
    {
        let side = Rev { rev: text.clone(), commit: text.clone(), dirty: true };
        let mut row = row(&text, Verdict::Inconclusive, f64::NAN);
        (row.package, row.target) = (text.clone(), text.clone());
        (row.contender, row.notes) = (side.clone(), vec![text.clone().into()]);
        let slower = Comparison { verdict: Verdict::Slower, ..row.clone() };
        let equivalent =
            Comparison { verdict: Verdict::Equivalent, target: "other".into(), ..row.clone() };
        let view = CommentView {
            marker_id: text.clone(),
            reference: side.clone(),
            contender: side,
            several: true,
            failed: None,
            counts: Summary::default(),
            rows: [row, slower, equivalent].into_iter().cycle().take(90).collect(),
            failures: vec![
                FailureLine {
                    package: text.clone(),
                    target: text.clone(),
                    benchmark: Some(text.clone()),
                    side: Some(text.clone()),
                    error: text.clone(),
                    stderr_tail: text.clone()
                };
                20
            ],
            unmatched: vec![
                Unmatched {
                    package: text.clone(),
                    target: text.clone(),
                    benchmark: Some(text.clone()),
                    side: text.clone()
                };
                20
            ],
            host: text.clone(),
            method: text.clone(),
            together: vec!["Geometric mean: unavailable".into()],
            command: text.clone(),
        };
        let out = comment(&view).unwrap();
        check(&out);
        // Nothing inside the marker's HTML comment is shown, so a link there is none.
        let (_, body) = out.split_once('\n').unwrap();
        for raw in
            ["<script", "@octocat", "#123", "www.x", "http:", "[a]", "`", "\u{202e}", "\u{0}"]
        {
            assert!(
                !body.contains(raw),
                "{raw:?} of {:?}",
                text.chars().take(40).collect::<String>()
            );
        }
        assert_eq!(out.matches("<!--").count(), 1, "only the marker is a comment");
    }
}

#[test]
fn a_marker_cannot_end_its_line() {
    assert_eq!(marker("linux-x86_64"), "<!-- cargo-nbench:linux-x86_64 -->");
    assert_eq!(marker("a --> <b>\n"), "<!-- cargo-nbench:a_--___b__ -->");
}
