//! A benchmark in a worker process, as a subject. The only module of the engine that knows another
//! process exists; it carries numbers and reads no clock of its own but for time limits.

use std::cell::RefCell;
use std::io::{BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nbench::wire::{FromDriver, FromWorker, Hello, MAX_COUNT, Offer, check, read_line};
use nbench::{Axes, Iters, Nanos, Reading, Sample, Subject, SubjectError, SubjectErrorKind};

/// How long a worker may take for each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// From its start to its hello.
    pub hello: Duration,
    /// From one benchmark to the next offer: set-up of the suite.
    pub setup: Duration,
    /// For any batch, and for a batch of which nothing is known yet.
    pub batch: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            hello: Duration::from_secs(10),
            setup: Duration::from_secs(120),
            batch: Duration::from_secs(60),
        }
    }
}

/// What a walk reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Reached {
    /// A benchmark; the worker waits for commands.
    Offer(Offer),
    /// Set-up failed outside any benchmark; the walk goes on.
    Broken(String),
    /// The end of the suite.
    Done,
}

/// The driver's end of the connection to one worker.
pub struct Peer<'i> {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
    hello: Hello,
    limits: Limits,
    interrupted: &'i dyn Fn() -> bool,
}

impl std::fmt::Debug for Peer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("hello", &self.hello).finish_non_exhaustive()
    }
}

/// How often a waiting driver looks at the interrupt flag.
const TICK: Duration = Duration::from_millis(100);

impl<'i> Peer<'i> {
    /// Waits for the worker to connect to `listener` (non-blocking) and to say hello.
    ///
    /// `exited` tells early that the worker is gone, with the reason.
    ///
    /// # Errors
    /// When the worker exits first, is too slow, sends anything but a hello, or speaks a protocol
    /// that this driver does not.
    pub fn accept(
        listener: &UnixListener,
        limits: Limits,
        interrupted: &'i dyn Fn() -> bool,
        exited: &mut dyn FnMut() -> Option<String>,
    ) -> Result<Peer<'i>, SubjectError> {
        let lost =
            |error: std::io::Error| SubjectError::lost(format!("connection failed: {error}"));
        let deadline = Instant::now() + limits.hello;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(lost(error)),
            }
            if interrupted() {
                return Err(SubjectError::lost("interrupted"));
            }
            if let Some(reason) = exited() {
                return Err(SubjectError::lost(format!(
                    "{reason} before it spoke to its driver: does its `main` reach the harness?"
                )));
            }
            if Instant::now() > deadline {
                let seconds = limits.hello.as_secs_f64();
                return Err(SubjectError::lost(format!(
                    "it did not speak to its driver within {seconds} s: does its `main` compute before it reaches the harness?"
                )));
            }
            std::thread::sleep(Duration::from_micros(300));
        };
        stream.set_nonblocking(false).map_err(lost)?;
        stream.set_read_timeout(Some(TICK)).map_err(lost)?;
        stream.set_write_timeout(Some(limits.hello)).map_err(lost)?;
        let nobody = Hello { protocol: 0, harness: String::new(), pid: 0, clock: String::new() };
        let mut peer = Peer {
            reader: BufReader::new(stream),
            line: Vec::new(),
            hello: nobody,
            limits,
            interrupted,
        };
        match peer.receive(limits.hello)? {
            FromWorker::Hello(hello) => {
                check(&hello).map_err(SubjectError::protocol)?;
                peer.hello = hello;
                Ok(peer)
            }
            other => Err(unexpected("a hello", &other)),
        }
    }

    /// What the worker said of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Reads on to the next benchmark, failed set-up or the end.
    ///
    /// # Errors
    /// When the worker dies, takes longer than the set-up limit or answers out of turn.
    pub fn reach(&mut self) -> Result<Reached, SubjectError> {
        match self.receive(self.limits.setup)? {
            FromWorker::Offer(offer) => Ok(Reached::Offer(offer)),
            FromWorker::Broken { message } => Ok(Reached::Broken(message)),
            FromWorker::Done => Ok(Reached::Done),
            other => Err(unexpected("an offer", &other)),
        }
    }

    /// Passes by the offered benchmark without running it.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn skip(&mut self) -> Result<(), SubjectError> {
        self.send(&FromDriver::Skip)
    }

    /// Ends the offered benchmark.
    ///
    /// # Errors
    /// When the worker is gone.
    pub fn proceed(&mut self) -> Result<(), SubjectError> {
        self.send(&FromDriver::Next)
    }

    /// Asks the worker to exit; a worker that is gone already is as good.
    pub fn quit(&mut self) {
        let _ = self.send(&FromDriver::Quit);
    }

    /// Takes `count` samples of `iters` iterations of one case of the offered benchmark, waiting at
    /// most `limit`.
    ///
    /// # Errors
    /// `Failed` when the benchmark panicked (the worker goes on), otherwise the worker is lost.
    pub fn batch(
        &mut self,
        case: usize,
        iters: u64,
        count: usize,
        limit: Duration,
    ) -> Result<Vec<Sample>, SubjectError> {
        let count = count.clamp(1, MAX_COUNT);
        self.send(&FromDriver::Batch { case, iters, count })?;
        match self.receive(limit)? {
            FromWorker::Samples { iters: ran, wall, spent, cpu, thread_cpu, own, .. } => {
                if ran != iters || wall.len() != count {
                    return Err(SubjectError::protocol(format!(
                        "asked for {count} samples of {iters} iterations, got {} of {ran}",
                        wall.len()
                    )));
                }
                let last = wall.len() - 1;
                Ok(wall
                    .into_iter()
                    .zip(spent)
                    .enumerate()
                    .map(|(index, (wall, spent))| Sample {
                        iters: Iters(iters),
                        wall: Nanos(wall),
                        spent: Nanos(spent),
                        axes: if index == last {
                            Axes {
                                cpu: Reading::from(cpu.clone()),
                                thread_cpu: Reading::from(thread_cpu.clone()),
                                own: own.clone(),
                            }
                        } else {
                            Axes::unavailable("measured per reply")
                        },
                    })
                    .collect())
            }
            FromWorker::Failed { message } => Err(SubjectError::failed(message)),
            other => Err(unexpected("samples", &other)),
        }
    }

    fn send(&mut self, message: &FromDriver) -> Result<(), SubjectError> {
        self.reader
            .get_mut()
            .write_all(message.encode().as_bytes())
            .map_err(|error| SubjectError::lost(format!("the worker is gone: {error}")))
    }

    fn receive(&mut self, limit: Duration) -> Result<FromWorker, SubjectError> {
        let deadline = Instant::now() + limit;
        self.line.clear();
        // Short answers never wait long enough for the check below.
        if (self.interrupted)() {
            return Err(SubjectError::lost("interrupted"));
        }
        loop {
            match read_line(&mut self.reader, &mut self.line) {
                Ok(true) => {
                    return FromWorker::decode(&self.line).map_err(|error| {
                        SubjectError::protocol(format!("not understood: {error}"))
                    });
                }
                Ok(false) => return Err(SubjectError::lost("the worker ended")),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    return Err(SubjectError::lost(format!("the worker is gone: {error}")));
                }
            }
            if (self.interrupted)() {
                return Err(SubjectError::lost("interrupted"));
            }
            if Instant::now() > deadline {
                return Err(SubjectError::lost(format!(
                    "no answer within {:.1} s",
                    limit.as_secs_f64()
                )));
            }
        }
    }
}

