//! Numbers for people: durations with three significant digits, changes in per cent.
//! It must not know where a number is shown.

/// Units of time with their length in nanoseconds, ascending.
const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// A duration in nanoseconds with three significant digits: `9.23 ns`, `12.4 µs`, `1.20 ms`, `2.35
/// s`.
///
/// Numbers that are not finite are written as `unavailable`.
pub fn duration(nanoseconds: f64) -> String {
    if !nanoseconds.is_finite() {
        return "unavailable".to_owned();
    }
    // Rounding comes before the choice of the unit, or 999.6 ns would read "1000 ns".
    let rounded = significant(nanoseconds);
    let (scale, unit) = unit_for(rounded);
    format!("{} {unit}", digits(rounded / scale))
}

/// A value with three significant digits in its own unit; nanoseconds are shown as [`duration`]
/// shows them.
pub fn quantity(value: f64, unit: &str) -> String {
    if unit == "ns" || !value.is_finite() {
        duration(value)
    } else {
        format!("{} {unit}", digits(significant(value)))
    }
}

/// The bounds of an interval in one unit, as [`quantity`] would show them: `12.98 to 13.12 µs`.
///
/// Both have three significant digits, or as many as it takes to show two digits of the width.
pub fn quantity_interval(low: f64, high: f64, unit: &str) -> String {
    if !low.is_finite() || !high.is_finite() {
        return format!("{} to {}", quantity(low, unit), quantity(high, unit));
    }
    let largest = significant(low.abs().max(high.abs()));
    let (scale, unit) = if unit == "ns" { unit_for(largest) } else { (1.0, unit) };
    let decimals_for = |value: f64, digits: f64| {
        if value > 0.0 { digits - 1.0 - (value.log10() + 1e-9).floor() } else { 0.0 }
    };
    let three = decimals_for(largest / scale, 3.0).max(0.0);
    let decimals = decimals_for((high - low).abs() / scale, 2.0).clamp(three, three + 3.0) as usize;
    format!("{:.decimals$} to {:.decimals$} {unit}", low / scale, high / scale)
}

/// A change as a fraction, written in per cent with its sign: `0.021` is `+2.1 %`, `-0.004` is
/// `-0.40 %`.
///
/// Changes below 1 % keep two decimals, those from 100 % on none. What is not finite is written as
/// `unavailable`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return "unavailable".to_owned();
    }
    let value = fraction * 100.0;
    let decimals = match value.abs() {
        size if size < 0.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:+.decimals$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'+' | b'-' | b'0' | b'.'));
    let text = if is_zero { text.trim_start_matches(['+', '-']) } else { text.as_str() };
    format!("{text} %")
}

/// A change as a fraction: in per cent as [`percent`] writes it, from ten times as long or short on
/// as a factor, `12.0x slower` or `4000x faster`, since `-100 %` is all that per cent has left for
/// these.
pub fn change(fraction: f64) -> String {
    let ratio = 1.0 + fraction;
    let (factor, word) = if ratio < 1.0 { (1.0 / ratio, "faster") } else { (ratio, "slower") };
    // A tenth is 10x although its binary form is a little more.
    if ratio > 0.0 && factor.is_finite() && factor >= 9.9995 {
        format!("{}x {word}", digits(significant(factor)))
    } else {
        percent(fraction)
    }
}

/// A count with as many digits as say something.
pub fn count(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value:.0}")
    } else if value.abs() >= 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

/// The bounds of a change, as fractions: `+1.5 % to +2.7 %`.
pub fn percent_interval(low: f64, high: f64) -> String {
    format!("{} to {}", change(low), change(high))
}

/// Labels for the ticks of one axis of durations: all in one unit, with just enough decimals to
/// tell them apart.
pub(crate) fn tick_labels(nanoseconds: &[f64], unit: &str) -> Vec<String> {
    let largest = nanoseconds.iter().fold(0.0_f64, |largest, tick| largest.max(tick.abs()));
    let (scale, unit) = if unit == "ns" { unit_for(largest) } else { (1.0, unit) };
    let step = nanoseconds
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs() / scale)
        .fold(f64::INFINITY, f64::min);
    // The nudge keeps a step of exactly 0.1 from needing two decimals because of its binary form.
    let decimals = if step.is_finite() && step > 0.0 {
        (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0)
    } else {
        2.0
    };
    nanoseconds
        .iter()
        .map(|tick| format!("{:.*} {unit}", decimals as usize, tick / scale))
        .collect()
}

fn unit_for(nanoseconds: f64) -> (f64, &'static str) {
    let fits = |(scale, _): &&(f64, &str)| nanoseconds.abs() >= *scale;
    UNITS.iter().rev().find(fits).copied().unwrap_or(UNITS[0])
}

