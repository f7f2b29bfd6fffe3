//! Comparing two runs that were stored at different times. Unlike `crate::paired` this includes
//! whatever the machine did in between, and no method here can tell that from a change of the code;
//! results say `independent` for that reason. It knows neither store nor revisions.

use crate::paired::Verdict;
use crate::plan::Plan;
use crate::stats::{self, Resampled, Shift};

/// The word that marks these results wherever they are shown or stored.
pub const DESIGN: &str = "independent";

/// How two stored runs are compared. All take one value per launch, because the samples of one
/// process are not independent observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Bootstrap of the ratio of medians over launch medians.
    Medians,
    /// Criterion's two gates over launch means: a resampled Welch test, then whether the whole
    /// interval of the mean's change lies beyond the threshold.
    TwoGate,
    /// Circular-block bootstrap of the ratio of means over launch means in time order.
    Blocks,
}

impl Method {
    /// The stable word used in machine output.
    pub fn word(self) -> &'static str {
        match self {
            Method::Medians => "medians",
            Method::TwoGate => "two-gate",
            Method::Blocks => "blocks",
        }
    }
}

/// Settings of an independent comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Confidence of the interval (fraction).
    pub confidence: f64,
    /// Practical threshold (fraction).
    pub threshold: f64,
    /// p-value at which the first gate of [`Method::TwoGate`] opens.
    pub significance: f64,
    /// Resamples; `None` takes what the method's source takes: 2000, and 100 000 for the two
    /// gates.
    pub resamples: Option<usize>,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        let Plan { confidence, threshold, seed, .. } = Plan::default();
        Settings { confidence, threshold, significance: 0.05, resamples: None, seed }
    }
}

/// Outcome of the two gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateMessage {
    /// The first gate stayed shut.
    NoChange,
    /// The test rejected, but the interval does not lie beyond the threshold.
    WithinNoise,
    /// Both gates opened.
    Changed,
}

impl GateMessage {
    /// The sentence shown to people.
    pub fn text(self) -> &'static str {
        match self {
            GateMessage::NoChange => "no change detected",
            GateMessage::WithinNoise => "change within the noise threshold",
            GateMessage::Changed => "change beyond the noise threshold",
        }
    }
}

/// The comparison of one benchmark in two stored runs. Changes are `current / saved - 1`: positive
/// is slower.
#[derive(Debug, Clone, PartialEq)]
pub struct Independent {
    /// Change with its percentile interval; absolute only where a median is not positive.
    pub change: Resampled,
    /// Never a paired verdict. `Inconclusive` unless the method's rule says otherwise.
    pub verdict: Verdict,
    /// p-value of the first gate; `None` for other methods.
    pub p: Option<f64>,
    /// Which gates opened; `None` for other methods.
    pub message: Option<GateMessage>,
    /// Launches with samples, saved and current.
    pub launches: (usize, usize),
    /// Resamples drawn.
    pub resamples: usize,
}

/// Compares two stored runs of one benchmark, each given as samples (nanoseconds per operation) by
/// launch in time order.
///
/// # Errors
/// A fragment with the reason when the data allow no comparison.
pub fn compare_stored(
    saved: &[Vec<f64>],
    current: &[Vec<f64>],
    method: Method,
    settings: &Settings,
) -> Result<Independent, String> {
    let value: fn(&[f64]) -> Option<f64> = match method {
        Method::Medians => stats::median,
        Method::TwoGate | Method::Blocks => stats::mean,
    };
    let values = |launches: &[Vec<f64>]| -> Vec<f64> {
        launches.iter().filter_map(|samples| value(samples)).collect()
    };
    let (a, b) = (values(saved), values(current));
    if a.len() < 2 || b.len() < 2 {
        return Err(format!("needs 2 launches on each side, has {} and {}", a.len(), b.len()));
    }
    let Settings { confidence, threshold, seed, .. } = *settings;
    let resamples = settings.resamples.unwrap_or(match method {
        Method::Medians | Method::Blocks => 2_000,
        Method::TwoGate => 100_000,
    });
    let change = match method {
        Method::Medians => stats::median_change(&a, &b, confidence, resamples, seed),
        Method::Blocks => stats::block_mean_change(&a, &b, confidence, resamples, seed),
        Method::TwoGate => stats::nested_mean_change(&a, &b, confidence, resamples, seed),
    }
    .ok_or("its stored times are not positive, so there is no ratio")?;
    let (p, message, verdict) = match method {
        Method::Medians | Method::Blocks => (None, None, by_interval(&change, threshold)),
        Method::TwoGate => {
            let p = stats::pooled_p(&a, &b, resamples, seed)
                .ok_or("no resample had any spread, so there is no test")?;
            let (message, verdict) = two_gates(p, &change, settings);
            (Some(p), Some(message), verdict)
        }
    };
    Ok(Independent { change, verdict, p, message, launches: (a.len(), b.len()), resamples })
}

