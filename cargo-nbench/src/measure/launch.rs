//! Starting worker processes: environment, process group, private socket, and the end of what they
//! wrote to standard error. It does not know what is measured with them.

mod socket;

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nbench_engine::SubjectError;
use nbench_engine::remote::{Limits, Peer};
use tempfile::TempDir;

use crate::foreign::bridge;
use crate::interrupt;
use crate::measure::identity::Naming;
use crate::measure::orphans;
use crate::measure::place::{Addresses, Placement};
use crate::private;
use crate::process::{describe, started_by};
use crate::secrets;

/// A bench executable and what it expects around it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Working directory: the package root, as cargo does it.
    pub cwd: PathBuf,
    /// Variables that cargo sets for it, such as `CARGO_MANIFEST_DIR` and where libraries lie.
    pub env: Vec<(OsString, OsString)>,
    /// The program of the user's that starts it, and its arguments; empty when there is none.
    pub runner: Vec<OsString>,
    /// Whether it is driven over the bridge to criterion's own runner.
    pub bridged: bool,
    /// How the ids it offers are read.
    pub naming: Naming,
}

impl Program {
    /// The id that a benchmark of this program goes by now.
    pub fn current(&self, id: &str) -> String {
        match self.path.to_str() {
            // Every launch may have an executable of its own.
            Some(path) if path.len() > 1 && id.contains(path) => {
                self.naming.current(&id.replace(path, "<executable>"))
            }
            _ => self.naming.current(id),
        }
    }
}

/// How workers are started.
#[derive(Debug)]
pub struct Starter {
    /// CPUs.
    pub placement: Placement,
    /// Time limits.
    pub limits: Limits,
    /// `NBENCH_SEED`, equal on all sides.
    pub seed: u64,
}

/// What is drawn anew at each launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Luck {
    /// Where the stack begins within a page: below [`PAGE`] (bytes).
    pub padding: usize,
    /// Whether the worker is bound to the workers' CPU.
    pub pinned: bool,
    /// Where the worker lies in memory.
    pub addresses: Addresses,
}

/// A running worker; dropping it ends its whole process group.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    tail: Arc<Mutex<Tail>>,
}

/// Variables that describe the process that started us rather than the benchmark.
fn is_inherited_from_cargo(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_BIN_EXE_")
        || matches!(
            name,
            "CARGO_MANIFEST_DIR"
                | "CARGO_MANIFEST_PATH"
                | "CARGO_CRATE_NAME"
                | "CARGO_BIN_NAME"
                | "CARGO_PRIMARY_PACKAGE"
                | "CARGO_MAKEFLAGS"
                | "OUT_DIR"
                | "LLVM_PROFILE_FILE"
        )
}

/// Size of a page, within which the place of the stack matters most (bytes).
pub const PAGE: usize = 4096;

/// How long `NBENCH_PAD` must be for arguments and environment to end at `offset` of a page, whatever
/// the lengths of paths in them: workers of several sides then have their stacks at the same place.
fn padding(command: &Command, offset: usize) -> usize {
    // The program's path is there twice: as the first argument and for the loader. Strings end with a
    // zero byte, and each has a pointer.
    let path = 2 * (command.get_program().len() + 1);
    let arguments: usize = command.get_args().map(|a| a.len() + 1 + size_of::<usize>()).sum();
    let variables: usize = command
        .get_envs()
        .filter_map(|(name, value)| Some(name.len() + value?.len() + 2 + size_of::<usize>()))
        .sum();
    (offset + PAGE - (path + arguments + variables) % PAGE) % PAGE
}

/// What could not be started: where there is a runner, that is the program that the system looked for.
fn unstarted(program: &Program) -> String {
    match program.runner.first() {
        Some(runner) => format!(
            "cannot start `{}`, which the configuration of cargo names as the runner",
            Path::new(runner).display()
        ),
        None => format!("cannot start `{}`", program.path.display()),
    }
}

