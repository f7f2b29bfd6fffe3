//! Fits launches of the whole suite into a bound on its measuring time. It measures nothing, and
//! what it cannot fit is refused before anything was measured.

use std::time::Duration;

use super::Lane;
use crate::failure::{Exit, Failure};

/// Makes launches fit: fewer rounds first, then fewer launches; returns seconds per launch of all.
pub(super) fn fit_budget(
    lanes: &mut [Lane],
    pilot: Duration,
    budget: Duration,
) -> Result<f64, Failure> {
    let tasks = || lanes.iter().flat_map(|l| &l.units).filter(|u| !u.failed).flat_map(|u| &u.tasks);
    let (mut rounds, mut warm, mut slow) = (0.0f64, 0.0f64, 0.0f64);
    let mut first = 0;
    for task in tasks() {
        let Some(counts) = task.trial.calibration() else { continue };
        warm += counts.round_spent * counts.warmup_rounds as f64 / 1e9;
        let spent = counts.round_spent * counts.rounds as f64 / 1e9;
        if counts.slow {
            slow += spent;
        } else {
            rounds += spent;
        }
        first = first.max(task.trial.ends().first().copied().unwrap_or(FEWEST));
    }
    // A process start with its hello takes about 20 ms per side.
    let starts =
        0.02 * lanes.iter().map(|l| l.programs.len() * l.walks.len()).sum::<usize>() as f64;
    let links: f64 = lanes.iter().map(Lane::seconds_of_layouts).sum();
    let fixed = warm + slow + starts + links;
    let left = budget.saturating_sub(pilot).as_secs_f64();
    let cost = |share: f64| fixed + share * rounds;
    let wanted = first.max(FEWEST) as f64;
    if cost(1.0) * wanted <= left {
        return Ok(cost(1.0));
    }
    let least = least_share(lanes);
    let share = ((left / wanted - fixed) / rounds.max(1e-9)).clamp(least, 1.0);
    if cost(share) * FEWEST as f64 > left {
        let needed =
            (pilot.as_secs_f64() + cost(least) * FEWEST as f64).max(1.1 * budget.as_secs_f64());
        return Err(Failure::new(
            Exit::Usage,
            format!("a budget of {:.1} s is too small for this suite", budget.as_secs_f64()),
        )
        .hint(format!(
            "{FEWEST} launches of all selected benchmarks need about {needed:.1} s: raise `--budget`, or select fewer benchmarks with a filter"
        )));
    }
    for lane in lanes.iter_mut() {
        for task in lane.units.iter_mut().flat_map(|u| &mut u.tasks) {
            if let Some(counts) = task.trial.calibration() {
                let fewer = (counts.rounds as f64 * share).floor() as usize;
                task.trial.limit_rounds(fewer);
            }
        }
    }
    Ok(cost(share))
}

/// Share of its rounds that a launch may shrink to, by the plans of its tasks.
fn least_share(lanes: &[Lane]) -> f64 {
    let plans = lanes.iter().flat_map(|lane| &lane.units).flat_map(|unit| &unit.tasks);
    plans
        .map(|task| {
            let plan = task.trial.plan();
            plan.min_rounds as f64 / plan.max_rounds.max(1) as f64
        })
        .fold(0.0, f64::max)
}

/// Shortens launches when those still owed cost more than the time left: estimates of the pilot are
/// rough, and what launches really take is known only after the first.
pub(super) fn shrink(lanes: &mut [Lane], left: f64, launch_cost: f64, owed: usize) {
    let needed = launch_cost * owed as f64;
    if needed <= left || needed <= 0.0 {
        return;
    }
    for task in lanes.iter_mut().flat_map(|l| &mut l.units).flat_map(|u| &mut u.tasks) {
        if let Some(counts) = task.trial.calibration() {
            let fewer = (counts.rounds as f64 * left / needed).floor() as usize;
            task.trial.limit_rounds(fewer);
        }
    }
}

/// The fewest launches that have a 95 % interval.
pub(super) const FEWEST: usize = 6;
