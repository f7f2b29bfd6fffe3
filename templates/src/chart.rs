//! Geometry of the charts: series in, coordinates and path data out, all of it pure arithmetic.
//! It must not know HTML, names or what a change means.

use std::fmt::Write as _;

use serde::Serialize;

use crate::number::tick_labels;

/// Width of a chart in its own units, which are CSS pixels at full size.
pub(crate) const WIDTH: f64 = 760.0;
/// Height of a chart.
pub(crate) const HEIGHT: f64 = 240.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;
/// Width and height of a sparkline.
const SPARK: (f64, f64) = (120.0, 24.0);
/// Width and height of the bar of one paired result.
pub(crate) const BAR: (f64, f64) = (240.0, 20.0);
/// A label of the commit axis needs about this much room.
const LABEL_ROOM: f64 = 78.0;
/// Above this many points, per-point tooltips would make the page heavy; the table has their text
/// anyway.
const MOST_TOOLTIPS: usize = 150;

/// One point of a series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dot {
    /// Index of its commit among the commits of the series, from 0.
    pub slot: usize,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// Drawn hollow.
    pub dirty: bool,
    /// A dashed line separates it from the point before.
    pub new_toolchain: bool,
    /// Label on the commit axis.
    pub label: String,
    /// Text of its tooltip.
    pub tooltip: String,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tick {
    pub at: f64,
    pub label: String,
}

/// An invisible target for the pointer that carries a tooltip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Spot {
    pub x: f64,
    pub y: f64,
    pub tooltip: String,
}

/// One panel: everything a template needs to draw it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chart {
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Whether there are so many points that their dots must be small.
    pub dense: bool,
    /// Joins all points.
    pub line: String,
    /// Closed areas between the bounds of neighbours that have an interval.
    pub band: String,
    /// Upright strokes for points whose neighbours have none.
    pub whiskers: String,
    /// Zero-length strokes, which round caps turn into dots.
    pub dots: String,
    /// The same for points with uncommitted changes.
    pub hollow: String,
    /// Where the toolchain changes.
    pub toolchains: Vec<f64>,
    pub y_ticks: Vec<Tick>,
    pub x_ticks: Vec<Tick>,
    pub spots: Vec<Spot>,
}

/// A small line without axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Spark {
    pub width: f64,
    pub height: f64,
    pub line: String,
    pub last: Tick,
}

/// One paired result on an axis that is centred on no change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Bar {
    pub at: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// Lays out one panel, or nothing when no value is finite.
pub(crate) fn chart(dots: &[Dot], unit: &str) -> Option<Chart> {
    let dots: Vec<&Dot> = dots.iter().filter(|dot| dot.value.is_finite()).collect();
    let (low, high) = range(&dots)?;
    let slots = dots.iter().map(|dot| dot.slot).max()?;
    let x = |slot: usize| {
        // A single commit stands in the middle.
        let share = if slots == 0 { 0.5 } else { slot as f64 / slots as f64 };
        // Dots at the ends keep clear of the frame.
        round(LEFT + 10.0 + share * (WIDTH - LEFT - RIGHT - 20.0))
    };
    let y = |value: f64| {
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM))
    };
    let points: Vec<(f64, f64)> = dots.iter().map(|dot| (x(dot.slot), y(dot.value))).collect();
    let stroke = |dirty: bool| {
        let mut path = String::new();
        for (dot, (x, y)) in dots.iter().zip(&points) {
            if dot.dirty == dirty {
                _ = write!(path, "M{x} {y}h0");
            }
        }
        path
    };
    let (band, whiskers) = bands(&dots, x, y);
    let toolchains = dots
        .windows(2)
        .filter(|pair| pair[1].new_toolchain)
        .map(|pair| round((x(pair[0].slot) + x(pair[1].slot)) / 2.0))
        .collect();
    let ticks = nice_ticks(low, high);
    let y_ticks = tick_labels(&ticks, unit)
        .into_iter()
        .zip(&ticks)
        .map(|(label, tick)| Tick { at: y(*tick), label })
        .collect();
    let tooltips = if dots.len() <= MOST_TOOLTIPS { dots.len() } else { 0 };
    let spots = dots
        .iter()
        .zip(&points)
        .take(tooltips)
        .map(|(dot, &(x, y))| Spot { x, y, tooltip: dot.tooltip.clone() })
        .collect();
    Some(Chart {
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right: WIDTH - RIGHT,
        top: TOP,
        bottom: HEIGHT - BOTTOM,
        dense: dots.len() > MOST_TOOLTIPS,
        line: polyline(&points),
        band,
        whiskers,
        dots: stroke(false),
        hollow: stroke(true),
        toolchains,
        y_ticks,
        x_ticks: commit_ticks(&dots, slots, x),
        spots,
    })
}

