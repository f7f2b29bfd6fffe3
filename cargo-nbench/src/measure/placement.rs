//! Which CPU workers and driver run on, and where in memory workers lie. All workers of a
//! comparison share one CPU, since they never run at once and a difference between CPUs must not
//! read as a difference between builds; the driver goes elsewhere. It does not know what the
//! workers run.

#[cfg(target_os = "linux")]
use nix::sys::personality::{self, Persona};
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs that were allowed at start and what became of them.
#[derive(Debug, Clone)]
pub struct Placement {
    #[cfg(target_os = "linux")]
    sets: Option<Sets>,
    /// Description of the placement, for the record.
    pub summary: String,
}

/// Where the system puts stack, heap and code of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Anew at each start, as the system does it: luck of one process.
    Random,
    /// At the same place for every worker, where the system allows it. Speed depends on addresses
    /// (branch predictors and caches are indexed by them), so workers that are compared share this
    /// conditions, and what is drawn for them (stack offset, link layout) is drawn once for all.
    Shared,
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
            format!("workers on CPU {last} unless a note says otherwise, driver elsewhere")
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

    /// Whether workers can be bound to a CPU of their own; with a single one they are bound anyway.
    pub fn pins(&self) -> bool {
        #[cfg(target_os = "linux")]
        let pins = self.sets.as_ref().is_some_and(|sets| sets.all.count() > 1);
        #[cfg(not(target_os = "linux"))]
        let pins = false;
        pins
    }

    /// Runs `spawn` so that processes it starts inherit the workers' CPU, or all CPUs when `pinned`
    /// is false, and lie at the `addresses` asked for.
    #[cfg(target_os = "linux")]
    pub fn spawning<T>(&self, pinned: bool, addresses: Addresses, spawn: impl FnOnce() -> T) -> T {
        let spawn = || match addresses {
            Addresses::Random => spawn(),
            Addresses::Shared => without_randomisation(spawn),
        };
        let Some(sets) = &self.sets else { return spawn() };
        // A mask that was readable and allowed a moment ago; should setting it fail the worker runs
        // on the driver's CPUs, both sides alike.
        let _ = sched_setaffinity(None, if pinned { &sets.worker } else { &sets.all });
        let result = spawn();
        let _ = sched_setaffinity(None, &sets.driver);
        result
    }

    /// Runs `spawn`; there is neither affinity nor a choice of addresses here.
    #[cfg(not(target_os = "linux"))]
    pub fn spawning<T>(
        &self,
        _pinned: bool,
        _addresses: Addresses,
        spawn: impl FnOnce() -> T,
    ) -> T {
        spawn()
    }
}

/// Whether workers can be given equal addresses, as words for the record.
#[cfg(target_os = "linux")]
pub fn addresses_summary() -> String {
    match without_randomisation(personality::get) {
        Ok(persona) if persona.contains(Persona::ADDR_NO_RANDOMIZE) => {
            "addresses shared by the sides".to_owned()
        }
        Ok(_) => "addresses drawn for each process (the system does not let us share them)".into(),
        Err(error) => format!("addresses drawn for each process ({error})"),
    }
}

/// Whether workers can be given equal addresses, as words for the record.
#[cfg(not(target_os = "linux"))]
pub fn addresses_summary() -> String {
    "addresses drawn for each process (this system has no choice of them)".to_owned()
}

/// Runs `spawn` with address randomisation off for processes that this thread starts meanwhile. A
/// sandbox may forbid it: then processes are randomised, which [`addresses_summary`] tells.
#[cfg(target_os = "linux")]
fn without_randomisation<T>(spawn: impl FnOnce() -> T) -> T {
    let Ok(before) = personality::get() else { return spawn() };
    let _ = personality::set(before | Persona::ADDR_NO_RANDOMIZE);
    let result = spawn();
    let _ = personality::set(before);
    result
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
            let output = placement.spawning(pinned, Addresses::Random, || {
                std::process::Command::new("nproc").output().unwrap().stdout
            });
            String::from_utf8(output).unwrap().trim().parse::<usize>().unwrap()
        };
        assert_eq!(seen(true), 1);
        assert_eq!(seen(false), before.count() as usize);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }

    #[test]
    fn children_lie_at_the_same_addresses_when_asked_to() {
        let before = personality::get().unwrap();
        let stack = |addresses| {
            let placement = Placement::free("test");
            let maps = placement.spawning(false, addresses, || {
                std::process::Command::new("cat").arg("/proc/self/maps").output().unwrap().stdout
            });
            let maps = String::from_utf8(maps).unwrap();
            maps.lines().find(|line| line.ends_with("[stack]")).unwrap().to_owned()
        };
        let seen: Vec<String> = (0..3).map(|_| stack(Addresses::Random)).collect();
        assert!(seen.windows(2).any(|pair| pair[0] != pair[1]), "{seen:?}");
        if addresses_summary() == "addresses shared by the sides" {
            assert_eq!(stack(Addresses::Shared), stack(Addresses::Shared));
        }
        assert_eq!(personality::get().unwrap(), before);
    }
}
