//! Queries: rows joined with what they refer to, in an order that does not depend on time zones or
//! file systems. It must not know how history is ordered by git or what is shown of it.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Params, Row, params};

use crate::Store;
use crate::error::StoreError;
use crate::row::*;
use crate::samples::decode_samples;

const RUN_COLUMNS: &str =
    "r.id AS run_id, r.command, r.started_at, r.finished_at, r.pid, r.engine_version,
    r.settings, r.seed, r.dirty_digest AS run_dirty, r.state AS run_state, r.details AS run_details,
    h.key AS host_key, h.summary AS host_summary, h.components AS host_components,
    t.key AS toolchain_key, t.summary AS toolchain_summary, t.components AS toolchain_components";
const RUN_TABLES: &str =
    "run r JOIN host h ON h.key = r.host JOIN toolchain t ON t.key = r.toolchain";
const BENCHMARK_COLUMNS: &str = "b.package, b.target, b.name, b.tags";
const FILTER: &str = "(?1 IS NULL OR instr(b.package || ' ' || b.target || ' ' || b.name, ?1) > 0)";

impl Store {
    /// All runs, oldest first.
    ///
    /// # Errors
    /// A store that is damaged, or busy for too long.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.rows(
            "read the runs",
            &format!("SELECT {RUN_COLUMNS} FROM {RUN_TABLES} ORDER BY r.id"),
            [],
            run_row,
        )
    }

    /// One run, or `None` when there is no such number.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn run(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let sql = format!("SELECT {RUN_COLUMNS} FROM {RUN_TABLES} WHERE r.id = ?1");
        self.row("read the run", &sql, params![run.0], run_row)
    }

    /// A revision by its full hash.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn revision(&self, commit: &str) -> Result<Option<Revision>, StoreError> {
        let sql = format!(
            "SELECT {} FROM revision v WHERE v.hash = ?1",
            revision_columns("v", "revision")
        );
        self.row("read the revision", &sql, params![commit], |row| revision(row, "revision"))
    }

    /// Measurements by package, target and name, then oldest first, partial ones included.
    ///
    /// `filter` keeps those whose `package target name`, joined by spaces, contains it.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn measurements(&self, filter: Option<&str>) -> Result<Vec<MeasurementRow>, StoreError> {
        let sql = measurements_where(FILTER, "b.package, b.target, b.name, m.id");
        self.rows("read the measurements", &sql, params![filter], measurement_row)
    }

    /// The measurements of one run, in the order in which they began.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn measurements_of_run(&self, run: RunId) -> Result<Vec<MeasurementRow>, StoreError> {
        let sql = measurements_where("m.run = ?1", "m.id");
        self.rows("read the measurements", &sql, params![run.0], measurement_row)
    }

    /// The launches of one measurement by number.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn measurement_launches(
        &self,
        id: MeasurementId,
    ) -> Result<Vec<MeasurementLaunch>, StoreError> {
        let sql = "SELECT launch, iters, count, samples, spent FROM measurement_launch
                   WHERE measurement = ?1 ORDER BY launch";
        self.rows("read the launches of a measurement", sql, params![id.0], |row| {
            let count: i64 = row.get("count")?;
            Ok(MeasurementLaunch {
                launch: row.get("launch")?,
                iters: unsigned(row, "iters")?,
                samples: samples(row, "samples", usize::try_from(count).unwrap_or(usize::MAX))?,
                spent: unsigned(row, "spent")?,
            })
        })
    }

    /// Comparisons by package, target and name, then oldest first, partial ones included; `filter`
    /// as in [`Store::measurements`].
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn comparisons(&self, filter: Option<&str>) -> Result<Vec<ComparisonRow>, StoreError> {
        let sql = comparisons_where(FILTER, "b.package, b.target, b.name, c.id");
        self.rows("read the comparisons", &sql, params![filter], comparison_row)
    }

    /// The comparisons of one run, in the order in which they began.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn comparisons_of_run(&self, run: RunId) -> Result<Vec<ComparisonRow>, StoreError> {
        let sql = comparisons_where("c.run = ?1", "c.id");
        self.rows("read the comparisons", &sql, params![run.0], comparison_row)
    }

    /// The launches of one comparison by number.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn comparison_launches(
        &self,
        id: ComparisonId,
    ) -> Result<Vec<ComparisonLaunch>, StoreError> {
        let sql =
            "SELECT launch, iters, lead, reference, contender, estimate FROM comparison_launch
                   WHERE comparison = ?1 ORDER BY launch";
        self.rows("read the launches of a comparison", sql, params![id.0], |row| {
            let lead: String = row.get("lead")?;
            let pairs = lead.len();
            Ok(ComparisonLaunch {
                launch: row.get("launch")?,
                iters: unsigned(row, "iters")?,
                lead,
                reference: samples(row, "reference", pairs)?,
                contender: samples(row, "contender", pairs)?,
                estimate: row.get("estimate")?,
            })
        })
    }

    /// The failures of one run, in the order in which they happened.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn failures(&self, run: RunId) -> Result<Vec<Failure>, StoreError> {
        let sql = "SELECT package, target, benchmark, side, error, stderr_tail FROM failure
                   WHERE run = ?1 ORDER BY id";
        self.rows("read the failures", sql, params![run.0], |row| {
            Ok(Failure {
                package: row.get("package")?,
                target: row.get("target")?,
                benchmark: row.get("benchmark")?,
                side: row.get("side")?,
                error: row.get("error")?,
                stderr_tail: row.get("stderr_tail")?,
            })
        })
    }

    fn rows<T>(
        &self,
        what: &str,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let collect = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(values, read)?.collect()
        };
        collect().map_err(|error| self.error(what, error))
    }

    fn row<T>(
        &self,
        what: &str,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let find = || self.connection.prepare_cached(sql)?.query_row(values, read).optional();
        find().map_err(|error| self.error(what, error))
    }
}

