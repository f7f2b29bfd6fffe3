//! The quantities that are measured beside each batch, and the reading of one: a value, or the
//! reason why there is none. It must not know how a reading is taken or sent.

use std::fmt;

/// A quantity that is read around a batch of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Axis {
    /// Elapsed time of the timed region, in nanoseconds.
    Wall,
    /// CPU time of the whole process (all threads, user and system), in nanoseconds.
    Cpu,
    /// CPU time of the thread that runs the benchmark (user and system), in nanoseconds.
    ThreadCpu,
}

impl Axis {
    /// Every axis this version knows, in the order in which outputs list them.
    pub const ALL: [Axis; 3] = [Axis::Wall, Axis::Cpu, Axis::ThreadCpu];

    /// The stable name used on the wire, in stores and in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Axis::Wall => "wall",
            Axis::Cpu => "cpu",
            Axis::ThreadCpu => "thread_cpu",
        }
    }

    /// The unit of a reading.
    #[must_use]
    pub fn unit(self) -> &'static str {
        "ns"
    }

    /// Whether there is one reading for each sample or one for a whole reply.
    #[must_use]
    pub fn scope(self) -> Scope {
        match self {
            Axis::Wall => Scope::Sample,
            Axis::Cpu | Axis::ThreadCpu => Scope::Reply,
        }
    }

    /// Which way is better.
    #[must_use]
    pub fn direction(self) -> Direction {
        Direction::LowerIsBetter
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scope of one reading of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One reading for each sample.
    Sample,
    /// One reading for all samples of one reply, because reading is too dear to do it for each.
    Reply,
}

/// Which way an axis improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smaller readings are better.
    LowerIsBetter,
    /// Larger readings are better.
    HigherIsBetter,
}

/// A measured value, or the reason why there is none. An absent reading is never zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// The value, in the unit of its axis.
    Value(f64),
    /// Why there is no value, as a fragment that fits in parentheses.
    Unavailable(String),
}

impl Reading {
    /// A reading that is absent for the given reason.
    pub fn unavailable(reason: impl Into<String>) -> Reading {
        Reading::Unavailable(reason.into())
    }

    /// The value, if there is one.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match self {
            Reading::Value(value) => Some(*value),
            Reading::Unavailable(_) => None,
        }
    }
}

impl From<Result<u64, String>> for Reading {
    fn from(raw: Result<u64, String>) -> Reading {
        match raw {
            // Exact up to 2^53 ns, which is 104 days.
            Ok(value) => Reading::Value(value as f64),
            Err(reason) => Reading::Unavailable(reason),
        }
    }
}

/// A quantity that the benchmark counts itself, over all samples of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnReading {
    /// Name of the quantity.
    pub name: String,
    /// The unit, as it is to be printed.
    pub unit: String,
    /// The sum over the iterations of all samples; finite, otherwise the reading is not sent.
    pub value: f64,
}

/// The readings that belong to one sample beside its wall time.
#[derive(Debug, Clone, PartialEq)]
pub struct Axes {
    /// CPU time of the whole process, in nanoseconds.
    pub cpu: Reading,
    /// CPU time of the measuring thread, in nanoseconds.
    pub thread_cpu: Reading,
    /// Quantities that the benchmark counts itself; empty for nearly all.
    pub own: Vec<OwnReading>,
}

impl Axes {
    /// Axes without any value, all for the same reason.
    #[must_use]
    pub fn unavailable(reason: &str) -> Axes {
        Axes {
            cpu: Reading::unavailable(reason),
            thread_cpu: Reading::unavailable(reason),
            own: Vec::new(),
        }
    }

    /// The reading of one axis; `None` for wall time, which each sample carries itself.
    #[must_use]
    pub fn get(&self, axis: Axis) -> Option<&Reading> {
        match axis {
            Axis::Wall => None,
            Axis::Cpu => Some(&self.cpu),
            Axis::ThreadCpu => Some(&self.thread_cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_reading_is_not_zero() {
        let absent = Reading::from(Err::<u64, _>("no such clock".to_owned()));
        assert_eq!(absent.value(), None);
        assert_eq!(absent, Reading::unavailable("no such clock"));
        assert_eq!(Reading::from(Ok(0)).value(), Some(0.0));
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = Axis::ALL.iter().map(|axis| axis.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Axis::ALL.len());
    }
}
