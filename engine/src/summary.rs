//! What several comparisons say together: p-values that account for the looks and for the number of
//! benchmarks, and the geometric mean. It changes no verdict by itself and knows no revision.

use crate::paired::Compare;
use crate::plan::Looks;
use crate::stats;
use crate::stop::{Decision, StopReason};

/// The p-value of "no change" of a comparison decided at `looks`, as the smallest overall error at
/// which the looks, scaled in proportion, would have excluded zero so far.
///
/// `estimates` are log-ratios by launch, `None` where a launch gave none. `ended` says that the run
/// stopped here for good, so that a last look between planned ones spends what is left. `None`
/// before the first look. Uniform or conservative when nothing changed; see
/// [`stats::sequential_p`].
pub fn sequential_p(estimates: &[Option<f64>], looks: &Looks, ended: bool) -> Option<f64> {
    let total: f64 = looks.alpha.iter().sum();
    let p_after = |launches: usize| {
        let seen: Vec<f64> = estimates[..launches].iter().flatten().copied().collect();
        stats::signed_rank_p(&seen, 0.0)
    };
    let mut spent: Vec<(f64, f64)> = looks
        .at
        .iter()
        .zip(&looks.alpha)
        .filter(|(at, _)| **at <= estimates.len())
        .filter_map(|(at, alpha)| Some((p_after(*at)?, alpha / total)))
        .collect();
    if ended && !looks.at.contains(&estimates.len()) {
        let left = looks.left_after(estimates.len()) / total;
        spent.extend(p_after(estimates.len()).map(|p| (p, left)));
    }
    stats::sequential_p(&spent)
}

/// `sequential_p` of one contender (1-based subject index) of a comparison.
pub fn contender_p(trial: &Compare, contender: usize) -> Option<f64> {
    let cut_short =
        matches!(trial.decide(), Decision::Done(StopReason::Budget | StopReason::Interrupted));
    sequential_p(&launch_estimates(trial, contender), trial.looks(), cut_short)
}

/// Log-ratio estimates of a contender by launch, gaps included.
pub fn launch_estimates(trial: &Compare, contender: usize) -> Vec<Option<f64>> {
    trial
        .launches()
        .iter()
        .map(|launch| launch.estimates.get(contender.wrapping_sub(1)).copied().flatten())
        .collect()
}

/// False discovery rate adjustment of p-values of which some are missing; missing ones stay so and
/// do not count.
pub fn adjusted_by_discovery_rate(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = p.iter().flatten().copied().collect();
    let mut adjusted = stats::benjamini_hochberg(&known).into_iter();
    p.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// The geometric mean of ratios over comparisons, as a change.
#[derive(Debug, Clone, PartialEq)]
pub struct GeometricMean {
    /// Geometric mean of `contender / reference`, minus 1.
    pub change: f64,
    /// Bounds of the change; `None` with fewer than six launches that all comparisons have.
    pub interval: Option<(f64, f64)>,
    /// Launches that all comparisons have.
    pub launches: usize,
    /// Comparisons it is taken over.
    pub benchmarks: usize,
}

/// The geometric mean over comparisons given by their launch estimates, with an interval at
/// two-sided error `alpha`; see [`stats::mean_log_ratio`]. `None` without any estimate.
pub fn geometric_mean(estimates: &[Vec<Option<f64>>], alpha: f64) -> Option<GeometricMean> {
    let mean = stats::mean_log_ratio(estimates, alpha)?;
    Some(GeometricMean {
        change: mean.log_ratio.exp_m1(),
        interval: mean.interval.map(|i| (i.low.exp_m1(), i.high.exp_m1())),
        launches: mean.launches,
        benchmarks: mean.benchmarks,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn the_first_look_of_the_standard_plan_multiplies_by_five() {
        // Ten positive estimates: p = 2 / 1024, and the first look spends a fifth of all error.
        let ten = vec![Some(0.01); 10];
        let p = sequential_p(&ten, &Looks::standard(), false).unwrap();
        assert!((p - 5.0 * 2.0 / 1024.0).abs() < 1e-12);
        assert_eq!(sequential_p(&ten[..9], &Looks::standard(), false), None);
        // Stopped for good after nine launches, everything is spent there.
        let p = sequential_p(&ten[..9], &Looks::standard(), true).unwrap();
        assert!((p - 2.0 / 512.0).abs() < 1e-12);
    }

    #[test]
    fn an_early_look_is_not_forgotten() {
        let mut estimates: Vec<Option<f64>> = vec![Some(0.01); 10];
        let early = sequential_p(&estimates, &Looks::standard(), false).unwrap();
        estimates.extend([Some(-0.02); 6]);
        assert_eq!(sequential_p(&estimates, &Looks::standard(), false), Some(early));
    }

    #[test]
    fn missing_p_values_stay_missing_and_do_not_count() {
        let got = adjusted_by_discovery_rate(&[Some(0.01), None, Some(0.04)]);
        assert_eq!(got, vec![Some(0.02), None, Some(0.04)]);
    }

    /// 4000 comparisons without a change, each read at its last look or, for every third, where it
    /// was cut short: the share of p-values at or below x is at most x, up to three standard
    /// errors.
    #[test]
    fn without_a_change_the_p_value_is_uniform_or_larger() {
        const TRIALS: usize = 4_000;
        let mut random = StdRng::seed_from_u64(29);
        let looks = Looks::standard();
        let p: Vec<f64> = (0..TRIALS)
            .map(|trial| {
                let length = if trial % 3 == 0 { random.random_range(8..24) } else { 24 };
                let estimates: Vec<Option<f64>> =
                    (0..length).map(|_| Some(random.random::<f64>() - 0.5)).collect();
                sequential_p(&estimates, &looks, true).unwrap()
            })
            .collect();
        for x in [0.01, 0.02, 0.05, 0.1, 0.2, 0.5] {
            let share = p.iter().filter(|p| **p <= x).count() as f64 / TRIALS as f64;
            let error = (x * (1.0 - x) / TRIALS as f64).sqrt();
            assert!(share <= x + 3.0 * error, "{share} of p-values are at most {x}");
        }
        // And it is of use: not wildly conservative where decisions are made.
        let share = p.iter().filter(|p| **p <= 0.05).count() as f64 / TRIALS as f64;
        assert!(share > 0.025, "{share}");
    }

    proptest! {
        #[test]
        fn at_most_the_planned_error_means_that_a_look_excluded_zero(
            values in prop::collection::vec(-1.0f64..1.2, 24..=24),
            seen in 10usize..=24,
        ) {
            let looks = Looks::standard();
            let estimates: Vec<Option<f64>> = values[..seen].iter().map(|v| Some(*v)).collect();
            let p = sequential_p(&estimates, &looks, false).unwrap();
            let excluded = looks.at.iter().zip(&looks.alpha).any(|(at, alpha)| {
                *at <= seen && stats::signed_rank_interval(&values[..*at], *alpha)
                    .is_some_and(|i| i.low > 0.0 || i.high < 0.0)
            });
            prop_assert_eq!(p <= 0.05 + 1e-12, excluded);
        }
    }
}
