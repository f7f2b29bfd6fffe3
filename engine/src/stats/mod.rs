//! Pure functions over `&[f64]`: location, spread, rank intervals, resampling.
//! Nothing here knows a benchmark, a clock or a process; absent results are `None`, never zero.

pub mod blocks;
pub mod independent;
pub mod multiple;
pub mod ordered;
pub mod ranks;
pub mod resample;
pub mod spread;
pub mod wilcoxon;

pub use blocks::{BlockInterval, circular_block_interval};
pub use independent::{
    EffectSize, ShiftInterval, cliffs_delta, effect_size, hodges_lehmann_shift, kruskal_wallis,
    mann_whitney,
};
pub use multiple::{MeanLogRatio, benjamini_hochberg, holm, mean_log_ratio, sequential_p};
pub use ordered::{median, median_interval, percentile, proportion_interval, trimmed_mean};
pub use resample::{
    Resampled, Shift, block_mean_change, median_change, nested_mean_change, pooled_p, welch_t,
};
pub use spread::{
    TukeyCounts, VarianceShare, effective_size, lag1, mad, mean, standard_deviation, tukey_counts,
    variance_share,
};
pub use wilcoxon::{SignedRankInterval, hodges_lehmann, signed_rank_interval, signed_rank_p};
