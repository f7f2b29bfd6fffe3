//! The page of one comparison run: an overview, and for each benchmark what its verdict was made of.
//! It must not know an engine, a store or a clock; every number arrives in a view.

use minijinja::Error;
use serde::Serialize;

use crate::html;
use crate::intervals::{Entry, Intervals, Mark, intervals};
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
    /// What was not compared, with the reason, one line each.
    pub missing: Vec<String>,
}

/// One benchmark and one contender.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedView {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target.
    pub name: String,
    /// What the change is relative to.
    pub reference: String,
    /// What was judged.
    pub contender: String,
    /// The verdict's word.
    pub verdict: String,
    /// `contender / reference - 1`; `None` when nothing was measured.
    pub change: Option<f64>,
    /// Bounds of the change.
    pub interval: Option<(f64, f64)>,
    /// Confidence of the procedure (fraction).
    pub confidence: Option<f64>,
    /// Practical threshold (fraction).
    pub threshold: f64,
    /// Nanoseconds per operation, reference first.
    pub times: Option<(f64, f64)>,
    /// Launches in the order in which they ran; empty when nothing was measured.
    pub launches: Vec<LaunchView>,
    /// The change of other axes than wall time.
    pub axes: Vec<AxisView>,
    /// What describes the pairs beyond the verdict.
    pub diagnostics: Diagnostics,
    /// The smallest change this run could have called (fraction).
    pub smallest: Option<f64>,
    /// What is known of link layouts, in one word.
    pub layout: String,
    /// Why no more launches were taken, in one word.
    pub stop: String,
    /// p-value adjusted for all comparisons of the run.
    pub p_adjusted: Option<f64>,
    /// Doubts and advice.
    pub notes: Vec<String>,
}

/// The pairs of one launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaunchView {
    /// `ln(contender / reference)` of each pair in time order; what is not finite is not drawn.
    pub log_ratios: Vec<f64>,
    /// Estimate of the launch, a log-ratio.
    pub estimate: Option<f64>,
}

/// What was found on an axis that has no verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisView {
    /// Name of the axis.
    pub name: String,
    /// The change and its interval (fractions), or why there is none.
    pub change: Result<(f64, Option<(f64, f64)>), String>,
}

/// Description of the pairs of one comparison; what is `None` could not be computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Diagnostics {
    /// What running first instead of second does to the ratio (fraction).
    pub order_effect: Option<f64>,
    /// Correlation of neighbouring log-ratios.
    pub lag1: Option<f64>,
    /// Pairs in which the contender took less time.
    pub contender_wins: usize,
    /// Pairs in which the reference took less time.
    pub reference_wins: usize,
    /// Pairs of equal time.
    pub ties: usize,
    /// Standard deviation of launch estimates (log-ratio).
    pub between_launches: Option<f64>,
    /// Median standard deviation of log-ratios inside a launch.
    pub within_launch: Option<f64>,
}

/// What the template sees.
#[derive(Debug, Serialize)]
struct Page<'a> {
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
    word: &'static str,
    class: &'static str,
    sign: &'static str,
}

#[derive(Debug, Serialize)]
struct Card<'a> {
    anchor: String,
    package: &'a str,
    target: &'a str,
    name: &'a str,
    reference: &'a str,
    contender: &'a str,
    /// Whether the overview must tell contenders apart.
    several: bool,
    verdict: &'a str,
    class: &'static str,
    sign: &'static str,
    change: Option<String>,
    interval: Option<String>,
    confidence: Option<String>,
    threshold: String,
    times: Option<(String, String)>,
    pairs: Option<Pairs>,
    histogram: Option<Histogram>,
    spots: Vec<Spot>,
    axes: Vec<Axis<'a>>,
    facts: Vec<(&'static str, String)>,
    notes: &'a [String],
}

/// A launch that tells its numbers under the pointer.
#[derive(Debug, Serialize)]
struct Spot {
    column: Column,
    tooltip: String,
}

#[derive(Debug, Serialize)]
struct Axis<'a> {
    name: &'a str,
    change: String,
    interval: String,
    role: &'static str,
}

/// Verdicts in the order of the summary: word, class, sign, mark.
const VERDICTS: [(&str, &str, &str, Mark); 5] = [
    ("slower", "up", "▲", Mark::Up),
    ("faster", "down", "▼", Mark::Down),
    ("equivalent", "same", "●", Mark::Same),
    ("inconclusive", "doubt", "◇", Mark::Doubt),
    ("identical", "same", "=", Mark::Same),
];

