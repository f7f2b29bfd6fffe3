//! The only translator between engine results, rows of the store and output lines. A store that fails
//! does not end a measurement: the first trouble is kept and told at the end.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nbench::Throughput;
use nbench_engine::own::OwnChange;
use nbench_engine::paired::PairedLaunch;
use nbench_engine::{
    Compare, Decision, IntervalMethod, Judgement, Looks, Measure, Order, StopReason, Verdict,
};
use nbench_store::{
    Benchmark, BenchmarkId, ComparisonId, ComparisonLaunch, ComparisonResult, ComparisonRow,
    MeasurementId, MeasurementLaunch, MeasurementResult, NewComparison, NewMeasurement, NewRun,
    RunId, RunState, Side, Store, StoreError,
};

use crate::failure::{Exit, Failure};
use crate::lines::{
    Comparison, FailureLine, Line, Measurement, OwnChangeLine, OwnLine, Rev, ThroughputLine,
};
use crate::revision::Revision;

/// Who a stored value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Cargo package.
    pub package: String,
    /// Bench target.
    pub target: String,
    /// Id with its case.
    pub benchmark: String,
    /// Index of the contender, 0 for a measurement by itself.
    pub contender: usize,
}

/// Writes what is measured, launch by launch.
#[derive(Debug)]
pub struct Recorder {
    store: Option<Store>,
    run: Option<RunId>,
    trouble: Option<Failure>,
    benchmarks: HashMap<(String, String, String), BenchmarkId>,
    measurements: HashMap<Key, MeasurementId>,
    comparisons: HashMap<Key, ComparisonId>,
}

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

impl Recorder {
    /// Opens the store and marks what killed runs left. Trouble is kept, not returned: results are
    /// measured and printed all the same.
    pub fn open(path: &Path) -> Recorder {
        let mut recorder = Recorder {
            store: None,
            run: None,
            trouble: None,
            benchmarks: HashMap::new(),
            measurements: HashMap::new(),
            comparisons: HashMap::new(),
        };
        match Store::open(path) {
            Ok(store) => {
                recorder.store = Some(store);
                recorder.with(|store| store.recover(|pid, _| process_is_alive(pid)));
            }
            Err(error) => recorder.trouble = Some(store_failure(&error)),
        }
        recorder
    }

    /// The first thing that went wrong with the store.
    pub fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// Row of the run.
    pub fn run(&self) -> Option<i64> {
        self.run.map(|run| run.0)
    }

    fn with<T>(&mut self, f: impl FnOnce(&Store) -> Result<T, StoreError>) -> Option<T> {
        let store = self.store.as_ref()?;
        match f(store) {
            Ok(value) => Some(value),
            Err(error) => {
                self.trouble.get_or_insert_with(|| store_failure(&error));
                None
            }
        }
    }

    /// Begins a run.
    pub fn begin(
        &mut self,
        host: &nbench_store::Host,
        toolchain: &nbench_store::Toolchain,
        revisions: &[nbench_store::Revision],
        run: &NewRun,
    ) {
        self.run = self.with(|store| {
            store.upsert_host(host)?;
            store.upsert_toolchain(toolchain)?;
            for revision in revisions {
                store.upsert_revision(revision)?;
            }
            store.begin_run(run)
        });
    }

    /// Keeps lines that have no table of their own, such as skipped targets.
    pub fn details(&mut self, lines: &[Line]) {
        let Some(run) = self.run else { return };
        let text = serde_json::json!({ "lines": lines }).to_string();
        self.with(|store| store.set_run_details(run, &text));
    }

    /// Ends the run.
    pub fn finish(&mut self, state: RunState) {
        let Some(run) = self.run else { return };
        self.with(|store| store.finish_run(run, state, now_ms()));
    }

    fn benchmark(&mut self, key: &Key, tags: &[String]) -> Option<BenchmarkId> {
        let name = (key.package.clone(), key.target.clone(), key.benchmark.clone());
        if let Some(id) = self.benchmarks.get(&name) {
            return Some(*id);
        }
        let row = Benchmark {
            package: key.package.clone(),
            target: key.target.clone(),
            name: key.benchmark.clone(),
            tags: serde_json::json!(tags).to_string(),
        };
        let id = self.with(|store| store.upsert_benchmark(&row))?;
        self.benchmarks.insert(name, id);
        Some(id)
    }

    /// Stores one launch of a measurement; `new` describes it at its first launch.
    pub fn measurement_launch(
        &mut self,
        key: &Key,
        tags: &[String],
        new: impl FnOnce(RunId, BenchmarkId) -> NewMeasurement,
        launch: &MeasurementLaunch,
    ) {
        let (Some(run), Some(benchmark)) = (self.run, self.benchmark(key, tags)) else { return };
        let id = match self.measurements.get(key) {
            Some(id) => *id,
            None => {
                let Some(id) = self.with(|store| store.begin_measurement(&new(run, benchmark)))
                else {
                    return;
                };
                self.measurements.insert(key.clone(), id);
                id
            }
        };
        self.with(|store| store.add_measurement_launch(id, launch));
    }

    /// Stores the result of a measurement whose launches are stored.
    pub fn measurement_result(&mut self, key: &Key, result: &MeasurementResult) {
        if let Some(id) = self.measurements.get(key).copied() {
            self.with(|store| store.finish_measurement(id, result));
        }
    }

