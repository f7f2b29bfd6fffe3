//! Geometry of the overview: one row per comparison with its change and interval on a common axis.
//! It must not know HTML, names or what a mark means; kinds of marks are numbers here.

use std::fmt::Write as _;

use serde::Serialize;

use crate::chart::{Tick, bar_reach, round};
use crate::pairs::change_ticks;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 26.0;
/// Height of one row.
const ROW: f64 = 22.0;
/// A change this many times as large as nearly all others is cut at the edge rather than flattening
/// them.
const FLATTENS: f64 = 4.0;

/// How a change is marked: shape and, through its class, colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mark {
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A disc.
    Same,
    /// A hollow diamond.
    Doubt,
}

/// One comparison; changes are fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    /// `None` when nothing was measured: the row stays empty.
    pub change: Option<f64>,
    pub interval: Option<(f64, f64)>,
    pub threshold: f64,
    pub mark: Mark,
}

/// All marks of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Marks {
    pub kind: Mark,
    pub intervals: String,
    pub shapes: String,
}

/// The whole plot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Intervals {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub row: f64,
    pub zero: f64,
    /// Areas between the thresholds of each row.
    pub thresholds: String,
    /// Arrow heads where a change or an interval goes on beyond the edge.
    pub beyond: String,
    pub x_ticks: Vec<Tick>,
    pub marks: Vec<Marks>,
    /// Middle of each row.
    pub rows: Vec<f64>,
}

/// Lays out rows in the order of `entries`.
pub(crate) fn intervals(entries: &[Entry]) -> Intervals {
    // On an axis of log-ratios half as much and twice as much are equally far away.
    let reach = half(reach(entries));
    let x = |change: f64| {
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let share = (change.max(-0.999_999).ln_1p() / reach).clamp(-1.0, 1.0);
        round(middle + share * (WIDTH - RIGHT - middle - 8.0))
    };
    let rows: Vec<f64> = (0..entries.len()).map(|index| TOP + (index as f64 + 0.5) * ROW).collect();
    let bottom = TOP + entries.len() as f64 * ROW;
    let (mut thresholds, mut beyond) = (String::new(), String::new());
    let mut marks = [Mark::Up, Mark::Down, Mark::Same, Mark::Doubt].map(|kind| Marks {
        kind,
        intervals: String::new(),
        shapes: String::new(),
    });
    for (entry, y) in entries.iter().zip(&rows) {
        let (from, to) = (x(-entry.threshold), x(entry.threshold));
        _ = write!(thresholds, "M{from} {}H{to}v{ROW}H{from}Z", y - ROW / 2.0);
        let Some(change) = entry.change.filter(|change| change.is_finite()) else { continue };
        let own = &mut marks[entry.mark as usize];
        let interval = entry.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
        if let Some((low, high)) = interval {
            _ = write!(own.intervals, "M{} {y}H{}", x(low), x(high));
        }
        let (low, high) = interval.unwrap_or((change, change));
        let edge = |change: f64| change.max(-0.999_999).ln_1p().abs() > reach * (1.0 + 1e-9);
        for bound in [low.min(change), high.max(change)] {
            if edge(bound) {
                let (at, back) =
                    if bound > 0.0 { (x(bound) + 13.0, -5) } else { (x(bound) - 13.0, 5) };
                _ = write!(beyond, "M{} {y}l{back} -4v8Z", round(at));
            }
        }
        shape(&mut own.shapes, entry.mark, x(change), *y);
    }
    let ticks = change_ticks(-reach, reach);
    Intervals {
        width: WIDTH,
        height: bottom + BOTTOM,
        left: LEFT,
        right: WIDTH - RIGHT,
        top: TOP,
        bottom,
        row: ROW,
        zero: x(0.0),
        thresholds,
        beyond,
        x_ticks: ticks
            .into_iter()
            .map(|(value, label)| Tick { at: x(value.exp_m1()), label })
            .collect(),
        marks: marks.into_iter().filter(|marks| !marks.shapes.is_empty()).collect(),
        rows,
    }
}

/// Half the axis as a log-ratio, so long that a loss and a gain of `reach` both have their tick.
fn half(reach: f64) -> f64 {
    if reach <= 0.5 { -(-reach).ln_1p() } else { reach.ln_1p() }
}

