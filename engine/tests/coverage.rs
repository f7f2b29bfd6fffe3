//! Coverage of the interval and false calls on simulated noise, through the code that judges real
//! pairs. `docs/coverage.md` has the same cells with more trials.

#[path = "../examples/coverage/simulate.rs"]
mod simulate;

use simulate::{Noise, Tally, plans, tally};

/// The standard error of a coverage of 95 % is 0.7 points, so the bound of 93 % is three of them
/// away.
const TRIALS: usize = 1000;
const PAIRS: usize = 10;

#[test]
fn intervals_cover_and_nothing_is_called_without_a_change() {
    let outcomes: Vec<(Noise, Vec<Vec<Tally>>)> = std::thread::scope(|scope| {
        let workers = Noise::ALL.map(|noise| {
            (noise, scope.spawn(move || tally(noise, &[(0.0, 0.01)], TRIALS, PAIRS, 7)))
        });
        workers.into_iter().map(|(noise, worker)| (noise, worker.join().unwrap())).collect()
    });
    for (noise, rows) in outcomes {
        for ((plan, _), row) in plans().iter().zip(rows) {
            let all = row[0];
            let cell = format!("{} at {plan} launches: {all:?}", noise.words());
            assert!(all.share(all.covered) >= 0.93, "{cell}");
            assert!(all.share(all.faster + all.slower) <= 0.01, "{cell}");
            assert_eq!(
                all.faster + all.slower + all.equivalent + all.inconclusive,
                TRIALS,
                "{cell}"
            );
        }
    }
}
