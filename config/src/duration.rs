//! Durations with a unit, as people write them: `250us`, `1.5s`, `2m`. It knows no setting.

use std::time::Duration;

/// Seconds of the longest time that can be meant.
const YEAR: f64 = 366.0 * 86_400.0;

/// Parses a number followed by `ns`, `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// A fragment that says what is missing or unknown.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` does not start with a number, as `250us` or `1.5s` do"))?;
    let seconds = match unit.trim() {
        "ns" => value / 1e9,
        "us" | "µs" => value / 1e6,
        "ms" => value / 1e3,
        "s" => value,
        "m" | "min" => value * 60.0,
        "h" => value * 3600.0,
        "" => return Err(format!("`{text}` has no unit: write ns, us, ms, s, m or h behind it")),
        other => return Err(format!("`{other}` is not a unit: use ns, us, ms, s, m or h")),
    };
    // Clocks must be able to add it to what they show.
    if seconds > YEAR {
        return Err(format!("`{text}` is too long: a year is the most"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_required_and_known() {
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2 m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
        assert!(parse_duration("20").unwrap_err().contains("no unit"));
        assert!(parse_duration("20 parsecs").unwrap_err().contains("`parsecs`"));
        for text in ["1e19s", "99999999h", "18446744073709551616s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("soon").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
