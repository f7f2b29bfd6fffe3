//! The line protocol between a worker and its driver: message types, and total encoding and
//! decoding. It must not know sockets, processes or benchmarks.
//!
//! A line is `verb key=value key=value` and a line feed. Values are percent-encoded, lists are
//! comma separated with each element encoded. Unknown keys are ignored, so that the protocol can
//! grow; unknown verbs are errors that name the verb.

mod line;

use std::fmt;
use std::io::{self, BufRead, Read};

use line::{Builder, Fields};

use crate::axis::OwnReading;

/// The protocol this version speaks. It only grows: a driver understands every older worker.
pub const PROTOCOL: u32 = 1;

/// The longest line either end accepts, in bytes, line feed included.
pub const MAX_LINE: usize = 1 << 20;

/// The largest `count` of one batch: the reply to it always fits into [`MAX_LINE`].
pub const MAX_COUNT: usize = 16_384;

/// Message of a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum FromWorker {
    /// The first line.
    Hello(Hello),
    /// The walk has reached a benchmark; the worker waits for commands.
    Offer(Offer),
    /// The answer to a batch.
    Samples {
        /// Iterations of each sample.
        iters: u64,
        /// Timed nanoseconds of each sample.
        wall: Vec<u64>,
        /// All nanoseconds of each sample, set-up included; as many as `wall`.
        spent: Vec<u64>,
        /// CPU nanoseconds of the process over all samples, or why they are not known.
        cpu: Result<u64, String>,
        /// CPU nanoseconds of the measuring thread over all samples, or why they are not known.
        thread_cpu: Result<u64, String>,
        /// Live threads of the process after the batch, or why they are not known.
        threads: Result<u64, String>,
        /// Quantities that the benchmark counted itself over all samples.
        own: Vec<OwnReading>,
    },
    /// The answer to a batch whose benchmark panicked or used the API wrongly.
    Failed {
        /// Message.
        message: String,
    },
    /// Set-up outside any benchmark panicked: the rest of this suite function is not reached.
    Broken {
        /// Message.
        message: String,
    },
    /// The walk is over.
    Done,
}

/// The first line of a worker. When `protocol` is newer than ours, only `protocol` is guaranteed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The protocol the worker speaks.
    pub protocol: u32,
    /// The version of the harness the worker was built with.
    pub harness: String,
    /// The process id of the worker; 0 when a newer worker does not say.
    pub pid: u32,
    /// The clock that times the batches.
    pub clock: String,
}

/// A benchmark that the walk has reached.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offer {
    /// The identity of the benchmark, unique within its target.
    pub id: String,
    /// The names of the cases that are to be compared; empty for a single unnamed case.
    pub cases: Vec<String>,
    /// Which case is the reference of the comparison.
    pub reference: Option<usize>,
    /// Labels to select by.
    pub tags: Vec<String>,
    /// How much one iteration processes.
    pub throughput: Option<Throughput>,
    /// Settings of this benchmark: `slice_ns`, `warmup_ns`, `launches`, `threshold`, `threads`,
    /// `pairing`.
    pub settings: Vec<(String, String)>,
}

/// How much one iteration processes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Throughput {
    /// Bytes in each iteration.
    Bytes(u64),
    /// Elements in each iteration.
    Elements(u64),
    /// An amount of a unit of one's own in each iteration.
    Custom {
        /// How much; finite, otherwise the throughput is not sent.
        amount: f64,
        /// The unit, as it is to be printed.
        unit: String,
    },
}

/// Message of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromDriver {
    /// Do not run the offered benchmark.
    Skip,
    /// Take samples of the offered benchmark.
    Batch {
        /// Which case, 0 when there is only one.
        case: usize,
        /// Iterations of each sample, at least 1.
        iters: u64,
        /// How many samples, 1 to [`MAX_COUNT`].
        count: usize,
    },
    /// The offered benchmark is finished.
    Next,
    /// End the process at once.
    Quit,
}

/// A line that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// The beginning of the line, made printable.
    pub line: String,
    /// Fault, as a lower-case fragment.
    pub message: String,
}

impl WireError {
    fn new(line: &[u8], message: impl Into<String>) -> WireError {
        WireError { line: line::excerpt(line), message: message.into() }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the line `{}`", self.message, self.line)
    }
}

impl std::error::Error for WireError {}

/// Says whether a driver of this version can work with the worker that sent `hello`.
///
/// # Errors
/// A fragment that names both protocols and which side is too old.
pub fn check(hello: &Hello) -> Result<(), String> {
    let worker = hello.protocol;
    if worker > PROTOCOL {
        Err(format!(
            "the driver speaks protocol {PROTOCOL}, the worker {worker}: update cargo-nbench"
        ))
    } else if worker == 0 {
        Err(format!(
            "the driver speaks protocol {PROTOCOL}, the worker {worker}: update `nbench` in the benchmarked package"
        ))
    } else {
        Ok(())
    }
}

