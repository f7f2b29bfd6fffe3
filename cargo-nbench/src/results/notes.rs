//! What is to be said beside a comparison: what its launches show, why there is no verdict, and
//! what of its plan weakens it. It decides nothing about results.

use nbench_engine::{
    Compare, Decision, Diagnostics, IntervalMethod, Judgement, Looks, Order, StopReason, Verdict,
};
use nbench_templates::lines::Note;

use crate::measure::words;

/// All notes on one contender of a comparison. `p_adjusted` is its p-value beside those of the run.
pub fn of(
    trial: &Compare,
    judgement: &Judgement,
    d: &Diagnostics,
    p_adjusted: Option<f64>,
) -> Vec<Note> {
    let mut notes = on_launches(judgement, d);
    if judgement.verdict == Verdict::Inconclusive {
        notes.extend(why_open(trial, judgement, p_adjusted));
    }
    on_plan(&mut notes, trial, judgement, d);
    notes
}

fn on_launches(judgement: &Judgement, d: &Diagnostics) -> Vec<Note> {
    let mut notes = Vec::new();
    // Beside a large change the tail of its warm-up is no news.
    let is_news = |drift: &f64| drift.abs() > 0.2 * judgement.change.map_or(0.0, f64::abs);
    notes.extend(d.trend.filter(|drift| d.trend_is_systematic && is_news(drift)).map(Note::Drift));
    if !d.disagreeing_launches.is_empty() {
        let numbers = d.disagreeing_launches.iter().map(|launch| launch + 1);
        notes.push(Note::DisagreeingLaunches(numbers.collect()));
    }
    notes
}

/// Why there is no verdict, and what would bring one.
fn why_open(trial: &Compare, judgement: &Judgement, p_adjusted: Option<f64>) -> Option<Note> {
    let apart = judgement.interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
        && judgement.change.is_some_and(|c| c.abs() > trial.plan().threshold);
    match p_adjusted.filter(|_| apart) {
        Some(p_adjusted) => Some(Note::NotAmongOthers { p_adjusted }),
        // Who interrupted it knows why there is no verdict.
        None if trial.decide() == Decision::Done(StopReason::Interrupted) => None,
        None => Some(advice(judgement, trial)),
    }
}

fn on_plan(notes: &mut Vec<Note>, trial: &Compare, judgement: &Judgement, d: &Diagnostics) {
    if trial.plan().order == Order::Sequential {
        notes.push(Note::Sequential);
    }
    if trial.plan().interval == IntervalMethod::BlockBootstrap {
        notes.push(Note::IntervalOverPairs);
    }
    notes.extend(trial.calibration().and_then(|c| c.implausible).map(words::implausible));
    if trial.plan().blocks {
        notes.push(Note::Blocks);
    } else if trial.calibration().is_some_and(|c| c.slow) {
        notes.push(Note::SlowOperation);
    } else if d.untrimmed && judgement.pairs > 0 {
        notes.push(Note::Untrimmed);
    }
}

/// Advice on how to turn an inconclusive result into a verdict.
fn advice(judgement: &Judgement, trial: &Compare) -> Note {
    let threshold = trial.plan().threshold;
    if trial.decide() == Decision::Done(StopReason::Budget) {
        // More launches in the plan are no help where it was not the plan that ended them.
        return Note::BudgetEnded;
    }
    let Some(interval) = judgement.interval else {
        return Note::TooFewLaunches(judgement.launches);
    };
    if !trial.plan().may_say_equivalent && interval.low >= -threshold && interval.high <= threshold
    {
        return Note::EarlyLookOnly;
    }
    // Intervals shrink with the root of the number of launches.
    let half = (interval.high - interval.low) / 2.0;
    if half <= threshold {
        return Note::NearThreshold(threshold);
    }
    let needed = (judgement.launches as f64 * (half / threshold.max(1e-6)).powi(2)).ceil();
    let is_in_reach = needed <= Looks::thorough().last() as f64;
    Note::MoreLaunches { needed, threshold, is_in_reach }
}

#[cfg(test)]
mod tests {
    use nbench_engine::Plan;

    use super::*;

    #[test]
    fn what_the_budget_ended_is_not_told_to_plan_more() {
        let mut trial = Compare::new("x", 2, Plan::default());
        let judgement = trial.judgement(1);
        trial.stop(StopReason::Interrupted);
        assert_ne!(advice(&judgement, &trial), Note::BudgetEnded);
        let mut trial = Compare::new("x", 2, Plan::default());
        trial.stop(StopReason::Budget);
        let note = advice(&trial.judgement(1), &trial).to_string();
        assert!(note.contains("`--budget`") && !note.contains("--preset"), "{note}");
    }
}