fn unexpected(wanted: &str, got: &FromWorker) -> SubjectError {
    let verb = got.encode();
    let verb = verb.split_whitespace().next().unwrap_or_default();
    SubjectError::protocol(format!("expected {wanted}, got `{verb}`"))
}

/// One case of the benchmark that a peer offers at the moment.
#[derive(Debug)]
pub struct Remote<'p, 'i> {
    peer: &'p RefCell<Peer<'i>>,
    case: usize,
    /// Largest nanoseconds per iteration seen so far, set-up included.
    expected: Option<f64>,
}

impl<'p, 'i> Remote<'p, 'i> {
    /// A subject for `case`. `expected` is the cost of one iteration in nanoseconds (set-up
    /// included) where it is known; without it the first batch gets the full time limit.
    pub fn new(peer: &'p RefCell<Peer<'i>>, case: usize, expected: Option<f64>) -> Remote<'p, 'i> {
        Remote { peer, case, expected }
    }

    /// Ten times what is expected and ten seconds, never more than the hard limit. The seconds are for
    /// one-off work in the first batch, and for a host so busy that a worker waits its turn for long:
    /// one late answer fails a benchmark.
    fn limit(&self, iters: u64, count: usize, hard: Duration) -> Duration {
        match self.expected {
            Some(each) => {
                let nanos = 10.0 * each * iters as f64 * count as f64;
                Duration::from_secs_f64((nanos / 1e9).min(1e9))
                    .saturating_add(Duration::from_secs(10))
                    .min(hard)
            }
            None => hard,
        }
    }
}

impl Subject for Remote<'_, '_> {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        let Ok(mut peer) = self.peer.try_borrow_mut() else {
            return Err(SubjectError {
                kind: SubjectErrorKind::Protocol,
                message: "the worker is in use".to_owned(),
            });
        };
        let limit = self.limit(iters.0, count, peer.limits.batch);
        let samples = peer.batch(self.case, iters.0, count, limit)?;
        for sample in &samples {
            let each = sample.spent.0 as f64 / iters.0.max(1) as f64;
            self.expected = Some(self.expected.map_or(each, |known| known.max(each)));
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, Read};

