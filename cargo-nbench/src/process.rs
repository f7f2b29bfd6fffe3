//! Processes of others: how one is started behind a runner, and how its end is put into words. It
//! must not know what they do.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::secrets;

/// `executable` behind the words of a runner, if there are any, and without our credentials.
pub fn started_by(runner: &[OsString], executable: &Path) -> Command {
    let mut command = match runner.split_first() {
        None => Command::new(executable),
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(executable);
            command
        }
    };
    secrets::withhold(&mut command);
    command
}

/// Description of how a process ended.
pub fn describe(status: &ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the worker exited with code {code}"),
        (None, Some(signal)) => format!("the worker was ended by signal {signal}{}", name(signal)),
        (None, None) => "the worker ended".to_owned(),
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic error)",
        9 => " (kill, out of memory perhaps)",
        11 => " (segmentation fault)",
        15 => " (terminate)",
        _ => "",
    }
}
