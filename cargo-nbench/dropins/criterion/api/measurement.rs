//! What a suite measures beside wall time: the traits, and wall time itself, which the harness
//! reads with its own clock.

use std::time::{Duration, Instant};

use super::config::Throughput;

/// Turns values into texts.
pub trait ValueFormatter {
    /// One value with its unit.
    fn format_value(&self, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_values(value, &mut values);
        format!("{:>6} {unit}", short(values[0]))
    }

    /// One value as a throughput with its unit.
    fn format_throughput(&self, throughput: &Throughput, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_throughputs(value, throughput, &mut values);
        format!("{:>6} {unit}", short(values[0]))
    }

    /// Scales values to the unit that suits the typical one, and names it.
    fn scale_values(&self, typical_value: f64, values: &mut [f64]) -> &'static str;

    /// The same for throughputs.
    fn scale_throughputs(
        &self,
        typical_value: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str;

    /// Scales values to one fixed unit, and names it.
    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str;
}

/// A quantity that is read before and after the timed region.
pub trait Measurement {
    /// Reading before.
    type Intermediate;

    /// Amount that passed meanwhile.
    type Value;

    /// Reads before the timed region.
    fn start(&self) -> Self::Intermediate;

    /// Reads after the timed region.
    fn end(&self, i: Self::Intermediate) -> Self::Value;

    /// The sum of two values.
    fn add(&self, v1: &Self::Value, v2: &Self::Value) -> Self::Value;

    /// Nothing.
    fn zero(&self) -> Self::Value;

    /// The value as a number.
    fn to_f64(&self, value: &Self::Value) -> f64;

    /// How values are shown.
    fn formatter(&self) -> &dyn ValueFormatter;

    /// The value as wall time; `None` for everything that is not wall time.
    #[doc(hidden)]
    fn __wall(&self, _value: &Self::Value) -> Option<Duration> {
        None
    }
}

/// Wall time.
pub struct WallTime;

impl Measurement for WallTime {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        Instant::now()
    }

    fn end(&self, start: Instant) -> Duration {
        start.elapsed()
    }

    fn add(&self, v1: &Duration, v2: &Duration) -> Duration {
        *v1 + *v2
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &DurationFormatter
    }

    fn __wall(&self, value: &Duration) -> Option<Duration> {
        Some(*value)
    }
}

struct DurationFormatter;

impl ValueFormatter for DurationFormatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (factor, unit) = match typical {
            ns if ns < 1.0 => (1e3, "ps"),
            ns if ns < 1e3 => (1.0, "ns"),
            ns if ns < 1e6 => (1e-3, "µs"),
            ns if ns < 1e9 => (1e-6, "ms"),
            _ => (1e-9, "s"),
        };
        values.iter_mut().for_each(|value| *value *= factor);
        unit
    }

    fn scale_throughputs(
        &self,
        typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        const BINARY: [&str; 4] = ["  B/s", "KiB/s", "MiB/s", "GiB/s"];
        #[cfg(since_0_4)]
        const DECIMAL: [&str; 4] = ["  B/s", "KB/s", "MB/s", "GB/s"];
        #[cfg(since_0_7)]
        const BITS: [&str; 4] = ["  b/s", "Kb/s", "Mb/s", "Gb/s"];
        const ELEMENTS: [&str; 4] = [" elem/s", "Kelem/s", "Melem/s", "Gelem/s"];
        let (amount, step, units) = match *throughput {
            Throughput::Bytes(bytes) => (bytes, 1024.0, BINARY),
            Throughput::Elements(elements) => (elements, 1000.0, ELEMENTS),
            #[cfg(since_0_4)]
            Throughput::BytesDecimal(bytes) => (bytes, 1000.0, DECIMAL),
            #[cfg(since_0_7)]
            Throughput::Bits(bits) => (bits, 1000.0, BITS),
            #[cfg(since_0_8)]
            Throughput::ElementsAndBytes { elements, .. } => (elements, 1000.0, ELEMENTS),
        };
        let each_second = |nanos: f64| amount as f64 * 1e9 / nanos;
        let mut denominator = 1.0;
        let mut power = 0;
        while power + 1 < units.len() && each_second(typical) >= denominator * step {
            denominator *= step;
            power += 1;
        }
        values.iter_mut().for_each(|value| *value = each_second(*value) / denominator);
        units[power]
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

fn short(value: f64) -> String {
    let digits = match value {
        value if value < 10.0 => 4,
        value if value < 100.0 => 3,
        value if value < 1000.0 => 2,
        value if value < 10_000.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// The name of a measurement: its type without path and parameters.
pub(crate) fn name_of<M>() -> String {
    let full = std::any::type_name::<M>();
    let plain = full.split('<').next().unwrap_or(full);
    plain.rsplit("::").next().unwrap_or(plain).to_owned()
}
