//! A process under test: its output as it comes, signals, and a deadline that ends it with all it
//! started. It does not know what program it is.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

/// Far beyond what any command of a test takes, also on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(180);

/// How often a condition is looked at while the process says nothing.
const TICK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// A running process; dropping it ends its process group.
pub struct Running {
    what: String,
    child: Child,
    chunks: Receiver<(Stream, Vec<u8>)>,
    out: Vec<u8>,
    err: Vec<u8>,
    deadline: Instant,
}

impl Running {
    /// Starts a command in a process group of its own.
    #[track_caller]
    pub fn start(mut command: Command) -> Running {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let what = words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap_or_else(|e| panic!("{what}: {e}"));
        let (sender, chunks) = channel();
        follow(child.stdout.take().expect("it is piped"), Stream::Out, sender.clone());
        follow(child.stderr.take().expect("it is piped"), Stream::Err, sender);
        let deadline = Instant::now() + DEADLINE;
        Running { what, child, chunks, out: Vec::new(), err: Vec::new(), deadline }
    }

    /// Sends a signal to the process itself, not to what it started.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap_or_else(|e| panic!("{}: {e}", self.what));
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.pid().as_raw_nonzero().get()
    }

    /// Sends a signal unless it has ended.
    pub fn try_signal(&mut self, signal: Signal) {
        // Not waited for, it keeps its number.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(self.pid(), signal);
        }
    }

    /// Reads output that comes within so many ticks, or until the end.
    #[track_caller]
    pub fn read_for(&mut self, ticks: usize) {
        let until = Instant::now() + TICK * u32::try_from(ticks).unwrap_or(u32::MAX);
        while Instant::now() < until && self.read(TICK) {}
    }

    /// Reads output until `condition` holds; a process that ends or is too slow fails the test.
    #[track_caller]
    pub fn wait_until(&mut self, hoped: &str, mut condition: impl FnMut() -> bool) {
        while !condition() {
            let over = !self.read(TICK);
            if over && !condition() {
                panic!("ended before {hoped}: {}", self.told());
            }
        }
    }

    /// Waits for the end.
    #[track_caller]
    pub fn finish(mut self) -> Output {
        while self.read(TICK) {}
        // Both streams are closed: nothing is left that could take time.
        let status = self.child.wait().unwrap_or_else(|e| panic!("{}: {e}", self.what));
        Output {
            what: std::mem::take(&mut self.what),
            code: status.code(),
            stdout: String::from_utf8_lossy(&self.out).into_owned(),
            stderr: String::from_utf8_lossy(&self.err).into_owned(),
        }
    }

    /// Takes what comes within `patience`. Says whether more may come.
    #[track_caller]
    fn read(&mut self, patience: Duration) -> bool {
        assert!(Instant::now() < self.deadline, "took longer than {DEADLINE:?}: {}", self.told());
        match self.chunks.recv_timeout(patience) {
            Ok((Stream::Out, bytes)) => self.out.extend(bytes),
            Ok((Stream::Err, bytes)) => self.err.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn told(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("{}\n--- stdout\n{}\n--- stderr\n{}", self.what, text(&self.out), text(&self.err))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Once it was waited for, its number may belong to somebody else.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Passes a stream on until its end, so that the process never blocks on a full pipe.
fn follow(mut stream: impl Read + Send + 'static, which: Stream, to: Sender<(Stream, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = [0_u8; 8192];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            if to.send((which, buffer[..read].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// What a process left.
#[derive(Debug)]
pub struct Output {
    what: String,
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Output {
        let Output { what, stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "{what}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// Asserts that standard error says all of `parts`, whatever their case.
    #[track_caller]
    pub fn complains(self, parts: &[&str]) -> Output {
        let lower = self.stderr.to_lowercase();
        for part in parts {
            assert!(lower.contains(&part.to_lowercase()), "no `{part}` in:\n{}", self.stderr);
        }
        self
    }

    /// Every line of standard output, each of which must be a JSON object.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value @ Value::Object(_)) => value,
            _ => panic!("{}: a line that is not a JSON object: {line}", self.what),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// JSON lines of one type; a last line that a kill has cut off does not count.
    pub fn whole_lines(&self, kind: &str) -> Vec<Value> {
        let lines = self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|line: &Value| line["type"] == kind).collect()
    }

    /// JSON lines of one type.
    #[track_caller]
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["type"] == kind).collect()
    }

    /// The benchmarks that lines of one type name, sorted.
    #[track_caller]
    pub fn named(&self, kind: &str) -> Vec<String> {
        let name = |line: &Value| line["benchmark"].as_str().unwrap_or("(none)").to_owned();
        let mut names: Vec<String> = self.of_type(kind).iter().map(name).collect();
        names.sort();
        names
    }

    /// One field of the only line of one type about a bench target.
    #[track_caller]
    pub fn said(&self, kind: &str, target: &str, field: &str) -> String {
        let mut found = self.of_type(kind);
        found.retain(|line| line["target"] == target);
        assert_eq!(found.len(), 1, "{kind} of {target} in {}\n{}", self.stdout, self.stderr);
        found[0][field].as_str().unwrap_or_default().to_owned()
    }

    /// The only comparison of a benchmark.
    #[track_caller]
    pub fn comparison(&self, benchmark: &str) -> Value {
        let mut found = self.of_type("comparison");
        found.retain(|line| line["benchmark"] == benchmark);
        assert_eq!(found.len(), 1, "comparisons of `{benchmark}` in:\n{}", self.stdout);
        found.remove(0)
    }
}
