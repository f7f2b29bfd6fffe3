//! Many p-values or many benchmarks at once: adjustments for their number, and the mean log-ratio
//! over benchmarks. It does not know when a comparison looked or what it concluded.

use super::ordered::sorted;
use super::wilcoxon::{SignedRankInterval, hodges_lehmann, signed_rank_interval};

/// Launches below which a mean over benchmarks has no interval: the fewest with a signed-rank
/// interval at 95 %.
pub const FEWEST_COMMON_LAUNCHES: usize = 6;

/// Adjusted p-values that control the false discovery rate, in the order of `p`: calling everything
/// at or below `q` keeps the expected share of wrong calls among all calls at or below `q`.
///
/// Holds for independent and for positively dependent p-values. A value that is not a number counts
/// as 1. Source: Benjamini and Hochberg (1995), Controlling the false discovery rate; dependence:
/// Benjamini and Yekutieli (2001).
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let count = p.len() as f64;
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (place, &index) in order.iter().enumerate().rev() {
        least = least.min(usable(p[index]) * count / (place + 1) as f64);
        adjusted[index] = least;
    }
    adjusted
}

/// Adjusted p-values that control the chance of a single wrong call among all, in the order of `p`,
/// whatever their dependence. A value that is not a number counts as 1.
///
/// Source: Holm (1979), A simple sequentially rejective multiple test procedure.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (place, &index) in ascending(p).iter().enumerate() {
        most = most.max(usable(p[index]) * (p.len() - place) as f64).min(1.0);
        adjusted[index] = most;
    }
    adjusted
}

fn usable(p: f64) -> f64 {
    if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| usable(p[a]).total_cmp(&usable(p[b])));
    order
}

/// The overall p-value of a test that looks several times: the smallest total error at which the
/// plan, scaled in proportion, would have rejected at one of `looks`.
///
/// Each look is its p-value with the share of the total error that the plan spends there (all
/// shares of a plan sum to 1). A look rejects when its p-value is at most `total * share`, so the
/// answer is the smallest `p / share`. It is uniform or larger when nothing differs, because the
/// errors of the looks add up to the total whatever their dependence, and it may be read at any
/// look. `None` without a look that spends error.
///
/// Source: sequential p-values as in Liu and Anderson (2008), On adaptive extensions of group
/// sequential trials for clinical investigations, over the repeated p-values of Jennison and
/// Turnbull, Group Sequential Methods, chapter 9.
pub fn sequential_p(looks: &[(f64, f64)]) -> Option<f64> {
    looks
        .iter()
        .filter(|(_, share)| *share > 0.0)
        .map(|(p, share)| usable(*p) / share)
        .min_by(f64::total_cmp)
        .map(|p| p.min(1.0))
}

/// The mean log-ratio over benchmarks; its exponential is the geometric mean of the ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanLogRatio {
    /// Mean of `ln(contender / reference)`, every benchmark weighing the same.
    pub log_ratio: f64,
    /// Interval over the launches that all benchmarks have; `None` below
    /// [`FEWEST_COMMON_LAUNCHES`] of them.
    pub interval: Option<SignedRankInterval>,
    /// Launches that all benchmarks have.
    pub launches: usize,
    /// Benchmarks with at least one estimate.
    pub benchmarks: usize,
}