/// A sparkline of the finite ones among `values`, or nothing when there are fewer than two.
pub(crate) fn spark(values: &[f64]) -> Option<Spark> {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let last = values.len().checked_sub(1).filter(|last| *last > 0)?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (width, height) = SPARK;
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let share = if high > low { (value - low) / (high - low) } else { 0.5 };
            (
                round(3.0 + index as f64 / last as f64 * (width - 6.0)),
                round(height - 3.0 - share * (height - 6.0)),
            )
        })
        .collect();
    let end = points[last];
    Some(Spark {
        width,
        height,
        line: polyline(&points),
        last: Tick { at: end.0, label: end.1.to_string() },
    })
}

/// The largest change that the axis of paired results shows, from everything drawn on it: a round
/// fraction.
pub(crate) fn bar_reach(changes: impl Iterator<Item = f64>) -> f64 {
    let largest = changes
        .filter(|change| change.is_finite())
        .fold(0.0_f64, |largest, change| largest.max(change.abs()));
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    steps.into_iter().find(|step| largest <= *step).unwrap_or(largest)
}

/// Places one paired result on an axis that reaches from `-reach` to `reach`; bounds beyond it are
/// cut there.
pub(crate) fn bar(change: f64, interval: Option<(f64, f64)>, reach: f64) -> Option<Bar> {
    let place = |change: f64| {
        let share = (change / reach).clamp(-1.0, 1.0);
        round(BAR.0 / 2.0 + share * (BAR.0 / 2.0 - 6.0))
    };
    let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    change.is_finite().then(|| Bar {
        at: place(change),
        low: interval.map(|(low, _)| place(low)),
        high: interval.map(|(_, high)| place(high)),
    })
}

/// The range of the value axis: all values with some air, intervals as far as they do not flatten
/// everything else.
fn range(dots: &[&Dot]) -> Option<(f64, f64)> {
    let least = dots.iter().map(|dot| dot.value).reduce(f64::min)?;
    let most = dots.iter().map(|dot| dot.value).reduce(f64::max)?;
    let air = (most - least).max(0.01 * most.abs());
    let air = if air > 0.0 { air } else { 1.0 };
    let bounds = || {
        dots.iter()
            .filter_map(|dot| dot.interval)
            .filter(|(low, high)| low.is_finite() && high.is_finite())
    };
    let low = bounds().map(|(low, _)| low).fold(least, f64::min).max(least - air);
    let high = bounds().map(|(_, high)| high).fold(most, f64::max).min(most + air);
    // Even a series that never moves gets an axis of 1 %, so that noise of 0.01 % does not look
    // like a cliff.
    let missing = (0.01 * most.abs()).max(f64::MIN_POSITIVE) - (high - low);
    let pad =
        (missing / 2.0).max(0.06 * (high - low)).max(if high > low { 0.0 } else { air / 2.0 });
    Some((low - pad, high + pad))
}

/// Round numbers within the range, three to seven of them.
pub(crate) fn nice_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.8);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    if !step.is_finite() || step <= 0.0 || last.saturating_sub(first) > 20 {
        return vec![low, high];
    }
    (first..=last).map(|index| index as f64 * step).collect()
}

