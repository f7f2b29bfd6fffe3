//! The words with which each release of criterion lists its benchmarks or runs one of them. It does
//! not start anything.

use super::process::Release;

/// Seconds of one block, which a launch has one of per side: about as long as a launch of paired
/// samples, and more warming, because every block is a fresh process.
const WARM_UP: &str = "0.1";
const MEASUREMENT: &str = "0.2";

/// The fewest samples that criterion takes.
const SAMPLES: &str = "10";

/// A filter that no id contains: what does not match is named without being run. Unlike `--list` it
/// tells whole ids, and the amount of work.
const NO_SUCH_ID: &str = "nbench asks what there is";

/// For the names of all benchmarks.
pub(super) fn listing() -> Vec<String> {
    ["--bench", NO_SUCH_ID].map(str::to_owned).into()
}

/// For one block of the benchmark `id`.
pub(super) fn block(release: Release, id: &str) -> Vec<String> {
    // Releases before 0.4 take whole seconds and not less than one.
    let (warm_up, measurement) =
        if release < Release(0, 4, 0) { ("1", "1") } else { (WARM_UP, MEASUREMENT) };
    let mut words: Vec<String> = [
        "--bench",
        "--warm-up-time",
        warm_up,
        "--measurement-time",
        measurement,
        "--sample-size",
        SAMPLES,
    ]
    .map(str::to_owned)
    .into();
    if release < Release(0, 5, 0) {
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
        let end = |release, id| block(release, id)[1..].join(" ");
        assert_eq!(
            end(Release(0, 3, 6), "a/b (x)"),
            r"--warm-up-time 1 --measurement-time 1 --sample-size 10 -- ^a/b \(x\)$"
        );
        assert_eq!(
            end(Release(0, 4, 0), "a.b"),
            r"--warm-up-time 0.1 --measurement-time 0.2 --sample-size 10 -- ^a\.b$"
        );
        // Its namesakes count otherwise, and all of them take `--exact`.
        for release in [Release(0, 5, 1), Release(0, 8, 2), Release(3, 0, 4)] {
            assert_eq!(
                end(release, "-a.b"),
                "--warm-up-time 0.1 --measurement-time 0.2 --sample-size 10 --exact -- -a.b"
            );
        }
    }

    #[test]
    fn everything_with_a_meaning_is_escaped() {
        assert_eq!(escaped("é x_1/2:<T>"), "é x_1/2:<T>");
        assert_eq!(escaped(r"a\b[c]{d}|^$"), r"a\\b\[c\]\{d\}\|\^\$");
    }
}