    /// Stores one launch of a comparison, or only its beginning when there is none (`identical`).
    pub fn comparison_launch(
        &mut self,
        key: &Key,
        tags: &[String],
        new: impl FnOnce(RunId, BenchmarkId) -> NewComparison,
        launch: Option<&ComparisonLaunch>,
    ) {
        let (Some(run), Some(benchmark)) = (self.run, self.benchmark(key, tags)) else { return };
        let id = match self.comparisons.get(key) {
            Some(id) => *id,
            None => {
                let Some(id) = self.with(|store| store.begin_comparison(&new(run, benchmark)))
                else {
                    return;
                };
                self.comparisons.insert(key.clone(), id);
                id
            }
        };
        if let Some(launch) = launch {
            self.with(|store| store.add_comparison_launch(id, launch));
        }
    }

    /// Stores the result of a comparison that has begun.
    pub fn comparison_result(&mut self, key: &Key, line: &Comparison) {
        if let Some(id) = self.comparisons.get(key).copied() {
            let result = comparison_result(line);
            self.with(|store| store.finish_comparison(id, &result));
        }
    }

    /// Stores a failure.
    pub fn failure(&mut self, line: &FailureLine) {
        let Some(run) = self.run else { return };
        let row = nbench_store::Failure {
            package: line.package.clone(),
            target: line.target.clone(),
            benchmark: line.benchmark.clone(),
            side: line.side.clone(),
            error: line.error.clone(),
            stderr_tail: line.stderr_tail.clone(),
        };
        self.with(|store| store.add_failure(run, &row));
    }
}

/// Whether a process of that id exists; one that we may not signal exists as well.
fn process_is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
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
    let notes = trial.plan().blocks.then_some(crate::bridge::NOTE);
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
        stop: stop_word(trial.decide()),
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
        notes: notes.map(str::to_owned).into_iter().collect(),
    })
}

/// Why a trial ended, in the stable word.
pub fn stop_word(decision: Decision) -> String {
    match decision {
        Decision::Done(reason) => reason.word().to_owned(),
        Decision::More => "unfinished".to_owned(),
    }
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
        stop: line.stop.clone(),
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
    if judgement.verdict == Verdict::Inconclusive {
        let apart = judgement.interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
            && judgement.change.is_some_and(|c| c.abs() > trial.plan().threshold);
        match p_adjusted.filter(|_| apart) {
            Some(p) => notes.push(format!(
                "by itself it would be called, beside all comparisons of this run it is not (adjusted p = {p:.2}); `--filter` asks about it alone"
            )),
            // Who interrupted it knows why there is no verdict.
            None if trial.decide() == Decision::Done(StopReason::Interrupted) => {}
            None => notes.extend(advice(&judgement, trial)),
        }
    }
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
    if trial.plan().blocks {
        notes.push(crate::bridge::NOTE.to_owned());
    } else if trial.calibration().is_some_and(|c| c.slow) {
        notes.push("one operation takes longer than 50 ms: one pair a launch".to_owned());
    } else if d.untrimmed && judgement.pairs > 0 {
        notes.push("fewer than 5 pairs a launch: nothing was trimmed".to_owned());
    }
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
        verdict: judgement.verdict.word().to_owned(),
        p_adjusted,
        threshold: trial.plan().threshold,
        pairs: judgement.pairs,
        launches: judgement.launches,
        smallest: judgement.smallest,
        stop: stop_word(trial.decide()),
        reference_ns: trial.typical(0),
        contender_ns: trial.typical(key.contender),
        iters_per_sample: trial
            .calibration()
            .map(|c| vec![c.iters[0], c.iters[key.contender]])
            .unwrap_or_default(),
        layout: "off".to_owned(),
        layout_share: None,
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
        unavailable: own.change.as_ref().err().cloned(),
        change: own.change.ok(),
    }
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
    let (first, second) = subjects;
    let judgement = trial.between(first, second);
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
        verdict: judgement.verdict.word().to_owned(),
        threshold: trial.plan().threshold,
        pairs: judgement.pairs,
        launches: judgement.launches,
        smallest: judgement.smallest,
        stop: stop_word(trial.decide()),
        reference_ns: trial.typical(first),
        contender_ns: trial.typical(second),
        layout: "off".to_owned(),
        ..Comparison::default()
    }
}

/// What would turn an inconclusive result into a verdict.
fn advice(judgement: &Judgement, trial: &Compare) -> Option<String> {
    let threshold = trial.plan().threshold;
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

/// A comparison line as the store has it. The line itself travels in the details, so that nothing
/// that was said is lost.
pub fn comparison_result(line: &Comparison) -> ComparisonResult {
    ComparisonResult {
        change: line.change,
        interval: line.low.zip(line.high),
        confidence: line.confidence,
        verdict: line.verdict.clone(),
        launches: small(line.launches),
        pairs: line.pairs as u64,
        smallest: line.smallest,
        stop: line.stop.clone(),
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
    let told: Comparison = serde_json::from_str(&result.details).unwrap_or_default();
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
        verdict: result.verdict.clone(),
        threshold: row.threshold,
        pairs: usize::try_from(result.pairs).unwrap_or(usize::MAX),
        launches: result.launches as usize,
        smallest: result.smallest,
        stop: result.stop.clone(),
        ..told
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_alive_and_an_impossible_one_is_not() {
        assert!(process_is_alive(std::process::id()));
        assert!(!process_is_alive(0x7fff_fff0));
    }
}