impl Starter {
    /// Starts a worker and waits for its hello.
    ///
    /// # Errors
    /// When it cannot be started, exits, is too slow or does not speak the protocol; the message
    /// ends with the tail of its standard error.
    pub fn start<'i>(
        &self,
        program: &Program,
        luck: Luck,
        interrupted: &'i dyn Fn() -> bool,
    ) -> Result<(Worker, Peer<'i>), SubjectError> {
        let lost = |what: &str, error: &dyn std::fmt::Display| {
            SubjectError::lost(format!("{what}: {error}"))
        };
        let socket = socket_directory().map_err(|e| lost("no socket directory", &e))?;
        let path = socket.path().join("s");
        let listener = UnixListener::bind(&path).map_err(|e| lost("no socket", &e))?;
        listener.set_nonblocking(true).map_err(|e| lost("no socket", &e))?;

        let mut command = if program.bridged {
            bridge::command(&program.path, &program.runner)
                .map_err(|e| lost("cannot find this program", &e))?
        } else {
            let mut command = started_by(&program.runner, &program.path);
            command.arg("--bench");
            command
        };
        command.current_dir(&program.cwd).env_clear();
        command.envs(inherited_environment());
        command.envs(program.env.iter().map(|(k, v)| (k, v)));
        command.env("NBENCH_SOCKET", &path);
        command.env("NBENCH_SEED", self.seed.to_string());
        let padding = padding(&command, luck.padding);
        command.env("NBENCH_PAD", "x".repeat(padding));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        orphans::adopt();
        // A group of its own, so that it can be ended whole with whatever it started.
        command.process_group(0);
        let mut child = self
            .placement
            .spawning(luck.pinned, luck.addresses, || command.spawn())
            .map_err(|e| lost(&unstarted(program), &e))?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, Arc::clone(&tail));
        }
        let mut worker = Worker { child, tail };
        let accepted = Peer::accept(&listener, self.limits, interrupted, &mut || {
            worker.exited().map(|status| describe(&status))
        });
        // Connected or not, nobody needs the path any more, and a driver that is
        // killed later must not leave it behind.
        drop(socket);
        match accepted {
            Ok(peer) => Ok((worker, peer)),
            Err(error) => {
                worker.finish(Duration::ZERO);
                let said = panic_in(&worker.stderr_tail()).map(|panic| format!("{panic}; "));
                let message = said.unwrap_or_default() + &error.message;
                Err(SubjectError { kind: error.kind, message })
            }
        }
    }
}

/// Our own environment without what cargo put there for us, without our own variables and without
/// credentials.
fn inherited_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            !is_inherited_from_cargo(&name)
                && !name.starts_with("NBENCH_")
                && !secrets::is_secret(&name)
        })
        .collect()
}

/// A directory only we can enter, with a path short enough for a socket.
fn socket_directory() -> std::io::Result<TempDir> {
    // The limit of a socket's path is about 100 bytes.
    let base = std::env::temp_dir();
    let base = if base.as_os_str().len() > 60 { PathBuf::from("/tmp") } else { base };
    socket::sweep(&base);
    private::directory_in(&base, &socket::prefix())
}

impl Worker {
    /// The exit status, if the process has ended.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The last lines of standard error.
    pub fn stderr_tail(&self) -> String {
        self.tail.lock().map(|tail| tail.text()).unwrap_or_default()
    }

    /// Forgets what was written to standard error so far.
    pub fn forget_stderr(&self) {
        if let Ok(mut tail) = self.tail.lock() {
            tail.0.clear();
        }
    }

    /// Waits briefly for the end of a worker that was asked to quit or has just died, then ends its
    /// group. Returns what became of it.
    pub fn finish(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        let mut status = self.exited();
        while status.is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
            status = self.exited();
        }
        self.end_group();
        if status.is_none() {
            // It was ended by us, which is not news of its own.
            let _ = self.child.wait();
        }
        status
    }

    fn end_group(&self) {
        // The group outlives its leader when the benchmark started processes of its own.
        if let Some(group) =
            i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end_group();
        let _ = self.child.wait();
    }
}

/// The end of a stream.
#[derive(Debug, Default)]
struct Tail(std::collections::VecDeque<u8>);

/// Enough for a panic's message before the back-trace that follows it.
const TAIL_BYTES: usize = 1 << 16;

/// Lines of it that are kept for people.
const TAIL_LINES: usize = 20;

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        self.0.drain(..over);
        self.0.extend(bytes);
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines = without_back_trace(&text);
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n").trim().to_owned()
    }
}

/// Lines of standard error without the frames of back-traces: the message before them is what matters.
fn without_back_trace(text: &str) -> Vec<&str> {
    let mut in_trace = false;
    let is_frame = |line: &str| {
        let line = line.trim_start();
        let numbered = line.split_once(':').is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        numbered || line.starts_with("at ")
    };
    text.lines()
        .filter(|line| {
            in_trace = *line == "stack backtrace:" || (in_trace && is_frame(line));
            !in_trace && !line.starts_with("note: ")
        })
        .collect()
}

/// The message of the last panic in what a process wrote to standard error, with its place.
pub fn panic_in(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .rposition(|line| line.starts_with("thread ") && line.contains(" panicked at "))?;
    let (_, place) = lines[at].split_once(" panicked at ")?;
    let message = lines.get(at + 1).filter(|message| !message.trim().is_empty())?;
    Some(format!("{message}, at {}", place.trim_end_matches(':')))
}

