//! The `main` of a bench target: decides between a session with a driver and the plain table. It must
//! not know what either does.

use std::process::ExitCode;
use std::sync::OnceLock;

use crate::standalone;
use crate::suite::Suite;

/// The text by which cargo-nbench recognises, without running it, an executable that uses this crate.
pub static MARKER: &str = concat!(
    "nbench-harness-marker version=",
    env!("CARGO_PKG_VERSION"),
    " protocol=1 end-of-marker"
);

/// The environment variable with the path of the socket on which a driver listens.
pub const SOCKET_VARIABLE: &str = "NBENCH_SOCKET";

/// The environment variable with the seed that [`seed`] returns.
pub const SEED_VARIABLE: &str = "NBENCH_SEED";

/// What [`seed`] returns when no driver has given one.
pub const DEFAULT_SEED: u64 = 0x6e62_656e_6368;

/// One suite function of a bench target, as [`main!`](crate::main) lists it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name of the function.
    pub name: &'static str,
    /// The function.
    pub run: fn(&mut Suite<'_>),
}

/// A seed for benchmarks that make their inputs at random: equal on both sides of a comparison, and
/// [`DEFAULT_SEED`] unless the environment variable `NBENCH_SEED` holds another number.
#[must_use]
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let given = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
        given.unwrap_or(DEFAULT_SEED)
    })
}

/// Runs the suite functions as the environment and the arguments ask; what
/// [`main!`](crate::main) calls.
#[must_use]
pub fn start(entries: &[Entry]) -> ExitCode {
    // Keeps the marker in every executable, whatever the linker drops.
    crate::black_box(MARKER);
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(socket) => {
            // Neither benchmarks nor what they spawn are to see the control channel.
            std::env::remove_var(SOCKET_VARIABLE);
            let _seed = seed();
            connect(socket.as_ref(), entries)
        }
        None => standalone::start(entries),
    }
}

#[cfg(unix)]
fn connect(socket: &std::path::Path, entries: &[Entry]) -> ExitCode {
    use std::os::unix::net::UnixStream;

    let streams = UnixStream::connect(socket).and_then(|stream| Ok((stream.try_clone()?, stream)));
    let (reader, writer) = match streams {
        Ok(streams) => streams,
        Err(error) => {
            return standalone::complain(&format!(
                "failed to reach the driver at `{}`: {error}",
                socket.display()
            ));
        }
    };
    if !crate::probe::system::die_with_parent() {
        return ExitCode::SUCCESS;
    }
    // No destructor of the suite may run or hang once the driver has what it wants.
    crate::serve::serve(reader, writer, entries, || std::process::exit(0));
    ExitCode::SUCCESS
}

#[cfg(not(unix))]
fn connect(_socket: &std::path::Path, _entries: &[Entry]) -> ExitCode {
    standalone::complain(
        "failed to reach the driver: unavailable on this platform, which has no Unix sockets",
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PROTOCOL;

    #[test]
    fn the_marker_names_version_and_protocol() {
        let expected = format!(
            "nbench-harness-marker version={} protocol={PROTOCOL} end-of-marker",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(MARKER, expected);
    }
}
