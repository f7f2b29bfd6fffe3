//! What is to be said beside a comparison: what its launches show, why there is no verdict, and what of its
//! plan weakens it. It decides nothing about results.

use nbench_engine::Diagnostics;
use nbench_engine::{
    Compare, Decision, IntervalMethod, Judgement, Looks, Order, StopReason, Verdict,
};

/// All notes on one contender of a comparison. `p_adjusted` is its p-value beside those of the run.
pub fn of(
    trial: &Compare,
    judgement: &Judgement,
    d: &Diagnostics,
    p_adjusted: Option<f64>,
) -> Vec<String> {
    let mut notes = on_launches(judgement, d);
    if judgement.verdict == Verdict::Inconclusive {
        notes.extend(why_open(trial, judgement, p_adjusted));
    }
    on_plan(&mut notes, trial, judgement, d);
    notes
}

fn on_launches(judgement: &Judgement, d: &Diagnostics) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(trend) = d.trend.filter(|trend| {
        // Beside a large change the tail of its warm-up is no news.
        d.trend_is_systematic && trend.abs() > 0.2 * judgement.change.map_or(0.0, f64::abs)
    }) {
        notes.push(format!(
            "the ratio drifts by {:+.1} % within a launch: its cost seems to grow or shrink with use",
            100.0 * trend
        ));
    }
    if !d.disagreeing_launches.is_empty() {
        let numbers: Vec<String> =
            d.disagreeing_launches.iter().map(|l| (l + 1).to_string()).collect();
        let (noun, verb) =
            if numbers.len() == 1 { ("launch", "disagrees") } else { ("launches", "disagree") };
        notes.push(format!(
            "{noun} {} {verb} with the others, which the estimate withstands",
            numbers.join(", ")
        ));
    }
    notes
}

/// Why there is no verdict, and what would bring one.
fn why_open(trial: &Compare, judgement: &Judgement, p_adjusted: Option<f64>) -> Option<String> {
    let apart = judgement.interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
        && judgement.change.is_some_and(|c| c.abs() > trial.plan().threshold);
    match p_adjusted.filter(|_| apart) {
        Some(p) => Some(format!(
            "by itself it would be called, beside all comparisons of this run it is not (adjusted p = {p:.2}); `--filter` asks about it alone"
        )),
        // Who interrupted it knows why there is no verdict.
        None if trial.decide() == Decision::Done(StopReason::Interrupted) => None,
        None => advice(judgement, trial),
    }
}

fn on_plan(notes: &mut Vec<String>, trial: &Compare, judgement: &Judgement, d: &Diagnostics) {
    if trial.plan().order == Order::Sequential {
        notes.push(
            "one case was taken after the other: what the machine did meanwhile is part of this"
                .to_owned(),
        );
    }
    if trial.plan().interval == IntervalMethod::BlockBootstrap {
        notes.push(
            "the interval is over pairs, which share the luck of their launch: it is too narrow"
                .to_owned(),
        );
    }
    if let Some(implausible) = trial.calibration().and_then(|c| c.implausible) {
        notes.push(implausible.note().to_owned());
    }
    if trial.plan().blocks {
        notes.push(crate::foreign::bridge::NOTE.to_owned());
    } else if trial.calibration().is_some_and(|c| c.slow) {
        notes.push("one operation takes longer than 50 ms: one pair a launch".to_owned());
    } else if d.untrimmed && judgement.pairs > 0 {
        notes.push("fewer than 5 pairs a launch: nothing was trimmed".to_owned());
    }
}

/// What would turn an inconclusive result into a verdict.
fn advice(judgement: &Judgement, trial: &Compare) -> Option<String> {
    let threshold = trial.plan().threshold;
    if trial.decide() == Decision::Done(StopReason::Budget) {
        // More launches in the plan are no help where it was not the plan that ended them.
        return Some("the budget ended it: a larger `--budget` gives it more launches".to_owned());
    }
    let Some(interval) = judgement.interval else {
        return Some(format!(
            "{} launches have no interval at this confidence: give it more (`--budget`, `--preset`)",
            judgement.launches
        ));
    };
    if !trial.plan().may_say_equivalent && interval.low >= -threshold && interval.high <= threshold
    {
        return Some("one early look is too weak to say equivalent: drop `--preset quick`".into());
    }
    // Intervals shrink with the root of the number of launches.
    let half = (interval.high - interval.low) / 2.0;
    let ratio = (half / threshold.max(1e-6)).powi(2);
    let needed = (judgement.launches as f64 * ratio).ceil();
    Some(if half <= threshold {
        format!(
            "the change lies near the threshold of {:.1} %: more launches (`--preset thorough`) or another `--threshold` decide it",
            100.0 * threshold
        )
    } else if needed <= Looks::thorough().last() as f64 {
        format!(
            "about {needed:.0} launches would see {:.1} %: `--preset thorough`",
            100.0 * threshold
        )
    } else {
        format!(
            "about {needed:.0} launches would see {:.1} %: a quieter host or a larger `--threshold` helps more",
            100.0 * threshold
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbench_engine::Plan;

    #[test]
    fn what_the_budget_ended_is_not_told_to_plan_more() {
        let mut trial = Compare::new("x", 2, Plan::default());
        let judgement = trial.judgement(1);
        trial.stop(StopReason::Interrupted);
        assert!(!advice(&judgement, &trial).unwrap().contains("budget ended"));
        let mut trial = Compare::new("x", 2, Plan::default());
        trial.stop(StopReason::Budget);
        let told = advice(&trial.judgement(1), &trial).unwrap();
        assert!(told.contains("`--budget`") && !told.contains("--preset"), "{told}");
    }
}