/// Reads a stream to its end on a thread of its own, so that a worker never blocks on a full pipe. A
/// grandchild may keep the stream open; nobody waits for the thread.
fn follow(mut stream: impl Read + Send + 'static, tail: Arc<Mutex<Tail>>) {
    std::thread::spawn(move || {
        let mut buffer = [0u8; 8192];
        while let Ok(read) = stream.read(&mut buffer) {
            if read == 0 {
                break;
            }
            if let Ok(mut tail) = tail.lock() {
                tail.push(&buffer[..read]);
            }
        }
    });
}

/// The interrupt flag as the engine wants it.
pub fn interrupted() -> bool {
    interrupt::requested()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(script: &str) -> Program {
        Program {
            path: "/bin/sh".into(),
            cwd: std::env::temp_dir(),
            env: vec![("ENV_OF_TEST".into(), script.into())],
            ..Program::default()
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let none = program("");
        let mut runner = program("");
        runner.runner = vec!["no-such-runner".into(), "-x".into()];
        let mut gone = program("");
        gone.path = "/no/such/executable".into();
        assert!(unstarted(&runner).contains("`no-such-runner`"), "{}", unstarted(&runner));
        assert!(unstarted(&gone).contains("`/no/such/executable`"));
        assert!(unstarted(&none).contains("`/bin/sh`"));
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = Tail::default();
        tail.push(&[b'a'; 10_000]);
        tail.push(b"\nthe end\n");
        let text = tail.text();
        assert!(text.ends_with("the end") && text.len() <= TAIL_BYTES);
    }

    #[test]
    fn a_panic_is_told_by_its_own_line_and_not_by_frames() {
        let text = "warming up\n\nthread 'main' (71) panicked at benches/b.rs:2:55:\n\
                    the port is free: AddrInUse\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n\
                    \x20            at /rustc/library/std/src/panicking.rs:689:5\n   1: main\n\
                    note: Some details are omitted, run with `RUST_BACKTRACE=full`\nlater\n";
        let mut tail = Tail::default();
        tail.push(text.as_bytes());
        let told = tail.text();
        assert!(!told.contains("rust_begin_unwind") && !told.contains("note:"), "{told}");
        assert!(told.ends_with("the port is free: AddrInUse\nlater"), "{told}");
        assert_eq!(
            panic_in(&told).as_deref(),
            Some("the port is free: AddrInUse, at benches/b.rs:2:55")
        );
        assert_eq!(panic_in("thread of text\nno panic"), None);
        assert_eq!(panic_in("thread 'a' panicked at x.rs:1:1:"), None, "it was cut off");
        // Nothing that only looks like a frame is left out elsewhere.
        assert_eq!(without_back_trace("1: one\nat two"), ["1: one", "at two"]);
    }

    #[test]
    fn a_program_that_does_not_connect_is_reported_with_its_end() {
        // `sh --bench` is an unknown option for every shell: it complains and exits.
        let starter = Starter {
            placement: Placement::free("test"),
            limits: Limits { hello: Duration::from_secs(10), ..Limits::default() },
            seed: 1,
        };
        let luck = Luck { padding: 10, pinned: false, addresses: Addresses::Shared };
        let error = starter.start(&program(""), luck, &interrupted).unwrap_err();
        assert!(error.message.contains("exited with code"), "{error}");
    }

    #[test]
    fn paths_of_different_length_leave_the_stack_where_it_is() {
        let ends_at = |path: &str, value: &str, offset| {
            let mut command = Command::new(path);
            command.arg("--bench").env_clear().env("CARGO_MANIFEST_DIR", value);
            // 2 x path with its zero, `--bench` and the variable with their zeros and pointers.
            let bytes = 2 * (path.len() + 1) + (8 + 8) + (18 + 1 + value.len() + 1 + 8);
            let padding = padding(&command, offset);
            assert!(padding < PAGE);
            (bytes + padding) % PAGE
        };
        assert_eq!(ends_at("/a/bench", "/a", 1000), 1000);
        assert_eq!(ends_at("/a/longer/bench", "/a/longer", 1000), 1000);
        assert_eq!(ends_at("/a", &"b".repeat(5000), 0), 0);
    }

    #[test]
    fn variables_of_cargo_and_ours_are_left_out() {
        assert!(is_inherited_from_cargo("CARGO_PKG_NAME"));
        assert!(is_inherited_from_cargo("CARGO_MANIFEST_DIR"));
        assert!(!is_inherited_from_cargo("CARGO_HOME"));
        assert!(!is_inherited_from_cargo("PATH"));
    }
}