/// Averages launch estimates (log-ratios by launch index, `None` where a launch gave none) over
/// benchmarks; `None` when no benchmark has any.
///
/// All benchmarks of one launch share what the machine did meanwhile, so the launch is the unit:
/// the estimates of a launch are averaged first and the signed-rank interval at error `alpha` is
/// taken over these averages. With too few common launches the estimate is the mean of each
/// benchmark's Hodges-Lehmann estimate, without an interval. The interval is not adjusted for how
/// many launches the looks allowed.
pub fn mean_log_ratio(benchmarks: &[Vec<Option<f64>>], alpha: f64) -> Option<MeanLogRatio> {
    let present: Vec<&Vec<Option<f64>>> =
        benchmarks.iter().filter(|b| b.iter().any(Option::is_some)).collect();
    let shortest = present.iter().map(|b| b.len()).min()?;
    let averages: Vec<f64> = (0..shortest)
        .filter_map(|launch| {
            let values: Option<Vec<f64>> = present.iter().map(|b| b[launch]).collect();
            super::spread::mean(&values?)
        })
        .collect();
    let (log_ratio, interval) = if averages.len() >= FEWEST_COMMON_LAUNCHES {
        (hodges_lehmann(&averages)?, signed_rank_interval(&averages, alpha))
    } else {
        let each: Vec<f64> = present
            .iter()
            .filter_map(|b| hodges_lehmann(&b.iter().flatten().copied().collect::<Vec<f64>>()))
            .collect();
        (super::spread::mean(&sorted(&each))?, None)
    };
    Some(MeanLogRatio { log_ratio, interval, launches: averages.len(), benchmarks: present.len() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-12, "{got:?} instead of {want:?}");
        }
    }

    #[test]
    fn adjustments_by_hand() {
        let p = [0.01, 0.04, 0.03, 0.005];
        // Ascending 0.005, 0.01, 0.03, 0.04 times 4, 2, 4/3, 1.
        close(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
        // Times 4, 3, 2, 1, each at least the one before.
        close(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        close(&holm(&[0.4, 0.9, f64::NAN]), &[1.0, 1.0, 1.0]);
        assert!(benjamini_hochberg(&[]).is_empty() && holm(&[]).is_empty());
    }

    #[test]
    fn a_look_that_spends_half_of_the_error_doubles_its_p_value() {
        assert_eq!(sequential_p(&[(0.01, 0.5)]), Some(0.02));
        let p = sequential_p(&[(0.01, 0.2), (0.02, 0.8)]).unwrap();
        assert!((p - 0.025).abs() < 1e-12);
        assert_eq!(sequential_p(&[(0.9, 0.2)]), Some(1.0));
        assert_eq!(sequential_p(&[(0.01, 0.0)]), None);
        assert_eq!(sequential_p(&[]), None);
    }

    #[test]
    fn opposite_benchmarks_cancel_and_gaps_are_left_out() {
        let up: Vec<Option<f64>> = (0..8).map(|_| Some(0.03)).collect();
        let mut down: Vec<Option<f64>> = (0..10).map(|_| Some(-0.01)).collect();
        down[2] = None;
        let got = mean_log_ratio(&[up, down, vec![None; 10]], 0.05).unwrap();
        assert_eq!((got.launches, got.benchmarks), (7, 2));
        assert!((got.log_ratio - 0.01).abs() < 1e-15);
        let interval = got.interval.unwrap();
        assert!((interval.low - 0.01).abs() < 1e-15 && (interval.high - 0.01).abs() < 1e-15);
    }

    #[test]
    fn below_six_common_launches_the_mean_has_no_interval() {
        let short = vec![Some(0.02); 5];
        let long = vec![Some(0.04); 24];
        let got = mean_log_ratio(&[short, long], 0.05).unwrap();
        assert!((got.log_ratio - 0.03).abs() < 1e-15);
        assert_eq!((got.interval, got.launches), (None, 5));
        assert_eq!(mean_log_ratio(&[vec![None; 3]], 0.05), None);
        assert_eq!(mean_log_ratio(&[], 0.05), None);
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_the_order_and_never_shrink(p in prop::collection::vec(0.0f64..=1.0, 1..40)) {
            let (fdr, family) = (benjamini_hochberg(&p), holm(&p));
            for i in 0..p.len() {
                prop_assert!(fdr[i] >= p[i] - 1e-15 && fdr[i] <= 1.0);
                prop_assert!(family[i] >= fdr[i] - 1e-12 && family[i] <= 1.0);
                for j in 0..p.len() {
                    if p[i] <= p[j] {
                        prop_assert!(fdr[i] <= fdr[j] && family[i] <= family[j]);
                    }
                }
            }
        }

        #[test]
        fn stepping_up_by_hand_rejects_the_same(p in prop::collection::vec(0.0f64..0.2, 1..30)) {
            // The original formulation: the largest k with p(k) <= q k / m, everything up to it.
            let (q, ordered) = (0.05, sorted(&p));
            let bound = (1..=p.len())
                .filter(|k| ordered[k - 1] * p.len() as f64 / *k as f64 <= q)
                .map(|k| ordered[k - 1])
                .next_back();
            for (value, adjusted) in p.iter().zip(benjamini_hochberg(&p)) {
                prop_assert_eq!(adjusted <= q, bound.is_some_and(|b| *value <= b));
            }
        }
    }
}
