//! The page of one comparison run: an overview, and for each benchmark what its verdict was made
//! of. It must not know an engine, a store or a clock; every number arrives in a view.

use minijinja::Error;
use serde::Serialize;

use crate::html;
use crate::intervals::{Entry, Intervals, Mark, intervals};
use crate::lines::{Comparison, OwnChangeLine, Verdict};
use crate::number::{self, duration, percent, percent_interval};
use crate::pairs::{self, Column, Frame, Histogram, Launch, Pairs};

/// Points on one page, all charts together: with more it would be slow to open.
const MOST_POINTS: usize = 60_000;
/// Points of one chart, however many charts there are.
const FEWEST_POINTS: usize = 150;
/// More launches than this on one page have no tooltips, which would be most of its size.
const MOST_TOOLTIPS: usize = 3_000;

/// All that the page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonView {
    /// Title of the page, such as the project's name.
    pub title: String,
    /// When the page was made, as text.
    pub generated_at: String,
    /// Lines about where and how it was measured.
    pub about: Vec<String>,
    /// Lines about all comparisons together, such as geometric means.
    pub together: Vec<String>,
    /// The comparisons, in any order: the page sorts them by change.
    pub comparisons: Vec<ComparedView>,
    /// Benchmarks that were not compared, with the reason, one line each.
    pub missing: Vec<String>,
}

/// One benchmark and one contender.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparedView {
    /// Result.
    pub line: Comparison,
    /// Launches in the order in which they ran; empty when nothing was measured.
    pub launches: Vec<LaunchView>,
    /// The change of other axes than wall time, beside what the benchmark counts itself.
    pub axes: Vec<AxisView>,
}

/// The pairs of one launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaunchView {
    /// `ln(contender / reference)` of each pair in time order; what is not finite is not drawn.
    pub log_ratios: Vec<f64>,
    /// Estimate of the launch, a log-ratio.
    pub estimate: Option<f64>,
}

/// Change on an axis that has no verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisView {
    /// Name of the axis.
    pub name: String,
    /// The change and its interval (fractions), or why there is none.
    pub change: Result<(f64, Option<(f64, f64)>), String>,
}

/// Variables of the template.
#[derive(Debug, Serialize)]
struct ComparisonPage<'a> {
    title: &'a str,
    generated_at: &'a str,
    about: &'a [String],
    together: &'a [String],
    missing: &'a [String],
    counts: Vec<Count>,
    plot: Intervals,
    cards: Vec<Card<'a>>,
    /// Every how many pairs one is drawn, at most; 1 when all are.
    thinned: usize,
}

/// How often a verdict was given.
#[derive(Debug, Serialize)]
struct Count {
    count: usize,
    word: Verdict,
    class: &'static str,
    sign: &'static str,
}

#[derive(Debug, Serialize)]
struct Card<'a> {
    anchor: String,
    package: &'a str,
    target: &'a str,
    name: &'a str,
    reference: String,
    contender: String,
    /// Whether the overview must tell contenders apart.
    several: bool,
    verdict: Verdict,
    class: &'static str,
    sign: &'static str,
    change: Option<String>,
    interval: Option<String>,
    confidence: Option<String>,
    threshold: String,
    times: Option<(String, String)>,
    pairs: Option<Pairs>,
    histogram: Option<Histogram>,
    spots: Vec<LaunchSpot>,
    axes: Vec<AxisRow>,
    facts: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

/// A launch that tells its numbers under the pointer.
#[derive(Debug, Serialize)]
struct LaunchSpot {
    column: Column,
    tooltip: String,
}

#[derive(Debug, Serialize)]
struct AxisRow {
    name: String,
    change: String,
    interval: String,
    role: &'static str,
}

/// Renders the page: one HTML file that loads nothing and needs no script.
///
/// # Errors
/// Only when the template itself is at fault.
pub fn comparison_page(view: &ComparisonView) -> Result<String, Error> {
    let mut sorted: Vec<&ComparedView> = view.comparisons.iter().collect();
    // The slowest first; what was not measured last.
    let key =
        |c: &ComparedView| c.line.change.filter(|c| c.is_finite()).unwrap_or(f64::NEG_INFINITY);
    sorted.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let measured = sorted.iter().filter(|c| !c.launches.is_empty()).count();
    let points = (MOST_POINTS / measured.max(1)).max(FEWEST_POINTS);
    let launches: usize = sorted.iter().map(|c| c.launches.len()).sum();
    let several = sorted.windows(2).any(|pair| pair[0].line.contender != pair[1].line.contender);
    let cards: Vec<Card<'_>> = sorted
        .iter()
        .enumerate()
        .map(|(index, compared)| Card {
            anchor: format!("c{}", index + 1),
            several,
            ..card(compared, points, launches <= MOST_TOOLTIPS)
        })
        .collect();
    let counts = Verdict::ALL.iter().map(|&word| {
        let (class, sign, _) = look(word);
        Count { count: sorted.iter().filter(|c| c.line.verdict == word).count(), word, class, sign }
    });
    let page = ComparisonPage {
        title: &view.title,
        generated_at: &view.generated_at,
        about: &view.about,
        together: &view.together,
        missing: &view.missing,
        counts: counts.filter(|count| count.count > 0).collect(),
        plot: intervals(&sorted.iter().map(|compared| entry(compared)).collect::<Vec<_>>()),
        thinned: cards.iter().flat_map(|c| &c.pairs).map(|p| p.step).max().unwrap_or(1),
        cards,
    };
    html::render("comparison.html", include_str!("comparison.html"), page)
}