fn significant(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Writes a value that was rounded to three significant digits with just those digits.
fn digits(rounded: f64) -> String {
    if rounded == 0.0 {
        return "0".to_owned();
    }
    // The nudge keeps 10.0, divided down from 1e4, from being taken for 9.99...
    let magnitude = (rounded.abs().log10() + 1e-9).floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 9.0) as usize;
    format!("{rounded:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_significant_digits() {
        let cases = [
            (0.0, "0 ns"),
            (0.312, "0.312 ns"),
            (0.00123, "0.00123 ns"),
            (1.0, "1.00 ns"),
            (9.234, "9.23 ns"),
            (9.996, "10.0 ns"),
            (99.96, "100 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (10_000.0, "10.0 µs"),
            (12_340.0, "12.3 µs"),
            (12_400.0, "12.4 µs"),
            (999_500.0, "1.00 ms"),
            (1_200_000.0, "1.20 ms"),
            (2.35e9, "2.35 s"),
            (1.234e12, "1230 s"),
            (-12_400.0, "-12.4 µs"),
            (f64::NAN, "unavailable"),
            (f64::INFINITY, "unavailable"),
        ];
        for (value, expected) in cases {
            assert_eq!(duration(value), expected, "{value}");
        }
    }

    #[test]
    fn other_units_keep_their_name() {
        assert_eq!(quantity(1234.0, "instructions"), "1230 instructions");
        assert_eq!(quantity(1234.0, "ns"), "1.23 µs");
        assert_eq!(quantity(f64::NAN, "instructions"), "unavailable");
    }

    #[test]
    fn bounds_share_a_unit_and_show_their_width() {
        let cases = [
            ((12_984.0, 13_115.0), "12.98 to 13.12 µs"),
            ((990.0, 1_010.0), "0.990 to 1.010 µs"),
            ((9.0, 12.0), "9.0 to 12.0 ns"),
            ((100.0, 400.0), "100 to 400 ns"),
            ((5.0, 5.0), "5.00 to 5.00 ns"),
            ((0.0, 0.0), "0 to 0 ns"),
            ((1e9, 1e9 + 1.0), "1.00000 to 1.00000 s"),
            ((f64::NAN, 1.0), "unavailable to 1.00 ns"),
        ];
        for ((low, high), expected) in cases {
            assert_eq!(quantity_interval(low, high, "ns"), expected);
        }
        assert_eq!(quantity_interval(1_000.0, 1_010.0, "allocs"), "1000 to 1010 allocs");
    }

    #[test]
    fn changes_carry_a_sign_unless_they_are_zero() {
        let cases = [
            (0.021, "+2.1 %"),
            (-0.021, "-2.1 %"),
            (0.0035, "+0.35 %"),
            (-0.00001, "0.00 %"),
            (0.0, "0.00 %"),
            (0.00994, "+0.99 %"),
            (0.00996, "+1.0 %"),
            (0.9994, "+99.9 %"),
            (1.0, "+100 %"),
            (12.0, "+1200 %"),
            (f64::NAN, "unavailable"),
        ];
        for (value, expected) in cases {
            assert_eq!(percent(value), expected, "{value}");
        }
        assert_eq!(percent_interval(0.015, 0.027), "+1.5 % to +2.7 %");
    }

    #[test]
    fn large_changes_are_factors() {
        let cases = [
            (0.021, "+2.1 %"),
            (-0.5, "-50.0 %"),
            (7.0, "+700 %"),
            (-0.88, "-88.0 %"),
            (9.0, "10.0x slower"),
            (-0.9, "10.0x faster"),
            (71.4, "72.4x slower"),
            (1.0 / 4000.0 - 1.0, "4000x faster"),
            (-0.99975, "4000x faster"),
            (3999.0, "4000x slower"),
            (-1.0, "-100 %"),
            (-3.0, "-300 %"),
            (f64::NAN, "unavailable"),
            (f64::INFINITY, "unavailable"),
        ];
        for (value, expected) in cases {
            assert_eq!(change(value), expected, "{value}");
        }
        assert_eq!(percent_interval(-0.9998, -0.9997), "5000x faster to 3330x faster");
    }

    #[test]
    fn ticks_share_a_unit_and_stay_apart() {
        assert_eq!(tick_labels(&[900.0, 1000.0, 1100.0], "ns"), ["0.9 µs", "1.0 µs", "1.1 µs"]);
        assert_eq!(tick_labels(&[10.0, 10.05, 10.1], "ns"), ["10.00 ns", "10.05 ns", "10.10 ns"]);
        assert_eq!(tick_labels(&[5.0, 10.0], "allocs"), ["5 allocs", "10 allocs"]);
        assert_eq!(tick_labels(&[5.0], "ns"), ["5.00 ns"]);
    }

    #[test]
    fn three_digits_are_enough_to_recover_the_value() {
        let mut value = 1.0;
        while value < 1e11 {
            let text = duration(value);
            let (number, unit) = text.split_once(' ').unwrap();
            let scale = UNITS.iter().find(|(_, name)| *name == unit).unwrap().0;
            let back = number.parse::<f64>().unwrap() * scale;
            assert!((back / value - 1.0).abs() <= 0.005_000_1, "{value} became {text}");
            value *= 1.037;
        }
    }
}
