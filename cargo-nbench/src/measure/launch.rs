//! Starting worker processes: environment, process group, private socket. It does not know what is
//! measured with them.

mod socket;
mod stderr;

use std::ffi::OsString;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nbench_engine::SubjectError;
use nbench_engine::remote::{Limits, Peer};
use stderr::Stderr;
pub use stderr::panic_in;
use tempfile::TempDir;

use crate::foreign::bridge;
use crate::measure::identity::Naming;
use crate::measure::orphans;
use crate::measure::placement::{Addresses, Placement};
use crate::process::{describe, started_by};
use crate::{interrupt, private, secrets};

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

/// Conditions that are drawn anew at each launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConditions {
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
    stderr: Stderr,
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

/// How long `NBENCH_PAD` must be for arguments and environment to end at `offset` of a page,
/// whatever the lengths of paths in them: workers of several sides then have their stacks at the
/// same place.
fn padding(command: &Command, offset: usize) -> usize {
    // The program's path is there twice: as the first argument and for the loader. Strings end with
    // a zero byte, and each has a pointer.
    let path = 2 * (command.get_program().len() + 1);
    let arguments: usize = command.get_args().map(|a| a.len() + 1 + size_of::<usize>()).sum();
    let variables: usize = command
        .get_envs()
        .filter_map(|(name, value)| Some(name.len() + value?.len() + 2 + size_of::<usize>()))
        .sum();
    (offset + PAGE - (path + arguments + variables) % PAGE) % PAGE
}

/// Description of what could not be started: with a runner, that is the program that the system
/// looked for.
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
        conditions: LaunchConditions,
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
        let padding = padding(&command, conditions.padding);
        command.env("NBENCH_PAD", "x".repeat(padding));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        orphans::adopt();
        // A group of its own, so that it can be ended whole with whatever it started.
        command.process_group(0);
        let mut child = self
            .placement
            .spawning(conditions.pinned, conditions.addresses, || command.spawn())
            .map_err(|e| lost(&unstarted(program), &e))?;
        let stderr = child.stderr.take().map(Stderr::follow).unwrap_or_default();
        let mut worker = Worker { child, stderr };
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
        self.stderr.tail()
    }

    /// Forgets what was written to standard error so far.
    pub fn forget_stderr(&self) {
        self.stderr.forget();
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
    fn a_program_that_does_not_connect_is_reported_with_its_end() {
        // `sh --bench` is an unknown option for every shell: it complains and exits.
        let starter = Starter {
            placement: Placement::free("test"),
            limits: Limits { hello: Duration::from_secs(10), ..Limits::default() },
            seed: 1,
        };
        let conditions =
            LaunchConditions { padding: 10, pinned: false, addresses: Addresses::Shared };
        let error = starter.start(&program(""), conditions, &interrupted).unwrap_err();
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