/// The whole interval decides: beyond the threshold on one side, or inside it. An interval that
/// excludes zero but not the threshold is inconclusive. Differences have no relative threshold, so
/// their sign decides.
fn by_interval(change: &Resampled, threshold: f64) -> Verdict {
    let Resampled { low, high, shift, .. } = *change;
    let threshold = if shift == Shift::Relative { threshold } else { 0.0 };
    if high < -threshold {
        Verdict::Faster
    } else if low > threshold {
        Verdict::Slower
    } else if low >= -threshold && high <= threshold {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

/// First the test, then both bounds strictly beyond the threshold. A test that does not reject
/// shows no equality, so everything but a change is inconclusive.
fn two_gates(p: f64, change: &Resampled, settings: &Settings) -> (GateMessage, Verdict) {
    if p >= settings.significance {
        return (GateMessage::NoChange, Verdict::Inconclusive);
    }
    match by_interval(change, settings.threshold) {
        verdict @ (Verdict::Faster | Verdict::Slower) => (GateMessage::Changed, verdict),
        _ => (GateMessage::WithinNoise, Verdict::Inconclusive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: [Method; 3] = [Method::Medians, Method::TwoGate, Method::Blocks];

    /// Launches whose samples all equal the launch's value.
    fn launches(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|v| vec![*v; 5]).collect()
    }

    fn quick() -> Settings {
        Settings { resamples: Some(2_000), ..Settings::default() }
    }

    fn interval(low: f64, high: f64) -> Resampled {
        Resampled { estimate: (low + high) / 2.0, low, high, shift: Shift::Relative }
    }

    #[test]
    fn bounds_are_strict_outside_and_inclusive_inside() {
        for (low, high, verdict) in [
            (-0.03, -0.011, Verdict::Faster),
            (-0.03, -0.01, Verdict::Inconclusive),
            (0.011, 0.02, Verdict::Slower),
            (0.01, 0.02, Verdict::Inconclusive),
            (-0.01, 0.01, Verdict::Equivalent),
            (0.001, 0.009, Verdict::Equivalent),
            // It excludes zero but not the threshold.
            (0.002, 0.02, Verdict::Inconclusive),
            (-0.02, 0.02, Verdict::Inconclusive),
        ] {
            assert_eq!(by_interval(&interval(low, high), 0.01), verdict, "{low} .. {high}");
        }
        let difference = Resampled { shift: Shift::Absolute, ..interval(0.001, 0.002) };
        assert_eq!(by_interval(&difference, 0.01), Verdict::Slower);
    }

    #[test]
    fn three_messages_of_the_two_gates() {
        let settings = Settings::default();
        let beyond = interval(0.02, 0.04);
        assert_eq!(two_gates(0.05, &beyond, &settings).0, GateMessage::NoChange);
        assert_eq!(two_gates(0.049, &interval(0.005, 0.04), &settings).0, GateMessage::WithinNoise);
        assert_eq!(two_gates(0.01, &beyond, &settings), (GateMessage::Changed, Verdict::Slower));
        assert_eq!(
            two_gates(0.0, &interval(-0.04, -0.02), &settings),
            (GateMessage::Changed, Verdict::Faster)
        );
    }

    #[test]
    fn a_run_against_itself_is_never_called() {
        let run = launches(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.2]);
        for method in METHODS {
            let got = compare_stored(&run, &run, method, &quick()).unwrap();
            assert!(!matches!(got.verdict, Verdict::Faster | Verdict::Slower), "{got:?}");
            assert_eq!((got.change.estimate, got.launches), (0.0, (6, 6)));
            assert_eq!(got.p.is_some(), method == Method::TwoGate);
        }
    }

    #[test]
    fn every_method_sees_a_tenth_in_both_directions() {
        let saved = launches(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.2]);
        let current = launches(&[110.0, 111.0, 109.0, 110.5, 109.5, 110.2]);
        for method in METHODS {
            let slower = compare_stored(&saved, &current, method, &quick()).unwrap();
            assert_eq!(slower.verdict, Verdict::Slower, "{slower:?}");
            assert!((slower.change.estimate - 0.1).abs() < 0.001);
            let faster = compare_stored(&current, &saved, method, &quick()).unwrap();
            assert_eq!(faster.verdict, Verdict::Faster, "{faster:?}");
        }
    }

    #[test]
    fn samples_of_one_launch_are_one_observation() {
        // Ten thousand samples in one process are still one launch.
        let one = vec![vec![100.0; 10_000]];
        let error = compare_stored(&one, &one, Method::Medians, &quick()).unwrap_err();
        assert!(error.contains("2 launches"), "{error}");
    }

    #[test]
    fn times_that_are_not_positive_have_no_ratio_of_means() {
        let zero = launches(&[0.0; 4]);
        assert!(compare_stored(&zero, &zero, Method::Blocks, &quick()).is_err());
        let got = compare_stored(&zero, &zero, Method::Medians, &quick()).unwrap();
        assert_eq!(got.verdict, Verdict::Equivalent);
    }
}
