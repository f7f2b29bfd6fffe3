//! What becomes of results while somebody else holds the store, and whose process a number is.

use rusqlite::Connection;

use super::*;

#[test]
fn a_process_is_the_one_that_began_the_run_only_if_it_was_there_before() {
    let own = std::process::id();
    let now = now_ms();
    assert!(process_is_alive(own, now));
    assert!(process_is_alive(own, now - 1), "a run that has just begun");
    assert!(!process_is_alive(own, now - 3_600_000), "this process began long after that run");
    assert!(!process_is_alive(own, 0));
    assert!(!process_is_alive(0x7fff_fff0, now));
}

fn begun(recorder: &mut Recorder) {
    let host =
        nbench_store::Host { key: "h".into(), summary: "host".into(), components: "{}".into() };
    let toolchain = nbench_store::Toolchain {
        key: "t".into(),
        summary: "toolchain".into(),
        components: "{}".into(),
    };
    let run = NewRun {
        command: nbench_store::RunCommand::Run,
        host: "h".into(),
        toolchain: "t".into(),
        started_at: now_ms(),
        pid: std::process::id(),
        engine_version: "0".into(),
        settings: "{}".into(),
        seed: 1,
        dirty_digest: None,
    };
    recorder.begin(&host, &toolchain, &[revision()], &run);
}

fn revision() -> nbench_store::Revision {
    nbench_store::Revision {
        commit: "c".repeat(40),
        tree: "d".repeat(40),
        parents: Vec::new(),
        author_time: 1,
        committer_time: 1,
        subject: "subject".into(),
    }
}

fn measured(recorder: &mut Recorder, launch: u32) {
    let key = Key { package: "p".into(), target: "b".into(), benchmark: "x".into(), contender: 0 };
    let new = |run, benchmark| NewMeasurement {
        run,
        benchmark,
        commit: "c".repeat(40),
        dirty_digest: None,
        unit: "ns".into(),
        throughput: None,
    };
    let row = MeasurementLaunch { launch, iters: 1, samples: vec![1.0, 2.0], spent: 3 };
    recorder.measurement_launch(&key, &[], new, &row);
}

/// Launches of the only measurement in a store.
fn launches(path: &Path) -> Vec<u32> {
    let store = Store::open(path).unwrap();
    let rows = store.measurements(None).unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    store.measurement_launches(rows[0].id).unwrap().iter().map(|l| l.launch).collect()
}

fn held(path: &Path) -> Connection {
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

/// A recorder that has waited for the store already.
fn impatient(path: &Path) -> Recorder {
    let recorder = Recorder::open(path);
    recorder.store.as_ref().unwrap().set_patience(Duration::ZERO);
    recorder
}

#[test]
fn what_was_measured_while_the_store_was_held_is_written_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut recorder = impatient(&path);
    begun(&mut recorder);
    measured(&mut recorder, 1);
    let other = held(&path);
    measured(&mut recorder, 2);
    assert!(recorder.warning().unwrap().contains("stored at the end"));
    other.execute_batch("ROLLBACK").unwrap();
    measured(&mut recorder, 3);
    recorder.finish(RunState::Finished);
    assert_eq!((recorder.trouble(), recorder.warning()), (None, None));
    assert_eq!(launches(&path), [1, 2, 3]);
}

#[test]
fn a_store_that_is_held_to_the_end_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut recorder = impatient(&path);
    begun(&mut recorder);
    measured(&mut recorder, 1);
    let other = held(&path);
    measured(&mut recorder, 2);
    recorder.finish(RunState::Finished);
    let trouble = recorder.trouble().expect("it is told").clone();
    assert_eq!(trouble.exit, Exit::Store);
    let aside = trouble.error.split('`').rev().nth(1).unwrap();
    assert_eq!(launches(Path::new(aside)), [1, 2], "the whole run, not its rest");
    drop(other);
    assert_eq!(launches(&path), [1]);
}

#[test]
fn a_run_that_measured_nothing_leaves_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut recorder = Recorder::open(&path);
    begun(&mut recorder);
    assert!(recorder.run().is_some());
    recorder.abandon();
    assert_eq!((recorder.run(), recorder.trouble()), (None, None));
    assert_eq!(Store::open(&path).unwrap().runs().unwrap(), []);
    let mut recorder = Recorder::open(&path);
    begun(&mut recorder);
    measured(&mut recorder, 1);
    recorder.abandon();
    assert_eq!((recorder.trouble(), launches(&path)), (None, vec![1]));
}
