//! Writes what is measured, launch by launch. A store that fails does not end a measurement, and
//! one that somebody else has locked is waited for once: until it is free, and at last in a file
//! beside it, what was measured is kept. It knows rows and not what they mean.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nbench_store::{
    Benchmark, BenchmarkId, ComparisonId, ComparisonLaunch, ErrorKind, MeasurementId,
    MeasurementLaunch, MeasurementResult, NewComparison, NewMeasurement, NewRun, RunId, RunState,
    Store, StoreError,
};
use nbench_templates::lines::{Comparison, FailureLine, Line};

use crate::failure::{Exit, Failure};
use crate::results::record::{comparison_result, now_ms, store_failure};

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

/// Rows of one run in one store.
#[derive(Debug, Default)]
struct Rows {
    run: Option<RunId>,
    benchmarks: HashMap<(String, String, String), BenchmarkId>,
    measurements: HashMap<Key, MeasurementId>,
    comparisons: HashMap<Key, ComparisonId>,
}

impl Rows {
    fn benchmark(
        &mut self,
        store: &Store,
        key: &Key,
        tags: &str,
    ) -> Result<BenchmarkId, StoreError> {
        let name = (key.package.clone(), key.target.clone(), key.benchmark.clone());
        if let Some(id) = self.benchmarks.get(&name) {
            return Ok(*id);
        }
        let id = store.upsert_benchmark(&Benchmark {
            package: key.package.clone(),
            target: key.target.clone(),
            name: key.benchmark.clone(),
            tags: tags.to_owned(),
        })?;
        self.benchmarks.insert(name, id);
        Ok(id)
    }
}

/// Something to be stored. What it refers to is looked up when it is written, so that it can be
/// written to another store as well.
type Write = Box<dyn Fn(&Store, &mut Rows) -> Result<(), StoreError>>;

/// Writes what is measured, launch by launch.
pub struct Recorder {
    path: PathBuf,
    store: Option<Store>,
    rows: Rows,
    /// All that this run has to say, of which the first `written` are in the store or given up.
    writes: Vec<Write>,
    written: usize,
    /// Why nothing can be written just now.
    waiting: Option<StoreError>,
    trouble: Option<Failure>,
    has_results: bool,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Opens the store and marks what killed runs left. Trouble is kept, not returned: results are
    /// measured and printed all the same.
    pub fn open(path: &Path) -> Recorder {
        let mut recorder = Recorder {
            path: path.to_owned(),
            store: None,
            rows: Rows::default(),
            writes: Vec::new(),
            written: 0,
            waiting: None,
            trouble: None,
            has_results: false,
        };
        let opened = Store::open(path).and_then(|store| {
            let marked = store.recover(process_is_alive).map(|_| ());
            recorder.store = Some(store);
            marked
        });
        if let Err(error) = opened {
            recorder.hear(error);
        }
        recorder
    }

    /// Warnings about the store, for before anything is measured.
    pub fn warning(&self) -> Option<String> {
        let reported = self.trouble.as_ref();
        reported
            .map(|trouble| format!("{}: results are printed but not stored", trouble.error))
            .or_else(|| {
                let waiting = self.waiting.as_ref()?;
                Some(format!(
                    "{}: results are kept and stored at the end",
                    store_failure(waiting).error
                ))
            })
    }

    /// First failure of the store that still stands.
    pub fn trouble(&self) -> Option<&Failure> {
        self.trouble.as_ref()
    }

    /// Row of the run.
    pub fn run(&self) -> Option<i64> {
        self.rows.run.map(|run| run.0)
    }

    /// Takes an error: a store that is busy is tried again, without waiting for it again.
    fn hear(&mut self, error: StoreError) {
        if *error.kind() == ErrorKind::Busy {
            if let Some(store) = &self.store {
                store.set_patience(Duration::ZERO);
            }
            self.waiting.get_or_insert(error);
        } else {
            self.trouble.get_or_insert_with(|| store_failure(&error));
        }
    }

