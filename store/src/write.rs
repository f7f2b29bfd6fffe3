//! Statements that change the store. Each is a transaction of its own, so a killed writer leaves
//! whole rows only. It must not know who reads them.

use rusqlite::{Params, Transaction, TransactionBehavior, params};

use crate::Store;
use crate::error::StoreError;
use crate::row::*;
use crate::samples::encode_samples;

impl Store {
    /// Stores a host, or replaces what is known about the one with the same key.
    ///
    /// # Errors
    /// As all writing methods: read-only, full, busy or damaged store, or a rejected value.
    pub fn upsert_host(&self, host: &Host) -> Result<(), StoreError> {
        self.change(
            "store the host",
            "INSERT INTO host (key, summary, components) VALUES (?1, ?2, ?3)
             ON CONFLICT (key) DO UPDATE SET summary = excluded.summary, components = excluded.components",
            params![host.key, host.summary, host.components],
        )
    }

    /// Stores a toolchain, or replaces what is known about the one with the same key.
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn upsert_toolchain(&self, toolchain: &Toolchain) -> Result<(), StoreError> {
        self.change(
            "store the toolchain",
            "INSERT INTO toolchain (key, summary, components) VALUES (?1, ?2, ?3)
             ON CONFLICT (key) DO UPDATE SET summary = excluded.summary, components = excluded.components",
            params![toolchain.key, toolchain.summary, toolchain.components],
        )
    }

    /// Stores a revision, or replaces what is known about it (a shallow clone does not know all
    /// parents).
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn upsert_revision(&self, revision: &Revision) -> Result<(), StoreError> {
        self.change(
            "store the revision",
            "INSERT INTO revision (hash, tree, parents, author_time, committer_time, subject)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (hash) DO UPDATE SET tree = excluded.tree, parents = excluded.parents,
                 author_time = excluded.author_time, committer_time = excluded.committer_time,
                 subject = excluded.subject",
            params![
                revision.commit,
                revision.tree,
                revision.parents.join(" "),
                revision.author_time,
                revision.committer_time,
                revision.subject
            ],
        )
    }

