//! Every setting of a measurement with its default and the reason for it. Plain data: nothing here
//! measures. Numbers that nobody sets, such as how far a pilot probes or how many offers a worker
//! may make, stand where they are used, each with its reason.

mod check;

use std::time::Duration;

pub use check::Unusable;

/// How iteration counts of the subjects of one round relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// Every subject runs the same count. Required when one benchmark is compared across builds: a
    /// cost that drifts with use would otherwise read as a difference.
    Shared,
    /// Every subject gets its own count so that all take the same time. For implementations whose
    /// speeds differ widely.
    EqualTime,
}

/// Method of the interval of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalMethod {
    /// Exact signed ranks over launch estimates; the launch is the unit of observation.
    SignedRank,
    /// Circular-block bootstrap over the pairs of all launches in time order. Too narrow, because
    /// the pairs of one launch share its luck; for comparison with tools that do it so.
    BlockBootstrap,
}

/// In which order the subjects of a launch run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Rounds of all subjects, balanced.
    Rounds,
    /// One subject's samples after the other's. What the machine does meanwhile reads as a
    /// difference; for benchmarks that disturb each other when they alternate.
    Sequential,
    /// As [`Order::Sequential`], and the process of one subject ends before that of the next
    /// begins, also in the pilot; for what only one process can hold.
    Apart,
}

/// When to look at the launches and how much error each look may spend.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    /// Launch counts at which a verdict may be given, ascending.
    pub at: Vec<usize>,
    /// Two-sided error spent at each look, same length as `at`; the sum is `1 - confidence`.
    pub alpha: Vec<f64>,
}

impl Looks {
    /// Three looks at 95 %: 1, 1.5 and 2.5 % after 10, 16 and 24 launches.
    pub fn standard() -> Looks {
        Looks { at: vec![10, 16, 24], alpha: vec![0.010, 0.015, 0.025] }
    }

    /// Five looks up to 48 launches with the same total error.
    pub fn thorough() -> Looks {
        Looks { at: vec![10, 16, 24, 36, 48], alpha: vec![0.008, 0.008, 0.010, 0.010, 0.014] }
    }

    /// For operations so slow that a launch holds one pair: a first look after 6 launches, so that
    /// minutes are not spent where six pairs suffice.
    pub fn slow(&self) -> Looks {
        let total: f64 = self.alpha.iter().sum();
        // The first look needs 2 / 64 = 3.125 % or it can never be decided there.
        if self.at.first().is_none_or(|first| *first <= 6) || total < 0.04 {
            return self.clone();
        }
        let first = 0.032;
        let rest = (total - first) / self.at.len() as f64;
        let mut at = vec![6];
        at.extend(&self.at);
        let mut alpha = vec![first];
        alpha.extend(std::iter::repeat_n(rest, self.at.len()));
        Looks { at, alpha }
    }

    /// The same looks at another overall confidence (0.5..1): errors scale in proportion.
    pub fn at_confidence(&self, confidence: f64) -> Looks {
        let total: f64 = self.alpha.iter().sum();
        let scale = (1.0 - confidence) / total;
        Looks { at: self.at.clone(), alpha: self.alpha.iter().map(|a| a * scale).collect() }
    }

    /// Overall confidence: one minus all error spent.
    pub fn confidence(&self) -> f64 {
        1.0 - self.alpha.iter().sum::<f64>()
    }

    /// The last planned launch count.
    pub fn last(&self) -> usize {
        self.at.last().copied().unwrap_or(0)
    }

    /// Error left for an unplanned look after `launches` launches: everything not yet spent.
    pub fn left_after(&self, launches: usize) -> f64 {
        self.at.iter().zip(&self.alpha).filter(|(at, _)| **at > launches).map(|(_, a)| a).sum()
    }
}

