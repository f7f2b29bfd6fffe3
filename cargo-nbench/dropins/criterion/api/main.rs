//! What the macros expand to: the beginning, the parts and the end of a program of benchmarks. It
//! must not know the macros.

use crate::process;

/// Begins the program.
#[doc(hidden)]
pub fn __begin() {
    process::start();
}

/// Runs one function that registers benchmarks; a panic in it is told and the next one goes on.
#[doc(hidden)]
pub fn __guard(name: &str, body: impl FnOnce()) {
    process::guard(name, body);
}

/// Ends the program.
#[doc(hidden)]
pub fn __end() {
    process::end();
}

/// Runs groups one after another.
#[doc(hidden)]
pub fn runner(benches: &[&dyn Fn()]) {
    __begin();
    for bench in benches {
        __guard("runner", bench);
    }
    __end();
}
