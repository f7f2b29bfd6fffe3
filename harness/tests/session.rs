//! A worker's session in a thread, driven over a socket pair: the walk, its answers and its end. It
//! must not need a process or a particular speed.
#![cfg(unix)]

use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use nbench::wire::{read_line, FromDriver, FromWorker, Offer, MAX_COUNT, PROTOCOL};
use nbench::{Entry, Suite};

struct Driver {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    worker: JoinHandle<usize>,
}

impl Driver {
    /// Starts a worker and reads its hello; the worker's thread returns how often it was ended.
    fn start(entries: &'static [Entry]) -> Driver {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let worker = std::thread::spawn(move || {
            let mut ends = 0;
            nbench::serve::serve(theirs.try_clone().unwrap(), theirs, entries, || ends += 1);
            ends
        });
        let mut driver =
            Driver { reader: BufReader::new(ours.try_clone().unwrap()), writer: ours, worker };
        let FromWorker::Hello(hello) = driver.hear() else { panic!("no hello") };
        assert_eq!((hello.protocol, hello.pid), (PROTOCOL, std::process::id()));
        assert_eq!(hello.harness, env!("CARGO_PKG_VERSION"));
        driver
    }

    fn hear(&mut self) -> FromWorker {
        let mut line = Vec::new();
        assert!(read_line(&mut self.reader, &mut line).unwrap(), "the worker is gone");
        FromWorker::decode(&line).unwrap()
    }

    fn say(&mut self, line: &str) -> FromWorker {
        self.writer.write_all(line.as_bytes()).unwrap();
        self.hear()
    }

    fn batch(&mut self, case: usize, iters: u64, count: usize) -> FromWorker {
        self.say(&FromDriver::Batch { case, iters, count }.encode())
    }

    fn failure(&mut self, case: usize) -> String {
        match self.batch(case, 1, 1) {
            FromWorker::Failed { message } => message,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    fn quit(mut self) -> usize {
        self.writer.write_all(FromDriver::Quit.encode().as_bytes()).unwrap();
        self.worker.join().unwrap()
    }
}

fn id(message: &FromWorker) -> &str {
    match message {
        FromWorker::Offer(Offer { id, .. }) => id,
        other => panic!("expected an offer, got {other:?}"),
    }
}

fn first(suite: &mut Suite<'_>) {
    let data = [3, 1, 2];
    suite.bench("sum", || data.iter().sum::<i32>());
    suite.bench("panics", || -> u8 { panic!("no luck") });
    suite.bench_fn("idle", |_| ());
    suite
        .compare("both")
        .reference("old", || 1)
        .contender("new", || -> u8 { panic!("new is bad") })
        .run();
    suite.compare("lonely").reference("old", || 1).run();
}

fn second(suite: &mut Suite<'_>) {
    suite.bench("sum", || 1);
    if suite_is_reached() {
        panic!("missing file");
    }
    suite.bench("unreached", || 1);
}

fn suite_is_reached() -> bool {
    true
}

fn third(suite: &mut Suite<'_>) {
    suite.bench("last", || 1);
}

const ENTRIES: &[Entry] = &[
    Entry { name: "first", run: first },
    Entry { name: "second", run: second },
    Entry { name: "third", run: third },
];

#[test]
fn a_list_is_a_walk_of_skips() {
    let mut driver = Driver::start(ENTRIES);
    let mut met = vec![id(&driver.hear()).to_owned()];
    loop {
        match driver.say("skip\n") {
            FromWorker::Offer(offer) => met.push(offer.id),
            FromWorker::Broken { message } => {
                assert!(message.starts_with("`second` panicked: missing file, at "), "{message}");
                met.push(id(&driver.hear()).to_owned());
            }
            FromWorker::Done => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(met, ["sum", "panics", "idle", "both", "lonely", "sum#2", "last"]);
    assert_eq!(driver.quit(), 1);
}

#[test]
fn batches_are_answered_until_next() {
    let mut driver = Driver::start(ENTRIES);
    assert_eq!(id(&driver.hear()), "sum");
    for (iters, count) in [(1, 1), (1000, 7), (3, MAX_COUNT)] {
        let FromWorker::Samples { iters: told, wall, spent, cpu, threads, .. } =
            driver.batch(0, iters, count)
        else {
            panic!("no samples");
        };
        assert_eq!((told, wall.len(), spent.len()), (iters, count, count));
        assert!(wall.iter().zip(&spent).all(|(wall, spent)| wall <= spent));
        if cfg!(target_os = "linux") {
            assert!(cpu.is_ok() && threads.unwrap() >= 2);
        }
    }
    assert_eq!(id(&driver.say("next\n")), "panics");
    assert_eq!(driver.quit(), 1);
}

#[test]
fn failures_belong_to_one_batch_and_the_walk_goes_on() {
    let mut driver = Driver::start(ENTRIES);
    driver.hear();
    assert_eq!(id(&driver.say("skip\n")), "panics");
    for _ in 0..2 {
        let message = driver.failure(0);
        assert!(
            message.starts_with("no luck, at ") && message.contains("session.rs:"),
            "{message}"
        );
    }
    assert_eq!(id(&driver.say("next\n")), "idle");
    assert_eq!(driver.failure(0), "`idle` never called `iter`");
    let FromWorker::Offer(offer) = driver.say("next\n") else { panic!("no offer") };
    assert_eq!(offer.cases, ["old", "new"]);
    assert_eq!(offer.reference, Some(0));
    assert!(matches!(driver.batch(0, 1, 1), FromWorker::Samples { .. }));
    assert!(driver.failure(1).starts_with("new is bad"));
    assert_eq!(driver.failure(2), "`both` has no case 2, it has 2");
    assert_eq!(id(&driver.say("next\n")), "lonely");
    assert_eq!(driver.failure(0), "comparison `lonely` has no contender");
    driver.quit();
}

#[test]
fn bad_commands_are_answered_and_change_nothing() {
    let mut driver = Driver::start(ENTRIES);
    driver.hear();
    for (line, expected) in [
        ("juggle balls=3\n", "unknown verb `juggle`"),
        ("batch case=0 iters=0 count=1\n", "at least one iteration"),
        ("batch case=0 iters=1 count=0\n", "at least one iteration"),
        ("batch case=0 iters=1 count=99999999\n", "more than the"),
        ("batch case=1 iters=1 count=1\n", "has no case 1"),
        ("batch\n", "`case` is missing"),
        ("\n", "no verb"),
    ] {
        match driver.say(line) {
            FromWorker::Failed { message } => assert!(message.contains(expected), "{message}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(matches!(driver.batch(0, 1, 1), FromWorker::Samples { .. }));
    driver.quit();
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

fn counted(suite: &mut Suite<'_>) {
    for _ in 0..5 {
        suite.bench("counted", || RUNS.fetch_add(1, Ordering::Relaxed));
    }
}

#[test]
fn the_end_of_the_stream_ends_the_walk_where_it_is() {
    let mut driver = Driver::start(&[Entry { name: "counted", run: counted }]);
    driver.hear();
    assert!(matches!(driver.batch(0, 10, 1), FromWorker::Samples { .. }));
    driver.writer.shutdown(Shutdown::Both).unwrap();
    assert_eq!(driver.worker.join().unwrap(), 1);
    assert_eq!(RUNS.load(Ordering::Relaxed), 10);
}

#[test]
fn an_endless_line_ends_the_session() {
    let mut driver = Driver::start(ENTRIES);
    driver.hear();
    let junk = vec![b'x'; 2 << 20];
    // The worker hangs up while it is still being written to.
    let _ = driver.writer.write_all(&junk);
    let _ = driver.writer.shutdown(Shutdown::Both);
    assert_eq!(driver.worker.join().unwrap(), 1);
}

fn wordy(suite: &mut Suite<'_>) {
    suite.bench("x".repeat(2 << 20), || 1);
    suite.bench("short", || 1);
}

#[test]
fn an_offer_that_fits_no_line_is_passed_over() {
    let mut driver = Driver::start(&[Entry { name: "wordy", run: wordy }]);
    let FromWorker::Broken { message } = driver.hear() else { panic!("not broken") };
    assert!(message.contains("longer than"), "{message}");
    assert_eq!(id(&driver.hear()), "short");
    driver.quit();
}

static SET_UPS: AtomicUsize = AtomicUsize::new(0);

fn within(suite: &mut Suite<'_>) {
    let offer = |id: &str| Offer { id: id.to_owned(), ..Offer::default() };
    suite.bench_within(offer("kept"), |serve| {
        let number = SET_UPS.fetch_add(1, Ordering::Relaxed) + 1;
        serve(&mut |b| b.iter(|| assert_eq!(number, 1)));
    });
    suite.bench_within(offer("set-up fails"), |_| panic!("no file"));
    suite.bench_within(offer("kept"), |_| ());
    suite.bench_within(offer("fails late"), |serve| {
        serve(&mut |b| b.iter(|| 1));
        panic!("too late");
    });
    suite.bench("last", || 1);
}

const WITHIN: &[Entry] = &[Entry { name: "within", run: within }];

#[test]
fn set_up_of_its_own_runs_once_and_only_when_the_benchmark_does() {
    let mut driver = Driver::start(WITHIN);
    assert_eq!(id(&driver.hear()), "kept");
    assert_eq!(SET_UPS.load(Ordering::Relaxed), 0);
    assert!(matches!(driver.batch(0, 2, 3), FromWorker::Samples { .. }));
    assert!(driver.failure(1).contains("has no case 1"));
    assert!(matches!(driver.batch(0, 1, 1), FromWorker::Samples { .. }));
    assert_eq!(SET_UPS.load(Ordering::Relaxed), 1);
    assert_eq!(id(&driver.say("next\n")), "set-up fails");
    for _ in 0..2 {
        assert!(driver.failure(0).starts_with("no file, at "));
    }
    assert_eq!(id(&driver.say("next\n")), "kept#2");
    assert_eq!(driver.failure(0), "`kept#2` never called `iter`");
    assert_eq!(id(&driver.say("next\n")), "fails late");
    assert!(matches!(driver.batch(0, 1, 1), FromWorker::Samples { .. }));
    let FromWorker::Broken { message } = driver.say("next\n") else { panic!("not told") };
    assert!(message.starts_with("`fails late` panicked after its last sample: too late, at "));
    assert_eq!(id(&driver.hear()), "last");
    assert_eq!(driver.quit(), 1);
}
