//! What a reviewer asks of a comparison beyond its verdict: order effect, correlation, outliers,
//! trend, and whether one launch disagrees. Descriptive only; no verdict depends on it.

use crate::paired::PairedLaunch;
use crate::stats::{self, TukeyCounts};

/// Description of the pairs of one contender.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics {
    /// `exp(mean log-ratio when the reference ran first - mean when it ran second) - 1`; `None`
    /// when a lead did not occur.
    pub order_effect: Option<f64>,
    /// Correlation of neighbouring log-ratios, the median over launches.
    pub lag1: Option<f64>,
    /// Pairs in which the contender took less time.
    pub contender_wins: usize,
    /// Pairs in which the reference took less time.
    pub reference_wins: usize,
    /// Pairs of equal time.
    pub ties: usize,
    /// Tukey labels over the log-ratios of all launches.
    pub outliers: TukeyCounts,
    /// Standard deviation of launch estimates (log-ratio).
    pub between_launches: Option<f64>,
    /// Median standard deviation of log-ratios inside a launch.
    pub within_launch: Option<f64>,
    /// Launches whose estimate is an outlier among the others, by index from 0.
    pub disagreeing_launches: Vec<usize>,
    /// Median over launches of (second half - first half) of the log-ratios, as a change; `None`
    /// with too few pairs.
    pub trend: Option<f64>,
    /// Whether the trend has the same sign in nearly all launches and exceeds half a percent.
    pub trend_is_systematic: bool,
    /// Whether launches were too short for trimming to remove anything.
    pub untrimmed: bool,
}

/// Describes `launches` for `contender` (1-based subject index).
pub fn diagnose(launches: &[PairedLaunch], contender: usize, trim: f64) -> Diagnostics {
    let mut by_lead = [Vec::new(), Vec::new()];
    let mut all = Vec::new();
    let (mut lags, mut spreads, mut trends) = (Vec::new(), Vec::new(), Vec::new());
    let (mut contender_wins, mut reference_wins, mut ties) = (0, 0, 0);
    let mut shortest = usize::MAX;
    for launch in launches {
        let mut ratios = Vec::with_capacity(launch.rounds.len());
        for round in &launch.rounds {
            let (reference, other) = (round.per_operation[0], round.per_operation[contender]);
            match other.total_cmp(&reference) {
                std::cmp::Ordering::Less => contender_wins += 1,
                std::cmp::Ordering::Greater => reference_wins += 1,
                std::cmp::Ordering::Equal => ties += 1,
            }
            let ratio = (other / reference).ln();
            if !ratio.is_finite() {
                continue;
            }
            let reference_first = round.order.iter().position(|s| *s == 0)
                < round.order.iter().position(|s| *s == contender);
            by_lead[usize::from(reference_first)].push(ratio);
            ratios.push(ratio);
        }
        shortest = shortest.min(ratios.len());
        lags.extend(stats::lag1(&ratios));
        spreads.extend(stats::standard_deviation(&ratios));
        if ratios.len() >= 8 {
            let (early, late) = ratios.split_at(ratios.len() / 2);
            if let (Some(a), Some(b)) =
                (stats::trimmed_mean(early, trim), stats::trimmed_mean(late, trim))
            {
                trends.push(b - a);
            }
        }
        all.extend(ratios);
    }
    let estimates: Vec<f64> =
        launches.iter().filter_map(|l| l.estimates.get(contender - 1).copied().flatten()).collect();
    let trend = stats::median(&trends);
    // Signs of a trend that is not there are coin flips: nine of ten equal ones are rare.
    let same_sign = trend.map_or(0, |t| trends.iter().filter(|x| x.signum() == t.signum()).count());
    Diagnostics {
        order_effect: match (stats::mean(&by_lead[1]), stats::mean(&by_lead[0])) {
            (Some(first), Some(second)) => Some((first - second).exp_m1()),
            _ => None,
        },
        lag1: stats::median(&lags),
        contender_wins,
        reference_wins,
        ties,
        outliers: stats::tukey_counts(&all),
        between_launches: stats::standard_deviation(&estimates),
        within_launch: stats::median(&spreads),
        disagreeing_launches: disagreeing(&estimates),
        trend: trend.map(f64::exp_m1),
        trend_is_systematic: trends.len() >= 6
            && same_sign * 10 >= trends.len() * 9
            && trend.is_some_and(|t| t.abs() > 0.005),
        untrimmed: shortest != usize::MAX && (shortest as f64 * trim) < 1.0,
    }
}

/// Estimates farther than five scaled MADs from the median of all, and by more than half a percent:
/// named to the reader, never dropped.
fn disagreeing(estimates: &[f64]) -> Vec<usize> {
    let (Some(centre), Some(spread)) = (stats::median(estimates), stats::mad(estimates)) else {
        return Vec::new();
    };
    if estimates.len() < 6 {
        return Vec::new();
    }
    let fence = (5.0 * crate::stats::spread::MAD_SCALE * spread).max(0.005);
    estimates
        .iter()
        .enumerate()
        .filter(|(_, e)| (**e - centre).abs() > fence)
        .map(|(index, _)| index)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::Round;

    fn launch(pairs: &[(f64, f64)]) -> PairedLaunch {
        let rounds: Vec<Round> = pairs
            .iter()
            .enumerate()
            .map(|(i, (r, c))| Round {
                order: if i % 2 == 0 { vec![0, 1] } else { vec![1, 0] },
                per_operation: vec![*r, *c],
                cpu: vec![None, None],
            })
            .collect();
        let estimate = crate::paired::launch_estimate(&rounds, 1, 0.2);
        PairedLaunch { rounds, estimates: vec![estimate], own: Vec::new() }
    }

    #[test]
    fn wins_ties_and_order_effect_by_hand() {
        let got = diagnose(&[launch(&[(1.0, 2.0), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0)])], 1, 0.2);
        assert_eq!((got.contender_wins, got.reference_wins, got.ties), (1, 2, 1));
        // Reference first: ln 2, ln 2; second: ln 1, ln 1/2.
        let expected = (2f64.ln() + 0.5 * 2f64.ln()).exp_m1();
        assert!((got.order_effect.unwrap() - expected).abs() < 1e-12);
        assert!(got.untrimmed);
    }

    #[test]
    fn one_odd_launch_is_named() {
        let quiet: Vec<PairedLaunch> =
            (0..9).map(|i| launch(&[(1.0, 1.0 + 0.0001 * f64::from(i)); 10])).collect();
        let mut launches = quiet.clone();
        assert!(diagnose(&launches, 1, 0.2).disagreeing_launches.is_empty());
        launches.push(launch(&[(1.0, 1.05); 10]));
        assert_eq!(diagnose(&launches, 1, 0.2).disagreeing_launches, vec![9]);
    }

    #[test]
    fn state_that_grows_with_use_is_a_systematic_trend() {
        let grows: Vec<(f64, f64)> = (0..20).map(|i| (1.0, 1.0 + 0.002 * f64::from(i))).collect();
        let launches: Vec<PairedLaunch> = (0..8).map(|_| launch(&grows)).collect();
        let got = diagnose(&launches, 1, 0.2);
        assert!(got.trend_is_systematic);
        assert!((got.trend.unwrap() - 0.02).abs() < 0.002);
    }
}
