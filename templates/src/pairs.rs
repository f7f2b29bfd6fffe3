//! Geometry of one comparison: log-ratios by launch in, a chart in time order and a histogram on
//! the same axis out. It must not know HTML, names or verdicts.

use std::fmt::Write as _;

use serde::Serialize;

use crate::chart::{Tick, nice_ticks, round};
use crate::number::{self, tick_labels};

/// Width of the chart in time order, in its own units.
const WIDTH: f64 = 760.0;
/// Width of the histogram beside it.
const SIDE: f64 = 250.0;
/// Height of both, so that equal changes stand at equal heights.
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// Launch estimates beside the histogram need this much room.
const RUG: f64 = 14.0;
/// Most points beyond the axis that are drawn; all of them are counted.
const MOST_BEYOND: usize = 100;
/// Half the height of the least axis, as a log-ratio: noise of 0.01 % must not look like a cliff.
const LEAST_REACH: f64 = 0.001;
/// From this span on (log-ratio of a factor of 4) ticks are factors rather than equal steps.
const WIDE: f64 = 1.4;

/// One launch, in log-ratios of contender to reference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub ratios: &'a [f64],
    pub estimate: Option<f64>,
}

/// Marks behind the points: log-ratios, as everything in this file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frame {
    /// Practical threshold, below and above no change.
    pub threshold: (f64, f64),
    pub estimate: Option<f64>,
    pub interval: Option<(f64, f64)>,
}

/// An area between two heights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Strip {
    pub y: f64,
    pub height: f64,
}

/// Where a launch stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Column {
    pub x: f64,
    pub width: f64,
}

/// Frame that both charts of a comparison have in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Panel {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Height of no change; `None` when that is off the axis.
    pub zero: Option<f64>,
    pub threshold: Option<Strip>,
    pub interval: Option<Strip>,
    pub estimate: Option<f64>,
    pub y_ticks: Vec<Tick>,
}

/// Pairs in time order, launch by launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Pairs {
    pub panel: Panel,
    /// Areas behind every second launch.
    pub bands: String,
    /// Zero-length strokes, which round caps turn into dots.
    pub dots: String,
    /// Arrow heads at the edge for pairs that lie beyond it.
    pub beyond: String,
    /// A short bar for the estimate of each launch.
    pub bars: String,
    pub x_ticks: Vec<Tick>,
    pub columns: Vec<Column>,
    /// Every how many pairs one is drawn.
    pub step: usize,
    /// Pairs beyond the axis, all of them counted.
    pub beyond_count: usize,
    /// Whether there are so few points that their dots can be large.
    pub sparse: bool,
}

/// How often which ratio occurred, lying on its side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Histogram {
    pub panel: Panel,
    pub bars: String,
    /// A short stroke for the estimate of each launch.
    pub rug: String,
    /// Pairs in the fullest bar.
    pub most: usize,
    /// Pairs in all bars.
    pub total: usize,
}

