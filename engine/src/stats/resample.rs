//! Resampling of two unpaired series: intervals of a ratio of medians or means, and the pooled test
//! of Welch's t. What the series are, and what follows from an interval, is decided elsewhere.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::blocks::{block_length, resampled_mean};
use super::ordered::{median, percentile};
use super::spread::{mean, standard_deviation};

/// How often a resample whose reference is zero is drawn again before it is given up.
const REDRAWS: usize = 32;

/// Change of a resampled quantity of `b` against `a`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shift {
    /// `b / a - 1`.
    Relative,
    /// `b - a`, where a ratio has no meaning: a value is negative or a median is not positive.
    Absolute,
}

/// A point estimate with a percentile interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampled {
    /// The quantity in the data themselves.
    pub estimate: f64,
    /// Lower percentile bound.
    pub low: f64,
    /// Upper percentile bound.
    pub high: f64,
    /// Name of the quantity.
    pub shift: Shift,
}

/// The change of the median from `a` to `b`, each resampled independently value by value, with a
/// percentile interval at `confidence` (0..1).
///
/// Relative when both medians are positive and no value is negative, otherwise absolute. A resample
/// of `a` with a median of zero is drawn again, up to 32 times. `None` for an empty series, without
/// resamples, or when no resample had a usable reference. Source: Efron (1979), Bootstrap methods.
pub fn median_change(
    a: &[f64],
    b: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Resampled> {
    let (middle_a, middle_b) = (median(a)?, median(b)?);
    let negative = a.iter().chain(b).any(|v| *v < 0.0);
    let shift = if middle_a > 0.0 && middle_b > 0.0 && !negative {
        Shift::Relative
    } else {
        Shift::Absolute
    };
    let mut random = StdRng::seed_from_u64(seed);
    let mut scratch = Vec::with_capacity(a.len().max(b.len()));
    let mut draw = |values: &[f64], random: &mut StdRng| {
        scratch.clear();
        scratch.extend((0..values.len()).map(|_| values[random.random_range(0..values.len())]));
        median(&scratch)
    };
    let mut drawn = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        let other = draw(b, &mut random)?;
        let reference = match shift {
            Shift::Absolute => draw(a, &mut random),
            Shift::Relative => {
                (0..=REDRAWS).find_map(|_| draw(a, &mut random).filter(|m| *m > 0.0))
            }
        };
        drawn.extend(reference.map(|reference| change(shift, reference, other)));
    }
    interval(change(shift, middle_a, middle_b), &drawn, confidence, shift)
}

/// The relative change of the mean from `a` to `b`, both resampled in circular blocks of their own
/// length from one stream of random numbers. `None` when a mean is not positive, for an empty
/// series or without resamples.
///
/// Known to be too narrow for short series, as all percentile intervals over few values. Source:
/// Politis and Romano (1992), A circular block-resampling procedure.
pub fn block_mean_change(
    a: &[f64],
    b: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Resampled> {
    let (mean_a, mean_b) = positive_means(a, b)?;
    let (block_a, block_b) = (block_length(a.len()), block_length(b.len()));
    let mut random = StdRng::seed_from_u64(seed);
    let drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            let reference = resampled_mean(a, block_a, &mut random);
            resampled_mean(b, block_b, &mut random) / reference - 1.0
        })
        .filter(|change| change.is_finite())
        .collect();
    interval(mean_b / mean_a - 1.0, &drawn, confidence, Shift::Relative)
}

/// The relative change of the mean from `a` to `b` by nested resampling: about `sqrt(resamples)`
/// resamples of `b`, each against as many resamples of `a`. `None` as for [`block_mean_change`].
///
/// The nesting is that of criterion; its replicates are not independent of each other.
pub fn nested_mean_change(
    a: &[f64],
    b: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Resampled> {
    let (mean_a, mean_b) = positive_means(a, b)?;
    let outer = (resamples as f64).sqrt().ceil() as usize;
    let inner = resamples.div_ceil(outer.max(1));
    let mut random = StdRng::seed_from_u64(seed);
    let mut drawn = Vec::with_capacity(resamples);
    while drawn.len() < resamples {
        // A block of one value is plain resampling.
        let contender = resampled_mean(b, 1, &mut random);
        let round = inner.min(resamples - drawn.len());
        drawn.extend((0..round).map(|_| contender / resampled_mean(a, 1, &mut random) - 1.0));
    }
    drawn.retain(|change| change.is_finite());
    interval(mean_b / mean_a - 1.0, &drawn, confidence, Shift::Relative)
}

/// Welch's t of `b` against `a`: the difference of means over its standard error, variances not
/// assumed equal. `None` below two values a side, or when neither side has any spread.
///
/// Source: Welch (1947), The generalization of Student's problem.
pub fn welch_t(a: &[f64], b: &[f64]) -> Option<f64> {
    let share = |values: &[f64]| Some(standard_deviation(values)?.powi(2) / values.len() as f64);
    let error = (share(a)? + share(b)?).sqrt();
    let t = (mean(b)? - mean(a)?) / error;
    t.is_finite().then_some(t)
}

/// The two-sided p-value of [`welch_t`] by resampling: both sides are drawn from the pooled values,
/// and `p = 2 min(hits, n - hits) / n` over the `n` draws with a finite t, where hits lie below the
/// observed t. It can be exactly zero, which means "below `1 / n`".
///
/// Without any spread there is no t: equal means give 1, different means 0. `None` below two values
/// a side or without resamples.
pub fn pooled_p(a: &[f64], b: &[f64], resamples: usize, seed: u64) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 || resamples == 0 {
        return None;
    }
    let Some(observed) = welch_t(a, b) else {
        return Some(if mean(a) == mean(b) { 1.0 } else { 0.0 });
    };
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut random = StdRng::seed_from_u64(seed);
    let mut draw = pooled.clone();
    let (mut below, mut finite) = (0usize, 0usize);
    for _ in 0..resamples {
        for value in &mut draw {
            *value = pooled[random.random_range(0..pooled.len())];
        }
        let (one, other) = draw.split_at(a.len());
        if let Some(t) = welch_t(one, other) {
            finite += 1;
            below += usize::from(t < observed);
        }
    }
    (finite > 0).then(|| 2.0 * below.min(finite - below) as f64 / finite as f64)
}

