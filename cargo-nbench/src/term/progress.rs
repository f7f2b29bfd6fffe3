//! How far a long piece of work is, as one line that fits the terminal, and as a line now and then
//! where there is none. It knows steps and time, and not what they are.

use std::time::Duration;

/// The first line of a display that nobody watches comes after this, each further one after twice
/// the time, up to the longest pause.
const FIRST_BEAT: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Steps of one piece of work.
#[derive(Debug, Clone)]
pub struct Progress {
    what: String,
    done: u64,
    /// Expected in all; nothing before the first estimate.
    total: Option<u64>,
    /// Time and steps when the first estimate came: what was before it took time of its own.
    base: (Duration, u64),
    /// Findings so far.
    word: String,
    /// Work that is being done now.
    name: String,
    next_beat: Duration,
    pause: Duration,
}

impl Progress {
    /// Nothing is done yet.
    pub fn new(what: &str) -> Progress {
        Progress {
            what: what.to_owned(),
            done: 0,
            total: None,
            base: (Duration::ZERO, 0),
            word: String::new(),
            name: String::new(),
            next_beat: FIRST_BEAT,
            pause: FIRST_BEAT,
        }
    }

    /// Some steps are done, and `name` is next.
    pub fn advance(&mut self, steps: u64, name: &str) {
        self.done += steps;
        name.clone_into(&mut self.name);
    }

    /// Corrects the number of steps expected in all, `elapsed` after the beginning.
    pub fn expect(&mut self, steps: u64, elapsed: Duration) {
        if steps > 0 {
            if self.total.is_none() {
                self.base = (elapsed, self.done);
            }
            self.total = Some(steps);
        }
    }

    /// Says what came of it so far.
    pub fn show_findings(&mut self, word: &str) {
        word.clone_into(&mut self.word);
    }

    /// The state in a line, the name last, since it may be cut.
    pub fn line(&self, elapsed: Duration) -> String {
        let mut parts = vec![match self.total {
            Some(total) => format!("{} {}/{}", self.what, self.done, total.max(self.done)),
            None => self.what.clone(),
        }];
        if !self.word.is_empty() {
            parts.push(self.word.clone());
        }
        if let Some(left) = self.left(elapsed) {
            parts.push(format!("~{} left", time(left)));
        }
        if !self.name.is_empty() {
            parts.push(self.name.clone());
        }
        parts.join(" \u{b7} ")
    }

    /// Estimate of the steps to come, from those since the first estimate.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (began, before) = self.base;
        let done = self.done.checked_sub(before).filter(|done| *done > 0)?;
        let to_come = self.total?.saturating_sub(self.done);
        let each = elapsed.checked_sub(began)?.as_secs_f64() / done as f64;
        Duration::try_from_secs_f64(each * to_come as f64).ok()
    }

    /// The line for a log, if one is due.
    pub fn beat(&mut self, elapsed: Duration) -> Option<String> {
        if elapsed < self.next_beat {
            return None;
        }
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        self.next_beat = elapsed + self.pause;
        Some(format!("{}, {} elapsed", self.line(elapsed), time(elapsed)))
    }
}

/// A time as people say it.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", time.as_secs_f64() / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_name_is_last_and_no_frame_counts_to_nothing() {
        let mut progress = Progress::new("comparing");
        assert_eq!(progress.line(at(0)), "comparing");
        progress.advance(0, "words/count");
        progress.expect(0, at(2));
        assert_eq!(progress.line(at(2)), "comparing \u{b7} words/count");
        progress.expect(40, at(2));
        assert!(!progress.line(at(2)).contains("left"), "nothing is known of the pace yet");
        progress.advance(12, "words/count");
        progress.show_findings("1 slower");
        assert_eq!(
            progress.line(at(8)),
            "comparing 12/40 \u{b7} 1 slower \u{b7} ~14 s left \u{b7} words/count"
        );
    }

    #[test]
    fn what_was_before_the_first_estimate_does_not_slow_the_rest() {
        let mut progress = Progress::new("x");
        progress.expect(10, at(100));
        progress.advance(5, "");
        assert_eq!(progress.left(at(105)), Some(at(5)));
        progress.advance(7, "");
        assert_eq!(progress.left(at(112)), Some(at(0)), "more than was expected");
        assert_eq!(progress.line(at(112)), "x 12/12 \u{b7} ~0 s left");
    }

    #[test]
    fn lines_in_a_log_get_rarer() {
        let mut progress = Progress::new("x");
        let beats: Vec<u64> =
            (0..2000).filter(|second| progress.beat(at(*second)).is_some()).collect();
        assert_eq!(beats, [30, 90, 210, 450, 750, 1050, 1350, 1650, 1950]);
    }

    #[test]
    fn times_have_few_digits() {
        let table = [(0, "0 s"), (119, "119 s"), (150, "3 min"), (9000, "2.5 h")];
        for (seconds, word) in table {
            assert_eq!(time(at(seconds)), word);
        }
    }
}
