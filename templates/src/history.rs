//! The history page: views of series by benchmark and host, turned into what the template draws.
//! It must not know a store, git or a clock; times arrive as text.

use minijinja::Error;
use serde::Serialize;

use crate::chart::{self, Bar, Chart, Dot, Spark};
use crate::html;
use crate::lines::{Comparison, Verdict};
use crate::number::{self, percent, percent_interval, quantity, quantity_interval};

/// All that the page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryView {
    /// Title of the page, such as the project's name.
    pub title: String,
    /// When the page was made, as text.
    pub generated_at: String,
    /// The store it was made from, as text.
    pub store: String,
    /// The machines with results.
    pub hosts: Vec<HostView>,
    /// The benchmarks, in the order of the page.
    pub benchmarks: Vec<SeriesView>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostView {
    /// Its key in the store.
    pub key: String,
    /// One line about it.
    pub summary: String,
    /// One line about each toolchain used on it.
    pub toolchains: Vec<String>,
}

/// One benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesView {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target.
    pub name: String,
    /// Unit of the values; `ns` is shown in the unit of time that fits.
    pub unit: String,
    /// Its points, one series per machine.
    pub hosts: Vec<HostSeries>,
    /// Its paired results, oldest first.
    pub paired: Vec<PairedView>,
}

/// The points of one benchmark on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostSeries {
    /// Key of the machine.
    pub host_key: String,
    /// One line about it.
    pub host_summary: String,
    /// In the order in which they are joined: first-parent order of the commits.
    pub points: Vec<PointView>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointView {
    /// Full hash of the commit.
    pub commit: String,
    /// Abbreviated hash.
    pub short: String,
    /// First line of the commit's message.
    pub subject: String,
    /// Author time of the commit, as text.
    pub author_time: String,
    /// Whether uncommitted changes were part of it.
    pub dirty: bool,
    /// Cost per operation, in the unit of the series.
    pub value_ns: f64,
    /// Lower bound of its interval.
    pub low: Option<f64>,
    /// Upper bound of its interval.
    pub high: Option<f64>,
    /// Change to the previous point on the same machine and toolchain, a fraction.
    pub change_to_previous: Option<f64>,
    /// Whether the toolchain is that of the point before; true for the first.
    pub same_toolchain: bool,
    /// One line about the toolchain.
    pub toolchain_summary: String,
    /// Launches behind the value.
    pub launches: u32,
    /// Number of the run that measured it.
    pub run: i64,
    /// A remark.
    pub verdict_note: Option<String>,
}

/// One paired result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedView {
    /// Result.
    pub line: Comparison,
    /// When it was measured, as text.
    pub when: String,
}

/// Variables of the template.
#[derive(Debug, Serialize)]
struct HistoryPage<'a> {
    view: &'a HistoryView,
    overview: Vec<Overview<'a>>,
    benchmarks: Vec<Benchmark<'a>>,
    several_hosts: bool,
    bar_width: f64,
    bar_height: f64,
}

/// One line of the table at the top.
#[derive(Debug, Serialize)]
struct Overview<'a> {
    anchor: String,
    package: &'a str,
    target: &'a str,
    name: &'a str,
    host: &'a str,
    value: String,
    interval: Option<String>,
    change: Change,
    short: &'a str,
    dirty: bool,
    points: usize,
    spark: Option<Spark>,
}

/// A change with how it is to be shown: `up` and `down` only when the intervals of both points are
/// apart.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    text: String,
    class: &'static str,
}

#[derive(Debug, Serialize)]
struct Benchmark<'a> {
    anchor: String,
    series: &'a SeriesView,
    panels: Vec<HostPanel<'a>>,
    reach: String,
    paired: Vec<Paired<'a>>,
}

#[derive(Debug, Serialize)]
struct HostPanel<'a> {
    host_key: &'a str,
    host_summary: &'a str,
    chart: Option<Chart>,
    has_dirty: bool,
    rows: Vec<PointRow<'a>>,
}

#[derive(Debug, Serialize)]
struct PointRow<'a> {
    point: &'a PointView,
    value: String,
    interval: Option<String>,
    change: Change,
}

#[derive(Debug, Serialize)]
struct Paired<'a> {
    reference: String,
    contender: String,
    verdict: Verdict,
    when: &'a str,
    change: Option<String>,
    interval: Option<String>,
    class: &'static str,
    bar: Option<Bar>,
}

/// Renders the page: one HTML file that loads nothing and needs no script.
///
/// # Errors
/// Only when the template itself is at fault.
pub fn history_page(view: &HistoryView) -> Result<String, Error> {
    let benchmarks: Vec<Benchmark<'_>> = view
        .benchmarks
        .iter()
        .enumerate()
        .map(|(index, series)| benchmark(index, series))
        .collect();
    let overview: Vec<Overview<'_>> = view
        .benchmarks
        .iter()
        .enumerate()
        .flat_map(|(index, series)| overview(index, series))
        .collect();
    let page = HistoryPage {
        view,
        overview,
        benchmarks,
        several_hosts: view.hosts.len() > 1,
        bar_width: chart::BAR.0,
        bar_height: chart::BAR.1,
    };
    html::render("history.html", include_str!("history.html"), page)
}

