//! Times one benchmark briefly and puts it into a row of text. It must not know who reads it.

use std::fmt::Write;

use crate::batch::Reply;
use crate::wire::Throughput;

/// How long one sample should take: long against the clock, short against disturbances.
const SAMPLE_NS: u64 = 1_000_000;
/// How much of everything, set-up included, a sample may take before its iterations stop growing.
const SPENT_NS: u64 = 20_000_000;
/// How long a benchmark runs before the first sample that counts.
const WARM_UP_NS: u64 = 100_000_000;
/// How long samples are taken, and how many at most.
const MEASURE_NS: u64 = 1_000_000_000;
const MOST_SAMPLES: usize = 100;
/// Bodies that are timed as nothing at all do not get more iterations than this.
const MOST_ITERS: u64 = 1 << 30;

/// One measured case.
#[derive(Debug)]
pub(super) struct Row {
    /// Nanoseconds of an iteration.
    median: f64,
    /// Half the interquartile range as a fraction of the median; `None` below four samples or when
    /// the median is zero.
    spread: Option<f64>,
    samples: usize,
    iters: u64,
}

/// Times a case; `sample` takes one sample of the given iterations.
pub(super) fn measure(sample: &mut dyn FnMut(u64) -> Result<Reply, String>) -> Result<Row, String> {
    let mut one = |iters| {
        let reply = sample(iters)?;
        match (reply.wall.first(), reply.spent.first()) {
            (Some(wall), Some(spent)) => Ok((*wall, *spent)),
            _ => Err("the batch gave no sample".to_owned()),
        }
    };
    let mut iters = 1;
    let mut warm = 0_u64;
    loop {
        let (wall, spent) = one(iters)?;
        warm = warm.saturating_add(spent);
        if wall >= SAMPLE_NS || spent >= SPENT_NS || iters >= MOST_ITERS {
            break;
        }
        iters *= 2;
    }
    while warm < WARM_UP_NS {
        warm = warm.saturating_add(one(iters)?.1.max(1));
    }
    let mut each = Vec::with_capacity(MOST_SAMPLES);
    let mut total = 0_u64;
    while each.len() < MOST_SAMPLES && (total < MEASURE_NS || each.is_empty()) {
        let (wall, spent) = one(iters)?;
        each.push(wall as f64 / iters as f64);
        total = total.saturating_add(spent);
    }
    Ok(Row::of(each, iters))
}

impl Row {
    fn of(mut each: Vec<f64>, iters: u64) -> Row {
        each.sort_by(f64::total_cmp);
        let median = quantile(&each, 0.5);
        let half_range = (quantile(&each, 0.75) - quantile(&each, 0.25)) / 2.0;
        let spread = (each.len() >= 4 && median > 0.0).then(|| half_range / median);
        Row { median, spread, samples: each.len(), iters }
    }

    /// The row as one line, or two when the name is too long for its column.
    pub(super) fn line(&self, name: &str, throughput: Option<&Throughput>) -> String {
        let spread = self
            .spread
            .map_or_else(|| "n/a".to_owned(), |spread| format!("±{:.1} %", spread * 100.0));
        let counts = format!("{} × {}", self.samples, self.iters);
        let rate =
            throughput.and_then(|throughput| rate(throughput, self.median)).unwrap_or_default();
        let mut line = columns(name, &time(self.median), &spread, &counts, &rate);
        line.push('\n');
        line
    }
}

pub(super) fn heading() -> String {
    let mut line = columns("benchmark", "median", "spread", "samples × iters", "");
    line.push('\n');
    line
}

fn columns(name: &str, median: &str, spread: &str, counts: &str, rate: &str) -> String {
    const NAME: usize = 36;
    let mut line = String::new();
    if name.chars().count() > NAME {
        line.push_str(name);
        line.push('\n');
        line.push_str(&" ".repeat(NAME));
    } else {
        let _infallible = write!(line, "{name:<NAME$}");
    }
    let _infallible = write!(line, " {median:>11} {spread:>9} {counts:>17}  {rate}");
    line.truncate(line.trim_end().len());
    line
}

/// Linear interpolation between order statistics (type 7) of sorted values; 0 for none.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let position = at * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let share = position - position.floor();
    sorted[below] + (sorted[above] - sorted[below]) * share
}

/// Four significant digits with the unit that suits.
fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        nanos if nanos < 999.95 => (nanos, "ns"),
        nanos if nanos < 999.95e3 => (nanos / 1e3, "µs"),
        nanos if nanos < 999.95e6 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", four_digits(value))
}

fn four_digits(value: f64) -> String {
    let digits = match value.abs() {
        value if value < 9.9995 => 3,
        value if value < 99.995 => 2,
        _ => 1,
    };
    format!("{value:.digits$}")
}

