//! Finds the driver that started this process and connects to it. It must not know what the two say
//! to each other.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The text by which cargo-nbench recognises, without running it, an executable that uses this
/// crate. Package and release tell what it stands in for, when it was compiled as another crate.
pub static MARKER: &str = concat!(
    "nbench-harness-marker version=",
    env!("CARGO_PKG_VERSION"),
    " package=",
    env!("CARGO_PKG_NAME"),
    " release=",
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR"),
    ".",
    env!("CARGO_PKG_VERSION_PATCH"),
    " protocol=1 end-of-marker"
);

/// The environment variable with the path of the socket on which a driver listens.
pub const SOCKET_VARIABLE: &str = "NBENCH_SOCKET";

/// The environment variable with the seed that [`seed`] returns.
pub const SEED_VARIABLE: &str = "NBENCH_SEED";

/// Value of [`seed`] when no driver has given one.
pub const DEFAULT_SEED: u64 = 0x6e62_656e_6368;

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

/// The socket on which a driver listens, when one has started this process. It is told once:
/// neither benchmarks nor what they spawn are to see the control channel.
pub(crate) fn socket() -> Option<PathBuf> {
    // Keeps the marker in every executable, whatever the linker drops.
    crate::black_box(MARKER);
    let socket = std::env::var_os(SOCKET_VARIABLE)?;
    std::env::remove_var(SOCKET_VARIABLE);
    let _seed = seed();
    Some(PathBuf::from(socket))
}

/// Both directions of a connection to a driver.
#[cfg(unix)]
pub(crate) type Streams = (std::os::unix::net::UnixStream, std::os::unix::net::UnixStream);

/// Connects to the driver; `None` when it is gone already.
#[cfg(unix)]
pub(crate) fn dial(socket: &std::path::Path) -> Result<Option<Streams>, String> {
    use std::os::unix::net::UnixStream;

    let streams =
        UnixStream::connect(socket).and_then(|stream| Ok((stream.try_clone()?, stream))).map_err(
            |error| format!("failed to reach the driver at `{}`: {error}", socket.display()),
        )?;
    Ok(crate::probe::system::die_with_parent().then_some(streams))
}

/// Why there is no connection on this platform.
#[cfg(not(unix))]
pub(crate) const NO_SOCKETS: &str =
    "failed to reach the driver: unavailable on this platform, which has no Unix sockets";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PROTOCOL;

    #[test]
    fn the_marker_names_package_versions_and_protocol() {
        let expected = format!(
            "nbench-harness-marker version={0} package=nbench release={0} protocol={PROTOCOL} end-of-marker",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(MARKER, expected);
    }
}