fn anchor(index: usize) -> String {
    format!("b{}", index + 1)
}

fn overview(index: usize, series: &SeriesView) -> impl Iterator<Item = Overview<'_>> {
    series.hosts.iter().filter_map(move |host| {
        let latest = host.points.last()?;
        let values: Vec<f64> = host.points.iter().map(|point| point.value_ns).collect();
        Some(Overview {
            anchor: anchor(index),
            package: &series.package,
            target: &series.target,
            name: &series.name,
            host: &host.host_summary,
            value: quantity(latest.value_ns, &series.unit),
            interval: interval(latest, &series.unit),
            change: change(&host.points, host.points.len() - 1),
            short: &latest.short,
            dirty: latest.dirty,
            points: host.points.len(),
            spark: chart::spark(&values),
        })
    })
}

fn benchmark(index: usize, series: &SeriesView) -> Benchmark<'_> {
    let drawn =
        series.paired.iter().flat_map(|p| [p.line.change, p.line.low, p.line.high]).flatten();
    let reach = chart::bar_reach(drawn);
    Benchmark {
        anchor: anchor(index),
        series,
        panels: series.hosts.iter().map(|host| panel(host, &series.unit)).collect(),
        reach: percent(reach).trim_start_matches('+').to_owned(),
        paired: series.paired.iter().map(|paired| paired_row(paired, reach)).collect(),
    }
}

fn panel<'a>(host: &'a HostSeries, unit: &str) -> HostPanel<'a> {
    let rows = host.points.iter().enumerate().map(|(index, point)| PointRow {
        point,
        value: quantity(point.value_ns, unit),
        interval: interval(point, unit),
        change: change(&host.points, index),
    });
    HostPanel {
        host_key: &host.host_key,
        host_summary: &host.host_summary,
        chart: chart::chart(&dots(&host.points, unit), unit),
        has_dirty: host.points.iter().any(|point| point.dirty),
        // The newest is what a reader looks for.
        rows: rows.rev().collect(),
    }
}

/// Points of one commit share its place on the axis; one with uncommitted changes stands behind its
/// commit.
fn dots(points: &[PointView], unit: &str) -> Vec<Dot> {
    let mut slot = 0;
    let mut dots = Vec::with_capacity(points.len());
    for (index, point) in points.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| points.get(before));
        if before.is_some_and(|before| before.commit != point.commit || before.dirty != point.dirty)
        {
            slot += 1;
        }
        let dirty = if point.dirty { " with uncommitted changes" } else { "" };
        let interval =
            interval(point, unit).map(|interval| format!(" ({interval})")).unwrap_or_default();
        dots.push(Dot {
            slot,
            value: point.value_ns,
            interval: point.low.zip(point.high),
            dirty: point.dirty,
            new_toolchain: !point.same_toolchain,
            label: if point.dirty { format!("{}*", point.short) } else { point.short.clone() },
            tooltip: format!(
                "{}{dirty}: {}{interval}\n{}\n{}",
                point.short,
                quantity(point.value_ns, unit),
                point.subject,
                point.author_time
            ),
        });
    }
    dots
}

fn interval(point: &PointView, unit: &str) -> Option<String> {
    let (low, high) = point.low.zip(point.high)?;
    Some(quantity_interval(low, high, unit))
}

fn change(points: &[PointView], index: usize) -> Change {
    let point = &points[index];
    let Some(change) = point.change_to_previous else {
        let text = if index == 0 {
            "first point"
        } else if point.same_toolchain {
            "not comparable"
        } else {
            "other toolchain"
        };
        return Change { text: text.to_owned(), class: "none" };
    };
    let before = index.checked_sub(1).and_then(|before| points.get(before));
    let intervals =
        before.and_then(|before| before.low.zip(before.high)).zip(point.low.zip(point.high));
    let class = match intervals {
        Some(((_, high), (low, _))) if low > high => "up",
        Some(((low, _), (_, high))) if high < low => "down",
        _ => "same",
    };
    Change { text: number::change(change), class }
}

fn paired_row(paired: &PairedView, reach: f64) -> Paired<'_> {
    let line = &paired.line;
    Paired {
        reference: line.reference.label(),
        contender: line.contender.label(),
        verdict: line.verdict,
        when: &paired.when,
        change: line.change.map(number::change),
        interval: line.interval().map(|(low, high)| percent_interval(low, high)),
        class: match line.verdict {
            Verdict::Slower => "up",
            Verdict::Faster => "down",
            Verdict::Equivalent | Verdict::Inconclusive | Verdict::Identical => "same",
        },
        bar: line.change.and_then(|change| chart::bar(change, line.interval(), reach)),
    }
}
