//! Several connections at once, and writers that vanish in the middle.

use std::sync::Barrier;
use std::thread;

use nbench_store::*;

fn begin(store: &Store, pid: u32) -> RunId {
    store
        .upsert_host(&Host { key: "h".into(), summary: "host".into(), components: "{}".into() })
        .unwrap();
    store
        .upsert_toolchain(&Toolchain {
            key: "t".into(),
            summary: "rustc".into(),
            components: "{}".into(),
        })
        .unwrap();
    store
        .upsert_revision(&Revision {
            commit: "c".into(),
            tree: "tree".into(),
            parents: Vec::new(),
            author_time: 0,
            committer_time: 0,
            subject: String::new(),
        })
        .unwrap();
    store
        .begin_run(&NewRun {
            command: RunCommand::Run,
            host: "h".into(),
            toolchain: "t".into(),
            started_at: i64::from(pid) * 10,
            pid,
            engine_version: "0".into(),
            settings: "{}".into(),
            seed: 0,
            dirty_digest: None,
        })
        .unwrap()
}

fn measure(store: &Store, run: RunId, launches: u32) -> MeasurementId {
    let benchmark =
        Benchmark { package: "p".into(), target: "t".into(), name: "n".into(), tags: "[]".into() };
    let benchmark = store.upsert_benchmark(&benchmark).unwrap();
    let id = store
        .begin_measurement(&NewMeasurement {
            run,
            benchmark,
            commit: "c".into(),
            dirty_digest: None,
            unit: "ns".into(),
            throughput: None,
        })
        .unwrap();
    for launch in 0..launches {
        let samples = vec![f64::from(launch); 50];
        store
            .add_measurement_launch(id, &MeasurementLaunch { launch, iters: 1, samples, spent: 1 })
            .unwrap();
    }
    id
}

#[test]
fn processes_that_create_and_fill_one_store_at_once_lose_nothing() {
    const WRITERS: u32 = 4;
    const LAUNCHES: u32 = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".nbench/store.sqlite");
    let start = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        for pid in 1..=WRITERS {
            let (path, start) = (&path, &start);
            scope.spawn(move || {
                start.wait();
                let store = Store::open(path).unwrap();
                let run = begin(&store, pid);
                measure(&store, run, LAUNCHES);
                store.finish_run(run, RunState::Finished, 1).unwrap();
            });
        }
    });
    let store = Store::open(&path).unwrap();
    assert_eq!(store.runs().unwrap().len(), WRITERS as usize);
    let rows = store.measurements(None).unwrap();
    assert!(rows.iter().all(|row| row.benchmark == rows[0].benchmark), "one row for all writers");
    assert_eq!(
        rows.iter().map(|row| row.stored_launches).collect::<Vec<_>>(),
        [LAUNCHES; WRITERS as usize]
    );
    store.check().unwrap();
}

#[test]
fn a_reader_sees_each_launch_as_soon_as_it_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let writer = Store::open(&path).unwrap();
    let run = begin(&writer, 7);
    let id = measure(&writer, run, 1);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.measurement_launches(id).unwrap().len(), 1);
    let launch = MeasurementLaunch { launch: 1, iters: 1, samples: vec![1.0], spent: 1 };
    writer.add_measurement_launch(id, &launch).unwrap();
    assert_eq!(reader.measurement_launches(id).unwrap()[1], launch);
}

#[test]
fn what_a_killed_writer_stored_is_kept_and_its_run_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let killed = Store::open(&path).unwrap();
    let gone = begin(&killed, 1);
    measure(&killed, gone, 3);
    // A killed process closes nothing: its log stays beside the file and is never folded in by it.
    std::mem::forget(killed);

    let store = Store::open(&path).unwrap();
    let busy = begin(&store, 2);
    let reused = begin(&store, 3);
    let done = begin(&store, 4);
    store.finish_run(done, RunState::Finished, 50).unwrap();
    // Process 3 is there, but it began after the run did: the number was given to another process.
    let alive = |pid, started_at| pid == 2 || (pid == 3 && started_at > 1_000);
    assert_eq!(store.recover(alive).unwrap(), [gone, reused]);
    assert_eq!(store.recover(alive).unwrap(), []);
    let states: Vec<_> = store.runs().unwrap().iter().map(|run| (run.id, run.state)).collect();
    assert_eq!(
        states,
        [
            (gone, RunState::Interrupted),
            (busy, RunState::Running),
            (reused, RunState::Interrupted),
            (done, RunState::Finished)
        ]
    );
    let row = store.measurements_of_run(gone).unwrap().remove(0);
    assert_eq!(
        (row.state, row.stored_launches, row.run_state),
        (ResultState::Partial, 3, RunState::Interrupted)
    );
    assert_eq!(store.measurement_launches(row.id).unwrap()[2].samples, [2.0; 50]);
}