    /// Plays a worker that follows `script`: lines to send after each line received.
    fn worker(
        script: Vec<&'static [u8]>,
    ) -> (UnixListener, std::path::PathBuf, std::thread::JoinHandle<Vec<String>>) {
        let dir = std::env::temp_dir().join(format!(
            "nbench-remote-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("s");
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let to = path.clone();
        let thread = std::thread::spawn(move || {
            let stream = UnixStream::connect(to).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut writer = stream;
            let mut heard = Vec::new();
            for (index, answer) in script.iter().enumerate() {
                if index > 0 {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 {
                        break;
                    }
                    heard.push(line.trim_end().to_owned());
                }
                let _ = writer.write_all(answer);
            }
            let mut rest = Vec::new();
            if !script.last().is_some_and(|s| s.is_empty()) {
                return heard;
            }
            let _ = reader.read_to_end(&mut rest);
            heard
        });
        (listener, dir, thread)
    }

    const HELLO: &[u8] = b"hello protocol=1 harness=0.1.0 pid=7 clock=test\n";

    fn quick() -> Limits {
        Limits {
            hello: Duration::from_secs(5),
            setup: Duration::from_secs(5),
            batch: Duration::from_millis(300),
        }
    }

    fn connect<'i>(
        listener: &UnixListener,
        flag: &'i dyn Fn() -> bool,
    ) -> Result<Peer<'i>, SubjectError> {
        Peer::accept(listener, quick(), flag, &mut || None)
    }

    #[test]
    fn a_walk_takes_samples_and_ends() {
        let (listener, dir, thread) = worker(vec![
            b"hello protocol=1 harness=0.1.0 pid=7 clock=test\noffer id=a\n",
            b"samples iters=3 wall=30,60 spent=33,66 cpu=90 thread_cpu_unavailable=no\n",
            b"done\n",
        ]);
        let peer = RefCell::new(connect(&listener, &|| false).unwrap());
        assert!(matches!(peer.borrow_mut().reach().unwrap(), Reached::Offer(o) if o.id == "a"));
        let samples = Remote::new(&peer, 0, None).sample(Iters(3), 2).unwrap();
        assert_eq!(samples.iter().map(|s| s.wall.0).collect::<Vec<_>>(), [30, 60]);
        assert_eq!(samples[0].axes.cpu.value(), None);
        assert_eq!(samples[1].axes.cpu.value(), Some(90.0));
        assert_eq!(samples[1].axes.thread_cpu, Reading::unavailable("no"));
        peer.borrow_mut().proceed().unwrap();
        assert_eq!(peer.borrow_mut().reach().unwrap(), Reached::Done);
        drop(peer);
        assert_eq!(thread.join().unwrap(), ["batch case=0 iters=3 count=2", "next"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn garbage_silence_death_and_lies_are_errors_that_say_so() {
        let cases: [(&'static [u8], &str); 5] = [
            (b"\xff\xfe rubbish\n", "not understood"),
            (b"samples iters=4 wall=1 spent=1\n", "asked for 1 samples of 3"),
            (b"done\n", "expected samples, got `done`"),
            (b"failed message=boom%20here\n", "boom here"),
            (b"", "no answer within 0.3 s"),
        ];
        for (answer, wanted) in cases {
            let (listener, dir, thread) = worker(vec![HELLO, answer]);
            let peer = RefCell::new(connect(&listener, &|| false).unwrap());
            let error = Remote::new(&peer, 0, None).sample(Iters(3), 1).unwrap_err();
            assert!(error.message.contains(wanted), "{error}");
            assert_eq!(error.kind == SubjectErrorKind::Failed, wanted == "boom here");
            drop(peer);
            thread.join().unwrap();
            std::fs::remove_dir_all(dir).unwrap();
        }
    }

    #[test]
    fn a_newer_worker_is_told_which_side_is_old() {
        let (listener, dir, thread) = worker(vec![b"hello protocol=9 future=%zz\n"]);
        let error = connect(&listener, &|| false).unwrap_err();
        assert!(error.message.contains("update cargo-nbench"), "{error}");
        thread.join().unwrap();
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_exit_before_the_hello_and_an_interrupt_end_the_wait() {
        let dir = std::env::temp_dir().join(format!("nbench-none-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let _ = std::fs::remove_file(dir.join("s"));
        let listener = UnixListener::bind(dir.join("s")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let gone = Peer::accept(&listener, quick(), &|| false, &mut || Some("exit 3".to_owned()));
        assert!(gone.unwrap_err().message.contains("exit 3"));
        let stopped = Peer::accept(&listener, quick(), &|| true, &mut || None);
        assert_eq!(stopped.unwrap_err().message, "interrupted");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn limits_follow_what_was_seen() {
        let (listener, dir, thread) = worker(vec![HELLO, b""]);
        let peer = RefCell::new(connect(&listener, &|| false).unwrap());
        let hard = Duration::from_secs(60);
        assert_eq!(Remote::new(&peer, 0, None).limit(10, 1, hard), hard);
        let remote = Remote::new(&peer, 0, Some(1e6));
        assert_eq!(remote.limit(100, 2, hard), Duration::from_secs(12));
        assert_eq!(remote.limit(100_000, 2, hard), hard);
        drop(peer);
        thread.join().unwrap();
        std::fs::remove_dir_all(dir).unwrap();
    }
}