fn measurements_where(condition: &str, order: &str) -> String {
    format!(
        "SELECT m.id, {RUN_COLUMNS}, {BENCHMARK_COLUMNS}, {revision}, m.dirty_digest, m.unit, m.estimate, m.low,
             m.high, m.confidence, m.launches, m.samples, m.iters, m.stop, m.throughput, m.state, m.details,
             (SELECT count(*) FROM measurement_launch l WHERE l.measurement = m.id) AS stored_launches
         FROM measurement m JOIN benchmark b ON b.id = m.benchmark JOIN revision v ON v.hash = m.revision
             JOIN run r ON r.id = m.run JOIN host h ON h.key = r.host JOIN toolchain t ON t.key = r.toolchain
         WHERE {condition} ORDER BY {order}",
        revision = revision_columns("v", "revision"),
    )
}

fn comparisons_where(condition: &str, order: &str) -> String {
    format!(
        "SELECT c.id, {RUN_COLUMNS}, {BENCHMARK_COLUMNS}, {reference}, {contender}, c.reference_label,
             c.contender_label, c.contender_dirty_digest, c.reference_dirty_digest, c.change, c.low, c.high, c.confidence, c.verdict,
             c.threshold, c.launches, c.pairs, c.smallest, c.stop, c.state, c.details,
             (SELECT count(*) FROM comparison_launch l WHERE l.comparison = c.id) AS stored_launches
         FROM comparison c JOIN benchmark b ON b.id = c.benchmark JOIN revision v ON v.hash = c.reference
             JOIN revision w ON w.hash = c.contender JOIN run r ON r.id = c.run
             JOIN host h ON h.key = r.host JOIN toolchain t ON t.key = r.toolchain
         WHERE {condition} ORDER BY {order}",
        reference = revision_columns("v", "reference"),
        contender = revision_columns("w", "contender"),
    )
}

fn revision_columns(table: &str, prefix: &str) -> String {
    ["hash", "tree", "parents", "author_time", "committer_time", "subject"]
        .map(|column| format!("{table}.{column} AS {prefix}_{column}"))
        .join(", ")
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let host = host(row)?;
    let toolchain = toolchain(row)?;
    let begun = NewRun {
        command: word(row, "command", RunCommand::from_word)?,
        host: host.key.clone(),
        toolchain: toolchain.key.clone(),
        started_at: row.get("started_at")?,
        pid: row.get("pid")?,
        engine_version: row.get("engine_version")?,
        settings: row.get("settings")?,
        seed: row.get::<_, i64>("seed")?.cast_unsigned(),
        dirty_digest: row.get("run_dirty")?,
    };
    Ok(RunRow {
        id: RunId(row.get("run_id")?),
        begun,
        host,
        toolchain,
        finished_at: row.get("finished_at")?,
        state: word(row, "run_state", RunState::from_word)?,
        details: row.get("run_details")?,
    })
}

