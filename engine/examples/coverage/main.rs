//! Writes `docs/coverage.md`: what the comparison says of simulated runs whose true change is
//! known. Seed and trials are fixed, so that the file changes only when the statistics do.

mod simulate;

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use simulate::{LAUNCH_SPREAD, Noise, PAIR_SPREAD, Tally, plans, tally};

const SEED: u64 = 2026;
const TRIALS: usize = 2000;
const PAIRS: usize = 80;

/// True change and threshold of each comparison of a run.
const CASES: [(f64, f64); 8] = [
    (0.0, 0.01),
    (0.01, 0.01),
    (0.02, 0.01),
    (0.05, 0.01),
    (0.0, 0.005),
    (0.01, 0.005),
    (0.02, 0.005),
    (0.05, 0.005),
];

fn main() -> io::Result<()> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md");
    let path = std::env::args_os().nth(1).map_or(default, Into::into);
    // One thread per kind of noise; each has its own seed, so the order does not matter.
    let tallies: Vec<(Noise, Vec<Vec<Tally>>)> = std::thread::scope(|scope| {
        let workers = Noise::ALL
            .map(|noise| (noise, scope.spawn(move || tally(noise, &CASES, TRIALS, PAIRS, SEED))));
        workers
            .into_iter()
            .filter_map(|(noise, worker)| Some((noise, worker.join().ok()?)))
            .collect()
    });
    if tallies.len() < Noise::ALL.len() {
        return Err(io::Error::other("a simulation panicked"));
    }
    std::fs::write(path, page(&tallies).map_err(io::Error::other)?)
}

fn page(tallies: &[(Noise, Vec<Vec<Tally>>)]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    write!(
        out,
        "# Coverage, false calls and power in simulation

Written by `cargo run --release -p nbench-engine --example coverage`; do not edit. Each row is {TRIALS}
simulated comparisons of {PAIRS} pairs a launch, seed {SEED}, played through the same code that judges
real pairs: estimate of a launch, looks, interval and verdict. The log-ratio of a launch varies by
{:.1} % (standard deviation) and that of a pair within it by {:.0} %; the heavy tail has the same
quartiles instead. The step and the drift hit both sides, in the middle of a pair too.

One look spends 5 % of error; the three looks of the default spend 1, 1.5 and 2.5 %. The standard
error of a share of 95 % is {:.2} points. `engine/tests/coverage.rs` repeats this with fewer trials
and fails when coverage falls below 93 % or more than 1 % of comparisons without a change are called at
a threshold of 1 %. At 0.5 % a single look at luck of 1 % per process can exceed that.

## Coverage of the interval and verdicts without a change

| noise | launches | coverage % | faster / slower / equivalent / inconclusive %, threshold 1 % | same, threshold 0.5 % | launches taken, 1 % / 0.5 % |
|---|---|---|---|---|---|
",
        100.0 * LAUNCH_SPREAD,
        100.0 * PAIR_SPREAD,
        100.0 * (0.95f64 * 0.05 / TRIALS as f64).sqrt(),
    )?;
    for (noise, rows) in tallies {
        for ((plan, _), row) in plans().iter().zip(rows) {
            let (one, half) = (&row[0], &row[4]);
            writeln!(
                out,
                "| {} | {plan} | {:.1} | {} | {} | {:.1} / {:.1} |",
                noise.words(),
                100.0 * one.share(one.covered),
                verdicts(one),
                verdicts(half),
                one.launches as f64 / one.trials as f64,
                half.launches as f64 / half.trials as f64,
            )?;
        }
    }
    write!(
        out,
        "
## Power: a contender that is truly slower

Share of comparisons called slower. A change that equals the threshold is called half of the time
with one look and more often with three, since each is a chance to lie above it. \"wrong\" counts every `faster` of all changes in the row.

| noise | launches | 1 / 2 / 5 %, threshold 1 % | 1 / 2 / 5 %, threshold 0.5 % | coverage % at 2 % | launches taken at 2 %, 1 % / 0.5 % | wrong |
|---|---|---|---|---|---|---|
"
    )?;
    for (noise, rows) in tallies {
        for ((plan, _), row) in plans().iter().zip(rows) {
            let called = |cases: &[Tally]| {
                let shares: Vec<String> =
                    cases.iter().map(|t| format!("{:.1}", 100.0 * t.share(t.slower))).collect();
                shares.join(" / ")
            };
            let wrong: usize = row[1..4].iter().chain(&row[5..8]).map(|t| t.faster).sum();
            writeln!(
                out,
                "| {} | {plan} | {} | {} | {:.1} | {:.1} / {:.1} | {wrong} |",
                noise.words(),
                called(&row[1..4]),
                called(&row[5..8]),
                100.0 * row[2].share(row[2].covered),
                row[2].launches as f64 / row[2].trials as f64,
                row[6].launches as f64 / row[6].trials as f64,
            )?;
        }
    }
    Ok(out)
}

fn verdicts(tally: &Tally) -> String {
    [tally.faster, tally.slower, tally.equivalent, tally.inconclusive]
        .map(|count| format!("{:.2}", 100.0 * tally.share(count)))
        .join(" / ")
}