fn change(shift: Shift, from: f64, to: f64) -> f64 {
    match shift {
        Shift::Relative => to / from - 1.0,
        Shift::Absolute => to - from,
    }
}

fn positive_means(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let means = (mean(a)?, mean(b)?);
    (means.0 > 0.0 && means.1 > 0.0).then_some(means)
}

fn interval(estimate: f64, drawn: &[f64], confidence: f64, shift: Shift) -> Option<Resampled> {
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    Some(Resampled {
        estimate,
        low: percentile(drawn, tail)?,
        high: percentile(drawn, 1.0 - tail)?,
        shift,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn welch_by_hand() {
        // Both sides have a variance of 4 over 5 values, so t = 5 / sqrt(0.8 + 0.8).
        let a = [93.0, 93.0, 95.0, 97.0, 97.0];
        let b = [98.0, 98.0, 100.0, 102.0, 102.0];
        assert!((welch_t(&a, &b).unwrap() - 3.952_847_075_210_402).abs() < 1e-9);
        assert_eq!(welch_t(&[1.0, 1.0], &[2.0, 2.0]), None);
        let p = pooled_p(&a, &b, 20_000, 1).unwrap();
        assert!(p < 0.01, "{p}");
    }

    #[test]
    fn without_spread_the_means_decide() {
        assert_eq!(pooled_p(&[1.0; 4], &[1.0; 4], 100, 1), Some(1.0));
        assert_eq!(pooled_p(&[1.0; 4], &[2.0; 4], 100, 1), Some(0.0));
        assert_eq!(pooled_p(&[1.0], &[2.0; 4], 100, 1), None);
    }

    #[test]
    fn a_series_against_itself_has_no_change_and_constants_no_width() {
        for of in [median_change, block_mean_change, nested_mean_change] {
            let got = of(&[50.0; 20], &[50.0; 20], 0.95, 2000, 1).unwrap();
            assert_eq!((got.low, got.estimate, got.high), (0.0, 0.0, 0.0));
            let got = of(&[100.0; 8], &[110.0; 12], 0.95, 500, 1).unwrap();
            assert!((got.low - 0.1).abs() < 1e-12 && (got.high - 0.1).abs() < 1e-12);
            assert_eq!(of(&[], &[1.0], 0.95, 100, 1), None);
            assert_eq!(of(&[1.0], &[1.0], 0.95, 0, 1), None);
        }
    }

    #[test]
    fn medians_that_are_not_positive_are_subtracted() {
        let got = median_change(&[-1.0; 5], &[3.0; 5], 0.95, 100, 1).unwrap();
        assert_eq!((got.shift, got.estimate, got.low, got.high), (Shift::Absolute, 4.0, 4.0, 4.0));
        let zero = median_change(&[0.0; 5], &[0.0; 5], 0.95, 100, 1).unwrap();
        assert_eq!((zero.shift, zero.low, zero.high), (Shift::Absolute, 0.0, 0.0));
    }

    #[test]
    fn draws_with_a_reference_of_zero_are_drawn_again() {
        // Two of five values are zero, so about a third of the draws have a median of zero.
        let got = median_change(&[0.0, 0.0, 2.0, 2.0, 2.0], &[2.0; 5], 0.95, 2000, 1).unwrap();
        assert_eq!((got.shift, got.low, got.high), (Shift::Relative, 0.0, 0.0));
    }

    #[test]
    fn the_interval_of_a_mean_ratio_has_the_width_of_theory() {
        // Two values apart by 2 around 100: the standard error of a mean of 100 is 0.1, that of the
        // ratio 0.1 * sqrt 2 percent.
        let values: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 99.0 } else { 101.0 }).collect();
        let got = nested_mean_change(&values, &values, 0.95, 10_000, 5).unwrap();
        let expected = 2.0 * 1.96 * 0.001 * 2f64.sqrt();
        assert!(((got.high - got.low) / expected - 1.0).abs() < 0.15, "{got:?}");
    }

    proptest! {
        #[test]
        fn intervals_hold_together(
            a in prop::collection::vec(1.0f64..100.0, 2..20),
            b in prop::collection::vec(1.0f64..100.0, 2..20),
            seed: u64,
        ) {
            for of in [median_change, block_mean_change, nested_mean_change] {
                let got = of(&a, &b, 0.95, 200, seed).unwrap();
                prop_assert_eq!(Some(got), of(&a, &b, 0.95, 200, seed));
                prop_assert!(got.low <= got.high && got.low > -1.0);
            }
        }
    }
}
