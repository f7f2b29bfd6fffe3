//! Judges recorded pairs by the code that judges those of `ab`: for data taken elsewhere, or to see
//! what another threshold would have said. `cargo run -p nbench-engine --example judge -- FILE.csv
//! ..`
//!
//! A file has a header and one pair a line: launch, pair, who led (`A` or `B`), nanoseconds per
//! operation of A (the reference) and of B (the contender).

use std::io::Write;
use std::process::ExitCode;

use nbench_engine::{Compare, Plan, Round, Silent, StopReason};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut code = ExitCode::SUCCESS;
    for file in std::env::args().skip(1) {
        let said = match std::fs::read_to_string(&file) {
            Ok(text) => judge(&file, &text),
            Err(error) => Err(error.to_string()),
        };
        let line = said.unwrap_or_else(|error| {
            code = ExitCode::FAILURE;
            format!("cannot judge `{file}`: {error}")
        });
        if writeln!(out, "{line}").is_err() {
            return ExitCode::FAILURE;
        }
    }
    code
}

/// The judgement of one file in words. It ends at the last launch of the file, or at the look that
/// decided.
fn judge(name: &str, text: &str) -> Result<String, String> {
    let mut trial = Compare::new(name, 2, Plan::default());
    let mut launch = String::new();
    let mut rounds: Vec<Round> = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [of, _, lead, a, b] = fields[..] else {
            return Err(format!("line {} has {} fields instead of 5", number + 1, fields.len()));
        };
        if of != launch {
            launch = of.to_owned();
            if !rounds.is_empty() && matches!(trial.decide(), nbench_engine::Decision::More) {
                trial.accept(std::mem::take(&mut rounds), &mut Silent);
            }
            rounds.clear();
        }
        let nanos =
            |text: &str| text.parse::<f64>().map_err(|e| format!("line {}: {e}", number + 1));
        rounds.push(Round {
            order: if lead == "A" { vec![0, 1] } else { vec![1, 0] },
            per_operation: vec![nanos(a)?, nanos(b)?],
            cpu: vec![None, None],
        });
    }
    if !rounds.is_empty() && matches!(trial.decide(), nbench_engine::Decision::More) {
        trial.accept(rounds, &mut Silent);
    }
    trial.stop(StopReason::Budget);
    let judged = trial.judgement(1);
    let percent =
        |x: Option<f64>| x.map_or("unavailable".to_owned(), |x| format!("{:+.2} %", 100.0 * x));
    Ok(format!(
        "{name}: {:?} {} [{} .. {}] after {} launches, {} pairs",
        judged.verdict,
        percent(judged.change),
        percent(judged.interval.map(|i| i.low)),
        percent(judged.interval.map(|i| i.high)),
        judged.launches,
        judged.pairs
    ))
}