/// Draws both charts with at most about `most_points` points, or nothing when no ratio is finite.
pub(crate) fn draw(
    launches: &[Launch<'_>],
    frame: Frame,
    most_points: usize,
) -> Option<(Pairs, Histogram)> {
    let mut sorted: Vec<f64> =
        launches.iter().flat_map(|l| l.ratios).copied().filter(|r| r.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let axis = ValueAxis::over(&sorted, launches, frame)?;
    Some((
        time_order(launches, frame, &axis, most_points),
        histogram(&sorted, launches, frame, &axis),
    ))
}

/// Round changes between two log-ratios, each with its place and its text.
pub(crate) fn change_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let changes: Vec<f64> = if high - low > WIDE {
        let doublings = |x: f64| x / std::f64::consts::LN_2;
        let step = (doublings(high - low) / 6.0).ceil().max(1.0);
        let (first, last) = (doublings(low) / step, doublings(high) / step);
        // Written as a range of integers so that no change is among the factors exactly.
        (first.ceil() as i64..=last.floor() as i64)
            .map(|index| 100.0 * (index as f64 * step).exp2() - 100.0)
            .collect()
    } else {
        nice_ticks(100.0 * low.exp_m1(), 100.0 * high.exp_m1())
    };
    // Factors need no equal decimals: `+15 %` and `-87.5 %` stand beside each other.
    let labels = if high - low > WIDE {
        // Beyond ten times `-99.9 %` would stand for all that is faster.
        let factor = |c: &f64| (1.0 + c / 100.0).log10().abs() >= 1.0;
        let short = |c: &f64| match factor(c) {
            true => number::change(c / 100.0),
            false => format!("{} %", (10.0 * c).round() / 10.0),
        };
        changes.iter().map(short).collect()
    } else {
        tick_labels(&changes, "%")
    };
    changes
        .into_iter()
        .zip(labels)
        .map(|(change, label)| {
            let label = match change {
                0.0 => "0 %".to_owned(),
                change if change > 0.0 && label.ends_with('%') => format!("+{label}"),
                _ => label,
            };
            ((change / 100.0).ln_1p(), label)
        })
        .collect()
}

/// The value axis: which log-ratios it shows and where.
struct ValueAxis {
    low: f64,
    high: f64,
}

impl ValueAxis {
    /// All that matters, and of the pairs those that do not flatten everything else.
    fn over(sorted: &[f64], launches: &[Launch<'_>], frame: Frame) -> Option<ValueAxis> {
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let quartile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        let (lower, upper) = (quartile(0.25), quartile(0.75));
        let air = 2.5 * (upper - lower).max(LEAST_REACH);
        let (mut low, mut high) = (least.max(lower - air), most.min(upper + air));
        let bounds = frame.interval.map(|(low, high)| [low, high]);
        let estimates = launches.iter().filter_map(|launch| launch.estimate);
        let matters = bounds.into_iter().flatten().chain(estimates).chain(frame.estimate);
        for value in matters.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        (low, high) = (low.min(0.0), high.max(0.0));
        let reach = (high - low).max(2.0 * LEAST_REACH);
        let missing = (2.0 * LEAST_REACH - (high - low)).max(0.0) / 2.0;
        (low, high) = (low - missing - 0.04 * reach, high + missing + 0.04 * reach);
        // A threshold just outside is worth seeing whole; one far outside says nothing here.
        for bound in [frame.threshold.0, frame.threshold.1] {
            if bound > low - 0.3 * reach && bound < high + 0.3 * reach {
                (low, high) = (low.min(bound - 0.02 * reach), high.max(bound + 0.02 * reach));
            }
        }
        Some(ValueAxis { low, high })
    }

    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM))
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn strip(&self, low: f64, high: f64) -> Option<Strip> {
        let overlaps = low <= self.high && high >= self.low && low <= high;
        let (bottom, top) = (self.y(low), self.y(high));
        // Even an interval without width is seen.
        overlaps.then(|| Strip { y: top, height: round((bottom - top).max(1.0)) })
    }

    fn panel(&self, width: f64, right: f64, frame: Frame) -> Panel {
        Panel {
            width,
            height: HEIGHT,
            left: LEFT,
            right: width - right,
            top: TOP,
            bottom: HEIGHT - BOTTOM,
            zero: self.holds(0.0).then(|| self.y(0.0)),
            threshold: self.strip(frame.threshold.0, frame.threshold.1),
            interval: frame.interval.and_then(|(low, high)| self.strip(low, high)),
            estimate: frame.estimate.filter(|e| self.holds(*e)).map(|e| self.y(e)),
            y_ticks: change_ticks(self.low, self.high)
                .into_iter()
                .map(|(value, label)| Tick { at: self.y(value), label })
                .collect(),
        }
    }
}