/// Renders the page: one HTML file that loads nothing and needs no script.
///
/// # Errors
/// Only when the template itself is at fault.
pub fn comparison_page(view: &ComparisonView) -> Result<String, Error> {
    let mut sorted: Vec<&ComparedView> = view.comparisons.iter().collect();
    // The slowest first; what was not measured last.
    let key = |c: &ComparedView| c.change.filter(|c| c.is_finite()).unwrap_or(f64::NEG_INFINITY);
    sorted.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let measured = sorted.iter().filter(|c| !c.launches.is_empty()).count();
    let points = (MOST_POINTS / measured.max(1)).max(FEWEST_POINTS);
    let launches: usize = sorted.iter().map(|c| c.launches.len()).sum();
    let several = sorted.windows(2).any(|pair| pair[0].contender != pair[1].contender);
    let cards: Vec<Card<'_>> = sorted
        .iter()
        .enumerate()
        .map(|(index, compared)| Card {
            anchor: format!("c{}", index + 1),
            several,
            ..card(compared, points, launches <= MOST_TOOLTIPS)
        })
        .collect();
    let counts = VERDICTS.map(|(word, class, sign, _)| Count {
        count: sorted.iter().filter(|c| c.verdict == word).count(),
        word,
        class,
        sign,
    });
    let page = Page {
        title: &view.title,
        generated_at: &view.generated_at,
        about: &view.about,
        together: &view.together,
        missing: &view.missing,
        counts: counts.into_iter().filter(|count| count.count > 0).collect(),
        plot: intervals(&sorted.iter().map(|compared| entry(compared)).collect::<Vec<_>>()),
        thinned: cards.iter().flat_map(|c| &c.pairs).map(|p| p.step).max().unwrap_or(1),
        cards,
    };
    html::render("comparison.html", include_str!("comparison.html"), page)
}

/// Class, sign and mark of a verdict; a word that is not known stands for no call.
fn look(verdict: &str) -> (&'static str, &'static str, Mark) {
    let known = VERDICTS.iter().find(|(word, ..)| *word == verdict);
    known.map_or(("doubt", "◇", Mark::Doubt), |(_, class, sign, mark)| (class, sign, *mark))
}

fn entry(compared: &ComparedView) -> Entry {
    Entry {
        change: compared.change,
        interval: compared.interval,
        threshold: compared.threshold,
        mark: look(&compared.verdict).2,
    }
}

fn card(compared: &ComparedView, points: usize, tooltips: bool) -> Card<'_> {
    let (class, sign, _) = look(&compared.verdict);
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
        threshold: (log(-compared.threshold), log(compared.threshold)),
        estimate: compared.change.map(log),
        interval: compared.interval.map(|(low, high)| (log(low), log(high))),
    };
    let (pairs, histogram) = pairs::draw(&launches, frame, points).unzip();
    let columns = pairs.iter().filter(|_| tooltips).flat_map(|pairs: &Pairs| &pairs.columns);
    let spots = columns
        .zip(&compared.launches)
        .enumerate()
        .map(|(index, (column, launch))| Spot {
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
        package: &compared.package,
        target: &compared.target,
        name: &compared.name,
        reference: &compared.reference,
        contender: &compared.contender,
        several: false,
        verdict: &compared.verdict,
        class,
        sign,
        change: compared.change.map(number::change),
        interval: compared.interval.map(|(low, high)| percent_interval(low, high)),
        confidence: compared.confidence.map(|c| format!("{:.4}", 100.0 * c)).map(trim_zeros),
        threshold: percent(compared.threshold).trim_start_matches('+').to_owned(),
        times: compared.times.map(|(one, other)| (duration(one), duration(other))),
        pairs,
        histogram,
        spots,
        axes: axes(compared),
        facts: facts(compared),
        notes: &compared.notes,
    }
}

fn trim_zeros(number: String) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn axes(compared: &ComparedView) -> Vec<Axis<'_>> {
    let interval = |interval: Option<(f64, f64)>| match interval {
        Some((low, high)) => percent_interval(low, high),
        None => "no interval".to_owned(),
    };
    let wall = compared.change.map(|change| Axis {
        name: "wall time",
        change: number::change(change),
        interval: interval(compared.interval),
        role: "verdict",
    });
    let others = compared.axes.iter().map(|axis| match &axis.change {
        Ok((change, bounds)) => Axis {
            name: &axis.name,
            change: number::change(*change),
            interval: interval(*bounds),
            role: "diagnostic",
        },
        Err(reason) => Axis {
            name: &axis.name,
            change: "unavailable".to_owned(),
            interval: reason.clone(),
            role: "diagnostic",
        },
    });
    wall.into_iter().chain(others).collect()
}

/// What a reader may ask beyond the verdict; a number that is missing says why.
fn facts(compared: &ComparedView) -> Vec<(&'static str, String)> {
    if compared.launches.is_empty() {
        return Vec::new();
    }
    let d = &compared.diagnostics;
    let or = |value: Option<String>, reason: &str| {
        value.unwrap_or_else(|| format!("unavailable: {reason}"))
    };
    let plain = |fraction: f64| percent(fraction).trim_start_matches('+').to_owned();
    let pairs: usize = compared.launches.iter().map(|launch| launch.log_ratios.len()).sum();
    let mut facts = vec![
        ("Launches", format!("{}, stopped: {}", compared.launches.len(), compared.stop)),
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
        ("Link layout", compared.layout.clone()),
    ];
    facts.extend(
        compared.smallest.map(|smallest| ("Smallest change it could call", plain(smallest))),
    );
    facts.extend(compared.p_adjusted.map(|p| ("Adjusted p", format!("{p:.3}"))));
    facts
}
