//! One process that was built with criterion, and the connection on which it reports to its runner.
//! It knows how such a process is started, spoken to and ended, and not what is asked of it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use super::message::{
    EXECUTABLE, LONGEST, Message, Question, RUNNER, RUNNER_VERSION, SPOKEN, decode,
};
use crate::process::{describe, started_by};

/// Tells criterion where its runner listens.
const PORT: &str = "CARGO_CRITERION_PORT";

/// Tells criterion where its files go. It writes none for a runner, but without this it asks cargo.
const FILES: &str = "CRITERION_HOME";

/// How often a process that waits looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// How long a process that has closed its connection may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A version of criterion, as its executables tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunnerRelease(pub(super) u8, pub(super) u8, pub(super) u8);

impl fmt::Display for RunnerRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Why a run came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BridgeError {
    /// In words.
    Failed(String),
    /// Nobody wants it any more.
    Gone,
}

/// An executable that was built with criterion, and the words of the program that starts it.
pub(super) struct Suite {
    pub(super) executable: PathBuf,
    pub(super) runner: Vec<OsString>,
}

/// A process that ends with this value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running process with its connection; dropping it ends it.
pub(super) struct CriterionRun<'a> {
    process: Process,
    stream: TcpStream,
    release: RunnerRelease,
    is_gone: &'a dyn Fn() -> bool,
}

fn failed(what: &str) -> impl Fn(io::Error) -> BridgeError + '_ {
    move |error| BridgeError::Failed(format!("{what}: {error}"))
}

impl<'a> CriterionRun<'a> {
    /// Starts the executable of `suite` with a runner to report to, and exchanges greetings with
    /// it. It is given up when `is_gone` says so.
    pub(super) fn start(
        suite: &Suite,
        arguments: &[String],
        is_gone: &'a dyn Fn() -> bool,
    ) -> Result<CriterionRun<'a>, BridgeError> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed("no port for criterion"))?;
        listener.set_nonblocking(true).map_err(failed("no port for criterion"))?;
        let port = listener.local_addr().map_err(failed("no port for criterion"))?.port();
        let mut command = started_by(&suite.runner, &suite.executable);
        command.args(arguments).env(PORT, port.to_string());
        command.env_remove(nbench::SOCKET_VARIABLE);
        if let Some(directory) = suite.executable.parent() {
            command.env(FILES, directory.join("criterion"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = Process(command.spawn().map_err(failed("cannot start it"))?);
        let stream = accept(&listener, &mut process, is_gone)?;
        stream.set_nonblocking(false).map_err(failed("the connection is of no use"))?;
        stream.set_read_timeout(Some(TICK)).map_err(failed("the connection is of no use"))?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed("the connection is of no use"))?;
        let mut run = CriterionRun { process, stream, release: RunnerRelease(0, 0, 0), is_gone };
        run.greet()?;
        Ok(run)
    }

    fn greet(&mut self) -> Result<(), BridgeError> {
        let greeting = [RUNNER, RUNNER_VERSION.as_slice()].concat();
        self.stream.write_all(&greeting).map_err(failed("it does not take a greeting"))?;
        let mut name = [0u8; EXECUTABLE.len()];
        let mut rest = [0u8; 7];
        if !self.fill(&mut name)? || name != EXECUTABLE || !self.fill(&mut rest)? {
            return Err(BridgeError::Failed("it does not greet as criterion does".to_owned()));
        }
        let [major, minor, patch, a, b, c, d] = rest;
        self.release = RunnerRelease(major, minor, patch);
        let spoken = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        if spoken == SPOKEN {
            Ok(())
        } else {
            Err(BridgeError::Failed(format!(
                "criterion {} speaks protocol {} in format {} to its runner, which is not known here",
                self.release, spoken[0], spoken[1]
            )))
        }
    }

    /// The version of criterion in it.
    pub(super) fn release(&self) -> RunnerRelease {
        self.release
    }

    /// Its next message; nothing at the end of the connection.
    pub(super) fn message(&mut self) -> Result<Option<Message>, BridgeError> {
        let mut length = [0u8; 4];
        if !self.fill(&mut length)? {
            return Ok(None);
        }
        let length = u32::from_be_bytes(length);
        if length > LONGEST {
            return Err(BridgeError::Failed(format!("criterion sent a message of {length} bytes")));
        }
        let mut bytes = vec![0; length as usize];
        if !self.fill(&mut bytes)? {
            return Err(BridgeError::Failed(
                "criterion's connection ended in a message".to_owned(),
            ));
        }
        let message = decode(&bytes);
        message.map(Some).map_err(|error| BridgeError::Failed(format!("criterion sent {error}")))
    }

    /// Lets it go on.
    pub(super) fn proceed(&mut self) -> Result<(), BridgeError> {
        self.ask(Question::Continue)
    }

    /// The unit of what it has just measured.
    pub(super) fn unit(&mut self) -> Result<String, BridgeError> {
        self.ask(Question::Unit)?;
        match self.message()? {
            Some(Message::Unit(unit)) => Ok(unit),
            Some(_) | None => {
                Err(BridgeError::Failed("criterion does not tell the unit of its times".to_owned()))
            }
        }
    }

    fn ask(&mut self, question: Question) -> Result<(), BridgeError> {
        let bytes = question.encode();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
        match self.stream.write_all(&[length.as_slice(), bytes.as_slice()].concat()) {
            Ok(()) => Ok(()),
            Err(error) => {
                let end = self.end()?;
                Err(BridgeError::Failed(
                    end.unwrap_or_else(|| format!("criterion is gone: {error}")),
                ))
            }
        }
    }

    /// Waits for its end; nothing when that is a good one, otherwise what happened.
    pub(super) fn end(&mut self) -> Result<Option<String>, BridgeError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.0.try_wait().map_err(failed("cannot wait for it"))? {
                return Ok(told(&status));
            }
            if (self.is_gone)() {
                return Err(BridgeError::Gone);
            }
            if Instant::now() > deadline {
                return Ok(Some("the process closed its connection and went on".to_owned()));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Fills `bytes`; `false` when the connection ends before the first.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, BridgeError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.stream.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => {
                    let what = "criterion's connection ended in a message".to_owned();
                    return Err(BridgeError::Failed(what));
                }
                Ok(more) => filled += more,
                Err(error) if is_passing(&error) => {}
                // A process that dies with unread answers resets its connection.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(failed("criterion's connection failed")(error)),
            }
            if (self.is_gone)() {
                return Err(BridgeError::Gone);
            }
        }
        Ok(true)
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// The end of a process in words, unless it is a good one.
fn told(status: &ExitStatus) -> Option<String> {
    (!status.success()).then(|| describe(status))
}

/// The connection that the process makes.
fn accept(
    listener: &TcpListener,
    process: &mut Process,
    is_gone: &dyn Fn() -> bool,
) -> Result<TcpStream, BridgeError> {
    loop {
        // In this order: a process may connect and end at once.
        let status = process.0.try_wait().ok().flatten();
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(failed("criterion cannot connect")(error)),
        }
        if let Some(status) = status {
            return Err(BridgeError::Failed(format!(
                "{} before it spoke to criterion's runner: criterion 0.3.3 or newer does, when its `main` reaches it",
                describe(&status)
            )));
        }
        if is_gone() {
            return Err(BridgeError::Gone);
        }
        thread::sleep(Duration::from_micros(300));
    }
}
