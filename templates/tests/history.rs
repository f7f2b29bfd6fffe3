//! A snapshot of the page, and what must hold for every page: it is one file, loads nothing and
//! escapes every name.

use nbench_templates::lines::{Comparison, Rev, Verdict};
use nbench_templates::*;

fn point(index: usize, value: f64) -> PointView {
    PointView {
        commit: format!("{index:040x}"),
        short: format!("{index:07x}"),
        subject: format!("Change number {index}"),
        author_time: format!("2026-01-{:02} 12:00", index % 28 + 1),
        dirty: false,
        value_ns: value,
        low: Some(value * 0.995),
        high: Some(value * 1.005),
        change_to_previous: None,
        same_toolchain: true,
        toolchain_summary: "rustc 1.89.0".into(),
        launches: 6,
        run: 3,
        verdict_note: None,
    }
}

fn joined(mut points: Vec<PointView>) -> Vec<PointView> {
    for index in 1..points.len() {
        if points[index].same_toolchain {
            points[index].change_to_previous =
                Some(points[index].value_ns / points[index - 1].value_ns - 1.0);
        }
    }
    points
}

fn paired(verdict: Verdict, change: Option<f64>) -> PairedView {
    let line = Comparison {
        reference: rev("main"),
        contender: rev("@tree"),
        change,
        low: change.map(|change| change - 0.004),
        high: change.map(|change| change + 0.004),
        verdict,
        ..Comparison::default()
    };
    PairedView { line, when: "2026-01-03 10:00".into() }
}

fn rev(name: &str) -> Rev {
    Rev { rev: name.into(), ..Rev::default() }
}

fn series(name: &str, hosts: Vec<HostSeries>, paired: Vec<PairedView>) -> SeriesView {
    SeriesView {
        package: "parser".into(),
        target: "benches".into(),
        name: name.into(),
        unit: "ns".into(),
        hosts,
        paired,
    }
}

fn on(host: &str, points: Vec<PointView>) -> HostSeries {
    HostSeries { host_key: host.into(), host_summary: format!("machine {host}"), points }
}

fn view() -> HistoryView {
    let mut steps =
        vec![point(1, 12_400.0), point(2, 12_380.0), point(3, 13_100.0), point(4, 13_050.0)];
    steps[2].verdict_note = Some("may be the machine".into());
    steps[3].dirty = true;
    let mut other = vec![point(1, 9.4), point(2, 9.2)];
    other[1].same_toolchain = false;
    other[1].toolchain_summary = "rustc 1.90.0".into();
    let host = |key: &str| HostView {
        key: key.into(),
        summary: format!("machine {key}"),
        toolchains: vec!["rustc 1.89.0".into()],
    };
    HistoryView {
        title: "parser".into(),
        generated_at: "2026-01-04 09:00".into(),
        store: ".nbench/store.sqlite".into(),
        hosts: vec![host("h1"), host("h2")],
        benchmarks: vec![
            series(
                "decode/1k",
                vec![on("h1", joined(steps)), on("h2", joined(other))],
                vec![
                    paired(Verdict::Slower, Some(0.057)),
                    paired(Verdict::Equivalent, Some(0.001)),
                    paired(Verdict::Identical, None),
                ],
            ),
            series(
                "once",
                vec![on("h1", vec![PointView { low: None, high: None, ..point(9, 2.35e9) }])],
                Vec::new(),
            ),
        ],
    }
}

#[test]
fn a_page_of_two_benchmarks() {
    insta::assert_snapshot!(history_page(&view()).unwrap());
}

#[test]
fn an_empty_store_says_so() {
    let view = HistoryView { hosts: Vec::new(), benchmarks: Vec::new(), ..view() };
    let page = history_page(&view).unwrap();
    assert!(page.contains("No results yet"));
    assert!(!page.contains("<table") && !page.contains("<svg"));
}

#[test]
fn a_page_loads_and_runs_nothing() {
    let page = history_page(&view()).unwrap();
    assert!(page.contains("default-src 'none'"));
    for word in
        ["<script", "src=\"", "http://", "https://", "url(", "@import", "onload", "javascript:"]
    {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn hosts_are_never_joined() {
    let page = history_page(&view()).unwrap();
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3);
    // One line per chart and one per sparkline: the lone point of `once` has no sparkline.
    assert_eq!(page.matches("<path class=\"line\"").count(), 3 + 2);
}

#[test]
fn only_changes_with_separate_intervals_are_marked() {
    let page = history_page(&view()).unwrap();
    assert!(page.contains("<span class=\"up\">▲ +5.8 %</span>"), "12380 to 13100 ns");
    assert!(page.contains("<span class=\"same\">-0.38 %</span>"), "13100 to 13050 ns overlaps");
    assert!(page.contains("<span class=\"none\">other toolchain</span>"));
    assert!(page.contains("<span class=\"none\">first point</span>"));
}

#[test]
fn names_cannot_leave_their_place() {
    let nasty = "</script></title></svg><b onmouseover=\"x\" a='y'>&amp;\u{202e}{{ view }}";
    let mut view = view();
    let text = || nasty.to_owned();
    (view.title, view.generated_at, view.store) = (text(), text(), text());
    view.hosts[0] = HostView { key: text(), summary: text(), toolchains: vec![text()] };
    let series = &mut view.benchmarks[0];
    (series.package, series.target, series.name, series.unit) = (text(), text(), text(), text());
    (series.hosts[0].host_key, series.hosts[0].host_summary) = (text(), text());
    for point in &mut series.hosts[0].points {
        (point.commit, point.short, point.subject) = (text(), text(), text());
        (point.author_time, point.toolchain_summary, point.verdict_note) =
            (text(), text(), Some(text()));
    }
    series.paired[0] = PairedView { when: text(), ..paired(Verdict::Slower, Some(0.1)) };
    series.paired[0].line.reference = rev(&text());
    series.paired[0].line.contender = rev(&text());
    let page = history_page(&view).unwrap();
    for raw in ["</script", "<b ", "onmouseover=\"", "a='y'", "{\"title", "\u{202e}"] {
        assert!(!page.contains(raw), "{raw}");
    }
    for element in ["title", "svg", "bdi", "td", "section", "table", "details", "span", "text"] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "<{element}>");
    }
}

#[test]
fn a_long_history_stays_light() {
    let points =
        joined((0..500).map(|index| point(index, 1_000.0 + (index * 7 % 13) as f64)).collect());
    let view = HistoryView {
        benchmarks: (0..10)
            .map(|_| series("long", vec![on("h1", points.clone())], Vec::new()))
            .collect(),
        ..view()
    };
    let page = history_page(&view).unwrap();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<circle").count(), 0, "no element per point");
}
