//! The words with which each release of criterion lists its benchmarks or runs one of them. It does
//! not start anything.

use super::process::RunnerRelease;

/// How one block is taken. A launch has one per side, so it is about as long as a launch of paired
/// samples, and its samples are about as long as theirs: on a busy machine most of them are left in
/// peace then, and the median is of those. With ten samples in 0.2 s the medians of equal blocks
/// had a standard deviation of 17 % there, with a hundred in 0.1 s one below 1 %.
struct Shape {
    /// Seconds.
    warm_up: f64,
    /// Seconds.
    measurement: f64,
    samples: u32,
}

const SHAPE: Shape = Shape { warm_up: 0.05, measurement: 0.1, samples: 100 };

/// Releases before 0.4 take whole seconds and not less than one.
const SHAPE_OF_OLD: Shape = Shape { warm_up: 1.0, measurement: 1.0, samples: 1000 };

/// The fewest samples that criterion takes.
pub(super) const FEWEST: u32 = 10;

/// Blocks that would take this many times what was asked for are taken with the fewest samples,
/// each of which holds one operation at least.
const TOO_LONG: f64 = 10.0;

fn shape(release: RunnerRelease) -> Shape {
    if release < RunnerRelease(0, 4, 0) { SHAPE_OF_OLD } else { SHAPE }
}

/// Nanoseconds that a block may be expected to take.
pub(super) fn longest(release: RunnerRelease) -> f64 {
    TOO_LONG * shape(release).measurement * 1e9
}

/// A filter that no id contains: what does not match is named without being run. Unlike `--list` it
/// tells whole ids, and the amount of work.
const NO_SUCH_ID: &str = "nbench asks what there is";

/// For the names of all benchmarks.
pub(super) fn listing() -> Vec<String> {
    ["--bench", NO_SUCH_ID].map(str::to_owned).into()
}

/// For one block of the benchmark `id`, with the usual number of samples or the fewest.
pub(super) fn block(release: RunnerRelease, id: &str, fewest: bool) -> Vec<String> {
    let Shape { warm_up, measurement, samples } = shape(release);
    let samples = if fewest { FEWEST } else { samples };
    let mut words = vec!["--bench".to_owned()];
    for (flag, value) in [
        ("--warm-up-time", warm_up.to_string()),
        ("--measurement-time", measurement.to_string()),
        ("--sample-size", samples.to_string()),
    ] {
        words.extend([flag.to_owned(), value]);
    }
    if release < RunnerRelease(0, 5, 0) {
        words.extend(["--".to_owned(), format!("^{}$", escaped(id))]);
    } else {
        words.extend(["--exact".to_owned(), "--".to_owned(), id.to_owned()]);
    }
    words
}

/// `text` as a regular expression for itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_gets_what_it_understands() {
        let end = |release, id, fewest| block(release, id, fewest)[1..].join(" ");
        assert_eq!(
            end(RunnerRelease(0, 3, 6), "a/b (x)", false),
            r"--warm-up-time 1 --measurement-time 1 --sample-size 1000 -- ^a/b \(x\)$"
        );
        assert_eq!(
            end(RunnerRelease(0, 4, 0), "a.b", true),
            r"--warm-up-time 0.05 --measurement-time 0.1 --sample-size 10 -- ^a\.b$"
        );
        // Its namesakes count otherwise, and all of them take `--exact`.
        for release in [RunnerRelease(0, 5, 1), RunnerRelease(0, 8, 2), RunnerRelease(3, 0, 4)] {
            assert_eq!(
                end(release, "-a.b", false),
                "--warm-up-time 0.05 --measurement-time 0.1 --sample-size 100 --exact -- -a.b"
            );
        }
    }

    #[test]
    fn everything_with_a_meaning_is_escaped() {
        assert_eq!(escaped("é x_1/2:<T>"), "é x_1/2:<T>");
        assert_eq!(escaped(r"a\b[c]{d}|^$"), r"a\\b\[c\]\{d\}\|\^\$");
    }
}