/// Appends one line to `line`, without its line feed, and says whether there was one; `false` is
/// the end of the stream. After a read time-out the bytes so far stay in `line`, so that the call
/// can be repeated.
///
/// # Errors
/// Those of the reader; `InvalidData` for a line longer than [`MAX_LINE`]; `UnexpectedEof` for a
/// stream that ends within a line.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let room = MAX_LINE.saturating_sub(line.len());
    reader.by_ref().take(room as u64).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        Ok(true)
    } else if line.len() >= MAX_LINE {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a line is longer than {MAX_LINE} bytes"),
        ))
    } else if line.is_empty() {
        Ok(false)
    } else {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended within a line"))
    }
}

impl FromWorker {
    /// The message as one line, line feed included.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            FromWorker::Hello(hello) => Builder::new("hello")
                .number("protocol", u64::from(hello.protocol))
                .text("harness", &hello.harness)
                .number("pid", u64::from(hello.pid))
                .text("clock", &hello.clock)
                .end(),
            FromWorker::Offer(offer) => encode_offer(offer),
            FromWorker::Samples { iters, wall, spent, cpu, thread_cpu, threads, own } => {
                Builder::new("samples")
                    .number("iters", *iters)
                    .numbers("wall", wall)
                    .numbers("spent", spent)
                    .reading("cpu", cpu)
                    .reading("thread_cpu", thread_cpu)
                    .reading("threads", threads)
                    .texts("own", &encode_own(own))
                    .end()
            }
            FromWorker::Failed { message } => Builder::new("failed").text("message", message).end(),
            FromWorker::Broken { message } => Builder::new("broken").text("message", message).end(),
            FromWorker::Done => Builder::new("done").end(),
        }
    }

    /// Reads one line, with or without its line feed.
    ///
    /// # Errors
    /// For every line that is not a message of a worker.
    pub fn decode(line: &[u8]) -> Result<FromWorker, WireError> {
        decode_worker(line).map_err(|message| WireError::new(line, message))
    }
}

impl FromDriver {
    /// The message as one line, line feed included.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            FromDriver::Skip => Builder::new("skip").end(),
            FromDriver::Batch { case, iters, count } => Builder::new("batch")
                .number("case", *case as u64)
                .number("iters", *iters)
                .number("count", *count as u64)
                .end(),
            FromDriver::Next => Builder::new("next").end(),
            FromDriver::Quit => Builder::new("quit").end(),
        }
    }

    /// Reads one line, with or without its line feed.
    ///
    /// # Errors
    /// For every line that is not a message of a driver.
    pub fn decode(line: &[u8]) -> Result<FromDriver, WireError> {
        decode_driver(line).map_err(|message| WireError::new(line, message))
    }
}

fn encode_offer(offer: &Offer) -> String {
    let mut line = Builder::new("offer").text("id", &offer.id).texts("cases", &offer.cases);
    if let Some(reference) = offer.reference {
        line = line.number("reference", reference as u64);
    }
    line = line.texts("tags", &offer.tags);
    line = line.texts("throughput", &encode_throughput(offer.throughput.as_ref()));
    for (key, value) in &offer.settings {
        line = line.setting(key, value);
    }
    line.end()
}

/// Name, unit and value of each reading that is a number.
fn encode_own(own: &[OwnReading]) -> Vec<String> {
    own.iter()
        .filter(|reading| reading.value.is_finite())
        .flat_map(|reading| {
            [reading.name.clone(), reading.unit.clone(), format!("{:?}", reading.value)]
        })
        .collect()
}

fn decode_own(parts: &[String]) -> Result<Vec<OwnReading>, String> {
    let read = |part: &[String]| match part {
        [name, unit, value] => {
            let parsed = value.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = parsed.ok_or_else(|| format!("`own` has no value but `{value}`"))?;
            Ok(OwnReading { name: name.clone(), unit: unit.clone(), value })
        }
        _ => Err("`own` is not made of name, unit and value".to_owned()),
    };
    parts.chunks(3).map(read).collect()
}

/// Kind, amount and unit; nothing for an amount that is no number.
fn encode_throughput(throughput: Option<&Throughput>) -> Vec<String> {
    match throughput {
        Some(Throughput::Bytes(amount)) => vec!["bytes".to_owned(), amount.to_string()],
        Some(Throughput::Elements(amount)) => vec!["elements".to_owned(), amount.to_string()],
        Some(Throughput::Custom { amount, unit }) if amount.is_finite() => {
            vec!["custom".to_owned(), format!("{amount:?}"), unit.clone()]
        }
        Some(Throughput::Custom { .. }) | None => Vec::new(),
    }
}

