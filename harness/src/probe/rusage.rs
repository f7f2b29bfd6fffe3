//! CPU time of the process and of the calling thread. It must not know what used it.

/// Accumulated CPU nanoseconds, or why they are not known.
pub(crate) type CpuTime = Result<u64, String>;

/// Readings of both CPU clocks at one moment, or of what passed between two moments.
#[derive(Debug, Clone)]
pub(crate) struct CpuTimes {
    /// All threads of the process, user and system.
    pub(crate) process: CpuTime,
    /// The calling thread, user and system.
    pub(crate) thread: CpuTime,
}

impl CpuTimes {
    /// Reads both clocks.
    pub(crate) fn now() -> CpuTimes {
        CpuTimes { process: process(), thread: thread() }
    }

    /// Nothing used.
    pub(crate) fn zero() -> CpuTimes {
        CpuTimes { process: Ok(0), thread: Ok(0) }
    }

    /// No reading, for one reason.
    pub(crate) fn unavailable(reason: &str) -> CpuTimes {
        CpuTimes { process: Err(reason.to_owned()), thread: Err(reason.to_owned()) }
    }

    /// Resources that were used since `start`.
    pub(crate) fn since(start: &CpuTimes) -> CpuTimes {
        let end = CpuTimes::now();
        let subtract = |end: u64, start: u64| end.saturating_sub(start);
        CpuTimes {
            process: both(end.process, &start.process, subtract),
            thread: both(end.thread, &start.thread, subtract),
        }
    }

    /// The sum of two spans; unavailable when either is.
    pub(crate) fn plus(self, other: &CpuTimes) -> CpuTimes {
        CpuTimes {
            process: both(self.process, &other.process, u64::saturating_add),
            thread: both(self.thread, &other.thread, u64::saturating_add),
        }
    }
}

fn both(left: CpuTime, right: &CpuTime, combine: impl Fn(u64, u64) -> u64) -> CpuTime {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok(combine(left, *right)),
        (Err(reason), _) => Err(reason),
        (_, Err(reason)) => Err(reason.clone()),
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
const CLOCKS: (i32, i32) = (2, 3);
#[cfg(target_os = "macos")]
const CLOCKS: (i32, i32) = (12, 16);

#[cfg(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos"))]
fn process() -> CpuTime {
    super::clock::read(CLOCKS.0).ok_or_else(|| "the system has no process CPU clock".to_owned())
}

#[cfg(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos"))]
fn thread() -> CpuTime {
    super::clock::read(CLOCKS.1).ok_or_else(|| "the system has no thread CPU clock".to_owned())
}

#[cfg(not(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos")))]
fn process() -> CpuTime {
    Err("CPU time is not read on this platform".to_owned())
}

#[cfg(not(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos")))]
fn thread() -> CpuTime {
    process()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(all(target_os = "linux", target_pointer_width = "64"), target_os = "macos"))]
    #[test]
    fn a_busy_thread_uses_cpu_time() {
        let start = CpuTimes::now();
        let mut rounds = 0_u64;
        while CpuTimes::since(&start).thread.unwrap() < 2_000_000 {
            rounds += 1;
        }
        let used = CpuTimes::since(&start);
        assert!(rounds > 0);
        assert!(used.process.unwrap() >= 2_000_000);
    }

    #[test]
    fn an_unavailable_part_makes_the_sum_unavailable() {
        let sum = CpuTimes { process: Ok(3), thread: Err("none".into()) }
            .plus(&CpuTimes { process: Ok(4), thread: Ok(9) });
        assert_eq!(sum.process, Ok(7));
        assert_eq!(sum.thread, Err("none".to_owned()));
        assert_eq!(CpuTimes::zero().plus(&sum).process, Ok(7));
    }
}