    /// Begins a run in the state [`RunState::Running`].
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; host and toolchain must have been stored before.
    pub fn begin_run(&self, run: &NewRun) -> Result<RunId, StoreError> {
        self.insert(
            "store the run",
            "INSERT INTO run (command, host, toolchain, started_at, pid, engine_version, settings, seed,
                 dirty_digest, state, details)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'running', '{}') RETURNING id",
            params![
                run.command.as_str(),
                run.host,
                run.toolchain,
                run.started_at,
                run.pid,
                run.engine_version,
                run.settings,
                run.seed.cast_signed(),
                run.dirty_digest
            ],
        )
        .map(RunId)
    }

    /// Adds what belongs to no single benchmark to a run: skipped targets, benchmarks on one side
    /// only. Replaces what was there.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; `details` must be JSON.
    pub fn set_run_details(&self, run: RunId, details: &str) -> Result<(), StoreError> {
        self.change_one(
            "store the details of the run",
            "UPDATE run SET details = ?2 WHERE id = ?1",
            params![run.0, details],
        )
    }

    /// Ends a run. `finished_at` is Unix time in milliseconds.
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn finish_run(
        &self,
        run: RunId,
        state: RunState,
        finished_at: i64,
    ) -> Result<(), StoreError> {
        self.change_one(
            "finish the run",
            "UPDATE run SET state = ?2, finished_at = ?3 WHERE id = ?1",
            params![run.0, state.as_str(), finished_at],
        )
    }

    /// Takes back a run that has no results.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; a run with results is refused.
    pub fn forget_run(&self, run: RunId) -> Result<(), StoreError> {
        self.change_one("take back the run", "DELETE FROM run WHERE id = ?1", params![run.0])
    }

    /// Marks runs whose process is gone as interrupted and returns them. What they stored stays
    /// readable.
    ///
    /// `alive` gets the process id and the Unix time in milliseconds at which the run began, so
    /// that a process that began later and was given the same id can be told apart.
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn recover(&self, alive: impl Fn(u32, i64) -> bool) -> Result<Vec<RunId>, StoreError> {
        let sqlite = |error| self.error("mark interrupted runs", error);
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
                .map_err(sqlite)?;
        let mut gone = Vec::new();
        {
            let mut running = transaction
                .prepare("SELECT id, pid, started_at FROM run WHERE state = 'running' ORDER BY id")
                .map_err(sqlite)?;
            let mut rows = running.query([]).map_err(sqlite)?;
            while let Some(row) = rows.next().map_err(sqlite)? {
                let pid = row.get(1).map_err(sqlite)?;
                let started_at = row.get(2).map_err(sqlite)?;
                if !alive(pid, started_at) {
                    gone.push(RunId(row.get(0).map_err(sqlite)?));
                }
            }
        }
        for run in &gone {
            transaction
                .execute("UPDATE run SET state = 'interrupted' WHERE id = ?1", params![run.0])
                .map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        Ok(gone)
    }

    /// Finds or makes the identity of a benchmark; its tags are replaced.
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn upsert_benchmark(&self, benchmark: &Benchmark) -> Result<BenchmarkId, StoreError> {
        self.insert(
            "store the benchmark",
            "INSERT INTO benchmark (package, target, name, tags) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (package, target, name) DO UPDATE SET tags = excluded.tags RETURNING id",
            params![benchmark.package, benchmark.target, benchmark.name, benchmark.tags],
        )
        .map(BenchmarkId)
    }

    /// Begins a measurement in the state [`ResultState::Partial`].
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; run, benchmark and revision must have been stored before.
    pub fn begin_measurement(
        &self,
        measurement: &NewMeasurement,
    ) -> Result<MeasurementId, StoreError> {
        self.insert(
            "store the measurement",
            "INSERT INTO measurement (run, benchmark, revision, dirty_digest, unit, throughput, state, details)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'partial', '{}') RETURNING id",
            params![
                measurement.run.0,
                measurement.benchmark.0,
                measurement.commit,
                measurement.dirty_digest,
                measurement.unit,
                measurement.throughput
            ],
        )
        .map(MeasurementId)
    }

    /// Adds the samples of one launch.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; a launch number can be stored once only.
    pub fn add_measurement_launch(
        &self,
        id: MeasurementId,
        launch: &MeasurementLaunch,
    ) -> Result<(), StoreError> {
        let what = "store the launch of a measurement";
        self.change(
            what,
            "INSERT INTO measurement_launch (measurement, launch, iters, count, samples, spent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                id.0,
                launch.launch,
                integer(what, launch.iters)?,
                integer(what, launch.samples.len() as u64)?,
                encode_samples(&launch.samples),
                integer(what, launch.spent)?
            ],
        )
    }

    /// Stores the result of a measurement and makes it complete.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; every number must be finite.
    pub fn finish_measurement(
        &self,
        id: MeasurementId,
        result: &MeasurementResult,
    ) -> Result<(), StoreError> {
        let what = "store the result of a measurement";
        let (low, high) = bounds(result.interval);
        finite(what, [Some(result.estimate), low, high, result.confidence])?;
        self.change_one(
            what,
            "UPDATE measurement SET estimate = ?2, low = ?3, high = ?4, confidence = ?5, launches = ?6,
                 samples = ?7, iters = ?8, stop = ?9, details = ?10, state = 'complete' WHERE id = ?1",
            params![
                id.0,
                result.estimate,
                low,
                high,
                result.confidence,
                result.launches,
                integer(what, result.samples)?,
                integer(what, result.iters)?,
                result.stop,
                result.details
            ],
        )
    }

    /// Begins a comparison in the state [`ResultState::Partial`].
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; run, benchmark and both revisions must have been stored before.
    pub fn begin_comparison(&self, comparison: &NewComparison) -> Result<ComparisonId, StoreError> {
        let what = "store the comparison";
        finite(what, [Some(comparison.threshold)])?;
        self.insert(
            what,
            "INSERT INTO comparison (run, benchmark, reference, reference_label, contender, contender_label,
                 contender_dirty_digest, threshold, reference_dirty_digest, state, details)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'partial', '{}') RETURNING id",
            params![
                comparison.run.0,
                comparison.benchmark.0,
                comparison.reference.commit,
                comparison.reference.label,
                comparison.contender.commit,
                comparison.contender.label,
                comparison.contender.dirty_digest,
                comparison.threshold,
                comparison.reference.dirty_digest
            ],
        )
        .map(ComparisonId)
    }

    /// Adds the pairs of one launch.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; `lead`, `reference` and `contender` must be equally long, `lead`
    /// may hold `R` and `C` only, and a launch number can be stored once only.
    pub fn add_comparison_launch(
        &self,
        id: ComparisonId,
        launch: &ComparisonLaunch,
    ) -> Result<(), StoreError> {
        let what = "store the launch of a comparison";
        let pairs = launch.lead.len();
        if launch.reference.len() != pairs || launch.contender.len() != pairs {
            let problem = format!(
                "it has {pairs} leads, {} and {} samples",
                launch.reference.len(),
                launch.contender.len()
            );
            return Err(StoreError::invalid(what, &problem));
        }
        if !launch.lead.bytes().all(|letter| matches!(letter, b'R' | b'C')) {
            return Err(StoreError::invalid(
                what,
                "its leads hold something other than `R` and `C`",
            ));
        }
        finite(what, [Some(launch.estimate)])?;
        self.change(
            what,
            "INSERT INTO comparison_launch (comparison, launch, iters, lead, reference, contender, estimate)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id.0,
                launch.launch,
                integer(what, launch.iters)?,
                launch.lead,
                encode_samples(&launch.reference),
                encode_samples(&launch.contender),
                launch.estimate
            ],
        )
    }

    /// Stores the result of a comparison and makes it complete.
    ///
    /// # Errors
    /// As [`Store::upsert_host`]; every number must be finite.
    pub fn finish_comparison(
        &self,
        id: ComparisonId,
        result: &ComparisonResult,
    ) -> Result<(), StoreError> {
        let what = "store the result of a comparison";
        let (low, high) = bounds(result.interval);
        finite(what, [result.change, low, high, result.confidence, result.smallest])?;
        self.change_one(
            what,
            "UPDATE comparison SET change = ?2, low = ?3, high = ?4, confidence = ?5, verdict = ?6, launches = ?7,
                 pairs = ?8, smallest = ?9, stop = ?10, details = ?11, state = 'complete' WHERE id = ?1",
            params![
                id.0,
                result.change,
                low,
                high,
                result.confidence,
                result.verdict,
                result.launches,
                integer(what, result.pairs)?,
                result.smallest,
                result.stop,
                result.details
            ],
        )
    }

    /// Stores that a benchmark or a target failed.
    ///
    /// # Errors
    /// As [`Store::upsert_host`].
    pub fn add_failure(&self, run: RunId, failure: &Failure) -> Result<(), StoreError> {
        self.change(
            "store the failure",
            "INSERT INTO failure (run, package, target, benchmark, side, error, stderr_tail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                run.0,
                failure.package,
                failure.target,
                failure.benchmark,
                failure.side,
                failure.error,
                failure.stderr_tail
            ],
        )
    }

    fn change(&self, what: &str, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.execute(what, sql, values).map(|_| ())
    }

    fn change_one(&self, what: &str, sql: &str, values: impl Params) -> Result<(), StoreError> {
        match self.execute(what, sql, values)? {
            1 => Ok(()),
            _ => Err(StoreError::invalid(what, "there is no row with its number")),
        }
    }

    fn execute(&self, what: &str, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|error| self.error(what, error))
    }

    fn insert(&self, what: &str, sql: &str, values: impl Params) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, |row| row.get(0)))
            .map_err(|error| self.error(what, error))
    }

    pub(crate) fn error(&self, what: &str, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&format!("{what} in `{}`", self.path.display()), error)
    }
}

fn bounds(interval: Option<(f64, f64)>) -> (Option<f64>, Option<f64>) {
    interval.unzip()
}

/// SQLite would store NaN as NULL, that is as "unavailable", and hide the defect that made it.
fn finite<const N: usize>(what: &str, values: [Option<f64>; N]) -> Result<(), StoreError> {
    match values.into_iter().flatten().find(|value| !value.is_finite()) {
        Some(value) => {
            Err(StoreError::invalid(what, &format!("it holds {value}, which is no finite number")))
        }
        None => Ok(()),
    }
}

fn integer(what: &str, value: u64) -> Result<i64, StoreError> {
    i64::try_from(value)
        .map_err(|_| StoreError::invalid(what, &format!("{value} does not fit into the store")))
}