fn commit_ticks(dots: &[&Dot], slots: usize, x: impl Fn(usize) -> f64) -> Vec<Tick> {
    let room = ((WIDTH - LEFT - RIGHT) / LABEL_ROOM).floor().max(2.0) as usize;
    let every =
        (slots / (room - 1)).max(1) + usize::from(slots >= room && !slots.is_multiple_of(room - 1));
    // From the newest backwards, because that is the commit that a reader looks for.
    let mut ticks: Vec<Tick> = Vec::new();
    let mut next = Some(slots);
    for dot in dots.iter().rev() {
        if next.is_some_and(|next| dot.slot <= next) {
            ticks.push(Tick { at: x(dot.slot), label: dot.label.clone() });
            next = dot.slot.checked_sub(every);
        }
    }
    ticks.reverse();
    ticks
}

fn bands(dots: &[&Dot], x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> (String, String) {
    let (mut band, mut whiskers) = (String::new(), String::new());
    let finite = |dot: &Dot| dot.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    for run in dots.chunk_by(|left, right| finite(left).is_some() == finite(right).is_some()) {
        let bounds: Vec<(f64, f64, f64)> = run
            .iter()
            .filter_map(|dot| finite(dot).map(|(low, high)| (x(dot.slot), y(low), y(high))))
            .collect();
        match bounds.as_slice() {
            [] => {}
            [(x, low, high)] => _ = write!(whiskers, "M{x} {low}V{high}"),
            several => {
                let upper = several.iter().map(|&(x, _, high)| (x, high));
                let lower = several.iter().rev().map(|&(x, low, _)| (x, low));
                band.push_str(&polyline(&upper.chain(lower).collect::<Vec<_>>()));
                band.push('Z');
            }
        }
    }
    (band, whiskers)
}

fn polyline(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        _ = write!(path, "{}{x} {y}", if index == 0 { 'M' } else { 'L' });
    }
    path
}

