//! The clock that times batches. It must not know what it times.

use std::sync::OnceLock;
use std::time::Instant;

use crate::subject::Nanos;

/// The name of the clock in use, as the hello of a worker reports it: `CLOCK_MONOTONIC_RAW`,
/// `CLOCK_UPTIME_RAW` or `Instant`.
#[must_use]
pub fn backend() -> &'static str {
    if raw::now().is_some() {
        raw::NAME
    } else {
        "Instant"
    }
}

/// Nanoseconds since an arbitrary point in the past, not adjusted by time synchronisation where the
/// system has such a clock.
#[inline]
#[must_use]
pub fn now() -> Nanos {
    // Whether the raw clock exists does not change while a process lives, so both ends of a region
    // come from the same clock.
    Nanos(raw::now().unwrap_or_else(since_first_use))
}

/// The time since `start`, 0 should the clock have gone backwards.
#[inline]
#[must_use]
pub fn since(start: Nanos) -> Nanos {
    Nanos(now().0.saturating_sub(start.0))
}

#[cold]
fn since_first_use() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// One reading of a POSIX clock; `None` when the system refuses it.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[inline]
#[expect(unsafe_code, reason = "the standard library reads neither raw nor CPU-time clocks")]
pub(super) fn read(clock: i32) -> Option<u64> {
    /// `struct timespec` of 64-bit Linux, where both fields have 64 bits.
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `clock_gettime` is part of every libc on Linux with this signature, and writes one
    // `struct timespec` through the pointer, which points to one of that layout.
    let status = unsafe { clock_gettime(clock, &mut time) };
    if status != 0 {
        return None;
    }
    let seconds = u64::try_from(time.seconds).ok()?;
    Some(seconds.wrapping_mul(1_000_000_000).wrapping_add(u64::try_from(time.nanoseconds).ok()?))
}

/// One reading of a clock of macOS; `None` when the system refuses it.
#[cfg(target_os = "macos")]
#[inline]
#[expect(unsafe_code, reason = "the standard library reads neither raw nor CPU-time clocks")]
pub(super) fn read(clock: i32) -> Option<u64> {
    extern "C" {
        fn clock_gettime_nsec_np(clock: i32) -> u64;
    }
    // SAFETY: the function is part of macOS since 10.12, takes a clock by value and touches no
    // memory of ours.
    let time = unsafe { clock_gettime_nsec_np(clock) };
    (time != 0).then_some(time)
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod raw {
    //! The clock that time synchronisation does not slew.

    pub(super) const NAME: &str = "CLOCK_MONOTONIC_RAW";

    #[inline]
    pub(super) fn now() -> Option<u64> {
        super::read(4)
    }
}

#[cfg(target_os = "macos")]
mod raw {
    //! The clock that time synchronisation does not slew and that stands still during sleep.

    pub(super) const NAME: &str = "CLOCK_UPTIME_RAW";

    #[inline]
    pub(super) fn now() -> Option<u64> {
        super::read(8)
    }
}

#[cfg(not(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos")))]
mod raw {
    //! No raw clock here.

    pub(super) const NAME: &str = "Instant";

    #[inline]
    pub(super) fn now() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_runs_backwards_and_keeps_pace_with_the_standard_clock() {
        let start = Instant::now();
        let first = now();
        let mut last = first;
        while start.elapsed().as_millis() < 20 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
        let elapsed = since(first).0;
        assert!((19_000_000..2_000_000_000).contains(&elapsed), "{elapsed}");
    }

    #[test]
    fn an_earlier_reading_than_the_start_is_no_underflow() {
        assert_eq!(since(Nanos(u64::MAX)), Nanos(0));
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn linux_has_the_raw_clock_and_refuses_an_unknown_one() {
        assert_eq!(backend(), "CLOCK_MONOTONIC_RAW");
        assert_eq!(read(12345), None);
    }
}
