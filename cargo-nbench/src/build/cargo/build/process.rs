//! Follows one cargo process: both of its outputs at once, and an interruption
//! that ends it with everything it started. It does not read the messages.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;

use super::BuildNote;
use crate::build::cargo::command::not_started;
use crate::build::cargo::stand_in::Remarks;
use crate::build::error::BuildError;
use crate::failure::Failure;

/// Enough for the last error of the compiler with its context.
const KEPT_LINES: usize = 40;

/// How often an interruption is looked for.
const POLL: Duration = Duration::from_millis(50);

/// How long cargo may take to end by itself before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// How cargo ended.
pub(super) enum Ended {
    Done,
    /// With its last lines, first errors included.
    Failed(Vec<String>),
    Interrupted,
    /// A step of the build wants an answer that nobody can give.
    Asked,
}

enum Line {
    Message(String),
    Text(String),
}

/// Runs `command` to its end. `on_message` gets the lines of standard output,
/// `on_note` what it makes of them and the lines of standard error.
pub(super) fn follow(
    command: &mut Command,
    on_message: &mut dyn FnMut(&str) -> Option<BuildNote>,
    on_note: &mut dyn FnMut(BuildNote),
    interrupted: &dyn Fn() -> bool,
) -> Result<Ended, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // In a group of its own it does not get the terminal's Ctrl-C, and can be
    // ended with all compilers.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().map_err(|error| not_started(command, error))?;
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        forward(stdout, sender.clone(), Line::Message);
    }
    if let Some(stderr) = child.stderr.take() {
        forward(stderr, sender, Line::Text);
    }
    let mut log = Log::default();
    let mut remarks = Remarks::default();
    let mut ended = false;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(Line::Message(line)) => {
                if let Some(note) = on_message(&line) {
                    on_note(note);
                }
            }
            Ok(Line::Text(line)) => {
                let plain = strip_str(&line).to_string();
                // That the graph differs from the locked one is the very purpose of a stand-in.
                if !remarks.is_about_stand_ins(&plain) {
                    log.push(&plain);
                    on_note(BuildNote::Line(line));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            // A daemon that a build script started may hold the outputs open
            // for ever; what cargo wrote itself has arrived by now.
            Err(RecvTimeoutError::Timeout) if ended => break,
            Err(RecvTimeoutError::Timeout) => {
                ended = child.try_wait().map_err(BuildError::Lost)?.is_some();
                if !ended && asks_on_terminal(&child) {
                    stop(&mut child);
                    return Ok(Ended::Asked);
                }
            }
        }
        if interrupted() {
            stop(&mut child);
            return Ok(Ended::Interrupted);
        }
    }
    let status = child.wait().map_err(BuildError::Lost)?;
    Ok(if status.success() { Ended::Done } else { Ended::Failed(log.into_lines()) })
}

/// The last lines, and the first error with its place even when it is older than those.
#[derive(Default)]
struct Log {
    first_error: Vec<String>,
    last: VecDeque<String>,
    /// The lines of errors that may be about a harness, which can be older than the last ones.
    of_harness: Vec<String>,
}

impl Log {
    fn push(&mut self, line: &str) {
        let follows = self.first_error.len() == 1 && line.trim_start().starts_with("--> ");
        if follows || (self.first_error.is_empty() && line.starts_with("error")) {
            self.first_error.push(line.to_owned());
        }
        if self.of_harness.len() < KEPT_LINES && names_harness(line) {
            self.of_harness.push(line.to_owned());
        }
        if self.last.len() == KEPT_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line.to_owned());
    }

    fn into_lines(self) -> Vec<String> {
        let last = self.last;
        let mut older = self.first_error;
        let more: Vec<String> =
            self.of_harness.into_iter().filter(|line| !older.contains(line)).collect();
        older.extend(more);
        older
            .into_iter()
            .filter(|line| !last.contains(line))
            .collect::<Vec<_>>()
            .into_iter()
            .chain(last)
            .collect()
    }
}

/// Whether a line of the compiler names criterion or one of its types, so that the original may
/// compile where its stand-in does not. Places in files say nothing.
pub(crate) fn names_harness(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "AxisScale",
        "BatchSize",
        "Bencher",
        "BenchmarkFilter",
        "BenchmarkGroup",
        "BenchmarkId",
        "Criterion",
        "Measurement",
        "PlotConfiguration",
        "PlottingBackend",
        "SamplingMode",
        "Throughput",
        "WallTime",
        "criterion",
    ];
    let line = line.trim_start();
    let quoted = line.split_once(" | ").filter(|(number, _)| number.trim().parse::<u32>().is_ok());
    let cargos = ["--> ", "::: ", "Compiling ", "Checking ", "error: could not compile"];
    if quoted.is_some() || cargos.iter().any(|start| line.starts_with(start)) {
        return false;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split(|c| !is_part(c)).any(|word| {
        WORDS.contains(&word) || word.starts_with("criterion_") || word.starts_with("codspeed_")
    })
}

