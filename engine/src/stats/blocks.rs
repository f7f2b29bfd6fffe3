//! The circular-block bootstrap of a mean, for the pairs of one launch in time order. It describes
//! a launch; verdicts over several launches use the signed ranks instead.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::ordered::percentile;

/// A percentile interval from resampled means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockInterval {
    /// The plain mean of the data.
    pub mean: f64,
    /// Lower percentile bound.
    pub low: f64,
    /// Upper percentile bound.
    pub high: f64,
    /// Block length that was used.
    pub block: usize,
}

/// Resamples blocks of `max(2, ceil(sqrt n))` consecutive values, wrapping around, until `n` values
/// are drawn, and takes the percentile interval of the means at `confidence` (0..1).
///
/// `None` below two values or without resamples. Known to be too narrow for short series (about
/// 85 % instead of 95 % at 20 values), which is why verdicts do not use it.
/// Source: Politis and Romano (1992), A circular block-resampling procedure.
pub fn circular_block_interval(
    values: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<BlockInterval> {
    let n = values.len();
    if n < 2 || resamples == 0 || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let block = block_length(n);
    let mut random = StdRng::seed_from_u64(seed);
    let means: Vec<f64> =
        (0..resamples).map(|_| resampled_mean(values, block, &mut random)).collect();
    let tail = (1.0 - confidence) / 2.0;
    Some(BlockInterval {
        mean: values.iter().sum::<f64>() / n as f64,
        low: percentile(&means, tail)?,
        high: percentile(&means, 1.0 - tail)?,
        block,
    })
}

/// Block length for a series of `n` values: `max(2, ceil(sqrt n))`.
pub(crate) fn block_length(n: usize) -> usize {
    ((n as f64).sqrt().ceil() as usize).max(2)
}

/// The mean of one resample: blocks from uniform starts, wrapping around, the last one cut so that
/// as many values are drawn as there are. `values` must not be empty.
pub(crate) fn resampled_mean(values: &[f64], block: usize, random: &mut StdRng) -> f64 {
    let n = values.len();
    let mut sum = 0.0;
    let mut drawn = 0;
    while drawn < n {
        let start = random.random_range(0..n);
        let take = block.min(n - drawn);
        sum += (0..take).map(|k| values[(start + k) % n]).sum::<f64>();
        drawn += take;
    }
    sum / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_data_has_no_width_and_twenty_values_a_block_of_five() {
        let interval = circular_block_interval(&[2.0; 20], 0.95, 200, 1).unwrap();
        assert_eq!(
            (interval.low, interval.mean, interval.high, interval.block),
            (2.0, 2.0, 2.0, 5)
        );
        assert_eq!(circular_block_interval(&[2.0], 0.95, 200, 1), None);
    }

    #[test]
    fn equal_seeds_give_equal_intervals_that_hold_the_mean() {
        let values: Vec<f64> = (0..50).map(|i| f64::from((i * 37) % 11)).collect();
        let first = circular_block_interval(&values, 0.95, 500, 7).unwrap();
        assert_eq!(Some(first), circular_block_interval(&values, 0.95, 500, 7));
        assert!(first.low < first.mean && first.mean < first.high);
    }
}
