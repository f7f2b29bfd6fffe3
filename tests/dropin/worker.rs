//! A bench executable as a worker, driven line by line. It must not know what the suite was written
//! for.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nbench::wire::Offer;
use nbench::{Sample, SubjectErrorKind};
use nbench_engine::remote::{Limits, Peer, Reached};
use tempfile::TempDir;

/// Far more than any step of a test takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Worker {
    peer: Peer<'static>,
    process: Child,
    log: PathBuf,
    _dir: TempDir,
}

impl Worker {
    /// Starts `executable` and waits for its hello.
    #[track_caller]
    pub fn start(executable: &Path, environment: &[(&str, &str)]) -> Worker {
        let dir = tempfile::tempdir().expect("a directory");
        let (socket, log) = (dir.path().join("s"), dir.path().join("log"));
        let listener = UnixListener::bind(&socket).expect("a socket");
        listener.set_nonblocking(true).expect("it can be");
        let process = Command::new(executable)
            .arg("--bench")
            .env(nbench::SOCKET_VARIABLE, &socket)
            .env("SUITE_LOG", &log)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it was just built");
        let limits = Limits { hello: LIMIT, setup: LIMIT, batch: LIMIT };
        let peer = Peer::accept(&listener, limits, &|| false, &mut || None).expect("a hello");
        Worker { peer, process, log, _dir: dir }
    }

    /// What the walk reaches next.
    #[track_caller]
    pub fn reach(&mut self) -> Reached {
        self.peer.reach().expect("the worker is there")
    }

    /// The benchmark that the walk reaches next.
    #[track_caller]
    pub fn offer(&mut self) -> Offer {
        match self.reach() {
            Reached::Offer(offer) => offer,
            other => panic!("expected an offer, got {other:?}"),
        }
    }

    /// Goes on to the benchmark of this id.
    #[track_caller]
    pub fn go_to(&mut self, id: &str) {
        while self.offer().id != id {
            self.skip();
        }
    }

    pub fn skip(&mut self) {
        self.peer.skip().expect("the worker is there");
    }

    pub fn proceed(&mut self) {
        self.peer.proceed().expect("the worker is there");
    }

    /// Samples of the benchmark that is offered, or the message of its failure.
    #[track_caller]
    pub fn batch(&mut self, iters: u64, count: usize) -> Result<Vec<Sample>, String> {
        self.peer.batch(0, iters, count, LIMIT).map_err(|error| {
            assert_eq!(error.kind, SubjectErrorKind::Failed, "{error}");
            error.message
        })
    }

    /// Every offer of a walk to the end, in which nothing breaks.
    #[track_caller]
    pub fn offers(&mut self) -> Vec<Offer> {
        let mut offers = Vec::new();
        loop {
            match self.reach() {
                Reached::Offer(offer) => offers.push(offer),
                Reached::Broken(message) => panic!("{message}"),
                Reached::Done => return offers,
            }
            self.skip();
        }
    }

    /// What the suite has noted in the file of `SUITE_LOG` since the last call.
    pub fn noted(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let _ = std::fs::remove_file(&self.log);
        text.trim().to_owned()
    }

    /// Walks to the end and returns what was met, failures of set-up with `!` before them.
    #[track_caller]
    pub fn list(&mut self) -> Vec<String> {
        let mut met = Vec::new();
        loop {
            match self.reach() {
                Reached::Offer(offer) => {
                    met.push(offer.id);
                    self.skip();
                }
                Reached::Broken(message) => met.push(format!("!{message}")),
                Reached::Done => return met,
            }
        }
    }

    /// Ends the session and returns what the worker exits with.
    #[track_caller]
    pub fn quit(mut self) -> Option<i32> {
        self.peer.quit();
        self.process.wait().expect("it is a child").code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