    fn write(&mut self, write: impl Fn(&Store, &mut Rows) -> Result<(), StoreError> + 'static) {
        // A store that could not be opened for another reason stays closed.
        if self.store.is_none() && self.waiting.is_none() {
            return;
        }
        self.writes.push(Box::new(write));
        self.flush();
    }

    /// Writes what is left, in order, until the store is busy.
    fn flush(&mut self) {
        while let (Some(store), Some(write)) = (&self.store, self.writes.get(self.written)) {
            match write(store, &mut self.rows) {
                Ok(()) => self.waiting = None,
                Err(error) => {
                    let busy = *error.kind() == ErrorKind::Busy;
                    self.hear(error);
                    if busy {
                        return;
                    }
                }
            }
            self.written += 1;
        }
    }

    /// The last attempt: the store, else a file beside it that holds the whole run.
    fn flush_at_last(&mut self) {
        if self.store.is_none() && self.waiting.is_some() {
            self.store = Store::open_within(&self.path, LAST_WAIT).ok();
        }
        if let Some(store) = &self.store {
            store.set_patience(LAST_WAIT);
        }
        self.flush();
        let Some(busy) = self.waiting.take() else { return };
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".unsaved-{}.sqlite", std::process::id()));
        let aside = PathBuf::from(name);
        let kept = Store::open(&aside).and_then(|store| {
            let mut rows = Rows::default();
            for write in &self.writes {
                write(&store, &mut rows)?;
            }
            store.close()
        });
        let reported = store_failure(&busy);
        self.trouble.get_or_insert(match kept {
            Ok(()) => Failure::new(
                Exit::Store,
                format!("{}: the results are in `{}` instead", reported.error, aside.display()),
            )
            .hint("`--store` reads that file: `cargo nbench history --store FILE`"),
            Err(error) => Failure::new(
                Exit::Store,
                format!(
                    "{}, and the results cannot be kept beside it: {}",
                    reported.error,
                    store_failure(&error).error
                ),
            ),
        });
    }

    /// Begins a run.
    pub fn begin(
        &mut self,
        host: &nbench_store::Host,
        toolchain: &nbench_store::Toolchain,
        revisions: &[nbench_store::Revision],
        run: &NewRun,
    ) {
        let (host, toolchain) = (host.clone(), toolchain.clone());
        let (revisions, run) = (revisions.to_vec(), run.clone());
        self.write(move |store, rows| {
            store.upsert_host(&host)?;
            store.upsert_toolchain(&toolchain)?;
            for revision in &revisions {
                store.upsert_revision(revision)?;
            }
            rows.run = Some(store.begin_run(&run)?);
            Ok(())
        });
    }

    /// Keeps lines that have no table of their own, such as skipped targets.
    pub fn details(&mut self, lines: &[Line]) {
        let text = serde_json::json!({ "lines": lines }).to_string();
        self.write(move |store, rows| match rows.run {
            Some(run) => store.set_run_details(run, &text),
            None => Ok(()),
        });
    }

    /// Ends the run. What could not be stored by now is kept beside the store.
    pub fn finish(&mut self, state: RunState) {
        let now = now_ms();
        self.write(move |store, rows| match rows.run {
            Some(run) => store.finish_run(run, state, now),
            None => Ok(()),
        });
        self.flush_at_last();
    }

    /// Ends a run that came to nothing: one without any result is taken back, so that no history
    /// and no comparison finds it.
    pub fn abandon(&mut self) {
        if self.has_results {
            return self.finish(RunState::Failed);
        }
        let began = self.rows.run.is_some();
        self.writes.truncate(self.written);
        self.waiting = None;
        if began {
            self.write(|store, rows| match rows.run.take() {
                Some(run) => store.forget_run(run),
                None => Ok(()),
            });
        }
    }

    /// Stores one launch of a measurement; `new` describes it at its first launch.
    pub fn measurement_launch(
        &mut self,
        key: &Key,
        tags: &[String],
        new: impl Fn(RunId, BenchmarkId) -> NewMeasurement + 'static,
        launch: &MeasurementLaunch,
    ) {
        self.has_results = true;
        let (key, tags, launch) =
            (key.clone(), serde_json::json!(tags).to_string(), launch.clone());
        self.write(move |store, rows| {
            let Some(run) = rows.run else { return Ok(()) };
            let benchmark = rows.benchmark(store, &key, &tags)?;
            let id = match rows.measurements.get(&key) {
                Some(id) => *id,
                None => {
                    let id = store.begin_measurement(&new(run, benchmark))?;
                    rows.measurements.insert(key.clone(), id);
                    id
                }
            };
            store.add_measurement_launch(id, &launch)
        });
    }

    /// Stores the result of a measurement whose launches are stored.
    pub fn measurement_result(&mut self, key: &Key, result: &MeasurementResult) {
        let (key, result) = (key.clone(), result.clone());
        self.write(move |store, rows| match rows.measurements.get(&key) {
            Some(id) => store.finish_measurement(*id, &result),
            None => Ok(()),
        });
    }

    /// Stores one launch of a comparison, or only its beginning when there is none (`identical`).
    pub fn comparison_launch(
        &mut self,
        key: &Key,
        tags: &[String],
        new: impl Fn(RunId, BenchmarkId) -> NewComparison + 'static,
        launch: Option<&ComparisonLaunch>,
    ) {
        self.has_results = true;
        let (key, tags, launch) =
            (key.clone(), serde_json::json!(tags).to_string(), launch.cloned());
        self.write(move |store, rows| {
            let Some(run) = rows.run else { return Ok(()) };
            let benchmark = rows.benchmark(store, &key, &tags)?;
            let id = match rows.comparisons.get(&key) {
                Some(id) => *id,
                None => {
                    let id = store.begin_comparison(&new(run, benchmark))?;
                    rows.comparisons.insert(key.clone(), id);
                    id
                }
            };
            match &launch {
                Some(launch) => store.add_comparison_launch(id, launch),
                None => Ok(()),
            }
        });
    }

    /// Stores the result of a comparison that has begun.
    pub fn comparison_result(&mut self, key: &Key, line: &Comparison) {
        let (key, result) = (key.clone(), comparison_result(line));
        self.write(move |store, rows| match rows.comparisons.get(&key) {
            Some(id) => store.finish_comparison(*id, &result),
            None => Ok(()),
        });
    }

    /// Stores a failure.
    pub fn failure(&mut self, line: &FailureLine) {
        self.has_results = true;
        let row = nbench_store::Failure {
            package: line.package.clone(),
            target: line.target.clone(),
            benchmark: line.benchmark.clone(),
            side: line.side.clone(),
            error: line.error.clone(),
            stderr_tail: line.stderr_tail.clone(),
        };
        self.write(move |store, rows| match rows.run {
            Some(run) => store.add_failure(run, &row),
            None => Ok(()),
        });
    }
}

/// How long the store is waited for once more at the end: others write for moments.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Whether the process that began a run then is still there. Its number may be another one's by
/// now: no process began what was there before it.
fn process_is_alive(pid: u32, run_began_ms: i64) -> bool {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        false,
        ProcessRefreshKind::nothing(),
    );
    let Some(process) = system.process(pid) else { return false };
    if matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead) {
        return false;
    }
    // Seconds, rounded down from the ticks of a clock that may have been set a little since.
    let began = i64::try_from(process.start_time()).unwrap_or(i64::MAX);
    began.saturating_mul(1000) <= run_began_ms.saturating_add(SLACK_MS)
}

/// How much later than a run its own process may seem to have begun.
const SLACK_MS: i64 = 2000;

#[cfg(test)]
mod tests;
