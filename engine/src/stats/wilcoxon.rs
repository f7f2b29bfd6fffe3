//! The signed-rank family over launch estimates: the Hodges-Lehmann estimate, its exact interval
//! and the exact two-sided p-value. It knows neither looks nor thresholds; the stop rule does.

/// An interval read off the ordered Walsh averages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRankInterval {
    /// Lower bound, the `rank`-th smallest Walsh average.
    pub low: f64,
    /// Upper bound, the `rank`-th largest Walsh average.
    pub high: f64,
    /// The rank counted from either end, 1-based.
    pub rank: usize,
    /// The exact two-sided error of this rank for continuous symmetric data; never above what was
    /// asked for.
    pub level: f64,
}

/// All averages `(x[i] + x[j]) / 2` with `i <= j`, ascending; `n (n + 1) / 2` of them.
pub fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, x) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|y| (x + y) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate of location: the median of the Walsh averages. `None` when empty.
///
/// Source: Hodges and Lehmann (1963), Estimates of location based on rank tests.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    super::ordered::median(&walsh_averages(values))
}

/// `P(T <= t)` for `t = 0, 1, ..`: the null distribution of the signed-rank sum of `n` values.
///
/// Built by convolution: rank `k` joins the sum with probability one half.
pub fn null_distribution(n: usize) -> Vec<f64> {
    let top = n * (n + 1) / 2;
    let mut mass = vec![0.0; top + 1];
    mass[0] = 1.0;
    let mut reach = 0;
    for rank in 1..=n {
        reach += rank;
        for sum in (0..=reach).rev() {
            let with = if sum >= rank { mass[sum - rank] } else { 0.0 };
            mass[sum] = 0.5 * (mass[sum] + with);
        }
    }
    let mut total: f64 = 0.0;
    mass.iter()
        .map(|m| {
            total += m;
            total.min(1.0)
        })
        .collect()
}

/// The largest rank `c` whose interval errs with probability at most `alpha` (two-sided) for `n`
/// values, with that exact probability: `2 P(T <= c - 1)`. `None` when even `c = 1` errs more
/// often, so that no interval of this confidence exists.
pub fn critical_rank(n: usize, alpha: f64) -> Option<(usize, f64)> {
    if n == 0 {
        return None;
    }
    // The slack keeps a level that equals `alpha` up to rounding on the accepting side.
    let accept = alpha + 1e-12;
    null_distribution(n)
        .iter()
        .enumerate()
        .map(|(t, p)| (t + 1, 2.0 * p))
        .take_while(|&(_, level)| level <= accept)
        .last()
}

/// The exact interval of the location at two-sided error `alpha`, or `None` when `n` values cannot
/// give one (below 6 values at 5 %).
///
/// Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, section 3.3.
pub fn signed_rank_interval(values: &[f64], alpha: f64) -> Option<SignedRankInterval> {
    let (rank, level) = critical_rank(values.len(), alpha)?;
    let averages = walsh_averages(values);
    Some(SignedRankInterval {
        low: averages[rank - 1],
        high: averages[averages.len() - rank],
        rank,
        level,
    })
}

/// The exact two-sided p-value of "the location is `centre`"; zeros are split evenly between the
/// signs, tied magnitudes share their mean rank (the p-value then errs on the large side). `None`
/// when empty.
pub fn signed_rank_p(values: &[f64], centre: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let shifted: Vec<f64> = values.iter().map(|v| v - centre).collect();
    let magnitudes: Vec<f64> = shifted.iter().map(|v| v.abs()).collect();
    let ranks = super::ranks::mid_ranks(&magnitudes);
    let (mut plus, mut minus) = (0.0, 0.0);
    for (value, rank) in shifted.iter().zip(&ranks) {
        if *value > 0.0 {
            plus += rank;
        } else if *value < 0.0 {
            minus += rank;
        } else {
            plus += rank / 2.0;
            minus += rank / 2.0;
        }
    }
    let smaller = f64::min(plus, minus).ceil() as usize;
    Some((2.0 * null_distribution(values.len())[smaller]).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_and_levels_of_the_default_looks() {
        // (n, alpha) -> (c, exact level in percent, two decimals)
        let table = [
            (10, 0.010, 4, 0.98),
            (16, 0.015, 22, 1.31),
            (24, 0.025, 73, 2.49),
            (10, 0.003, 1, 0.20),
            (16, 0.003, 14, 0.27),
            (24, 0.004, 53, 0.39),
            (6, 0.05, 1, 3.13),
            (7, 0.05, 3, 4.69),
            (8, 0.05, 4, 3.91),
            (9, 0.05, 6, 3.91),
            (10, 0.05, 9, 4.88),
        ];
        for (n, alpha, rank, percent) in table {
            let (c, level) = critical_rank(n, alpha).unwrap();
            assert_eq!(c, rank, "n = {n}, alpha = {alpha}");
            assert!((level * 100.0 - percent).abs() < 0.006, "n = {n}: {level}");
        }
        assert_eq!(critical_rank(5, 0.05), None);
        assert_eq!(critical_rank(0, 0.05), None);
    }

    #[test]
    fn null_distribution_counts_subsets() {
        // Three ranks: sums 0..6 are reached by 1, 1, 1, 2, 1, 1, 1 of the 8 subsets.
        let expected = [1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0].map(|k| k / 8.0);
        for (got, want) in null_distribution(3).iter().zip(expected) {
            assert!((got - want).abs() < 1e-15);
        }
    }

    #[test]
    fn hodges_lehmann_by_hand() {
        // Walsh averages of 1, 2, 9: 1, 1.5, 2, 5, 5.5, 9.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 9.0]), Some(3.5));
    }

    #[test]
    fn p_values_by_hand() {
        // Six positive values: only the all-plus and all-minus signs are as extreme, 2 / 64.
        assert_eq!(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0), Some(2.0 / 64.0));
        assert_eq!(signed_rank_p(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0), Some(4.0 / 64.0));
        assert_eq!(signed_rank_p(&[0.0, 0.0], 0.0), Some(1.0));
    }

    proptest! {
        #[test]
        fn the_interval_excludes_zero_exactly_when_the_test_rejects(values in prop::collection::vec(-1.0f64..1.0, 6..20)) {
            let interval = signed_rank_interval(&values, 0.05).unwrap();
            let p = signed_rank_p(&values, 0.0).unwrap();
            let excludes = interval.low > 0.0 || interval.high < 0.0;
            prop_assert_eq!(excludes, p <= interval.level + 1e-12);
        }

        #[test]
        fn bounds_enclose_the_estimate(values in prop::collection::vec(-1.0f64..1.0, 6..30)) {
            let interval = signed_rank_interval(&values, 0.05).unwrap();
            let centre = hodges_lehmann(&values).unwrap();
            prop_assert!(interval.low <= centre && centre <= interval.high);
            prop_assert!(interval.level <= 0.05);
        }
    }
}
