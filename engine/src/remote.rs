//! A benchmark in a worker process, as a subject. The only module of the engine that knows another
//! process exists; it carries numbers and reads no clock of its own but for time limits.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nbench::wire::{FromDriver, FromWorker, MAX_COUNT, MAX_LINE, Offer, check};
use nbench::{Axes, Iters, Nanos, Reading, Sample, Subject, SubjectError, SubjectErrorKind};

use crate::patience::{Patience, TICK};

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

/// Most benchmarks that a worker may offer. Registration that never ends offers as many within
/// seconds.
const MOST_OFFERS: usize = 10_000;

/// Most failed set-ups that a worker may tell of; a suite has as many functions at most.
const MOST_BROKEN: usize = 1_000;

/// How many times the limit of one set-up all set-up of a worker may take together. Large suites
/// stay far below; one that registers another benchmark every second does not.
const SETUPS: u32 = 5;

/// Stop of a walk.
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
    limits: Limits,
    /// Time that is left for all set-up of this worker.
    setup_left: Duration,
    /// How long the last answer was waited for.
    waited: Duration,
    offers: usize,
    broken: usize,
    interrupted: &'i dyn Fn() -> bool,
}

impl std::fmt::Debug for Peer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

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
        let mut patience = Patience::new(limits.hello, Instant::now());
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
            if patience.is_over(Instant::now()) {
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
        let mut peer = Peer {
            reader: BufReader::new(stream),
            line: Vec::new(),
            limits,
            setup_left: limits.setup.saturating_mul(SETUPS),
            waited: Duration::ZERO,
            offers: 0,
            broken: 0,
            interrupted,
        };
        match peer.receive(limits.hello)? {
            FromWorker::Hello(hello) => {
                check(&hello).map_err(SubjectError::protocol)?;
                Ok(peer)
            }
            other => Err(unexpected("a hello", &other)),
        }
    }

    /// Reads on to the next benchmark, failed set-up or the end.
    ///
    /// # Errors
    /// When the worker dies, takes longer than the set-up limits, answers out of turn, or offers
    /// more than any suite has.
    pub fn reach(&mut self) -> Result<Reached, SubjectError> {
        let message = self.receive(self.limits.setup)?;
        self.setup_left = self.setup_left.saturating_sub(self.waited);
        if self.setup_left.is_zero() {
            return Err(SubjectError::lost(format!(
                "set-up took more than {} s in all, over {} benchmarks: does its registration ever end? (`--setup-limit` times {SETUPS})",
                self.limits.setup.saturating_mul(SETUPS).as_secs_f64(),
                self.offers
            )));
        }
        match message {
            FromWorker::Offer(_) if self.offers >= MOST_OFFERS => Err(SubjectError::lost(format!(
                "it offers more than {MOST_OFFERS} benchmarks: does its registration ever end?"
            ))),
            FromWorker::Offer(offer) => {
                self.offers += 1;
                Ok(Reached::Offer(offer))
            }
            FromWorker::Broken { message } if self.broken >= MOST_BROKEN => {
                Err(SubjectError::lost(format!(
                    "set-up failed more than {MOST_BROKEN} times, at last with: {message}"
                )))
            }
            FromWorker::Broken { message } => {
                self.broken += 1;
                Ok(Reached::Broken(message))
            }
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

    /// The next line, as a whole within `limit`, however slowly it comes.
    fn receive(&mut self, limit: Duration) -> Result<FromWorker, SubjectError> {
        self.line.clear();
        let mut patience = Patience::new(limit, Instant::now());
        // Short answers never wait long enough for the checks below.
        if (self.interrupted)() {
            return Err(SubjectError::lost("interrupted"));
        }
        loop {
            match take_line(&mut self.reader, &mut self.line) {
                Ok(Taken::Line) => {
                    patience.is_over(Instant::now());
                    self.waited = limit.saturating_sub(patience.left());
                    return FromWorker::decode(&self.line).map_err(|error| {
                        SubjectError::protocol(format!("not understood: {error}"))
                    });
                }
                Ok(Taken::Part) => {}
                Ok(Taken::End) => return Err(SubjectError::lost("the worker ended")),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    return Err(SubjectError::lost(format!("the worker is gone: {error}")));
                }
            }
            if self.line.len() >= MAX_LINE {
                return Err(SubjectError::protocol(format!(
                    "not understood: a line is longer than {MAX_LINE} bytes"
                )));
            }
            if (self.interrupted)() {
                return Err(SubjectError::lost("interrupted"));
            }
            if patience.is_over(Instant::now()) {
                return Err(SubjectError::lost(format!(
                    "no answer within {:.1} s",
                    limit.as_secs_f64()
                )));
            }
        }
    }
}

/// Outcome of one read.
enum Taken {
    /// A whole line, without its line feed.
    Line,
    /// Bytes of a line that goes on.
    Part,
    /// The end of the stream.
    End,
}