fn decode_worker(line: &[u8]) -> Result<FromWorker, String> {
    if let Some(hello) = newer_hello(line) {
        return Ok(FromWorker::Hello(hello));
    }
    let fields = Fields::parse(line)?;
    match fields.verb() {
        "hello" => Ok(FromWorker::Hello(Hello {
            protocol: fields.number("protocol")?,
            harness: fields.text("harness")?,
            pid: fields.number("pid")?,
            clock: fields.text("clock")?,
        })),
        "offer" => decode_offer(&fields).map(FromWorker::Offer),
        "samples" => {
            let wall = fields.numbers("wall")?;
            let spent = fields.numbers("spent")?;
            if wall.len() != spent.len() {
                return Err(format!(
                    "`wall` has {} values and `spent` {}",
                    wall.len(),
                    spent.len()
                ));
            }
            Ok(FromWorker::Samples {
                iters: fields.number("iters")?,
                wall,
                spent,
                cpu: fields.reading("cpu")?,
                thread_cpu: fields.reading("thread_cpu")?,
                threads: fields.reading("threads")?,
                own: decode_own(&fields.texts("own")?)?,
            })
        }
        "failed" => Ok(FromWorker::Failed { message: fields.text("message")? }),
        "broken" => Ok(FromWorker::Broken { message: fields.text("message")? }),
        "done" => Ok(FromWorker::Done),
        verb => Err(format!("unknown verb `{}`", line::excerpt(verb.as_bytes()))),
    }
}

/// A hello of a protocol newer than ours, of which nothing but `protocol` has to be readable.
fn newer_hello(line: &[u8]) -> Option<Hello> {
    let rest = line.strip_prefix(b"hello ")?;
    let mut tokens = rest
        .split(|byte| matches!(byte, b' ' | b'\n'))
        .filter_map(|token| std::str::from_utf8(token).ok());
    let protocol: u32 = tokens.find_map(|token| token.strip_prefix("protocol="))?.parse().ok()?;
    if protocol <= PROTOCOL {
        return None;
    }
    let fields = Fields::parse(line).ok();
    let text = |key: &str| {
        fields
            .as_ref()
            .and_then(|fields| fields.text(key).ok())
            .unwrap_or_else(|| "unknown".to_owned())
    };
    Some(Hello {
        protocol,
        harness: text("harness"),
        pid: fields.as_ref().and_then(|fields| fields.number("pid").ok()).unwrap_or(0),
        clock: text("clock"),
    })
}

fn decode_offer(fields: &Fields<'_>) -> Result<Offer, String> {
    let cases = fields.texts("cases")?;
    let reference: Option<usize> = fields.optional_number("reference")?;
    if let Some(reference) = reference.filter(|reference| *reference >= cases.len()) {
        return Err(format!("`reference` is {reference}, but there are {} cases", cases.len()));
    }
    Ok(Offer {
        id: fields.text("id")?,
        cases,
        reference,
        tags: fields.texts("tags")?,
        throughput: decode_throughput(&fields.texts("throughput")?)?,
        settings: fields.settings()?,
    })
}

/// Kinds of throughput that this version does not know are dropped rather than refused.
fn decode_throughput(parts: &[String]) -> Result<Option<Throughput>, String> {
    let whole = |amount: &str| {
        amount.parse::<u64>().map_err(|_| format!("`throughput` has no amount but `{amount}`"))
    };
    Ok(match parts {
        [kind, amount] if kind == "bytes" => Some(Throughput::Bytes(whole(amount)?)),
        [kind, amount] if kind == "elements" => Some(Throughput::Elements(whole(amount)?)),
        [kind, amount, unit] if kind == "custom" => {
            let parsed = amount.parse::<f64>().ok().filter(|amount| amount.is_finite());
            let amount =
                parsed.ok_or_else(|| format!("`throughput` has no amount but `{amount}`"))?;
            Some(Throughput::Custom { amount, unit: unit.clone() })
        }
        _ => None,
    })
}

fn decode_driver(line: &[u8]) -> Result<FromDriver, String> {
    let fields = Fields::parse(line)?;
    match fields.verb() {
        "skip" => Ok(FromDriver::Skip),
        "batch" => Ok(FromDriver::Batch {
            case: fields.number("case")?,
            iters: fields.number("iters")?,
            count: fields.number("count")?,
        }),
        "next" => Ok(FromDriver::Next),
        "quit" => Ok(FromDriver::Quit),
        verb => Err(format!("unknown verb `{}`", line::excerpt(verb.as_bytes()))),
    }
}