/// Amount in a second; `None` when the time is zero or the amount is no number.
fn rate(throughput: &Throughput, nanos: f64) -> Option<String> {
    let (amount, unit, step, prefixes) = match throughput {
        Throughput::Bytes(bytes) => (*bytes as f64, "B", 1024.0, ["", "Ki", "Mi", "Gi", "Ti"]),
        Throughput::Elements(elements) => {
            (*elements as f64, "elements", 1000.0, ["", "k", "M", "G", "T"])
        }
        Throughput::Custom { amount, unit } => {
            (*amount, unit.as_str(), 1000.0, ["", "k", "M", "G", "T"])
        }
    };
    let mut value = amount * 1e9 / nanos;
    if !value.is_finite() {
        return None;
    }
    let mut power = 0;
    while value.abs() >= step && power + 1 < prefixes.len() {
        value /= step;
        power += 1;
    }
    let prefix = prefixes[power];
    // A prefix belongs to a symbol; before a word it would read as part of it.
    let space = if unit == "B" || prefix.is_empty() { "" } else { " " };
    Some(format!("{} {prefix}{space}{unit}/s", four_digits(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(wall: u64, spent: u64) -> Result<Reply, String> {
        Ok(Reply {
            wall: vec![wall],
            spent: vec![spent],
            cpu: Ok(0),
            thread_cpu: Ok(0),
            own: Vec::new(),
        })
    }

    #[test]
    fn iterations_double_until_a_sample_is_a_millisecond() {
        let mut asked = Vec::new();
        let row = measure(&mut |iters| {
            asked.push(iters);
            reply(iters * 300_000, iters * 300_000)
        })
        .unwrap();
        assert_eq!((row.iters, row.samples, row.median), (4, 100, 300_000.0));
        assert_eq!(row.spread, Some(0.0));
        // 0.3 + 0.6 + 1.2 ms of calibration, 82 more samples of 1.2 ms to 100 ms, 100 that count.
        assert_eq!(asked.len(), 3 + 82 + 100);
    }

    #[test]
    fn a_slow_body_gets_one_second_and_a_failing_one_none() {
        let row = measure(&mut |iters| reply(iters * 400_000_000, iters * 400_000_000)).unwrap();
        assert_eq!((row.iters, row.samples, row.spread), (1, 3, None));
        assert!(row.line("slow", None).contains("n/a"));
        assert_eq!(measure(&mut |_| Err("broken".to_owned())).unwrap_err(), "broken");
    }

    #[test]
    fn dear_set_up_and_free_bodies_end_calibration() {
        assert_eq!(measure(&mut |iters| reply(iters, iters * 5_000_000)).unwrap().iters, 4);
        let free = measure(&mut |iters| reply(0, 1_000_000 + iters / 1024)).unwrap();
        assert_eq!((free.iters, free.spread), (MOST_ITERS, None));
        assert_eq!(rate(&Throughput::Bytes(1), free.median), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&sorted, 0.5), 3.0);
        assert_eq!(quantile(&sorted, 0.25), 1.75);
        assert_eq!(quantile(&sorted, 1.0), 8.0);
        let row = Row::of(vec![8.0, 1.0, 4.0, 2.0], 1);
        // Quartiles 1.75 and 5, median 3.
        assert!((row.spread.unwrap() - 1.625 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_have_four_digits() {
        let times = [0.5, 61.321, 999.94, 999.96, 12_345.0, 5e8, 2.5e9].map(time);
        assert_eq!(
            times,
            ["0.500 ns", "61.32 ns", "999.9 ns", "1.000 µs", "12.35 µs", "500.0 ms", "2.500 s"]
        );
        assert_eq!(rate(&Throughput::Bytes(2048), 1000.0).as_deref(), Some("1.907 GiB/s"));
        assert_eq!(rate(&Throughput::Elements(5), 1e6).as_deref(), Some("5.000 k elements/s"));
        let custom = Throughput::Custom { amount: 0.5, unit: "frames".to_owned() };
        assert_eq!(rate(&custom, 1e9).as_deref(), Some("0.500 frames/s"));
    }

    #[test]
    fn a_long_name_has_a_line_of_its_own() {
        let row = Row { median: 61.3, spread: Some(0.012), samples: 100, iters: 16384 };
        let name = "x".repeat(40);
        let text = row.line(&name, None);
        assert_eq!(text.lines().next(), Some(name.as_str()));
        assert_eq!(
            row.line("a", None),
            format!("{:<36} {:>11} {:>9} {:>17}\n", "a", "61.30 ns", "±1.2 %", "100 × 16384")
        );
    }
}
