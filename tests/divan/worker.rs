//! A built suite as a worker process, and this process as its driver. It must not know any suite.

use std::io::{BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nbench::wire::{FromDriver, FromWorker, Offer, read_line};
use nbench::{OwnReading, SOCKET_VARIABLE};

/// A suite that waits at its first benchmark or at what comes next.
pub struct Worker {
    child: Child,
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    log: PathBuf,
    _dir: tempfile::TempDir,
}

/// What a batch gave.
pub struct Taken {
    pub wall: Vec<u64>,
    pub cpu: Result<u64, String>,
    pub own: Vec<OwnReading>,
}

impl Worker {
    pub fn start(executable: &Path) -> Worker {
        let dir = tempfile::tempdir().unwrap();
        let (socket, log) = (dir.path().join("s"), dir.path().join("log"));
        let listener = UnixListener::bind(&socket).unwrap();
        let child = Command::new(executable)
            .env(SOCKET_VARIABLE, &socket)
            .env("SUITE_LOG", &log)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stream, _) = listener.accept().unwrap();
        let writer = stream.try_clone().unwrap();
        let mut worker = Worker { child, reader: BufReader::new(stream), writer, log, _dir: dir };
        assert!(matches!(worker.hear(), FromWorker::Hello(_)));
        worker
    }

    pub fn hear(&mut self) -> FromWorker {
        let mut line = Vec::new();
        assert!(read_line(&mut self.reader, &mut line).unwrap(), "the worker is gone");
        FromWorker::decode(&line).unwrap()
    }

    fn say(&mut self, message: &FromDriver) {
        self.writer.write_all(message.encode().as_bytes()).unwrap();
    }

    /// Every offer of the walk, none of which is run.
    pub fn list(&mut self) -> Vec<Offer> {
        let mut offers = Vec::new();
        loop {
            match self.hear() {
                FromWorker::Offer(offer) => offers.push(offer),
                FromWorker::Done => return offers,
                other => panic!("{other:?}"),
            }
            self.say(&FromDriver::Skip);
        }
    }

    /// Goes on to the benchmark of this id.
    pub fn reach(&mut self, id: &str) {
        loop {
            match self.hear() {
                FromWorker::Offer(offer) if offer.id == id => return,
                FromWorker::Offer(_) => self.say(&FromDriver::Skip),
                other => panic!("{id} is not offered, but {other:?}"),
            }
        }
    }

    pub fn batch(&mut self, iters: u64, count: usize) -> Result<Taken, String> {
        self.say(&FromDriver::Batch { case: 0, iters, count });
        match self.hear() {
            FromWorker::Samples { wall, cpu, own, .. } => {
                assert_eq!(wall.len(), count);
                Ok(Taken { wall, cpu, own })
            }
            FromWorker::Failed { message } => Err(message),
            other => panic!("{other:?}"),
        }
    }

    pub fn next(&mut self) {
        self.say(&FromDriver::Next);
    }

    /// What the suite has noted since the last call.
    pub fn noted(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let _ = std::fs::remove_file(&self.log);
        text.trim().to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
