//! A snapshot of the page of a comparison, and what must hold for every such page: one file that
//! loads nothing, escapes every name and stays light.

use nbench_templates::lines::{Comparison, LayoutState, Note, OwnChangeLine, Rev, Stop, Verdict};
use nbench_templates::*;

/// Pairs that scatter around `centre` in a way that is the same at every run.
fn launch(number: usize, centre: f64, pairs: usize) -> LaunchView {
    let mut state = number as u64 + 1;
    let mut noise = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / 16_777_216.0 - 0.5
    };
    let estimate = centre + 0.004 * noise();
    let log_ratios = (0..pairs).map(|_| estimate + 0.02 * (noise() + noise() + noise())).collect();
    LaunchView { log_ratios, estimate: Some(estimate) }
}

fn rev(name: &str, dirty: bool) -> Rev {
    Rev { rev: name.into(), commit: "0123456789abcdef".into(), dirty }
}

fn compared(
    name: &str,
    verdict: Verdict,
    change: f64,
    launches: usize,
    pairs: usize,
) -> ComparedView {
    let line = Comparison {
        package: "parser".into(),
        target: "benches".into(),
        benchmark: name.into(),
        reference: rev("main", false),
        contender: rev("@tree", true),
        verdict,
        change: Some(change),
        low: Some(change - 0.004),
        high: Some(change + 0.004),
        confidence: Some(0.95),
        threshold: 0.01,
        reference_ns: Some(12_400.0),
        contender_ns: Some(12_400.0 * (1.0 + change)),
        order_effect: Some(0.0012),
        lag1: Some(0.05),
        contender_wins: 30,
        reference_wins: 66,
        ties: 0,
        between_launches: Some(0.0031),
        within_launch: Some(0.012),
        smallest: Some(0.01),
        layout: LayoutState::Fresh,
        stop: Stop::Decided,
        p_adjusted: Some(0.0123),
        notes: vec!["uses threads, so workers were not pinned to one CPU".into()],
        ..Comparison::default()
    };
    ComparedView {
        line,
        launches: (0..launches).map(|index| launch(index, change.ln_1p(), pairs)).collect(),
        axes: vec![AxisView {
            name: "process CPU time".into(),
            change: Ok((change + 0.001, Some((change - 0.001, change + 0.003)))),
        }],
    }
}

/// A comparison of which nothing was measured.
fn unmeasured(name: &str) -> ComparedView {
    let measured = compared(name, Verdict::Identical, 0.0, 0, 0).line;
    let line = Comparison {
        package: measured.package,
        target: measured.target,
        benchmark: measured.benchmark,
        reference: measured.reference,
        contender: measured.contender,
        verdict: Verdict::Identical,
        threshold: measured.threshold,
        stop: Stop::Identical,
        ..Comparison::default()
    };
    ComparedView { line, ..ComparedView::default() }
}

/// A comparison whose launches were too few for anything but an estimate.
fn without_interval(compared: ComparedView) -> ComparedView {
    let line = Comparison {
        low: None,
        high: None,
        order_effect: None,
        lag1: None,
        contender_wins: 0,
        reference_wins: 0,
        between_launches: None,
        within_launch: None,
        ..compared.line
    };
    ComparedView { line, ..compared }
}

fn view() -> ComparisonView {
    let unavailable = AxisView {
        name: "process CPU time".into(),
        change: Err("readings of zero: the clock is too coarse for this slice".into()),
    };
    ComparisonView {
        title: "parser".into(),
        generated_at: "2026-01-04 09:00 UTC".into(),
        about: vec!["8 cores, Linux".into(), "rustc 1.89.0".into()],
        together: vec!["geometric mean of 3 benchmarks at @tree: +1.2 %".into()],
        comparisons: vec![
            unmeasured("untouched"),
            compared("decode", Verdict::Slower, 0.031, 3, 4),
            ComparedView {
                axes: vec![unavailable],
                ..compared("encode", Verdict::Faster, -0.05, 2, 4)
            },
            without_interval(compared("once", Verdict::Inconclusive, 0.004, 2, 1)),
            compared("skip", Verdict::Equivalent, 0.001, 2, 4),
        ],
        missing: vec!["parser/benches  gone: only at main".into()],
    }
}

fn many(count: usize, launches: usize, pairs: usize) -> ComparisonView {
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Equivalent, Verdict::Inconclusive];
    let comparisons = (0..count)
        .map(|index| {
            let change = 0.001 * (index as f64 * 37.0 % 61.0 - 30.0);
            compared(&format!("group/{index}"), verdicts[index % 4], change, launches, pairs)
        })
        .collect();
    ComparisonView { comparisons, ..view() }
}

