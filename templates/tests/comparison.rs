//! A snapshot of the page of a comparison, and what must hold for every such page: one file that loads
//! nothing, escapes every name and stays light.

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

fn compared(name: &str, verdict: &str, change: f64, launches: usize, pairs: usize) -> ComparedView {
    ComparedView {
        package: "parser".into(),
        target: "benches".into(),
        name: name.into(),
        reference: "main (0123456789)".into(),
        contender: "@tree (0123456789, dirty)".into(),
        verdict: verdict.into(),
        change: Some(change),
        interval: Some((change - 0.004, change + 0.004)),
        confidence: Some(0.95),
        threshold: 0.01,
        times: Some((12_400.0, 12_400.0 * (1.0 + change))),
        launches: (0..launches).map(|index| launch(index, change.ln_1p(), pairs)).collect(),
        axes: vec![AxisView {
            name: "process CPU time".into(),
            change: Ok((change + 0.001, Some((change - 0.001, change + 0.003)))),
        }],
        diagnostics: Diagnostics {
            order_effect: Some(0.0012),
            lag1: Some(0.05),
            contender_wins: 30,
            reference_wins: 66,
            ties: 0,
            between_launches: Some(0.0031),
            within_launch: Some(0.012),
        },
        smallest: Some(0.01),
        layout: "fresh".into(),
        stop: "decided".into(),
        p_adjusted: Some(0.0123),
        notes: vec!["uses threads, so workers were not pinned to one CPU".into()],
    }
}

/// A comparison of which nothing was measured.
fn unmeasured(name: &str) -> ComparedView {
    ComparedView {
        change: None,
        interval: None,
        confidence: None,
        times: None,
        launches: Vec::new(),
        axes: Vec::new(),
        diagnostics: Diagnostics::default(),
        smallest: None,
        layout: "off".into(),
        stop: "identical".into(),
        p_adjusted: None,
        notes: Vec::new(),
        ..compared(name, "identical", 0.0, 0, 0)
    }
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
            compared("decode", "slower", 0.031, 3, 4),
            ComparedView { axes: vec![unavailable], ..compared("encode", "faster", -0.05, 2, 4) },
            ComparedView {
                interval: None,
                diagnostics: Diagnostics::default(),
                ..compared("once", "inconclusive", 0.004, 2, 1)
            },
            compared("skip", "equivalent", 0.001, 2, 4),
        ],
        missing: vec!["parser/benches  gone: only at main".into()],
    }
}

fn many(count: usize, launches: usize, pairs: usize) -> ComparisonView {
    let verdicts = ["slower", "faster", "equivalent", "inconclusive"];
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
        (compared.package, compared.target, compared.name) = (text(), text(), text());
        (compared.reference, compared.contender) = (text(), text());
        (compared.layout, compared.stop, compared.notes) = (text(), text(), vec![text()]);
        compared.axes = vec![AxisView { name: text(), change: Err(text()) }];
    }
    view.comparisons[1].contender.push('2');
    view.comparisons[2].verdict = text();
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
    odd.change = Some(f64::NAN);
    odd.interval = Some((-1.0, f64::INFINITY));
    odd.times = Some((f64::NAN, 0.0));
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
            let mut compared = compared("odd", "slower", one, 3, 12);
            compared.interval = Some((one, other));
            compared.threshold = other;
            compared.times = Some((one, other));
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
