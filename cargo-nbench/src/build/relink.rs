//! Links a bench executable again with its functions in another order, by replaying the command
//! that was kept with its build. It knows linkers; it must not know why another order is wanted.

mod align;
pub(crate) mod capture;
mod command;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use command::{Call, Linker, linker, parse};

use crate::build::identical::same_code;
use crate::build::relink::capture::{COMMAND, PLACE, REFUSED, beside};
use crate::interrupt;

/// Longest time of one link, and the shortest limit that follows from the time of the first.
const LIMITS: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(20));

/// Bytes of the linker's messages that an error repeats.
const TAIL: usize = 600;

/// An executable that can be linked again.
#[derive(Debug, Clone)]
pub struct Relinker {
    call: Call,
    linker: Linker,
    place: PathBuf,
    /// Longest time of one link.
    limit: Duration,
    /// Time of one link (seconds), once [`Relinker::prove`] has measured it.
    seconds: f64,
}

impl Relinker {
    /// Reads the link command that was kept beside `executable`.
    ///
    /// # Errors
    /// Why its layout cannot be varied, as a fragment, with what would help.
    pub fn read(executable: &Path) -> Result<Relinker, String> {
        let file = |extension: &str| {
            let name = executable.file_name().unwrap_or_default();
            executable.with_file_name(beside(name, extension))
        };
        let none =
            |_| "its build kept no link command (a compiler cache may have built it)".to_owned();
        let place = fs::read(file(PLACE)).map_err(none)?;
        if let Some(reason) = place.strip_prefix(REFUSED.as_bytes()) {
            return Err(String::from_utf8_lossy(reason).into_owned());
        }
        let place = PathBuf::from(command::os_string(place));
        let text = fs::read(file(COMMAND))
            .map_err(|_| "rustc printed no link command; Rust 1.75 or newer does".to_owned())?;
        let call = parse(&text)?;
        let linker = linker(&call)?;
        let same = |a: &Path, b: &Path| {
            a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
        };
        if !same(&place.join(call.output()), executable) {
            return Err("the link command kept beside it makes another file".to_owned());
        }
        Ok(Relinker { call, linker, place, limit: LIMITS.0, seconds: 0.0 })
    }

    /// Links once in the original order, into `scratch`, and compares with `executable`: what is
    /// measured later must be the same program.
    ///
    /// # Errors
    /// When linking fails or makes something else, as a fragment.
    pub fn prove(&mut self, executable: &Path, scratch: &Path) -> Result<(), String> {
        let began = Instant::now();
        let made = self.link(None, scratch);
        let took = began.elapsed();
        let same =
            made.and_then(|()| same_code(executable, scratch).map_err(|failure| failure.error));
        let _ = fs::remove_file(scratch);
        if !same? {
            return Err("linking it again makes another program than its build did".to_owned());
        }
        self.seconds = took.as_secs_f64();
        self.limit = (20 * took).clamp(LIMITS.1, LIMITS.0);
        Ok(())
    }

    /// Lets every function start at a cache line in layouts drawn from here on, by linking copies
    /// of the objects, which are kept in `directory`.
    ///
    /// # Errors
    /// When the copies cannot be made, as a fragment; layouts stay as they were then.
    pub fn align(&mut self, directory: &Path) -> Result<(), String> {
        let mut call = self.call.clone();
        for argument in &mut call.arguments {
            if align::has_functions(argument)
                && let Some(copy) = align::copy(&self.place.join(&argument), directory)?
            {
                *argument = copy.into_os_string();
            }
        }
        self.call = call;
        Ok(())
    }

    /// Seconds that one link takes; 0 before [`Relinker::prove`].
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Links with the functions in the order that `seed` draws, into `to`.
    ///
    /// # Errors
    /// Why there is no executable at `to`, as a fragment with the end of the linker's messages.
    pub fn relink(&self, seed: u64, to: &Path) -> Result<(), String> {
        self.link(Some(self.linker.shuffle(seed)), to)
    }

    fn link(&self, more: Option<OsString>, to: &Path) -> Result<(), String> {
        let mut command = self.call.command(to);
        command.args(more).current_dir(&self.place);
        let result = run(&mut command, self.limit);
        if result.is_err() {
            let _ = fs::remove_file(to);
        }
        result
    }
}

/// Runs the linker to its end, at most for `limit`, and not after an interruption.
fn run(command: &mut Command, limit: Duration) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // The compiler driver starts the linker proper: both must end together.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .map_err(|error| format!("the linker `{program}` does not start: {error}"))?;
    let messages = child.stderr.take().map(|mut stderr| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            text
        })
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < limit && !interrupt::requested() => {
                thread::sleep(Duration::from_micros(500));
            }
            Ok(None) => {
                if let Some(group) =
                    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
                {
                    let _ =
                        rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.wait();
                return Err(if interrupt::requested() {
                    "linking was interrupted".to_owned()
                } else {
                    format!("the linker `{program}` took more than {:.0} s", limit.as_secs_f64())
                });
            }
            Err(error) => {
                return Err(format!("the linker `{program}` cannot be waited for: {error}"));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let text = messages.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).trim().to_owned();
    Err(format!("the linker `{program}` failed ({status}): {tail}"))
}

#[cfg(test)]
mod tests;
