//! Translates results of the engine into output lines, lines into rows of the store, and rows back
//! into lines. It measures, stores and prints nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use nbench::Throughput;
use nbench_engine::{Compare, Judgement, Measure, OwnChange, PairedLaunch};
use nbench_store::{
    ComparisonLaunch, ComparisonResult, ComparisonRow, MeasurementResult, Side, StoreError,
};
use nbench_templates::lines::{
    Comparison, Measurement, Note, OwnChangeLine, OwnLine, Rev, Stop, ThroughputLine, Verdict,
};

use crate::failure::{Exit, Failure};
use crate::measure::words;
use crate::results::notes;
pub use crate::results::recorder::{Key, Recorder};
use crate::revisions::revision::Revision;

/// A failure of the store in our words.
pub fn store_failure(error: &StoreError) -> Failure {
    let failure = Failure::new(Exit::Store, error.message());
    if error.hint().is_empty() { failure } else { failure.hint(error.hint()) }
}

/// Now, in milliseconds since the Unix epoch.
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_millis()).ok())
        .unwrap_or(0)
}

/// A revision as the store has it.
pub fn revision_row(revision: &Revision) -> nbench_store::Revision {
    nbench_store::Revision {
        commit: revision.commit.clone(),
        tree: revision.tree.clone(),
        parents: revision.parents.clone(),
        author_time: revision.author_time,
        committer_time: revision.committer_time,
        subject: revision.subject.clone(),
    }
}

/// A revision as the lines have it.
pub fn rev(revision: &Revision) -> Rev {
    Rev {
        rev: revision.label.clone(),
        commit: revision.commit.clone(),
        dirty: revision.dirty.is_some(),
    }
}

/// A count that fits its column; launches are few by construction.
pub fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The last launch of a comparison, as the store has it.
pub fn paired_launch(
    index: usize,
    launch: &PairedLaunch,
    contender: usize,
    iters: u64,
) -> Option<ComparisonLaunch> {
    let estimate = launch.estimates.get(contender - 1).copied().flatten()?;
    let lead = launch
        .rounds
        .iter()
        .map(|round| {
            let first = round.order.iter().find(|s| **s == 0 || **s == contender);
            if first == Some(&0) { 'R' } else { 'C' }
        })
        .collect();
    let column = |subject: usize| launch.rounds.iter().map(|r| r.per_operation[subject]).collect();
    Some(ComparisonLaunch {
        launch: small(index),
        iters,
        lead,
        reference: column(0),
        contender: column(contender),
        estimate,
    })
}

/// A measurement as a line.
pub fn measurement_line(
    key: &Key,
    trial: &Measure,
    throughput: Option<&Throughput>,
) -> Option<Measurement> {
    let estimate = trial.estimate()?;
    let implausible = trial.calibration().and_then(|c| c.implausible).map(words::implausible);
    let notes = trial.plan().blocks.then_some(Note::Blocks).into_iter().chain(implausible);
    Some(Measurement {
        package: key.package.clone(),
        target: key.target.clone(),
        benchmark: key.benchmark.clone(),
        unit: "ns".to_owned(),
        estimate: estimate.nanos,
        low: estimate.interval.map(|i| i.0),
        high: estimate.interval.map(|i| i.1),
        confidence: estimate.interval.map(|i| i.2),
        launches: estimate.launches,
        samples: estimate.samples,
        iters_per_sample: trial.calibration().and_then(|c| c.iters.first().copied()).unwrap_or(1),
        stop: words::stop(trial.decide()),
        spread: estimate.spread,
        min: estimate.min,
        mean: estimate.mean,
        outliers: estimate.outliers.total(),
        throughput: throughput.map(throughput_line),
        own: trial
            .own()
            .into_iter()
            .map(|own| OwnLine { name: own.name, unit: own.unit, value: own.value })
            .collect(),
        notes: notes.collect(),
    })
}

/// Work per operation as a line has it.
pub fn throughput_line(throughput: &Throughput) -> ThroughputLine {
    let (amount, unit) = match throughput {
        Throughput::Bytes(n) => (*n as f64, "bytes".to_owned()),
        Throughput::Elements(n) => (*n as f64, "elements".to_owned()),
        Throughput::Custom { amount, unit } => (*amount, unit.clone()),
        other => (1.0, format!("{other:?}")),
    };
    ThroughputLine { amount, unit }
}

