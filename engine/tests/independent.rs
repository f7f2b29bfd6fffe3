//! What the comparisons of stored runs say when nothing changed and the machine did not either,
//! with as few launches as stored runs have: the best case, since they cannot see what happens in
//! between.

use nbench_engine::Verdict;
use nbench_engine::independent::{Method, Settings, compare_stored};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const TRIALS: usize = 300;

/// A run of `launches` launches around 100 ns whose process luck has a standard deviation of 0.5 %.
fn run(launches: usize, random: &mut StdRng) -> Vec<Vec<f64>> {
    let luck = |random: &mut StdRng| {
        // The sum of twelve uniform values is nearly normal with a variance of 1.
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    };
    (0..launches).map(|_| vec![100.0 * (1.0 + 0.005 * luck(random)); 3]).collect()
}

/// Shares of intervals that hold zero and of comparisons that are called.
fn without_change(method: Method, launches: usize) -> (f64, f64) {
    let mut random = StdRng::seed_from_u64(launches as u64);
    let (mut covered, mut called) = (0, 0);
    for trial in 0..TRIALS {
        let (saved, current) = (run(launches, &mut random), run(launches, &mut random));
        let settings = Settings { resamples: Some(300), seed: trial as u64, ..Settings::default() };
        let got = compare_stored(&saved, &current, method, &settings).unwrap();
        covered += usize::from(got.change.low <= 0.0 && 0.0 <= got.change.high);
        called += usize::from(matches!(got.verdict, Verdict::Faster | Verdict::Slower));
    }
    (covered as f64 / TRIALS as f64, called as f64 / TRIALS as f64)
}

/// Only the medians cover as they promise; percentile intervals of means over a handful of launches
/// are too narrow, which the documentation says and this test keeps true.
#[test]
fn medians_cover_and_the_other_methods_are_as_narrow_as_documented() {
    for (method, launches, least, most) in [
        (Method::Medians, 6, 0.93, 1.0),
        (Method::Medians, 12, 0.93, 1.0),
        (Method::TwoGate, 6, 0.80, 0.93),
        (Method::TwoGate, 12, 0.86, 0.95),
        (Method::Blocks, 6, 0.68, 0.82),
        (Method::Blocks, 12, 0.76, 0.90),
    ] {
        let (covered, called) = without_change(method, launches);
        let cell = format!("{method:?} with {launches} launches covers {covered}, calls {called}");
        assert!(covered >= least && covered <= most, "{cell}");
        assert!(called <= 0.01, "{cell}");
    }
}