fn measurement_row(row: &Row<'_>) -> rusqlite::Result<MeasurementRow> {
    let state = word(row, "state", ResultState::from_word)?;
    let result = match state {
        ResultState::Partial => None,
        ResultState::Complete => Some(MeasurementResult {
            estimate: row.get("estimate")?,
            interval: interval(row)?,
            confidence: row.get("confidence")?,
            launches: row.get("launches")?,
            samples: unsigned(row, "samples")?,
            iters: unsigned(row, "iters")?,
            stop: row.get("stop")?,
            details: row.get("details")?,
        }),
    };
    Ok(MeasurementRow {
        id: MeasurementId(row.get("id")?),
        run: RunId(row.get("run_id")?),
        started_at: row.get("started_at")?,
        run_state: word(row, "run_state", RunState::from_word)?,
        host: host(row)?,
        toolchain: toolchain(row)?,
        benchmark: benchmark(row)?,
        revision: revision(row, "revision")?,
        dirty_digest: row.get("dirty_digest")?,
        unit: row.get("unit")?,
        throughput: row.get("throughput")?,
        state,
        stored_launches: row.get("stored_launches")?,
        result,
    })
}

fn comparison_row(row: &Row<'_>) -> rusqlite::Result<ComparisonRow> {
    let state = word(row, "state", ResultState::from_word)?;
    let result = match state {
        ResultState::Partial => None,
        ResultState::Complete => Some(ComparisonResult {
            change: row.get("change")?,
            interval: interval(row)?,
            confidence: row.get("confidence")?,
            verdict: row.get("verdict")?,
            launches: row.get("launches")?,
            pairs: unsigned(row, "pairs")?,
            smallest: row.get("smallest")?,
            stop: row.get("stop")?,
            details: row.get("details")?,
        }),
    };
    let reference_revision = revision(row, "reference")?;
    let contender_revision = revision(row, "contender")?;
    Ok(ComparisonRow {
        id: ComparisonId(row.get("id")?),
        run: RunId(row.get("run_id")?),
        started_at: row.get("started_at")?,
        host: host(row)?,
        toolchain: toolchain(row)?,
        benchmark: benchmark(row)?,
        reference: Side {
            commit: reference_revision.commit.clone(),
            label: row.get("reference_label")?,
            dirty_digest: row.get("reference_dirty_digest")?,
        },
        reference_revision,
        contender: Side {
            commit: contender_revision.commit.clone(),
            label: row.get("contender_label")?,
            dirty_digest: row.get("contender_dirty_digest")?,
        },
        contender_revision,
        threshold: row.get("threshold")?,
        state,
        stored_launches: row.get("stored_launches")?,
        result,
    })
}

fn host(row: &Row<'_>) -> rusqlite::Result<Host> {
    Ok(Host {
        key: row.get("host_key")?,
        summary: row.get("host_summary")?,
        components: row.get("host_components")?,
    })
}

fn toolchain(row: &Row<'_>) -> rusqlite::Result<Toolchain> {
    Ok(Toolchain {
        key: row.get("toolchain_key")?,
        summary: row.get("toolchain_summary")?,
        components: row.get("toolchain_components")?,
    })
}

fn benchmark(row: &Row<'_>) -> rusqlite::Result<Benchmark> {
    Ok(Benchmark {
        package: row.get("package")?,
        target: row.get("target")?,
        name: row.get("name")?,
        tags: row.get("tags")?,
    })
}

fn revision(row: &Row<'_>, prefix: &str) -> rusqlite::Result<Revision> {
    let column = |name: &str| format!("{prefix}_{name}");
    let parents: String = row.get(column("parents").as_str())?;
    Ok(Revision {
        commit: row.get(column("hash").as_str())?,
        tree: row.get(column("tree").as_str())?,
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        author_time: row.get(column("author_time").as_str())?,
        committer_time: row.get(column("committer_time").as_str())?,
        subject: row.get(column("subject").as_str())?,
    })
}

fn interval(row: &Row<'_>) -> rusqlite::Result<Option<(f64, f64)>> {
    let low: Option<f64> = row.get("low")?;
    Ok(low.zip(row.get("high")?))
}

fn word<T>(row: &Row<'_>, column: &str, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    parse(&word)
        .ok_or_else(|| unreadable(row, column, Type::Text, format!("unknown {column} `{word}`")))
}

fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value)
        .map_err(|_| unreadable(row, column, Type::Integer, format!("negative {column} {value}")))
}

fn samples(row: &Row<'_>, column: &str, count: usize) -> rusqlite::Result<Vec<f64>> {
    let blob = row.get_ref(column)?.as_blob()?;
    decode_samples(blob, count).map_err(|problem| unreadable(row, column, Type::Blob, problem))
}

fn unreadable(row: &Row<'_>, column: &str, kind: Type, problem: String) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or(0);
    rusqlite::Error::FromSqlConversionFailure(index, kind, problem.into())
}