/// Class, sign and mark of a verdict.
fn look(verdict: Verdict) -> (&'static str, &'static str, Mark) {
    match verdict {
        Verdict::Slower => ("up", "▲", Mark::Up),
        Verdict::Faster => ("down", "▼", Mark::Down),
        Verdict::Equivalent => ("same", "●", Mark::Same),
        Verdict::Inconclusive => ("doubt", "◇", Mark::Doubt),
        Verdict::Identical => ("same", "=", Mark::Same),
    }
}

fn entry(compared: &ComparedView) -> Entry {
    let line = &compared.line;
    Entry {
        change: line.change,
        interval: line.interval(),
        threshold: line.threshold,
        mark: look(line.verdict).2,
    }
}

fn card(compared: &ComparedView, points: usize, tooltips: bool) -> Card<'_> {
    let line = &compared.line;
    let (class, sign, _) = look(line.verdict);
    let launches: Vec<Launch<'_>> = compared
        .launches
        .iter()
        .map(|launch| Launch {
            ratios: &launch.log_ratios,
            estimate: launch.estimate.filter(|estimate| estimate.is_finite()),
        })
        .collect();
    let log = |change: f64| change.ln_1p();
    let frame = Frame {
        threshold: (log(-line.threshold), log(line.threshold)),
        estimate: line.change.map(log),
        interval: line.interval().map(|(low, high)| (log(low), log(high))),
    };
    let (pairs, histogram) = pairs::draw(&launches, frame, points).unzip();
    let columns = pairs.iter().filter(|_| tooltips).flat_map(|pairs: &Pairs| &pairs.columns);
    let spots = columns
        .zip(&compared.launches)
        .enumerate()
        .map(|(index, (column, launch))| LaunchSpot {
            column: column.clone(),
            tooltip: format!(
                "launch {}: {}, {} pairs",
                index + 1,
                launch.estimate.map_or("no estimate".to_owned(), |e| number::change(e.exp_m1())),
                launch.log_ratios.len()
            ),
        })
        .collect();
    Card {
        anchor: String::new(),
        package: &line.package,
        target: &line.target,
        name: &line.benchmark,
        reference: line.reference.label(),
        contender: line.contender.label(),
        several: false,
        verdict: line.verdict,
        class,
        sign,
        change: line.change.map(number::change),
        interval: line.interval().map(|(low, high)| percent_interval(low, high)),
        confidence: line.confidence.map(|c| format!("{:.4}", 100.0 * c)).map(trim_zeros),
        threshold: percent(line.threshold).trim_start_matches('+').to_owned(),
        times: line.times().map(|(one, other)| (duration(one), duration(other))),
        pairs,
        histogram,
        spots,
        axes: axes(compared),
        facts: facts(compared),
        notes: line.notes.iter().map(ToString::to_string).collect(),
    }
}

fn trim_zeros(number: String) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn axes(compared: &ComparedView) -> Vec<AxisRow> {
    let interval = |interval: Option<(f64, f64)>| match interval {
        Some((low, high)) => percent_interval(low, high),
        None => "no interval".to_owned(),
    };
    let line = &compared.line;
    let wall = line.change.map(|change| AxisRow {
        name: "wall time".to_owned(),
        change: number::change(change),
        interval: interval(line.interval()),
        role: "verdict",
    });
    let others = compared.axes.iter().cloned().chain(line.own.iter().map(own_axis));
    let others = others.map(|axis| match axis.change {
        Ok((change, bounds)) => AxisRow {
            name: axis.name,
            change: number::change(change),
            interval: interval(bounds),
            role: "diagnostic",
        },
        Err(reason) => AxisRow {
            name: axis.name,
            change: "unavailable".to_owned(),
            interval: reason,
            role: "diagnostic",
        },
    });
    wall.into_iter().chain(others).collect()
}

/// AxisRow of a quantity that the benchmark counts itself.
fn own_axis(own: &OwnChangeLine) -> AxisView {
    AxisView {
        name: format!("{} ({})", own.name, own.unit),
        change: match own.change {
            Some(change) => Ok((change, own.low.zip(own.high))),
            None => Err(own.without_ratio()),
        },
    }
}

/// Facts beyond the verdict; a number that is missing says why.
fn facts(compared: &ComparedView) -> Vec<(&'static str, String)> {
    if compared.launches.is_empty() {
        return Vec::new();
    }
    let d = &compared.line;
    let or = |value: Option<String>, reason: &str| {
        value.unwrap_or_else(|| format!("unavailable: {reason}"))
    };
    let plain = |fraction: f64| percent(fraction).trim_start_matches('+').to_owned();
    let pairs: usize = compared.launches.iter().map(|launch| launch.log_ratios.len()).sum();
    let mut facts = vec![
        ("Launches", format!("{}, stopped: {}", compared.launches.len(), d.stop)),
        ("Pairs", pairs.to_string()),
        (
            "Wins",
            format!(
                "contender {}, reference {}, ties {}",
                d.contender_wins, d.reference_wins, d.ties
            ),
        ),
        ("Spread between launches", or(d.between_launches.map(plain), "fewer than two launches")),
        ("Spread within a launch", or(d.within_launch.map(plain), "fewer than two pairs a launch")),
        ("Order effect", or(d.order_effect.map(percent), "one of the sides never led")),
        ("Lag-1 correlation", or(d.lag1.map(|r| format!("{r:.2}")), "too few pairs a launch")),
        ("Link layout", d.layout.to_string()),
    ];
    facts.extend(d.smallest.map(|smallest| ("Smallest change it could call", plain(smallest))));
    facts.extend(d.p_adjusted.map(|p| ("Adjusted p", format!("{p:.3}"))));
    facts
}
