//! Spread and shape of one series: deviation, outlier labels, correlation of neighbours.
//! Outliers are counted here and removed nowhere.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::ordered::{median, percentile};

/// Factor that makes the median absolute deviation of normal data equal its standard deviation.
pub const MAD_SCALE: f64 = 1.4826;

/// The arithmetic mean, `None` when empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation (divisor `n - 1`), `None` below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// How much of the variance of one series a second one lacks, in which one source of it was held
/// fixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceShare {
    /// Estimated share of the source (0..=1).
    pub share: f64,
    /// Lower bound at the confidence asked for.
    pub low: f64,
    /// Upper bound at the confidence asked for.
    pub high: f64,
}

/// The share that a source has in the variance of `free`, by comparison with `held`, where it was
/// held fixed: `1 - 1 / F` with `F` the ratio of the sample variances, and bounds from the F
/// distribution of that ratio under normal values. `None` below three values of either or without
/// variance.
///
/// Source: the interval of a ratio of two normal variances, e.g. NIST/SEMATECH e-Handbook of
/// Statistical Methods, section 1.3.5.9.
pub fn variance_share(free: &[f64], held: &[f64], confidence: f64) -> Option<VarianceShare> {
    if free.len() < 3 || held.len() < 3 {
        return None;
    }
    let ratio = (standard_deviation(free)? / standard_deviation(held)?).powi(2);
    if !ratio.is_finite() || ratio <= 0.0 {
        return None;
    }
    let f = FisherSnedecor::new((free.len() - 1) as f64, (held.len() - 1) as f64).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    let share = |ratio: f64| (1.0 - 1.0 / ratio).max(0.0);
    Some(VarianceShare {
        share: share(ratio),
        low: share(ratio / f.inverse_cdf(1.0 - tail)),
        high: share(ratio / f.inverse_cdf(tail)),
    })
}

/// The median absolute deviation, raw (not scaled by [`MAD_SCALE`]); `None` when empty.
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    median(&distances)
}

/// Correlation of neighbours: Pearson's between `x[i - 1]` and `x[i]`, both centred on the mean of
/// the whole series and normalised by their own partial sums. `None` with fewer than three values
/// or without any spread, where it is not defined.
pub fn lag1(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let centre = mean(values)?;
    let (mut cross, mut before, mut after) = (0.0, 0.0, 0.0);
    for pair in values.windows(2) {
        let (x, y) = (pair[0] - centre, pair[1] - centre);
        cross += x * y;
        before += x * x;
        after += y * y;
    }
    let scale = (before * after).sqrt();
    (scale > 0.0).then(|| cross / scale)
}

/// How many independent values a correlated series is worth: `n (1 - r) / (1 + r)`, with `r` the
/// autocorrelation at lag 1 normalised by the whole sum of squares and negative ones taken as zero.
/// `None` where [`lag1`] is undefined.
///
/// This `r` is not [`lag1`]: the full denominator is what the formula is derived for. Source:
/// Wilks, Statistical Methods in the Atmospheric Sciences, section 5.2.4.
pub fn effective_size(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let centre = mean(values)?;
    let all: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    let cross: f64 = values.windows(2).map(|p| (p[0] - centre) * (p[1] - centre)).sum();
    let r = (cross / all).max(0.0);
    (all > 0.0).then(|| values.len() as f64 * (1.0 - r) / (1.0 + r))
}

/// How many values lie beyond Tukey's inner (1.5 IQR) and outer (3 IQR) fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TukeyCounts {
    /// Beyond 3 IQR below the first quartile.
    pub low_severe: usize,
    /// Between 1.5 and 3 IQR below the first quartile.
    pub low_mild: usize,
    /// Between 1.5 and 3 IQR above the third quartile.
    pub high_mild: usize,
    /// Beyond 3 IQR above the third quartile.
    pub high_severe: usize,
}

impl TukeyCounts {
    /// All labelled values together.
    pub fn total(&self) -> usize {
        self.low_severe + self.low_mild + self.high_mild + self.high_severe
    }
}

/// Labels by Tukey's fences over type 7 quartiles; nothing is removed.
pub fn tukey_counts(values: &[f64]) -> TukeyCounts {
    let mut counts = TukeyCounts::default();
    let (Some(q1), Some(q3)) = (percentile(values, 0.25), percentile(values, 0.75)) else {
        return counts;
    };
    let range = q3 - q1;
    for &value in values {
        if value < q1 - 3.0 * range {
            counts.low_severe += 1;
        } else if value < q1 - 1.5 * range {
            counts.low_mild += 1;
        } else if value > q3 + 3.0 * range {
            counts.high_severe += 1;
        } else if value > q3 + 1.5 * range {
            counts.high_mild += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_uses_n_minus_one() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert!((standard_deviation(&values).unwrap() - (32f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(standard_deviation(&[1.0]), None);
    }

    #[test]
    fn mad_is_raw() {
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
    }

    #[test]
    fn lag1_of_alternation_is_minus_one_and_of_a_constant_undefined() {
        let zigzag: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!((lag1(&zigzag).unwrap() + 1.0).abs() < 0.05);
        assert_eq!(lag1(&[3.0; 10]), None);
        assert_eq!(lag1(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_slow_wave_is_worth_few_values_and_alternation_all() {
        // 1, 1, 1, -1, -1, -1: four of five neighbours agree, so r = 3 / 6 and 6 values count as 2.
        let wave = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0];
        assert!((effective_size(&wave).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(effective_size(&[1.0, -1.0, 1.0, -1.0]), Some(4.0));
        assert_eq!(effective_size(&[2.0; 5]), None);
    }

    #[test]
    fn fences_label_and_keep() {
        let mut values: Vec<f64> = (1..=20).map(f64::from).collect();
        values.extend([32.0, 100.0, -100.0]);
        let counts = tukey_counts(&values);
        assert_eq!((counts.low_severe, counts.high_severe), (1, 1));
        assert_eq!(counts.total(), 2);
    }

    #[test]
    fn the_share_of_a_source_follows_from_the_ratio_of_variances() {
        // Variances 4 and 1: three quarters are due to what was held. F quantiles with 2 and 2
        // degrees of freedom are 19 and 1 / 19 at 95 and 5 % (F(2, 2) has the distribution
        // x / (1 + x)).
        let share = variance_share(&[0.0, 2.0, 4.0], &[1.0, 2.0, 3.0], 0.9).unwrap();
        assert!((share.share - 0.75).abs() < 1e-12);
        assert!(share.low.abs() < 1e-12);
        assert!((share.high - (1.0 - 1.0 / 76.0)).abs() < 1e-6, "{share:?}");
        // Less variance than with the source held is none of it.
        let none = variance_share(&[1.0, 2.0, 3.0], &[0.0, 2.0, 4.0], 0.9).unwrap();
        assert!(none.share.abs() < 1e-12 && none.high > 0.7, "{none:?}");
        assert_eq!(variance_share(&[1.0, 2.0], &[1.0, 2.0, 3.0], 0.9), None);
        assert_eq!(variance_share(&[1.0, 2.0, 3.0], &[1.0, 1.0, 1.0], 0.9), None);
    }
}
