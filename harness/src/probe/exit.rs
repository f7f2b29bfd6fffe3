//! Calls a function when the process exits normally. It must not know what is left to do then.

/// Registers `last` to be called when `main` returns or the process asks to exit, and says whether
/// the system took it.
#[expect(unsafe_code, reason = "the standard library calls nothing at the end of a process")]
pub fn at_exit(last: extern "C" fn()) -> bool {
    extern "C" {
        fn atexit(last: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: `atexit` is part of every hosted C library, takes the function by address and keeps
    // nothing else.
    unsafe { atexit(last) == 0 }
}
