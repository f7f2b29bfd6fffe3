//! Whether the user asked to stop. It owns the one flag and its signal handler; what to do about it
//! is decided where work can be ended cleanly.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: Once = Once::new();

/// Turns SIGINT and SIGTERM into the flag; a second signal ends the process at once.
pub fn install() {
    INSTALLED.call_once(|| {
        // Without a handler a signal still ends the process; only the clean-up is left to the next
        // run, which does it anyway.
        let _ = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
    });
}

/// Whether a stop was asked for.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
