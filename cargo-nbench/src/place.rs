//! Which CPU workers and driver run on. All workers of a comparison share one CPU, since they never
//! run at once and a difference between CPUs must not read as a difference between builds; the driver
//! goes elsewhere. It does not know what the workers run.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs that were allowed at start and what became of them.
#[derive(Debug, Clone)]
pub struct Placement {
    #[cfg(target_os = "linux")]
    sets: Option<Sets>,
    /// What was done, for the record.
    pub summary: String,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Clone)]
struct Sets {
    all: CpuSet,
    worker: CpuSet,
    driver: CpuSet,
}

impl Placement {
    /// Everything where the system puts it, for the given reason.
    pub fn free(reason: &str) -> Placement {
        Placement {
            #[cfg(target_os = "linux")]
            sets: None,
            summary: format!("not pinned ({reason})"),
        }
    }

    /// The last allowed CPU for workers (the first ones serve most interrupts), the others for the
    /// driver; with one CPU everything shares it.
    #[cfg(target_os = "linux")]
    pub fn choose() -> Placement {
        let Ok(all) = sched_getaffinity(None) else {
            return Placement::free("the allowed CPUs cannot be read");
        };
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
        let Some(&last) = allowed.last() else {
            return Placement::free("no CPU is allowed");
        };
        let mut worker = CpuSet::new();
        worker.set(last);
        let mut driver = all;
        if allowed.len() > 1 {
            driver.unset(last);
        }
        let summary = if allowed.len() > 1 {
            format!("workers on CPU {last}, driver elsewhere")
        } else {
            format!("workers and driver on CPU {last}, the only one allowed")
        };
        Placement { sets: Some(Sets { all, worker, driver }), summary }
    }

    /// Pinning is not offered on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn choose() -> Placement {
        Placement::free("this system has no CPU affinity")
    }

    /// Runs `spawn` so that processes it starts inherit the workers' CPU, or all CPUs when `pinned`
    /// is false.
    #[cfg(target_os = "linux")]
    pub fn spawning<T>(&self, pinned: bool, spawn: impl FnOnce() -> T) -> T {
        let Some(sets) = &self.sets else { return spawn() };
        // A mask that was readable and allowed a moment ago; should setting it fail the worker runs
        // on the driver's CPUs, both sides alike.
        let _ = sched_setaffinity(None, if pinned { &sets.worker } else { &sets.all });
        let result = spawn();
        let _ = sched_setaffinity(None, &sets.driver);
        result
    }

    /// Runs `spawn`; there is no affinity here.
    #[cfg(not(target_os = "linux"))]
    pub fn spawning<T>(&self, _pinned: bool, spawn: impl FnOnce() -> T) -> T {
        spawn()
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(sets) = &self.sets {
            let _ = sched_setaffinity(None, &sets.all);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_are_pinned_and_the_driver_gets_its_cpus_back() {
        let before = sched_getaffinity(None).unwrap();
        let seen = |pinned| {
            let placement = Placement::choose();
            let output = placement
                .spawning(pinned, || std::process::Command::new("nproc").output().unwrap().stdout);
            String::from_utf8(output).unwrap().trim().parse::<usize>().unwrap()
        };
        assert_eq!(seen(true), 1);
        assert_eq!(seen(false), before.count() as usize);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