/// Settings of one measurement or comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Length of one sample of a comparison. Short slices win: the spread of a launch's estimate
    /// grows with the slice, and one millisecond still dwarfs a wire round trip.
    pub slice: Duration,
    /// Untimed running before the first sample of a launch, turned into a fixed count of batches
    /// by the pilot launch. 30 ms was enough for native code on seven workloads.
    pub warmup: Duration,
    /// Paired time per launch, all subjects together.
    pub launch_time: Duration,
    /// Most rounds in a launch.
    pub max_rounds: usize,
    /// Fewest rounds in a launch unless the operation is slow.
    pub min_rounds: usize,
    /// An operation longer than this gets one round per launch.
    pub slow_operation: Duration,
    /// Most that one batch may take, set-up included; at least one operation runs all the same.
    pub spent_cap: Duration,
    /// Share trimmed at either end of a launch's log-ratios.
    pub trim: f64,
    /// Iteration counts of the subjects.
    pub batching: Batching,
    /// Order of the subjects.
    pub order: Order,
    /// Whether a subject answers every batch with a run of its own length, as another harness's
    /// own runner does: then a launch holds one pair of runs.
    pub blocks: bool,
    /// Method of the interval.
    pub interval: IntervalMethod,
    /// When to look.
    pub looks: Looks,
    /// Whether `equivalent` may be said; a single early look is too weak for it.
    pub may_say_equivalent: bool,
    /// Whether a call among many benchmarks must also survive the control of the false discovery
    /// rate; one early look is too weak for that.
    pub control_discovery: bool,
    /// Half-width (fraction) that an interval must reach before a look may end a comparison, for
    /// those who want a size rather than a verdict; `None` lets a verdict end it.
    pub half_width: Option<f64>,
    /// Practical threshold: smaller changes are not called faster or slower (fraction).
    pub threshold: f64,
    /// Seed of orders and resampling.
    pub seed: u64,
    /// Length of one sample of a single measurement.
    pub sample_time: Duration,
    /// Time for the samples of one launch of a single measurement.
    pub sampling_time: Duration,
    /// Most samples in one launch of a single measurement.
    pub max_samples: usize,
    /// Launches of a single measurement before the interval is looked at; six is the fewest that
    /// have a distribution-free 95 % interval.
    pub min_launches: usize,
    /// Launches after which a single measurement stops whatever its interval.
    pub max_launches: usize,
    /// Relative half-width of the interval at which a single measurement stops.
    pub precision: f64,
    /// Confidence of a single measurement's interval.
    pub confidence: f64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            slice: Duration::from_millis(1),
            warmup: Duration::from_millis(30),
            launch_time: Duration::from_millis(160),
            max_rounds: 80,
            min_rounds: 4,
            slow_operation: Duration::from_millis(50),
            spent_cap: Duration::from_millis(20),
            trim: 0.2,
            batching: Batching::Shared,
            order: Order::Rounds,
            blocks: false,
            interval: IntervalMethod::SignedRank,
            looks: Looks::standard(),
            may_say_equivalent: true,
            control_discovery: true,
            half_width: None,
            threshold: 0.005,
            seed: 1,
            sample_time: Duration::from_micros(10),
            sampling_time: Duration::from_millis(50),
            max_samples: 1000,
            min_launches: 6,
            max_launches: 12,
            precision: 0.02,
            confidence: 0.95,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_spend_five_percent() {
        Plan::default().validate().unwrap();
        for looks in [Looks::standard(), Looks::thorough(), Looks::standard().slow()] {
            assert!((looks.confidence() - 0.95).abs() < 1e-12, "{looks:?}");
        }
    }

    #[test]
    fn error_left_is_what_later_looks_would_spend() {
        let looks = Looks::standard();
        assert!((looks.left_after(9) - 0.05).abs() < 1e-12);
        assert!((looks.left_after(10) - 0.04).abs() < 1e-12);
        assert!((looks.left_after(20) - 0.025).abs() < 1e-12);
    }

    #[test]
    fn bad_values_are_named() {
        let plan = Plan { threshold: 1.5, ..Plan::default() };
        assert_eq!(plan.validate().unwrap_err().settings, ["threshold"]);
        let plan = Plan { max_rounds: 1, ..Plan::default() };
        assert_eq!(plan.validate().unwrap_err().settings, ["max_rounds", "min_rounds"]);
    }

    #[test]
    fn looks_of_slow_operations_ascend_whatever_the_planned_ones_are() {
        for at in [vec![2, 4], vec![6], vec![7], vec![5, 10], vec![10, 16, 24]] {
            let alpha = vec![0.05 / at.len() as f64; at.len()];
            let slow = Looks { at, alpha }.slow();
            assert!(slow.at.is_sorted_by(|one, next| one < next), "{slow:?}");
            assert!((slow.confidence() - 0.95).abs() < 1e-9, "{slow:?}");
        }
    }
}