#[test]
fn a_page_of_every_verdict() {
    insta::assert_snapshot!(comparison_page(&view()).unwrap());
}

#[test]
fn rows_are_sorted_by_change_and_the_unmeasured_stand_last() {
    let page = comparison_page(&view()).unwrap();
    let at = |name: &str| page.find(&format!("<h2><bdi>{name}</bdi></h2>")).unwrap();
    let order = ["decode", "once", "skip", "encode", "untouched"].map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert!(page.contains("▲ 1 slower") && page.contains("= 1 identical"));
}

#[test]
fn what_is_missing_says_why() {
    let page = comparison_page(&view()).unwrap();
    for text in [
        "readings of zero",
        "no interval",
        "unavailable: fewer than two launches",
        "unavailable: one of the sides never led",
        "the same code on both sides, not measured",
        "gone: only at main",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let empty = ComparisonView { comparisons: Vec::new(), ..view() };
    let page = comparison_page(&empty).unwrap();
    assert!(page.contains("Nothing was compared") && !page.contains("<svg"));
}

#[test]
fn a_page_loads_and_runs_nothing() {
    let page = comparison_page(&view()).unwrap();
    assert!(page.contains("default-src 'none'"));
    for word in
        ["<script", "src=\"", "http://", "https://", "url(", "@import", "onload", "javascript:"]
    {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let nasty = "</script></title></svg><b onmouseover=\"x\" a='y'>&amp;\u{202e}{{ view }}";
    let text = || nasty.to_owned();
    let mut view = view();
    (view.title, view.generated_at) = (text(), text());
    (view.about, view.together, view.missing) = (vec![text()], vec![text()], vec![text()]);
    for compared in &mut view.comparisons {
        let line = &mut compared.line;
        (line.package, line.target, line.benchmark) = (text(), text(), text());
        (line.reference.rev, line.contender.rev) = (text(), text());
        (line.reference.commit, line.contender.commit) = (text(), text());
        line.notes = vec![text().into(), Note::MayBeLayout(text())];
        let own = OwnChangeLine { name: text(), unit: text(), ..Default::default() };
        line.own = vec![OwnChangeLine { unavailable: Some(text()), ..own }];
        compared.axes = vec![AxisView { name: text(), change: Err(text()) }];
    }
    view.comparisons[1].line.contender.rev.push('2');
    let page = comparison_page(&view).unwrap();
    for raw in ["</script", "<b ", "onmouseover=\"", "a='y'", "{\"title", "\u{202e}"] {
        assert!(!page.contains(raw), "{raw}");
    }
    for element in ["title", "svg", "g", "a", "bdi", "td", "section", "dl", "li", "span", "text"] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "<{element}>");
    }
}

#[test]
fn numbers_that_are_none_reach_no_coordinate() {
    let mut view = view();
    let odd = &mut view.comparisons[1];
    let line = &mut odd.line;
    line.change = Some(f64::NAN);
    (line.low, line.high) = (Some(-1.0), Some(f64::INFINITY));
    (line.reference_ns, line.contender_ns) = (Some(f64::NAN), Some(0.0));
    odd.launches[0] = LaunchView {
        log_ratios: vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0],
        estimate: Some(f64::NAN),
    };
    let page = comparison_page(&view).unwrap();
    assert!(!page.contains("NaN") && !page.contains("=\"inf") && !page.contains(" inf"));
}

#[test]
fn a_hundred_benchmarks_stay_light() {
    let page = comparison_page(&many(100, 24, 80)).unwrap();
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    // Two per chart and kind: nothing is drawn by one element per pair.
    assert_eq!(page.matches("<path class=\"pair\"").count(), 100);
    assert!(page.contains("1 of 5 pairs") && page.contains("charts show 1 of up to 5"));
    let page = comparison_page(&many(100, 48, 80)).unwrap();
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(!comparison_page(&many(10, 24, 80)).unwrap().contains("charts show 1 of"));
}

#[test]
fn no_number_makes_a_page_fail() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e308, -1e308, 5e-324];
    for one in odd {
        for other in odd {
            let mut compared = compared("odd", Verdict::Slower, one, 3, 12);
            let line = &mut compared.line;
            (line.low, line.high) = (Some(one), Some(other));
            line.threshold = other;
            (line.reference_ns, line.contender_ns) = (Some(one), Some(other));
            compared.axes[0].change = Ok((one, Some((other, one))));
            for launch in &mut compared.launches {
                launch.estimate = Some(other);
                launch.log_ratios = vec![one, other, 0.01, one];
            }
            let view = ComparisonView { comparisons: vec![compared], ..view() };
            assert!(comparison_page(&view).unwrap().contains("odd"));
        }
    }
}
