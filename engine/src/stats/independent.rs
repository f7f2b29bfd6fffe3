//! Comparisons of two unpaired groups: Mann-Whitney's U and Cliff's delta. Verdicts of `ab` never
//! use them; they describe stored runs and within-launch diagnostics.

use statrs::distribution::{ContinuousCDF, Normal};

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
    fn delta_counts_dominance() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[1.0, 4.0], &[2.0, 3.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