/// The largest change shown: that of all entries, unless very few go far beyond the rest.
fn reach(entries: &[Entry]) -> f64 {
    let mut sizes: Vec<f64> = entries
        .iter()
        .map(|entry| {
            let (low, high) = entry.interval.unwrap_or_default();
            // As the growth that is as far from no change: half the time is twice as fast.
            [entry.change.unwrap_or(0.0), low, high]
                .into_iter()
                .filter(|change| change.is_finite())
                .map(|change| change.max(-0.999_999).ln_1p().abs().exp_m1())
                .fold(0.0, f64::max)
        })
        .collect();
    sizes.sort_by(f64::total_cmp);
    let most = sizes.last().copied().unwrap_or(0.0);
    let nearly_all = sizes.get((sizes.len() * 9).div_ceil(10).saturating_sub(1)).copied();
    let few = nearly_all.filter(|size| sizes.len() >= 5 && *size > 0.0 && most > FLATTENS * size);
    let least = entries.iter().map(|entry| 2.0 * entry.threshold).fold(0.001, f64::max).min(0.05);
    bar_reach([few.unwrap_or(most).max(least)].into_iter())
}

fn shape(path: &mut String, mark: Mark, x: f64, y: f64) {
    _ = match mark {
        Mark::Up => write!(path, "M{x} {}l5.5 9.5h-11Z", y - 6.0),
        Mark::Down => write!(path, "M{x} {}l5.5 -9.5h-11Z", y + 6.0),
        Mark::Same => write!(path, "M{} {y}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z", round(x - 4.5)),
        Mark::Doubt => write!(path, "M{x} {}l5.5 5.5l-5.5 5.5l-5.5 -5.5Z", y - 5.5),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(change: f64, mark: Mark) -> Entry {
        let interval = Some((change - 0.005, change + 0.005));
        Entry { change: Some(change), interval, threshold: 0.01, mark }
    }

    #[test]
    fn rows_share_an_axis_that_is_centred_on_no_change() {
        let plot = intervals(&[entry(0.045, Mark::Up), entry(0.0, Mark::Same)]);
        // The half width is 260 - 8.
        assert_eq!((plot.zero, plot.height), (530.0, 96.0));
        assert_eq!(plot.rows, [37.0, 59.0]);
        // The ends are -5 % and as far up, ln 1 / 0.95 = 0.0513: ln 1.04 is 76.5 % and ln 1.05 95.1
        // % of 252.
        assert_eq!(plot.marks[0].intervals, "M722.7 37H769.7");
        assert_eq!(plot.marks[0].kind, Mark::Up);
        assert_eq!(plot.marks[1].shapes, "M525.5 59a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z");
        assert_eq!(plot.marks.len(), 2, "kinds without a row are left out");
        // -1 % is a little farther from no change than +1 %.
        assert!(plot.thresholds.starts_with("M480.6 26H578.9v22H480.6Z"), "{}", plot.thresholds);
        assert_eq!(plot.beyond, "");
    }

    #[test]
    fn one_huge_change_is_cut_at_the_edge() {
        let mut entries: Vec<Entry> =
            (0..10).map(|index| entry(0.001 * f64::from(index), Mark::Same)).collect();
        assert_eq!(reach(&entries), 0.02);
        entries[0] = entry(9.0, Mark::Up);
        assert_eq!(reach(&entries), 0.02);
        let plot = intervals(&entries);
        assert!(plot.marks[0].shapes.starts_with("M782 31"), "{}", plot.marks[0].shapes);
        assert_eq!(plot.beyond.matches('Z').count(), 2, "both bounds lie beyond");
        // Among few comparisons each counts.
        assert_eq!(reach(&entries[..3]), 10.0);
    }

    #[test]
    fn halves_and_doubles_are_equally_far() {
        let faster = Entry { interval: None, ..entry(-0.5, Mark::Down) };
        assert_eq!(reach(&[faster]), 1.0);
        let plot = intervals(&[faster]);
        assert!(plot.marks[0].shapes.starts_with("M278 43l"), "{}", plot.marks[0].shapes);
    }

    #[test]
    fn what_was_not_measured_has_an_empty_row() {
        let none = Entry { change: None, interval: None, threshold: 0.01, mark: Mark::Same };
        let nan = Entry { change: Some(f64::NAN), ..none };
        let plot = intervals(&[none, nan]);
        assert_eq!((plot.rows.len(), plot.marks.len()), (2, 0));
        let plot = intervals(&[Entry { interval: Some((f64::NAN, 1.0)), ..entry(0.01, Mark::Up) }]);
        assert_eq!(plot.marks[0].intervals, "");
        assert!(intervals(&[]).rows.is_empty());
        let gone = intervals(&[Entry { interval: None, ..entry(-1.0, Mark::Down) }]);
        assert!(!gone.marks[0].shapes.contains("NaN") && !gone.marks[0].shapes.contains("inf"));
    }
}
