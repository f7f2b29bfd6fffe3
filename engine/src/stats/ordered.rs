//! Order statistics: percentiles, medians, trimmed means and the distribution-free interval of a
//! median. It does not know where the numbers come from.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

/// Returns a sorted copy; `NaN` sorts last, so that a bad reading is visible at the edge.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_by(f64::total_cmp);
    copy
}

/// The `fraction` percentile (0..=1) by linear interpolation at position `fraction * (n - 1)`.
///
/// Source: Hyndman and Fan (1996), definition 7. `None` for an empty slice or a fraction outside
/// 0..=1.
pub fn percentile(values: &[f64], fraction: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&fraction) {
        return None;
    }
    let ordered = sorted(values);
    let position = fraction * (ordered.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(ordered.len() - 1);
    let part = position - below as f64;
    Some(ordered[below] + part * (ordered[above] - ordered[below]))
}

/// The median, the middle value or the mean of the two middle values; `None` when empty.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

/// The mean of what is left after dropping `floor(share * n)` values at each end.
///
/// `share` lies in 0.0..0.5. With fewer than `1 / share` values nothing is dropped and the result
/// is the plain mean; callers that report the estimator say so. `None` when empty.
pub fn trimmed_mean(values: &[f64], share: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..0.5).contains(&share) {
        return None;
    }
    let ordered = sorted(values);
    let drop = (share * ordered.len() as f64).floor() as usize;
    let kept = &ordered[drop..ordered.len() - drop];
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// The distribution-free interval of a median: the order statistics `l` and `n + 1 - l` with the
/// largest `l` whose coverage is still at least `confidence`.
///
/// Returns `(low, high, coverage)`. `None` when even the extremes cover less than `confidence`
/// (below 6 values at 95 %). Source: David and Nagaraja, Order Statistics, section 7.1.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let n = values.len();
    let ranks = median_ranks(n, confidence)?;
    let ordered = sorted(values);
    let coverage = 1.0 - 2.0 * binomial_at_most(ranks as i64 - 1, n);
    Some((ordered[ranks - 1], ordered[n - ranks], coverage))
}

/// The lower rank (1-based) of the interval of [`median_interval`], or `None` when there is none.
pub fn median_ranks(n: usize, confidence: f64) -> Option<usize> {
    if n == 0 || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    (1..=n.div_ceil(2)).take_while(|&l| binomial_at_most(l as i64 - 1, n) <= tail).last()
}

/// The exact interval of a proportion of which `hits` of `trials` were seen, two-sided at
/// `confidence`. `None` without trials or with more hits than trials.
///
/// Source: Clopper and Pearson (1934), The use of confidence or fiducial limits.
pub fn proportion_interval(hits: usize, trials: usize, confidence: f64) -> Option<(f64, f64)> {
    if trials == 0 || hits > trials || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let bound = |a: usize, b: usize, p: f64| {
        Beta::new(a as f64, b as f64).ok().map(|beta| beta.inverse_cdf(p))
    };
    let low = if hits == 0 { 0.0 } else { bound(hits, trials - hits + 1, tail)? };
    let high = if hits == trials { 1.0 } else { bound(hits + 1, trials - hits, 1.0 - tail)? };
    Some((low, high))
}

fn binomial_at_most(successes: i64, n: usize) -> f64 {
    if successes < 0 {
        return 0.0;
    }
    Binomial::new(0.5, n as u64).map_or(1.0, |fair| fair.cdf(successes as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentile_interpolates_at_f_times_n_minus_one() {
        let values: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5), Some(4999.5));
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(percentile(&twenty, 0.25), Some(5.75));
        assert_eq!(percentile(&twenty, 0.75), Some(15.25));
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&twenty, 1.1), None);
    }

    #[test]
    fn trimming_drops_whole_values_only() {
        let mut values: Vec<f64> = (1..=19).map(f64::from).collect();
        values.push(1e6);
        assert_eq!(trimmed_mean(&values, 0.15), Some(10.5));
        // Four values at 20 % drop nothing.
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 10.0], 0.2), Some(4.0));
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 100.0], 0.2), Some(3.0));
    }

    #[test]
    fn median_ranks_match_the_published_table() {
        for (n, low) in
            [(6, 1), (10, 2), (20, 6), (30, 10), (49, 18), (50, 18), (100, 40), (200, 86)]
        {
            assert_eq!(median_ranks(n, 0.95), Some(low), "n = {n}");
        }
        assert_eq!(median_ranks(5, 0.95), None);
        // Published minimum for a finite interval: 6 values at 95 %, 8 at 99 %.
        assert_eq!(median_ranks(7, 0.99), None);
        assert_eq!(median_ranks(8, 0.99), Some(1));
    }

    #[test]
    fn proportions_have_the_textbook_interval() {
        // 0 of 10: 1 - 0.025^(1/10) = 0.3085; 5 of 10: 0.1871 to 0.8129.
        let (low, high) = proportion_interval(0, 10, 0.95).unwrap();
        assert_eq!(low, 0.0);
        assert!((high - 0.3085).abs() < 1e-4, "{high}");
        let (low, high) = proportion_interval(5, 10, 0.95).unwrap();
        assert!((low - 0.1871).abs() < 1e-4 && (high - 0.8129).abs() < 1e-4, "{low} {high}");
        assert_eq!(proportion_interval(1, 0, 0.95), None);
    }

    proptest! {
        #[test]
        fn trimmed_mean_lies_between_the_extremes(values in prop::collection::vec(-1e6f64..1e6, 1..60), share in 0.0f64..0.49) {
            let mean = trimmed_mean(&values, share).unwrap();
            let ordered = sorted(&values);
            prop_assert!(mean >= ordered[0] - 1e-6 && mean <= ordered[ordered.len() - 1] + 1e-6);
        }

        #[test]
        fn the_interval_of_a_median_holds_the_median(values in prop::collection::vec(-1e3f64..1e3, 6..60)) {
            let (low, high, coverage) = median_interval(&values, 0.95).unwrap();
            let middle = median(&values).unwrap();
            prop_assert!(low <= middle && middle <= high);
            prop_assert!(coverage >= 0.95);
        }
    }
}