/// A tenth of a pixel is finer than anyone sees and keeps the page small.
pub(crate) fn round(coordinate: f64) -> f64 {
    (coordinate * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(slot: usize, value: f64) -> Dot {
        Dot {
            slot,
            value,
            interval: None,
            dirty: false,
            new_toolchain: false,
            label: format!("c{slot}"),
            tooltip: String::new(),
        }
    }

    #[test]
    fn two_points_span_the_panel() {
        let chart = chart(&[dot(0, 100.0), dot(1, 110.0)], "ns").unwrap();
        // The range is 100 to 110 with 6 % of air on both sides: 99.4 to 110.6 over 198 units of
        // height.
        assert_eq!(chart.line, "M86 199.4L734 22.6");
        assert_eq!(chart.dots, "M86 199.4h0M734 22.6h0");
        assert_eq!(chart.hollow, "");
        let labels: Vec<&str> = chart.y_ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["100 ns", "105 ns", "110 ns"]);
    }

    #[test]
    fn a_lone_point_stands_in_the_middle() {
        let chart = chart(&[dot(0, 50.0)], "ns").unwrap();
        assert_eq!(chart.line, "M410 111");
        assert_eq!(chart.x_ticks, [Tick { at: 410.0, label: "c0".into() }]);
    }

    #[test]
    fn a_still_series_is_flat_and_noise_is_not_blown_up() {
        let chart = chart(&[dot(0, 100.0), dot(1, 100.01)], "ns").unwrap();
        let ys: Vec<f64> = chart.spots.iter().map(|spot| spot.y).collect();
        assert!((ys[0] - ys[1]).abs() < 3.0, "{ys:?}");
    }

    #[test]
    fn bands_break_where_an_interval_is_missing() {
        let mut dots: Vec<Dot> = (0..6).map(|slot| dot(slot, 100.0)).collect();
        for slot in [0, 1, 3, 5] {
            dots[slot].interval = Some((99.0, 101.0));
        }
        let chart = chart(&dots, "ns").unwrap();
        assert_eq!(chart.band.matches('Z').count(), 1);
        assert_eq!(chart.whiskers.matches('V').count(), 2);
    }

    #[test]
    fn one_wild_interval_does_not_flatten_the_rest() {
        let mut dots = vec![dot(0, 100.0), dot(1, 105.0), dot(2, 103.0)];
        dots[1].interval = Some((1.0, 1e9));
        let chart = chart(&dots, "ns").unwrap();
        assert!((chart.spots[0].y - chart.spots[1].y).abs() > 40.0, "{:?}", chart.spots);
    }

    #[test]
    fn hollow_dots_and_toolchain_lines_are_apart() {
        let mut dots = vec![dot(0, 1.0), dot(1, 2.0), dot(1, 3.0)];
        dots[1].new_toolchain = true;
        dots[2].dirty = true;
        let chart = chart(&dots, "ns").unwrap();
        assert_eq!((chart.dots.matches('M').count(), chart.hollow.matches('M').count()), (2, 1));
        assert_eq!(chart.toolchains, [410.0]);
        assert_eq!(chart.x_ticks.len(), 2, "two points of one commit share its label");
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        assert_eq!(chart(&[dot(0, f64::NAN)], "ns"), None);
        assert_eq!(chart(&[], "ns"), None);
        let chart = chart(&[dot(0, 1.0), dot(1, f64::INFINITY), dot(2, 2.0)], "ns").unwrap();
        assert_eq!(chart.line.matches('L').count(), 1);
        assert_eq!(spark(&[1.0, f64::NAN]), None);
        assert_eq!(bar(f64::NAN, None, 0.1), None);
    }

    #[test]
    fn every_coordinate_stays_in_the_frame() {
        let series: [&[f64]; 6] = [
            &[0.0, 0.0],
            &[1e-9, 1e12],
            &[-5.0, 5.0],
            &[1e300, 1e-300],
            &[3.0],
            &[100.0, 100.000_000_1],
        ];
        for values in series {
            let dots: Vec<Dot> =
                values.iter().enumerate().map(|(slot, value)| dot(slot, *value)).collect();
            let chart = chart(&dots, "ns").unwrap();
            assert!(!chart.y_ticks.is_empty(), "{values:?}");
            for spot in &chart.spots {
                assert!((LEFT..=WIDTH - RIGHT).contains(&spot.x), "{values:?}: {spot:?}");
                assert!((TOP..=HEIGHT - BOTTOM).contains(&spot.y), "{values:?}: {spot:?}");
            }
        }
    }

    #[test]
    fn labels_of_commits_never_overlap() {
        for count in 1..300 {
            let dots: Vec<Dot> = (0..count).map(|slot| dot(slot, 1.0)).collect();
            let ticks = chart(&dots, "ns").unwrap().x_ticks;
            for pair in ticks.windows(2) {
                assert!(pair[1].at - pair[0].at >= 60.0, "{count} commits: {pair:?}");
            }
            assert_eq!(
                ticks.last().unwrap().label,
                format!("c{}", count - 1),
                "the newest is named"
            );
        }
    }

    #[test]
    fn a_sparkline_uses_its_height() {
        let spark = spark(&[1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spark.line, "M3 21L60 3L117 12");
        assert_eq!(spark.last, Tick { at: 117.0, label: "12".into() });
        assert_eq!(super::spark(&[5.0, 5.0]).unwrap().line, "M3 12L117 12");
    }

    #[test]
    fn paired_bars_are_centred_on_no_change() {
        assert_eq!(bar_reach([0.021, -0.034].into_iter()), 0.05);
        assert_eq!(bar_reach([f64::NAN, 42.0].into_iter()), 42.0);
        assert_eq!(bar(0.0, None, 0.05), Some(Bar { at: 120.0, low: None, high: None }));
        assert_eq!(
            bar(0.025, Some((-0.05, 9.0)), 0.05),
            Some(Bar { at: 177.0, low: Some(6.0), high: Some(234.0) })
        );
    }
}
