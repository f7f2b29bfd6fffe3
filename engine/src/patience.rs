//! How long somebody may still be waited for, by a clock that does not count what nobody lived
//! through. It reads no clock itself and does not know who is waited for.

use std::time::{Duration, Instant};

/// How often one who waits looks at the clock and at whatever else may end the wait.
pub const TICK: Duration = Duration::from_millis(100);

/// Longest time that one look may use up. A look comes every [`TICK`]; when much more time has
/// passed since the last one, this process was stopped (a container that was paused, a suspended
/// machine), and so was whoever it waits for.
const LONGEST: Duration = Duration::from_millis(200);

/// A time limit that a pause of everything does not use up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    left: Duration,
    seen: Instant,
}

impl Patience {
    /// The whole `limit`, from `now` on.
    pub fn new(limit: Duration, now: Instant) -> Patience {
        Patience { left: limit, seen: now }
    }

    /// Uses up the time since the last look, and says whether nothing is left.
    pub fn is_over(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.seen).min(LONGEST);
        self.seen = now;
        self.left = self.left.saturating_sub(passed);
        self.left.is_zero()
    }

    /// Rest of the limit.
    pub fn left(&self) -> Duration {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks until it is over, when every look comes `apart` and one comes `late`.
    fn looks(limit: Duration, apart: Duration, late: Duration) -> usize {
        let mut now = Instant::now();
        let mut patience = Patience::new(limit, now);
        (1..10_000)
            .find(|look| {
                now += if *look == 3 { late } else { apart };
                patience.is_over(now)
            })
            .unwrap()
    }

    #[test]
    fn a_pause_of_everything_uses_up_no_more_than_one_late_look() {
        let second = Duration::from_secs(1);
        assert_eq!(looks(second, TICK, TICK), 10);
        assert_eq!(looks(second, TICK, 13 * second), 9);
        assert_eq!(looks(second, TICK, 3600 * second), 9);
        // A loaded machine looks late now and then; that is no pause.
        assert_eq!(looks(second, LONGEST, LONGEST), 5);
    }

    #[test]
    fn looks_in_quick_succession_cost_what_they_take() {
        assert_eq!(looks(TICK, TICK / 10, TICK / 10), 10);
        assert_eq!(looks(Duration::ZERO, TICK, TICK), 1);
    }
}
