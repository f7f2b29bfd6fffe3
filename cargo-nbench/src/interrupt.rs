//! Whether the user asked to stop. It owns the one flag and what sets it; what to do about it
//! is decided where work can be ended cleanly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The exit code of a process that a second signal ends.
const ENDED: i32 = 130;

/// Turns SIGINT, SIGTERM and SIGHUP into the flag; a second signal ends the process at once. A
/// signal that is ignored stays so: `nohup`, and shells for what they run in the background, mean
/// it.
pub fn install() {
    REQUESTED.get_or_init(|| {
        let requested = Arc::new(AtomicBool::new(false));
        let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |s| ignored(&s));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & mask(signal) != 0 {
                continue;
            }
            // Without a handler a signal still ends the process; only the clean-up is left to the
            // next run, which does it anyway. The order matters: the first signal finds
            // the flag unset.
            let _ = flag::register_conditional_shutdown(signal, ENDED, Arc::clone(&requested));
            let _ = flag::register(signal, Arc::clone(&requested));
        }
        requested
    });
}

/// Whether a stop was asked for.
pub fn requested() -> bool {
    REQUESTED.get().is_some_and(|requested| requested.load(Ordering::SeqCst))
}

fn mask(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals that a process ignores, from its `/proc/PID/status`; none where it does not tell.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let status =
            "Name:\tsh\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_ne!(ignored(status) & mask(SIGHUP), 0);
        assert_eq!(ignored(status) & mask(SIGINT), 0);
        assert_eq!(ignored(status) & mask(SIGTERM), 0);
        assert_eq!(ignored("Name:\tsh\n"), 0);
        assert_eq!(ignored("SigIgn:\tzz\n"), 0);
    }
}