/// Whether the system has stopped it because something in its group reads or sets the terminal,
/// which belongs to us: nobody would ever answer.
#[cfg(unix)]
fn asks_on_terminal(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Ok(Some(status)) = waitid(WaitId::Pid(Pid::from_child(child)), options) else {
        return false;
    };
    [Signal::TTIN, Signal::TTOU].iter().any(|s| status.stopping_signal() == Some(s.as_raw()))
}

#[cfg(not(unix))]
fn asks_on_terminal(_child: &Child) -> bool {
    false
}

fn forward(output: impl Read + Send + 'static, sender: Sender<Line>, kind: fn(String) -> Line) {
    thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
            let line = String::from_utf8_lossy(&bytes);
            if sender.send(kind(line.trim_end_matches(['\n', '\r']).to_owned())).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

#[cfg(unix)]
fn stop(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        thread::sleep(POLL);
    }
    // Compilers that outlive cargo would go on writing to the target directory.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

#[cfg(not(unix))]
fn stop(child: &mut Child) {
    let since = Instant::now();
    let _ = child.kill();
    while since.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{Ended, Log, follow, names_harness};
    use crate::build::cargo::BuildNote;

    #[test]
    fn the_first_error_survives_many_lines() {
        let mut log = Log::default();
        log.push("error[E0001]: the cause");
        for number in 0..100 {
            log.push(&format!("line {number}"));
        }
        let lines = log.into_lines();
        assert_eq!(lines.len(), 41);
        assert_eq!(lines.first().map(String::as_str), Some("error[E0001]: the cause"));
        assert_eq!(lines.last().map(String::as_str), Some("line 99"));
    }

    #[test]
    fn only_errors_about_criterion_name_it() {
        for line in [
            "error[E0432]: unresolved import `criterion::profiler`",
            "error[E0599]: no method named `with_plots` found for struct `Criterion` in the scope",
            "  = note: expected struct `Throughput`",
            "error: cannot find macro `criterion_group_of` in this scope",
            "error[E0433]: cannot find `codspeed_criterion_compat` in this scope",
        ] {
            assert!(names_harness(line), "{line}");
        }
        for line in [
            "error[E0432]: unresolved import `subject_lib::missing`",
            "  --> benches/criterion.rs:3:5",
            "3 | use criterion::Criterion;",
            "   Compiling criterion v0.5.1",
            "error: could not compile `criterion-user` (bench \"criterion\") due to 1 previous error",
            "error[E0308]: mismatched types",
        ] {
            assert!(!names_harness(line), "{line}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn colours_are_shown_and_not_read() {
        let (ended, _, notes) =
            shell("printf '\\033[1m\\033[91merror\\033[0m: x\\n' >&2; exit 1", false);
        assert!(matches!(ended, Ended::Failed(lines) if lines == ["error: x"]));
        let shown = "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: x".to_owned();
        assert_eq!(notes, [BuildNote::Line(shown)]);
    }

    fn shell(script: &str, interrupted: bool) -> (Ended, Vec<String>, Vec<BuildNote>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (mut messages, mut notes) = (Vec::new(), Vec::new());
        let ended = follow(
            &mut command,
            &mut |line| {
                messages.push(line.to_owned());
                None
            },
            &mut |note| notes.push(note),
            &|| interrupted,
        );
        (ended.unwrap(), messages, notes)
    }

    #[test]
    #[cfg(unix)]
    fn outputs_are_kept_apart() {
        let (ended, messages, notes) = shell("echo out; echo err >&2; printf 'half' >&2", false);
        assert!(matches!(ended, Ended::Done));
        assert_eq!(messages, ["out"]);
        let expected = ["err", "half"].map(|line| BuildNote::Line(line.to_owned()));
        assert_eq!(notes, expected);
        let (ended, ..) = shell("echo 'error: x' >&2; exit 3", false);
        assert!(matches!(ended, Ended::Failed(lines) if lines == ["error: x"]));
    }

    #[test]
    #[cfg(unix)]
    fn an_interruption_ends_the_whole_group() {
        let started = Instant::now();
        let (ended, ..) = shell("(trap '' TERM; tail -f /dev/null) & tail -f /dev/null", true);
        assert!(matches!(ended, Ended::Interrupted));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    #[cfg(unix)]
    fn a_build_that_asks_on_the_terminal_is_ended_and_says_so() {
        // What the system does to a group in the background that reads the terminal.
        for signal in ["TTIN", "TTOU"] {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("kill -{signal} 0; tail -f /dev/null")]);
            let ended = follow(&mut command, &mut |_| None, &mut |_| (), &|| false);
            assert!(matches!(ended, Ok(Ended::Asked)), "{signal}");
        }
        // Its standard input is empty, not ours.
        let (ended, messages, _) = shell("read answer || echo nothing", false);
        assert!(matches!(ended, Ended::Done));
        assert_eq!(messages, ["nothing"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_daemon_that_keeps_the_outputs_open_does_not_hang_us() {
        let started = Instant::now();
        let (ended, ..) = shell("timeout 30 tail -f /dev/null & exit 0", false);
        assert!(matches!(ended, Ended::Done));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
