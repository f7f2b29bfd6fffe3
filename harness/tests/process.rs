//! A real worker process, made by running this test executable again with a socket in its
//! environment: isolation from stdout, the marker, and the end with its driver.
#![cfg(unix)]

use std::io::{BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nbench::wire::{read_line, FromWorker};
use nbench::{Entry, Suite};

/// Not a test of its own: the worker's `main` when this executable runs as one.
#[test]
fn worker_main() {
    if std::env::var_os(nbench::SOCKET_VARIABLE).is_some() {
        let _code = nbench::start(&[Entry { name: "noisy", run: noisy }]);
    }
}

fn noisy(suite: &mut Suite<'_>) {
    suite.bench("prints", || {
        let mut out = std::io::stdout();
        out.write_all(b"failed message=this%20is%20not%20the%20wire\n").and_then(|()| out.flush())
    });
    suite.bench("sees", || {
        assert!(std::env::var_os(nbench::SOCKET_VARIABLE).is_none(), "the socket is visible");
    });
    suite.bench("seeded", || assert_eq!(nbench::seed(), 42));
    suite.bench("spawns", || std::thread::spawn(|| 1).join());
    suite.bench("exits", || -> u8 { std::process::exit(7) });
}

struct Worker {
    process: Child,
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    directory: PathBuf,
}

impl Worker {
    fn start(name: &str) -> Worker {
        let directory = std::env::temp_dir().join(format!("nbench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker_main", "--nocapture", "--test-threads=1"])
            .env(nbench::SOCKET_VARIABLE, &path)
            .env(nbench::SEED_VARIABLE, "42")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        listener.set_nonblocking(true).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if Instant::now() > deadline => {
                    panic!("no worker has connected: {error}")
                }
                Err(_) => std::thread::yield_now(),
            }
        };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        let mut worker = Worker { process, reader, writer: stream, directory };
        let FromWorker::Hello(hello) = worker.hear() else { panic!("no hello") };
        assert_eq!(hello.pid, worker.process.id());
        worker
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
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

const BATCH: &str = "batch case=0 iters=3 count=2\n";

#[test]
fn a_worker_is_isolated_from_what_its_benchmarks_do() {
    let mut worker = Worker::start("isolated");
    for expected in ["prints", "sees", "seeded", "spawns"] {
        let FromWorker::Offer(offer) = worker.hear() else { panic!("no offer") };
        assert_eq!(offer.id, expected);
        let answer = worker.say(BATCH);
        assert!(matches!(answer, FromWorker::Samples { .. }), "{expected}: {answer:?}");
        worker.writer.write_all(b"next\n").unwrap();
    }
    worker.hear();
    worker.writer.write_all(b"quit\n").unwrap();
    assert_eq!(worker.process.wait().unwrap().code(), Some(0));
    let mut printed = String::new();
    worker.process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed.matches("this%20is%20not%20the%20wire").count(), 6);
    assert!(!printed.contains("hello protocol"));
}

#[test]
fn a_worker_ends_with_its_connection() {
    let mut worker = Worker::start("orphan");
    worker.hear();
    worker.writer.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(worker.process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_benchmark_that_exits_ends_the_stream() {
    let mut worker = Worker::start("exit");
    worker.hear();
    for _ in 0..4 {
        worker.say("skip\n");
    }
    worker.writer.write_all(BATCH.as_bytes()).unwrap();
    let mut line = Vec::new();
    assert!(!read_line(&mut worker.reader, &mut line).unwrap());
    assert_eq!(worker.process.wait().unwrap().code(), Some(7));
}

#[test]
fn the_marker_is_in_the_executable() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let marker = nbench::MARKER.as_bytes();
    assert!(bytes.windows(marker.len()).any(|window| window == marker));
}
