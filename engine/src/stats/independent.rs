//! Comparisons of unpaired groups: Mann-Whitney's U, Kruskal and Wallis's H, Cliff's delta and the
//! Hodges-Lehmann shift. Verdicts of `ab` never use them, and no command does yet: they wait for
//! the comparison of single samples within a launch.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::ranks::mid_ranks;

/// Cliff's delta of `b` over `a`: the share of pairs with `b > a` minus the share with `b < a`,
/// in -1..=1. `None` when either group is empty.
///
/// Source: Cliff (1993), Dominance statistics.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut balance = 0i64;
    for x in a {
        for y in b {
            balance += i64::from(y > x) - i64::from(y < x);
        }
    }
    Some(balance as f64 / (a.len() * b.len()) as f64)
}

/// The two-sided p-value of Mann-Whitney's U: exact for tie-free groups of at most 20 values
/// together, otherwise the normal approximation with tie and continuity correction. `None` when a
/// group has fewer than two values.
///
/// Source: Mann and Whitney (1947); tie correction as in Lehmann, Nonparametrics, section 1.4.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    let (m, n) = (a.len(), b.len());
    if m < 2 || n < 2 {
        return None;
    }
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = mid_ranks(&pooled);
    let sum: f64 = ranks[..m].iter().sum();
    let u = sum - (m * (m + 1)) as f64 / 2.0;
    let tied = ranks.iter().any(|r| r.fract() != 0.0) || has_repeats(&pooled);
    if m + n <= 20 && !tied {
        return Some(exact_two_sided(u.round() as usize, m, n));
    }
    let total = (m + n) as f64;
    let product = (m * n) as f64;
    let ties = tie_term(&pooled);
    let variance = product / 12.0 * ((total + 1.0) - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    let distance = ((u - product / 2.0).abs() - 0.5).max(0.0);
    let normal = Normal::new(0.0, 1.0).ok()?;
    Some((2.0 * normal.sf(distance / variance.sqrt())).min(1.0))
}

/// How large a Cliff's delta is, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectSize {
    /// Below 0.147.
    Negligible,
    /// From 0.147.
    Small,
    /// From 0.33.
    Medium,
    /// From 0.474.
    Large,
}

/// The size of a Cliff's delta (-1..=1), whatever its sign.
///
/// Source: Romano and others (2006), Appropriate statistics for ordinal level data.
pub fn effect_size(delta: f64) -> EffectSize {
    match delta.abs() {
        size if size >= 0.474 => EffectSize::Large,
        size if size >= 0.33 => EffectSize::Medium,
        size if size >= 0.147 => EffectSize::Small,
        _ => EffectSize::Negligible,
    }
}

/// The p-value of "all groups come from one distribution" for at least three groups of at least two
/// values, by the chi-squared approximation with tie correction; 1 when all values are equal.
///
/// Source: Kruskal and Wallis (1952), Use of ranks in one-criterion variance analysis.
pub fn kruskal_wallis(groups: &[&[f64]]) -> Option<f64> {
    if groups.len() < 3 || groups.iter().any(|g| g.len() < 2) {
        return None;
    }
    let pooled: Vec<f64> = groups.iter().flat_map(|g| g.iter().copied()).collect();
    let ranks = mid_ranks(&pooled);
    let total = pooled.len() as f64;
    let mut from = 0;
    let mut between = 0.0;
    for group in groups {
        let sum: f64 = ranks[from..from + group.len()].iter().sum();
        between += sum * sum / group.len() as f64;
        from += group.len();
    }
    let uncorrected = 12.0 / (total * (total + 1.0)) * between - 3.0 * (total + 1.0);
    let correction = 1.0 - tie_term(&pooled) / (total.powi(3) - total);
    if correction <= 0.0 {
        return Some(1.0);
    }
    let chi = ChiSquared::new((groups.len() - 1) as f64).ok()?;
    Some(chi.sf((uncorrected / correction).max(0.0)))
}

