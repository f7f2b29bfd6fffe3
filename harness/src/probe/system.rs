//! The state of this process that the operating system knows: its threads, and the life of its
//! parent. It must not know why anyone asks.

/// Live threads of this process, or why they cannot be counted.
#[cfg(target_os = "linux")]
pub(crate) fn threads() -> Result<u64, String> {
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => Ok(tasks.count() as u64),
        Err(error) => Err(format!("/proc/self/task cannot be read: {error}")),
    }
}

/// Live threads of this process, or why they cannot be counted.
#[cfg(not(target_os = "linux"))]
pub(crate) fn threads() -> Result<u64, String> {
    Err("threads are counted on Linux only".to_owned())
}

/// Asks the system to kill this process when its parent dies, and says whether the parent is still
/// there. Elsewhere than on Linux the end of the stream has to do.
#[cfg(target_os = "linux")]
#[must_use]
#[expect(unsafe_code, reason = "the standard library does not set the parent-death signal")]
pub(crate) fn die_with_parent() -> bool {
    const PR_SET_PDEATHSIG: i32 = 1;
    const SIGKILL: std::ffi::c_ulong = 9;
    extern "C" {
        fn prctl(option: i32, ...) -> i32;
    }
    let parent = std::os::unix::process::parent_id();
    // SAFETY: `prctl` is part of every libc on Linux, is variadic with arguments of `unsigned
    // long`, and this option takes a signal by value. A refusal changes nothing, so its status
    // is not used.
    let _status = unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
    // A parent that died before the call sent no signal, but its child has another parent by now.
    std::os::unix::process::parent_id() == parent
}

/// Says whether the parent is still there, which cannot be known here.
#[cfg(all(unix, not(target_os = "linux")))]
#[must_use]
pub(crate) fn die_with_parent() -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_further_thread_is_counted() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(threads().unwrap() >= 2);
        drop(go);
        assert!(other.join().unwrap().is_err());
    }
}
