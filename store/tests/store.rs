//! Stores rows into real SQLite files and reads them back, also from files that are new, damaged,
//! foreign or read-only.

use std::fs;
use std::path::{Path, PathBuf};

use nbench_store::*;
use tempfile::TempDir;

fn host() -> Host {
    Host { key: "h1".into(), summary: "8 x CPU".into(), components: r#"{"cores":8}"#.into() }
}

fn toolchain() -> Toolchain {
    Toolchain { key: "t1".into(), summary: "rustc 1.89.0".into(), components: "{}".into() }
}

fn revision(commit: &str) -> Revision {
    Revision {
        commit: commit.into(),
        tree: format!("tree of {commit}"),
        parents: vec!["p1".into(), "p2".into()],
        author_time: -1,
        committer_time: 1_700_000_000,
        subject: "Make `it` <b>fast</b> \u{202e}".into(),
    }
}

fn new_run(command: RunCommand) -> NewRun {
    NewRun {
        command,
        host: "h1".into(),
        toolchain: "t1".into(),
        started_at: 1_700_000_000_123,
        pid: 4242,
        engine_version: "0.1.0".into(),
        settings: r#"{"launches":6}"#.into(),
        seed: u64::MAX - 3,
        dirty_digest: Some("d1".into()),
    }
}

fn benchmark(name: &str) -> Benchmark {
    Benchmark {
        package: "pkg".into(),
        target: "benches".into(),
        name: name.into(),
        tags: r#"["fast"]"#.into(),
    }
}

fn new_measurement(run: RunId, benchmark: BenchmarkId) -> NewMeasurement {
    NewMeasurement {
        run,
        benchmark,
        commit: "c1".into(),
        dirty_digest: Some("d1".into()),
        unit: "ns".into(),
        throughput: Some(r#"{"bytes":64}"#.into()),
    }
}

fn measurement_launch(launch: u32) -> MeasurementLaunch {
    MeasurementLaunch {
        launch,
        iters: 100,
        samples: vec![9.25, 9.5, f64::from(launch)],
        spent: 1_000_000,
    }
}

fn measurement_result() -> MeasurementResult {
    MeasurementResult {
        estimate: 9.25,
        interval: Some((9.0, 9.5)),
        confidence: Some(0.95),
        launches: 2,
        samples: 6,
        iters: 100,
        stop: "settled".into(),
        details: r#"{"mean":9.3}"#.into(),
    }
}

fn new_comparison(run: RunId, benchmark: BenchmarkId) -> NewComparison {
    NewComparison {
        run,
        benchmark,
        reference: Side { commit: "c1".into(), label: "HEAD~1".into(), dirty_digest: None },
        contender: Side {
            commit: "c2".into(),
            label: "@tree".into(),
            dirty_digest: Some("d2".into()),
        },
        threshold: 0.01,
    }
}

fn comparison_launch(launch: u32) -> ComparisonLaunch {
    ComparisonLaunch {
        launch,
        iters: 50,
        lead: "RCCR".into(),
        reference: vec![1.0, 2.0, 3.0, 4.0],
        contender: vec![1.5, 2.5, 3.5, 4.5],
        estimate: 0.021,
    }
}

fn comparison_result() -> ComparisonResult {
    ComparisonResult {
        change: Some(0.021),
        interval: Some((0.015, 0.027)),
        confidence: Some(0.95),
        verdict: "slower".into(),
        launches: 10,
        pairs: 800,
        smallest: Some(0.012),
        stop: "verdict at look 1".into(),
        details: "{}".into(),
    }
}

fn filled(path: &Path) -> Store {
    let store = Store::open(path).unwrap();
    store.upsert_host(&host()).unwrap();
    store.upsert_toolchain(&toolchain()).unwrap();
    for commit in ["c1", "c2"] {
        store.upsert_revision(&revision(commit)).unwrap();
    }
    store
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    (folder, path)
}

/// `unwrap_err` for results whose value has no readable `Debug`.
fn refused<T>(result: Result<T, StoreError>) -> StoreError {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => error,
    }
}

#[test]
fn a_run_comes_back_as_it_was_stored() {
    let (_folder, path) = place();
    let store = filled(&path);
    let first = store.begin_run(&new_run(RunCommand::Run)).unwrap();
    let second =
        store.begin_run(&NewRun { dirty_digest: None, ..new_run(RunCommand::Ab) }).unwrap();
    store.finish_run(first, RunState::Finished, 1_700_000_009_000).unwrap();
    store.set_run_details(first, r#"{"skipped":[]}"#).unwrap();
    store.close().unwrap();

    let store = Store::open(&path).unwrap();
    let expected = RunRow {
        id: first,
        begun: new_run(RunCommand::Run),
        host: host(),
        toolchain: toolchain(),
        finished_at: Some(1_700_000_009_000),
        state: RunState::Finished,
        details: r#"{"skipped":[]}"#.into(),
    };
    assert_eq!(store.run(first).unwrap().as_ref(), Some(&expected));
    let latest = store.runs().unwrap().pop().unwrap();
    assert_eq!((latest.id, latest.state, latest.finished_at), (second, RunState::Running, None));
    assert_eq!(store.runs().unwrap().iter().map(|run| run.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(store.revision("c1").unwrap(), Some(revision("c1")));
    assert_eq!(store.revision("c9").unwrap(), None);
}

#[test]
fn a_measurement_comes_back_with_its_samples() {
    let (_folder, path) = place();
    let store = filled(&path);
    let run = store.begin_run(&new_run(RunCommand::Run)).unwrap();
    let bench = store.upsert_benchmark(&benchmark("parse/1k")).unwrap();
    assert_eq!(
        store.upsert_benchmark(&benchmark("parse/1k")).unwrap(),
        bench,
        "the identity is found again"
    );
    let id = store.begin_measurement(&new_measurement(run, bench)).unwrap();
    for launch in [1, 0] {
        store.add_measurement_launch(id, &measurement_launch(launch)).unwrap();
    }
    let partial = store.measurements(None).unwrap().remove(0);
    assert_eq!(
        (partial.state, partial.stored_launches, partial.result),
        (ResultState::Partial, 2, None)
    );

    store.finish_measurement(id, &measurement_result()).unwrap();
    let rows = store.measurements_of_run(run).unwrap();
    let expected = MeasurementRow {
        id,
        run,
        started_at: 1_700_000_000_123,
        run_state: RunState::Running,
        host: host(),
        toolchain: toolchain(),
        benchmark: benchmark("parse/1k"),
        revision: revision("c1"),
        dirty_digest: Some("d1".into()),
        unit: "ns".into(),
        throughput: Some(r#"{"bytes":64}"#.into()),
        state: ResultState::Complete,
        stored_launches: 2,
        result: Some(measurement_result()),
    };
    assert_eq!(rows, [expected]);
    assert_eq!(
        store.measurement_launches(id).unwrap(),
        [measurement_launch(0), measurement_launch(1)]
    );
}

#[test]
fn a_comparison_comes_back_with_its_pairs() {
    let (_folder, path) = place();
    let store = filled(&path);
    let run = store.begin_run(&new_run(RunCommand::Ab)).unwrap();
    let bench = store.upsert_benchmark(&benchmark("sort")).unwrap();
    let begun = new_comparison(run, bench);
    let id = store.begin_comparison(&begun).unwrap();
    store.add_comparison_launch(id, &comparison_launch(0)).unwrap();
    store.finish_comparison(id, &comparison_result()).unwrap();
    let identical = ComparisonResult {
        change: None,
        interval: None,
        confidence: None,
        smallest: None,
        verdict: "identical".into(),
        launches: 0,
        pairs: 0,
        ..comparison_result()
    };
    let other = store.begin_comparison(&begun).unwrap();
    store.finish_comparison(other, &identical).unwrap();

    let rows = store.comparisons_of_run(run).unwrap();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [id, other]);
    let row = &rows[0];
    assert_eq!(
        (&row.reference, &row.contender, row.threshold),
        (&begun.reference, &begun.contender, 0.01)
    );
    assert_eq!(
        (&row.reference_revision, &row.contender_revision),
        (&revision("c1"), &revision("c2"))
    );
    assert_eq!((row.state, row.stored_launches), (ResultState::Complete, 1));
    assert_eq!(row.result, Some(comparison_result()));
    assert_eq!(rows[1].result, Some(identical));
    assert_eq!(store.comparison_launches(id).unwrap(), [comparison_launch(0)]);
}

#[test]
fn failures_come_back_in_order() {
    let (_folder, path) = place();
    let store = filled(&path);
    let run = store.begin_run(&new_run(RunCommand::Ab)).unwrap();
    let of_target = Failure {
        package: "pkg".into(),
        target: "benches".into(),
        benchmark: None,
        side: Some("contender".into()),
        error: "exited with 101".into(),
        stderr_tail: "thread 'main' panicked".into(),
    };
    let of_benchmark = Failure { benchmark: Some("sort".into()), side: None, ..of_target.clone() };
    for failure in [&of_target, &of_benchmark] {
        store.add_failure(run, failure).unwrap();
    }
    assert_eq!(store.failures(run).unwrap(), [of_target, of_benchmark]);
}

#[test]
fn a_filter_is_a_part_of_package_target_and_name() {
    let (_folder, path) = place();
    let store = filled(&path);
    let run = store.begin_run(&new_run(RunCommand::Run)).unwrap();
    for name in ["sort_%", "parse", "a"] {
        let bench = store.upsert_benchmark(&benchmark(name)).unwrap();
        store.begin_measurement(&new_measurement(run, bench)).unwrap();
        store.begin_comparison(&new_comparison(run, bench)).unwrap();
    }
    let cases: [(Option<&str>, &[&str]); 6] = [
        (None, &["a", "parse", "sort_%"]),
        (Some("benches"), &["a", "parse", "sort_%"]),
        (Some("pkg benches par"), &["parse"]),
        (Some("_%"), &["sort_%"]),
        (Some("' OR 1=1 --"), &[]),
        (Some("es a"), &["a"]),
    ];
    for (filter, expected) in cases {
        let measured = store.measurements(filter).unwrap();
        assert_eq!(
            measured.iter().map(|row| &row.benchmark.name).collect::<Vec<_>>(),
            expected,
            "{filter:?}"
        );
        let compared = store.comparisons(filter).unwrap();
        assert_eq!(
            compared.iter().map(|row| &row.benchmark.name).collect::<Vec<_>>(),
            expected,
            "{filter:?}"
        );
    }
}

#[test]
fn what_would_lie_later_is_refused_now() {
    let (_folder, path) = place();
    let store = filled(&path);
    let run = store.begin_run(&new_run(RunCommand::Ab)).unwrap();
    let bench = store.upsert_benchmark(&benchmark("sort")).unwrap();
    let measured = store.begin_measurement(&new_measurement(run, bench)).unwrap();
    let compared = store.begin_comparison(&new_comparison(run, bench)).unwrap();
    store.add_measurement_launch(measured, &measurement_launch(0)).unwrap();

    let refusals = [
        store.finish_measurement(
            measured,
            &MeasurementResult { estimate: f64::NAN, ..measurement_result() },
        ),
        store.finish_measurement(MeasurementId(99), &measurement_result()),
        store.finish_measurement(
            measured,
            &MeasurementResult { samples: u64::MAX, ..measurement_result() },
        ),
        store.finish_comparison(
            compared,
            &ComparisonResult { details: "{".into(), ..comparison_result() },
        ),
        store.add_measurement_launch(measured, &measurement_launch(0)),
        store.add_measurement_launch(MeasurementId(99), &measurement_launch(0)),
        store.add_comparison_launch(
            compared,
            &ComparisonLaunch { lead: "RCR".into(), ..comparison_launch(0) },
        ),
        store.add_comparison_launch(
            compared,
            &ComparisonLaunch { lead: "RCRX".into(), ..comparison_launch(0) },
        ),
        store.begin_run(&NewRun { host: "unknown".into(), ..new_run(RunCommand::Ab) }).map(|_| ()),
        store.finish_run(RunId(99), RunState::Failed, 0),
    ];
    for (index, refusal) in refusals.into_iter().enumerate() {
        let error = refusal.expect_err(&format!("case {index} must be refused"));
        assert_eq!(*error.kind(), ErrorKind::Other, "case {index}: {error}");
    }
    assert_eq!(store.measurements(None).unwrap()[0].state, ResultState::Partial);
    assert_eq!(store.comparison_launches(compared).unwrap(), []);
}

#[test]
fn a_new_store_gets_its_folder_and_an_ignore_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/.nbench/store.sqlite");
    Store::open(&path).unwrap();
    let ignore = path.with_file_name(".gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    fs::write(&ignore, "mine").unwrap();
    Store::open(&path).unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "mine", "an existing file is kept");

    let plain = folder.path().join("plain/store.sqlite");
    Store::open(&plain).unwrap();
    assert!(!plain.with_file_name(".gitignore").exists(), "a folder of the user's is left alone");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_folder, path) = place();
    fs::write(&path, "").unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.runs().unwrap(), []);
    store.check().unwrap();
    store.close().unwrap();
    let header = fs::read(&path).unwrap();
    assert_eq!(&header[60..64], &[0, 0, 0, 1], "user_version");
    assert_eq!(&header[68..72], b"nben", "application_id");
}

#[test]
fn a_missing_store_is_not_created_by_readers() {
    let (_folder, path) = place();
    let error = refused(Store::open_read_only(&path));
    assert_eq!(*error.kind(), ErrorKind::Missing);
    assert!(error.message().starts_with("open the store `"), "{error}");
    assert!(error.hint().contains("cargo nbench run"), "{}", error.hint());
    assert!(!path.exists());
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let (folder, path) = place();
    filled(&path).close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&[0, 0, 0, 99]);
    fs::write(&path, &bytes).unwrap();
    let error = refused(Store::open(&path));
    assert_eq!(*error.kind(), ErrorKind::Newer { found: 99, supported: SCHEMA_VERSION });
    assert!(error.to_string().contains("schema 99"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no file is left beside it");
    let error = refused(Store::open_read_only(&path));
    assert_eq!(*error.kind(), ErrorKind::Newer { found: 99, supported: SCHEMA_VERSION });
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn files_that_are_no_store_are_refused_and_left_alone() {
    let (folder, path) = place();
    filled(&path).close().unwrap();
    let whole = fs::read(&path).unwrap();
    let foreign = {
        let path = folder.path().join("foreign");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE mail (body)").unwrap();
        connection.close().unwrap();
        fs::read(path).unwrap()
    };
    let damaged = [
        ("text", b"this is a text file, and rather a long one at that; ".repeat(20)),
        ("truncated", whole[..whole.len() / 2].to_vec()),
        ("foreign", foreign),
    ];
    for (name, bytes) in damaged {
        fs::write(&path, &bytes).unwrap();
        for result in [Store::open(&path), Store::open_read_only(&path)] {
            let error = refused(result);
            assert_eq!(*error.kind(), ErrorKind::Damaged, "{name}: {error}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
    }
}

#[test]
fn damage_inside_is_found_by_the_check() {
    let (_folder, path) = place();
    filled(&path).close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    for byte in &mut bytes[4096 * 2..end] {
        *byte = 0xA5;
    }
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).and_then(|store| store.check()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Damaged, "{error}");
}

#[test]
fn a_folder_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for result in [Store::open(folder.path()), Store::open_read_only(folder.path())] {
        let error = refused(result);
        assert_eq!(*error.kind(), ErrorKind::Other);
        assert!(error.message().contains(&folder.path().display().to_string()), "{error}");
    }
}

#[test]
fn a_store_opened_for_reading_refuses_writes_by_name() {
    let (_folder, path) = place();
    let store = filled(&path);
    store.begin_run(&new_run(RunCommand::Run)).unwrap();
    store.close().unwrap();
    let store = Store::open_read_only(&path).unwrap();
    let run = &store.runs().unwrap()[0];
    assert_eq!((&run.host, &run.toolchain), (&host(), &toolchain()));
    let error = store.upsert_host(&host()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::ReadOnly);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_read_only() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, path) = place();
    let store = filled(&path);
    store.begin_run(&new_run(RunCommand::Run)).unwrap();
    store.close().unwrap();
    let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    // The superuser may write anywhere, so under it the folder is no obstacle and there is nothing
    // to see.
    let obstacle = fs::write(folder.path().join("probe"), "").is_err();
    if obstacle {
        let error = refused(Store::open(folder.path().join("new.sqlite")));
        assert_eq!(*error.kind(), ErrorKind::ReadOnly, "{error}");
        let error = refused(Store::open(&path));
        assert_eq!(*error.kind(), ErrorKind::ReadOnly, "{error}");
        assert_eq!(Store::open_read_only(&path).unwrap().runs().unwrap()[0].host, host());
    }
    set(0o755);
}
