//! The `main` of a bench target: decides between a session with a driver and the plain table. It
//! must not know what either does.

use std::io::Write;
use std::process::ExitCode;

use crate::standalone::{self, Standalone};
use crate::suite::{Names, Suite};
use crate::{batch, connect};

/// One suite function of a bench target, as [`main!`](crate::main) lists it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name of the function.
    pub name: &'static str,
    /// The function.
    pub run: fn(&mut Suite<'_>),
}

/// Runs the suite functions as the environment and the arguments ask; what
/// [`main!`](crate::main) calls.
#[must_use]
pub fn start(entries: &[Entry]) -> ExitCode {
    match connect::socket() {
        Some(socket) => serve(&socket, entries),
        None => {
            let mut walk = Standalone::begin();
            walk_all(entries, &mut walk);
            ExitCode::from(walk.finish())
        }
    }
}

#[cfg(unix)]
fn serve(socket: &std::path::Path, entries: &[Entry]) -> ExitCode {
    match connect::dial(socket) {
        Ok(Some((reader, writer))) => {
            // No destructor of the suite may run or hang once the driver has what it wants.
            crate::serve::serve(reader, writer, entries, || std::process::exit(0));
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(message) => refuse(&message),
    }
}

#[cfg(not(unix))]
fn serve(_socket: &std::path::Path, _entries: &[Entry]) -> ExitCode {
    refuse(connect::NO_SOCKETS)
}

fn refuse(message: &str) -> ExitCode {
    standalone::complain(message);
    ExitCode::FAILURE
}

/// Walks the suite functions without a driver.
pub(crate) fn walk_all<W: Write>(entries: &[Entry], walk: &mut Standalone<W>) {
    let mut names = Names::default();
    for entry in entries {
        let walked = batch::catch(|| (entry.run)(&mut Suite::new(&mut *walk, &mut names)));
        if let Err(message) = walked {
            walk.broken(entry.name, &message);
        }
    }
}

/// Defines the `main` of a bench target from its suite functions, which run in this order.
///
/// ```
/// fn parsing(suite: &mut nbench::Suite) {
///     suite.bench("integer", || "1024".parse::<u32>());
/// }
///
/// nbench::main!(parsing);
/// ```
#[macro_export]
macro_rules! main {
    ($($suite:path),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::start(&[$($crate::Entry { name: ::std::stringify!($suite), run: $suite }),+])
        }
    };
}