/// A measurement line as the store has it.
pub fn measurement_result(line: &Measurement) -> MeasurementResult {
    MeasurementResult {
        estimate: line.estimate,
        interval: line.low.zip(line.high),
        confidence: line.confidence,
        launches: small(line.launches),
        samples: line.samples as u64,
        iters: line.iters_per_sample,
        stop: line.stop.to_string(),
        details: serde_json::to_string(line).unwrap_or_else(|_| "{}".to_owned()),
    }
}

/// A comparison as a line, without what is said about link layouts.
pub fn comparison_line(
    key: &Key,
    trial: &Compare,
    reference: Rev,
    contender: Rev,
    p_adjusted: Option<f64>,
) -> Comparison {
    let judgement = trial.judgement(key.contender);
    let d = trial.diagnostics(key.contender);
    let notes = notes::of(trial, &judgement, &d, p_adjusted);
    Comparison {
        p_adjusted,
        iters_per_sample: trial
            .calibration()
            .map(|c| vec![c.iters[0], c.iters[key.contender]])
            .unwrap_or_default(),
        order_effect: d.order_effect,
        lag1: d.lag1,
        contender_wins: d.contender_wins,
        reference_wins: d.reference_wins,
        ties: d.ties,
        between_launches: d.between_launches,
        within_launch: d.within_launch,
        launch_changes: trial.estimates(key.contender).iter().map(|e| e.exp_m1()).collect(),
        own: trial.own_changes(key.contender).into_iter().map(own_change_line).collect(),
        notes,
        ..judged_line(key, trial, (0, key.contender), &judgement, (reference, contender))
    }
}

/// Line of a judgement on two subjects, without what only one of them has.
fn judged_line(
    key: &Key,
    trial: &Compare,
    subjects: (usize, usize),
    judgement: &Judgement,
    (reference, contender): (Rev, Rev),
) -> Comparison {
    let times = times_of(trial, subjects, judgement.change);
    Comparison {
        package: key.package.clone(),
        target: key.target.clone(),
        benchmark: key.benchmark.clone(),
        reference,
        contender,
        change: judgement.change,
        low: judgement.interval.map(|i| i.low),
        high: judgement.interval.map(|i| i.high),
        confidence: Some(trial.looks().confidence()),
        look_error: judgement.interval.map(|i| i.level),
        verdict: words::verdict(judgement.verdict),
        threshold: trial.plan().threshold,
        pairs: judgement.pairs,
        launches: judgement.launches,
        smallest: judgement.smallest,
        stop: words::stop(trial.decide()),
        reference_ns: times.map(|t| t.0),
        contender_ns: times.map(|t| t.1),
        ..Comparison::default()
    }
}

fn own_change_line(own: OwnChange) -> OwnChangeLine {
    OwnChangeLine {
        name: own.name,
        unit: own.unit,
        reference: own.reference,
        contender: own.contender,
        low: own.interval.map(|i| i.low),
        high: own.interval.map(|i| i.high),
        difference: own.difference,
        unavailable: own.change.as_ref().err().cloned(),
        change: own.change.ok(),
    }
}

/// Times per operation of two subjects whose ratio is the change. The change is of pairs, which
/// withstand what both sides met together; medians of either side by itself do not, and would
/// contradict it. Their common level is what is kept of these.
fn times_of(
    trial: &Compare,
    (reference, contender): (usize, usize),
    change: Option<f64>,
) -> Option<(f64, f64)> {
    let (one, other) = trial.typical(reference).zip(trial.typical(contender))?;
    Some(match change.map(|change| (1.0 + change).sqrt()) {
        Some(root) if root.is_finite() && root > 0.0 && one > 0.0 && other > 0.0 => {
            let level = (one * other).sqrt();
            (level / root, level * root)
        }
        _ => (one, other),
    })
}

/// Two contenders against each other, from the launches in which both were compared with the
/// reference. It is printed, not stored: the launches are.
pub fn between_line(
    key: &Key,
    trial: &Compare,
    subjects: (usize, usize),
    reference: Rev,
    contender: Rev,
) -> Comparison {
    let judgement = trial.between(subjects.0, subjects.1);
    judged_line(key, trial, subjects, &judgement, (reference, contender))
}