/// The Hodges-Lehmann shift from `a` to `b` with a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShiftInterval {
    /// The median of all differences `b - a`.
    pub shift: f64,
    /// Bounds at the asked confidence; `None` when the groups are too small for one.
    pub interval: Option<(f64, f64)>,
}

/// The median of all pairwise differences `b - a`, with bounds at the ranks of the tie-corrected
/// normal approximation of U. Differences are counted, not stored: time `O((m + n) log)`, no memory
/// beyond two sorted copies. `None` for an empty group or values that are not finite.
///
/// Source: Lehmann, Nonparametrics, section 2.5.
pub fn hodges_lehmann_shift(a: &[f64], b: &[f64], confidence: f64) -> Option<ShiftInterval> {
    let finite = |values: &[f64]| !values.is_empty() && values.iter().all(|v| v.is_finite());
    if !finite(a) || !finite(b) || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let (low, high) = (super::ordered::sorted(a), super::ordered::sorted(b));
    let count = low.len() * high.len();
    let nth = |rank| nth_difference(&low, &high, rank);
    let shift = (nth(count.div_ceil(2)) + nth(count / 2 + 1)) / 2.0;
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let total = pooled.len() as f64;
    let variance =
        count as f64 / 12.0 * ((total + 1.0) - tie_term(&pooled) / (total * (total - 1.0)));
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(0.5 + confidence / 2.0);
    let rank = (count as f64 / 2.0 - z * variance.max(0.0).sqrt()).floor();
    let interval = (rank >= 1.0).then(|| {
        let rank = rank as usize;
        (nth(rank), nth(count + 1 - rank))
    });
    Some(ShiftInterval { shift, interval })
}

/// The `rank`-th smallest (from 1) of all `b - a`, by bisection over the ordered bit patterns of
/// doubles. Both slices ascend, hold finite values and are not empty.
fn nth_difference(a: &[f64], b: &[f64], rank: usize) -> f64 {
    let mut least = key(b[0] - a[a.len() - 1]);
    let mut most = key(b[b.len() - 1] - a[0]);
    while least < most {
        let middle = least + (most - least) / 2;
        if at_most(a, b, value(middle)) >= rank { most = middle } else { least = middle + 1 }
    }
    // Adding zero turns the negative zero into the plain one.
    value(least) + 0.0
}

/// How many `b - a` are at most `bound`: as `b` grows, fewer of the large `a` are needed.
fn at_most(a: &[f64], b: &[f64], bound: f64) -> usize {
    let mut from = 0;
    let mut count = 0;
    for y in b {
        while from < a.len() && y - a[from] > bound {
            from += 1;
        }
        count += a.len() - from;
    }
    count
}

/// Doubles as integers in the same order.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

fn has_repeats(values: &[f64]) -> bool {
    let ordered = super::ordered::sorted(values);
    ordered.windows(2).any(|pair| pair[0] == pair[1])
}

/// Sum of `t^3 - t` over groups of `t` equal values.
fn tie_term(values: &[f64]) -> f64 {
    let ordered = super::ordered::sorted(values);
    ordered
        .chunk_by(|x, y| x == y)
        .map(|group| {
            let t = group.len() as f64;
            t * t * t - t
        })
        .sum()
}