fn time_order(
    launches: &[Launch<'_>],
    frame: Frame,
    axis: &ValueAxis,
    most_points: usize,
) -> Pairs {
    let panel = axis.panel(WIDTH, RIGHT, frame);
    let each = (panel.right - panel.left) / launches.len().max(1) as f64;
    let left = |launch: usize| panel.left + launch as f64 * each;
    let all = || launches.iter().flat_map(|launch| launch.ratios).filter(|ratio| ratio.is_finite());
    let total = all().count();
    let step = step(total, most_points);
    let beyond_count = all().filter(|ratio| !axis.holds(**ratio)).count();
    let beyond_step = self::step(beyond_count, MOST_BEYOND);
    let (mut dots, mut beyond) = (String::new(), String::new());
    let (mut bars, mut bands) = (String::new(), String::new());
    let (mut inside, mut outside) = (0, 0);
    for (index, launch) in launches.iter().enumerate() {
        for (place, ratio) in launch.ratios.iter().enumerate().filter(|(_, r)| r.is_finite()) {
            let share = (place as f64 + 0.5) / launch.ratios.len() as f64;
            // Dots keep clear of the next launch.
            let x = round(left(index) + each * (0.06 + 0.88 * share));
            if axis.holds(*ratio) {
                if inside % step == 0 {
                    point(&mut dots, x, axis.y(*ratio));
                }
                inside += 1;
            } else {
                if outside % beyond_step == 0 {
                    arrow(&mut beyond, x, *ratio > axis.high, &panel);
                }
                outside += 1;
            }
        }
        if let Some(estimate) = launch.estimate.filter(|estimate| axis.holds(*estimate)) {
            let (from, to) = (round(left(index) + 0.1 * each), round(left(index) + 0.9 * each));
            _ = write!(bars, "M{from} {}H{to}", axis.y(estimate));
        }
        if index % 2 == 1 {
            let (from, to) = (round(left(index)), round(left(index + 1)));
            _ = write!(bands, "M{from} {TOP}H{to}V{}H{from}Z", panel.bottom);
        }
    }
    let every = launches.len().div_ceil(12).max(1);
    let x_ticks = (0..launches.len())
        .filter(|index| (index + 1) % every == 0)
        .map(|index| Tick { at: round(left(index) + each / 2.0), label: (index + 1).to_string() })
        .collect();
    let columns = (0..launches.len())
        .map(|index| Column { x: round(left(index)), width: round(each) })
        .collect();
    let sparse = total.div_ceil(step) <= 300;
    Pairs { panel, bands, dots, beyond, bars, x_ticks, columns, step, beyond_count, sparse }
}

fn point(path: &mut String, x: f64, y: f64) {
    _ = write!(path, "M{x} {y}h0");
}

fn arrow(path: &mut String, x: f64, up: bool, panel: &Panel) {
    let (tip, back) = if up { (panel.top, 4) } else { (panel.bottom, -4) };
    _ = write!(path, "M{x} {tip}l-3 {back}h6Z");
}

/// Every how many of `count` one is drawn so that about `most` remain: an odd number, because leads
/// alternate and an even one could pick pairs led by the same side only.
fn step(count: usize, most: usize) -> usize {
    count.div_ceil(most.max(1)).max(1) | 1
}

fn histogram(sorted: &[f64], launches: &[Launch<'_>], frame: Frame, axis: &ValueAxis) -> Histogram {
    let panel = axis.panel(SIDE, RIGHT + RUG, frame);
    let shown: Vec<f64> = sorted.iter().copied().filter(|ratio| axis.holds(*ratio)).collect();
    let counts = counts(&shown, axis);
    let most = counts.iter().copied().max().unwrap_or(0);
    let each = (axis.high - axis.low) / counts.len() as f64;
    let mut bars = String::new();
    for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (low, high) = (axis.low + index as f64 * each, axis.low + (index + 1) as f64 * each);
        let length = *count as f64 / most as f64 * (panel.right - panel.left - 4.0);
        let to = round(panel.left + length);
        _ = write!(bars, "M{LEFT} {}H{to}V{}H{LEFT}Z", axis.y(low), axis.y(high));
    }
    let mut rug = String::new();
    let from = panel.right + 4.0;
    for estimate in launches.iter().filter_map(|l| l.estimate).filter(|e| axis.holds(*e)) {
        _ = write!(rug, "M{from} {}h{}", axis.y(estimate), RUG - 4.0);
    }
    Histogram { panel, bars, rug, most, total: shown.len() }
}

/// Values by bin of equal width; the width is that of Freedman and Diaconis (1981), within reason.
fn counts(sorted: &[f64], axis: &ValueAxis) -> Vec<usize> {
    let quartile = |share: f64| sorted.get((sorted.len() as f64 * share) as usize).copied();
    let spread = quartile(0.75).zip(quartile(0.25)).map_or(0.0, |(high, low)| high - low);
    let width = 2.0 * spread / (sorted.len().max(1) as f64).cbrt();
    let wanted = if width > 0.0 { (axis.high - axis.low) / width } else { 0.0 };
    // Of an axis without ends nothing is wanted, and a histogram has bins all the same.
    let bins = (wanted.clamp(12.0, 60.0) as usize).max(12);
    let mut counts = vec![0; bins];
    for value in sorted {
        let share = (value - axis.low) / (axis.high - axis.low);
        counts[((share * bins as f64) as usize).min(bins - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(ratios: &[f64]) -> Launch<'_> {
        Launch { ratios, estimate: None }
    }

    fn frame() -> Frame {
        Frame { threshold: (-0.01, 0.01), ..Frame::default() }
    }

    #[test]
    fn two_launches_stand_side_by_side() {
        let launches = [
            Launch { ratios: &[0.0, 0.1], estimate: Some(0.05) },
            Launch { ratios: &[0.1, 0.0], estimate: Some(0.05) },
        ];
        let (pairs, _) = draw(&launches, frame(), 100).unwrap();
        // 0 to 0.1 with 4 % of air is -0.004 to 0.104. The threshold of -0.01 is near: with its own
        // 2 % of air the axis begins at -0.012, so 0 is at 216 - 206 * 0.012 / 0.116 = 194.7.
        // Launches are 345 wide; pairs stand at 28 % and 72 % of that.
        assert_eq!(pairs.dots, "M158.6 194.7h0M310.4 17.1h0M503.6 17.1h0M655.4 194.7h0");
        assert_eq!(pairs.bars, "M96.5 105.9H372.5M441.5 105.9H717.5");
        assert_eq!(pairs.bands, "M407 10H752V216H407Z");
        assert_eq!((pairs.panel.zero, pairs.step, pairs.beyond_count), (Some(194.7), 1, 0));
        assert_eq!(pairs.panel.threshold, Some(Strip { y: 176.9, height: 35.5 }));
        let labels: Vec<&str> = pairs.x_ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["1", "2"]);
        assert_eq!(pairs.columns[1], Column { x: 407.0, width: 345.0 });
    }

    #[test]
    fn a_wild_pair_is_drawn_at_the_edge_and_counted() {
        let mut ratios = vec![0.01; 40];
        ratios.extend([0.02; 40]);
        ratios.extend([5.0, -5.0]);
        let (pairs, histogram) = draw(&[launch(&ratios)], frame(), 1000).unwrap();
        assert_eq!((pairs.beyond_count, histogram.total), (2, 80));
        assert_eq!(pairs.beyond.matches('Z').count(), 2);
        assert!(pairs.beyond.contains(" 10l-3 4h6Z") && pairs.beyond.contains(" 216l-3 -4h6Z"));
        assert_eq!(pairs.dots.matches('M').count(), 80);
    }

    #[test]
    fn thinning_keeps_both_leads() {
        assert_eq!(step(100, 100), 1);
        assert_eq!(step(101, 100), 3, "never 2");
        assert_eq!(step(400, 100), 5, "never 4");
        assert_eq!(step(0, 0), 1);
        // Pairs led by one side read high, those by the other low; both must be seen.
        let ratios: Vec<f64> = (0..4000).map(|i| if i % 2 == 0 { 0.06 } else { -0.06 }).collect();
        let (pairs, _) = draw(&[launch(&ratios)], frame(), 1000).unwrap();
        let at = |y: f64| pairs.dots.matches(&format!(" {y}h0")).count();
        let heights: Vec<&str> =
            pairs.dots.split('M').filter_map(|d| d.split(' ').nth(1)).collect();
        assert_eq!(heights.len(), 800);
        let high: f64 = heights[0].trim_end_matches("h0").parse().unwrap();
        let low: f64 = heights[1].trim_end_matches("h0").parse().unwrap();
        assert!(high < low);
        assert_eq!((at(high), at(low)), (400, 400));
    }

    #[test]
    fn bars_of_the_histogram_hold_every_pair_once() {
        let ratios: Vec<f64> = (0..100).map(|i| 0.001 * f64::from(i)).collect();
        let launches = [Launch { ratios: &ratios, estimate: Some(0.05) }];
        let (_, histogram) = draw(&launches, frame(), 100).unwrap();
        assert_eq!(histogram.total, 100);
        assert_eq!(histogram.rug.matches('M').count(), 1);
        let axis = ValueAxis { low: 0.0, high: 0.1 };
        // 2 * 0.05 / 100^(1/3) is 0.0215, which makes fewer than the least 12 bins.
        let counts = counts(&ratios, &axis);
        assert_eq!((counts.len(), counts.iter().sum::<usize>()), (12, 100));
        assert!(counts.iter().all(|count| (8..=9).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_fullest_bar_is_the_longest() {
        let ratios: Vec<f64> = [vec![0.0; 30], vec![0.05; 10], vec![0.1; 20]].concat();
        let (_, histogram) = draw(&[launch(&ratios)], frame(), 100).unwrap();
        // The panel is 250 - 62 - 22 wide and keeps 4 free: 162 for 30 pairs, 54 for 10.
        let ends: Vec<&str> = histogram
            .bars
            .split('M')
            .filter_map(|bar| bar.split('H').nth(1)?.split('V').next())
            .collect();
        assert_eq!(ends, ["224", "116", "170"]);
        assert_eq!(histogram.most, 30);
    }

    #[test]
    fn ticks_are_round_changes() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            change_ticks(low, high).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(-0.02, 0.02), ["-1 %", "0 %", "+1 %", "+2 %"], "-1.98 to 2.02 %");
        assert_eq!(labels(-0.0011, 0.0022), ["-0.1 %", "0 %", "+0.1 %", "+0.2 %"]);
        // A factor of 32: doublings, of which no change is one.
        assert_eq!(labels(-1.5, 2.0), ["-75 %", "-50 %", "0 %", "+100 %", "+300 %"]);
        assert_eq!(labels(-5.0, 4.0), ["64.0x faster", "-87.5 %", "0 %", "+700 %"]);
        let (at, _) = change_ticks(-1.5, 2.0)[3];
        assert!((at - std::f64::consts::LN_2).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        assert!(draw(&[], frame(), 10).is_none());
        assert!(draw(&[launch(&[f64::NAN, f64::INFINITY])], frame(), 10).is_none());
        let (pairs, _) = draw(&[launch(&[0.0, f64::NAN, 0.01])], frame(), 10).unwrap();
        assert_eq!(pairs.dots.matches('M').count(), 2);
        let (pairs, _) = draw(&[launch(&[]), launch(&[0.0])], frame(), 10).unwrap();
        assert_eq!(pairs.columns.len(), 2, "a launch without pairs keeps its place");
    }

    #[test]
    fn every_coordinate_stays_in_the_frame() {
        let series: [&[f64]; 6] = [
            &[0.0],
            &[5.0, 5.0],
            &[-40.0, 40.0],
            &[1e-9, -1e-9],
            &[3.0, 3.1],
            &[-700.0, 0.0, 700.0],
        ];
        for ratios in series {
            for interval in [None, Some((ratios[0], ratios[0])), Some((-1.0, 1.0))] {
                let frame = Frame { interval, estimate: Some(ratios[0]), ..frame() };
                let (pairs, histogram) = draw(&[launch(ratios)], frame, 10).unwrap();
                assert!(!pairs.dots.is_empty() && !histogram.bars.is_empty(), "{ratios:?}");
                assert!(!pairs.panel.y_ticks.is_empty(), "{ratios:?}");
                for dot in pairs.dots.split('M').skip(1) {
                    let (x, y) = dot.trim_end_matches("h0").split_once(' ').unwrap();
                    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{ratios:?}: {x}");
                    assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{ratios:?}: {y}");
                }
            }
        }
    }
}