/// A comparison line as the store has it. The line itself travels in the details, so that nothing
/// that was said is lost.
pub fn comparison_result(line: &Comparison) -> ComparisonResult {
    ComparisonResult {
        change: line.change,
        interval: line.low.zip(line.high),
        confidence: line.confidence,
        verdict: line.verdict.to_string(),
        launches: small(line.launches),
        pairs: line.pairs as u64,
        smallest: line.smallest,
        stop: line.stop.to_string(),
        details: serde_json::to_string(line).unwrap_or_else(|_| "{}".to_owned()),
    }
}

/// A stored comparison as a line; `None` while it has no result.
pub fn stored_comparison(row: &ComparisonRow) -> Option<Comparison> {
    let result = row.result.as_ref()?;
    let side = |side: &Side| Rev {
        rev: side.label.clone(),
        commit: side.commit.clone(),
        dirty: side.dirty_digest.is_some(),
    };
    let mut line: Comparison = serde_json::from_str(&result.details).unwrap_or_default();
    let verdict = Verdict::of_word(&result.verdict);
    if verdict.is_none() {
        line.notes.push(Note::Sentence(format!(
            "the store has `{}` for its verdict, which this version does not know",
            result.verdict
        )));
    }
    Some(Comparison {
        package: row.benchmark.package.clone(),
        target: row.benchmark.target.clone(),
        benchmark: row.benchmark.name.clone(),
        reference: side(&row.reference),
        contender: side(&row.contender),
        change: result.change,
        low: result.interval.map(|i| i.0),
        high: result.interval.map(|i| i.1),
        confidence: result.confidence,
        verdict: verdict.unwrap_or_default(),
        threshold: row.threshold,
        pairs: usize::try_from(result.pairs).unwrap_or(usize::MAX),
        launches: result.launches as usize,
        smallest: result.smallest,
        stop: Stop::of_word(&result.stop).unwrap_or(line.stop),
        ..line
    })
}

#[cfg(test)]
mod tests {
    use nbench_engine::{Plan, Round, Silent};

    use super::*;

    /// Launches whose medians say that the contender is faster and whose pairs say that it is
    /// slower.
    fn torn() -> Compare {
        let mut trial = Compare::new("x", 2, Plan::default());
        for launch in 0..10 {
            let level = if launch % 2 == 0 { 100.0 } else { 300.0 };
            let round = |order: Vec<usize>, scale: f64| Round {
                order,
                per_operation: vec![
                    level * scale,
                    level * scale * if scale > 1.5 { 0.5 } else { 1.02 },
                ],
                cpu: vec![None, None],
            };
            let rounds = (0..20)
                .map(|i| {
                    round(
                        if i % 2 == 0 { vec![0, 1] } else { vec![1, 0] },
                        if i < 4 { 2.0 } else { 1.0 },
                    )
                })
                .collect();
            trial.accept(rounds, &mut Silent);
        }
        trial
    }

    #[test]
    fn times_and_change_never_contradict_each_other() {
        let trial = torn();
        let change = trial.judgement(1).change.unwrap();
        for change in [change, -0.007, 0.0, 4.0, -0.99975] {
            let (one, other) = times_of(&trial, (0, 1), Some(change)).unwrap();
            assert!((other / one - 1.0 - change).abs() < 1e-9, "{one} {other} {change}");
            let level = trial.typical(0).unwrap() * trial.typical(1).unwrap();
            assert!((one * other / level - 1.0).abs() < 1e-9);
        }
        let key =
            Key { package: "p".into(), target: "t".into(), benchmark: "b".into(), contender: 1 };
        let line = comparison_line(&key, &trial, Rev::default(), Rev::default(), None);
        let (one, other) = line.reference_ns.zip(line.contender_ns).unwrap();
        assert!((other / one - 1.0 - line.change.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn times_without_a_change_are_those_that_were_seen() {
        let trial = torn();
        let seen = trial.typical(0).zip(trial.typical(1));
        assert_eq!(times_of(&trial, (0, 1), None), seen);
        assert_eq!(times_of(&trial, (0, 1), Some(-1.0)), seen);
        assert_eq!(times_of(&trial, (0, 1), Some(f64::NAN)), seen);
    }
}