/// Twice the smaller tail of the exact null distribution of U, at most 1.
fn exact_two_sided(u: usize, m: usize, n: usize) -> f64 {
    let top = m * n;
    let low = u.min(top - u);
    // counts[i][s]: ways to choose i of the ranks seen so far with U-sum s.
    let mut counts = vec![vec![0.0f64; top + 1]; m + 1];
    counts[0][0] = 1.0;
    for rank in 1..=(m + n) {
        for i in (1..=m.min(rank)).rev() {
            // The i-th chosen value at this rank beats rank - i values of the other group.
            let beats = rank - i;
            if beats > n {
                continue;
            }
            for s in (beats..=top).rev() {
                let from = counts[i - 1][s - beats];
                counts[i][s] += from;
            }
        }
    }
    let all: f64 = counts[m].iter().sum();
    let tail: f64 = counts[m][..=low].iter().sum();
    (2.0 * tail / all).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exact_p_values_of_two_eights() {
        let low: Vec<f64> = (1..=8).map(f64::from).collect();
        let high: Vec<f64> = (9..=16).map(f64::from).collect();
        assert!((mann_whitney(&low, &high).unwrap() - 0.000_155_400_155_4).abs() < 1e-12);
        let odd: Vec<f64> = (0..8).map(|i| f64::from(2 * i + 1)).collect();
        let even: Vec<f64> = (1..=8).map(|i| f64::from(2 * i)).collect();
        assert!((mann_whitney(&odd, &even).unwrap() - 0.720_901_320_9).abs() < 1e-9);
    }

    #[test]
    fn equal_groups_are_not_significant_and_tiny_ones_undefined() {
        assert_eq!(mann_whitney(&[1.0; 12], &[1.0; 12]), Some(1.0));
        assert_eq!(mann_whitney(&[1.0], &[2.0, 3.0]), None);
    }

    #[test]
    fn three_groups_by_hand() {
        // Ranks 1..9 in order: rank sums 6, 15, 24, so H = 12 / 90 * 279 - 30 = 7.2 with 2 degrees
        // of freedom, whose upper tail is exp(-3.6).
        let p = kruskal_wallis(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &[7.0, 8.0, 9.0]]).unwrap();
        assert!((p - (-3.6f64).exp()).abs() < 1e-12);
        assert_eq!(kruskal_wallis(&[&[1.0; 3], &[1.0; 3], &[1.0; 3]]), Some(1.0));
        assert_eq!(kruskal_wallis(&[&[1.0, 2.0], &[1.0, 2.0]]), None);
    }

    #[test]
    fn sizes_of_effects_start_at_their_bounds() {
        for (delta, size) in [
            (0.146, EffectSize::Negligible),
            (-0.147, EffectSize::Small),
            (0.33, EffectSize::Medium),
            (-0.474, EffectSize::Large),
            (1.0, EffectSize::Large),
        ] {
            assert_eq!(effect_size(delta), size, "{delta}");
        }
    }

    #[test]
    fn a_constant_shift_is_found_exactly_and_small_groups_have_no_interval() {
        let a: Vec<f64> = (0..20).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|x| x + 7.5).collect();
        let got = hodges_lehmann_shift(&a, &b, 0.95).unwrap();
        assert_eq!(got.shift, 7.5);
        let (low, high) = got.interval.unwrap();
        assert!(low < 7.5 && 7.5 < high && (low + high - 15.0).abs() < 1e-12);
        assert_eq!(hodges_lehmann_shift(&[1.0, 2.0], &[2.0, 4.0], 0.95).unwrap().interval, None);
        assert_eq!(hodges_lehmann_shift(&[], &[1.0], 0.95), None);
    }

    #[test]
    fn rank_of_the_shift_interval_by_hand() {
        // 10 and 10 values without ties: 50 - 1.959964 * sqrt(100 * 21 / 12) = 24.07, so rank 24.
        let a: Vec<f64> = (0..10).map(|i| 0.1 * f64::from(i * i)).collect();
        let b: Vec<f64> = (0..10).map(|i| 1.0 + 0.13 * f64::from(i * i)).collect();
        let mut all: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
        all.sort_by(f64::total_cmp);
        let got = hodges_lehmann_shift(&a, &b, 0.95).unwrap();
        assert_eq!(got.interval, Some((all[23], all[76])));
    }

    proptest! {
        #[test]
        fn counting_finds_the_differences_that_sorting_finds(
            a in prop::collection::vec(-5.0f64..5.0, 1..12),
            b in prop::collection::vec(-5.0f64..5.0, 1..12),
            share in 0.0f64..1.0,
        ) {
            let (a, b) = (crate::stats::ordered::sorted(&a), crate::stats::ordered::sorted(&b));
            let mut all: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
            all.sort_by(f64::total_cmp);
            let index = (share * all.len() as f64) as usize;
            prop_assert_eq!(nth_difference(&a, &b, index + 1), all[index]);
        }
    }

    #[test]
    fn delta_counts_dominance() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[1.0, 4.0], &[2.0, 3.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
