//! Between launches: which tasks have come to their end. A call must survive beside all comparisons
//! of the run before it is told. It starts nothing and measures nothing.

use nbench_engine::{Compare, Decision, Verdict, adjusted_by_discovery_rate, contender_p};

use super::{At, Lane, Sink, Trial};

/// Tells the ends of tasks, once the calls among them survive beside all other comparisons of the
/// run: a call whose adjusted p-value is too large is taken back, and its task goes on to the next
/// look.
///
/// LayoutSource of the adjustment: Benjamini and Hochberg (1995), over sequential p-values.
pub(super) fn settle(lanes: &mut [Lane], sink: &mut dyn Sink) {
    let mut raw = Vec::new();
    for task in lanes.iter().flat_map(|l| &l.units).filter(|u| !u.failed).flat_map(|u| &u.tasks) {
        if let Trial::Compare(trial) = &task.trial {
            let trial = task.layout.evidence(trial);
            raw.extend((1..task.picks.len()).map(|contender| contender_p(trial, contender)));
        }
    }
    let mut adjusted = adjusted_by_discovery_rate(&raw).into_iter();
    for lane in lanes.iter_mut() {
        let notes = lane.notes();
        let Lane { package, target, units, .. } = lane;
        for unit in units.iter_mut().filter(|u| !u.failed) {
            for task in &mut unit.tasks {
                let own = task.picks.len() - 1;
                if let Trial::Compare(trial) = &mut task.trial {
                    let own: Vec<Option<f64>> = adjusted.by_ref().take(own).collect();
                    if !task.is_reported
                        && !task.layout.is_explaining()
                        && trial.plan().control_discovery
                    {
                        withdraw_unconfirmed(trial, &own);
                        task.adjusted = own;
                    }
                }
                if task.is_reported || task.trial.decide() == Decision::More {
                    continue;
                }
                let second_is_due = match &mut task.trial {
                    Trial::Compare(trial) => task.layout.finish(trial),
                    Trial::Measure(_) => false,
                };
                if !second_is_due {
                    task.is_reported = true;
                    task.notes.extend(notes.iter().cloned());
                    sink.finished(At { package, target, offer: &unit.offer }, task);
                }
            }
        }
    }
}

fn withdraw_unconfirmed(trial: &mut Compare, adjusted: &[Option<f64>]) {
    if trial.decide() == Decision::More {
        return;
    }
    let rate = 1.0 - trial.looks().confidence();
    for (index, p) in adjusted.iter().enumerate() {
        let called =
            matches!(trial.judgement(index + 1).verdict, Verdict::Faster | Verdict::Slower);
        // The slack keeps a p-value that equals the rate up to rounding on the accepting side.
        if called && p.is_none_or(|p| p > rate + 1e-9) {
            trial.withdraw(index + 1);
        }
    }
}