/// Moves to `line` what one read brings of it. Whoever waits must look at the clock after each
/// read: a line that comes byte by byte would otherwise never end.
fn take_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Taken> {
    let bytes = reader.fill_buf()?;
    if bytes.is_empty() {
        return match line.is_empty() {
            true => Ok(Taken::End),
            false => {
                Err(std::io::Error::new(ErrorKind::UnexpectedEof, "the stream ended within a line"))
            }
        };
    }
    let room = MAX_LINE.saturating_sub(line.len());
    let bytes = &bytes[..bytes.len().min(room)];
    let end = bytes.iter().position(|byte| *byte == b'\n');
    line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
    let used = end.map_or(bytes.len(), |end| end + 1);
    reader.consume(used);
    Ok(if end.is_some() { Taken::Line } else { Taken::Part })
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

    /// The cost of one iteration in nanoseconds as far as it is known by now.
    pub fn expected(&self) -> Option<f64> {
        self.expected
    }

    /// Ten times what is expected and ten seconds, never more than the hard limit. The seconds are
    /// for one-off work in the first batch, and for a host so busy that a worker waits its turn
    /// for long: one late answer fails a benchmark.
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
    use std::io::Read;

    use super::*;

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

    /// A worker that says `first` and then `again` for ever, in pieces of `piece` bytes.
    fn endless(
        first: &'static [u8],
        again: &'static [u8],
        piece: usize,
    ) -> (UnixListener, tempdir::Dir, std::thread::JoinHandle<()>) {
        let dir = tempdir::Dir::new();
        let path = dir.0.join("s");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let thread = std::thread::spawn(move || {
            let mut stream = UnixStream::connect(path).unwrap();
            let _ = stream.write_all(HELLO);
            let _ = stream.write_all(first);
            while again.chunks(piece).all(|bytes| stream.write_all(bytes).is_ok()) {}
        });
        (listener, dir, thread)
    }

    mod tempdir {
        use std::sync::atomic::{AtomicUsize, Ordering};

        /// A directory of one test, gone with it.
        pub struct Dir(pub std::path::PathBuf);

        impl Dir {
            pub fn new() -> Dir {
                static MADE: AtomicUsize = AtomicUsize::new(0);
                let number = MADE.fetch_add(1, Ordering::Relaxed);
                let name = format!("nbench-endless-{}-{number}", std::process::id());
                let dir = std::env::temp_dir().join(name);
                std::fs::create_dir_all(&dir).unwrap();
                Dir(dir)
            }
        }

        impl Drop for Dir {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
    }

    #[test]
    fn whatever_never_ends_is_ended_with_its_reason() {
        let cases: [(&'static [u8], &'static [u8], usize, &str); 4] = [
            (b"", b"x", 1, "longer than"),
            (b"", b"offer id=a\n", 11, "offers more than 10000"),
            (b"", b"broken message=oh%20no\n", 5, "more than 1000 times, at last with: oh no"),
            (b"offer id=", b"a", 1, "longer than"),
        ];
        for (first, again, piece, wanted) in cases {
            let (listener, _dir, thread) = endless(first, again, piece);
            let limits = Limits { setup: Duration::from_secs(60), ..quick() };
            let mut peer = Peer::accept(&listener, limits, &|| false, &mut || None).unwrap();
            let error = loop {
                if let Err(error) = peer.reach() {
                    break error;
                }
            };
            assert!(error.message.contains(wanted), "{error}");
            drop(peer);
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_line_that_drips_is_given_up_and_an_interrupt_is_seen_meanwhile() {
        let (listener, _dir, thread) = endless(b"", b"a", 1);
        let limits = Limits { setup: Duration::from_millis(1), ..quick() };
        let mut peer = Peer::accept(&listener, limits, &|| false, &mut || None).unwrap();
        let error = peer.reach().unwrap_err();
        assert!(error.message.starts_with("no answer within"), "{error}");
        drop(peer);
        thread.join().unwrap();
        // Looks of a connection that is slow to come are not those of the wait for the line.
        let (is_connected, looks) = (std::cell::Cell::new(false), std::cell::Cell::new(0));
        let flag = || {
            looks.set(looks.get() + u32::from(is_connected.get()));
            looks.get() > 5
        };
        let (listener, _dir, thread) = endless(b"", b"a", 1);
        let mut peer = Peer::accept(&listener, quick(), &flag, &mut || None).unwrap();
        is_connected.set(true);
        assert_eq!(peer.reach().unwrap_err().message, "interrupted");
        drop(peer);
        thread.join().unwrap();
    }

    #[test]
    fn all_set_up_together_has_a_limit_too() {
        let (listener, _dir, thread) = endless(b"", b"offer id=a\n", 11);
        let mut peer = connect(&listener, &|| false).unwrap();
        peer.setup_left = Duration::from_nanos(1);
        let error = peer.reach().unwrap_err();
        assert!(error.message.contains("set-up took more than 25 s in all"), "{error}");
        drop(peer);
        thread.join().unwrap();
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
