//! What an executable with criterion in it says to its runner and is answered, as CBOR. Decoding is
//! total: any bytes are a message or an error in words. It must not know sockets or processes.

use ciborium::Value;
use nbench::wire::Throughput;

/// The longest message that is read, in bytes: ids and two numbers for each of some hundred
/// thousand samples.
pub(super) const LONGEST: u32 = 8 << 20;

/// First bytes of the runner, before the three numbers of its version.
pub(super) const RUNNER: &[u8] = b"cargo-criterion";

/// The version of the runner that is claimed: the first that spoke all of this.
pub(super) const RUNNER_VERSION: [u8; 3] = [1, 1, 0];

/// First bytes of the executable, before its version, the protocol's version and its format.
pub(super) const EXECUTABLE: &[u8] = b"Criterion";

/// The only protocol and format that there are.
pub(super) const SPOKEN: [u16; 2] = [1, 1];

/// A benchmark as criterion names it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedId {
    /// Group, function and parameter, as far as it has them.
    pub(super) id: String,
    /// The work of one iteration, where it is of one kind that we know.
    pub(super) throughput: Option<Throughput>,
}

/// Message of an executable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    /// A benchmark begins.
    Beginning(OfferedId),
    /// A benchmark is not asked for.
    Skipping(OfferedId),
    /// A group has ended; the executable waits for an answer.
    GroupFinished,
    /// A benchmark is warm, and measuring it begins.
    Started {
        /// How long that will take, in nanoseconds.
        estimate: f64,
        /// Samples to come.
        samples: u64,
    },
    /// A benchmark is measured; the executable waits for an answer.
    Measured {
        /// Iterations of each sample.
        iters: Vec<f64>,
        /// Times of the samples.
        times: Vec<f64>,
    },
    /// The unit of what was measured.
    Unit(String),
    /// Something else, which needs no answer.
    Other,
}

/// Answer of a runner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Question {
    /// Go on.
    Continue,
    /// Which unit do the times have?
    Unit,
}

impl Question {
    /// The message, without its length.
    pub(super) fn encode(self) -> Vec<u8> {
        let value = match self {
            Question::Continue => text("Continue"),
            Question::Unit => {
                let values = Value::Array(vec![Value::Float(1.0)]);
                let fields = Value::Map(vec![(text("values"), values)]);
                Value::Map(vec![(text("ScaleForMachines"), fields)])
            }
        };
        let mut bytes = Vec::new();
        // Writing to a vector does not fail, and half a message would be noticed by the other end.
        let _written = ciborium::into_writer(&value, &mut bytes);
        bytes
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Reads one message.
///
/// # Errors
/// In words, for everything that is not a message of criterion's.
pub(super) fn decode(bytes: &[u8]) -> Result<Message, String> {
    let value: Value =
        ciborium::from_reader(bytes).map_err(|error| format!("not CBOR: {error}"))?;
    let (name, fields) = match &value {
        Value::Text(name) => (name.as_str(), &value),
        Value::Map(entries) => match entries.as_slice() {
            [(Value::Text(name), fields)] => (name.as_str(), fields),
            _ => return Err("a map that is not one named message".to_owned()),
        },
        _ => return Err("neither a name nor a named message".to_owned()),
    };
    let in_message = |error: String| format!("{error} in `{}`", name.escape_debug());
    match name {
        "BeginningBenchmark" => identity(fields).map(Message::Beginning).map_err(in_message),
        "SkippingBenchmark" => identity(fields).map(Message::Skipping).map_err(in_message),
        "FinishedBenchmarkGroup" => Ok(Message::GroupFinished),
        "MeasurementStart" => started(fields).map_err(in_message),
        "MeasurementComplete" => measured(fields).map_err(in_message),
        "ScaledValues" => match field(fields, "unit") {
            Some(Value::Text(unit)) => Ok(Message::Unit(unit.clone())),
            _ => Err(in_message("no `unit`".to_owned())),
        },
        _ => Ok(Message::Other),
    }
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let entries = value.as_map()?;
    entries.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

fn identity(fields: &Value) -> Result<OfferedId, String> {
    let id = field(fields, "id").ok_or("no `id`")?;
    let group = field(id, "group_id").and_then(Value::as_text).ok_or("no `group_id`")?;
    let mut name = group.to_owned();
    for part in ["function_id", "value_str"] {
        match field(id, part) {
            Some(Value::Text(part)) => {
                name.push('/');
                name.push_str(part);
            }
            Some(Value::Null) | None => {}
            Some(_) => return Err(format!("`{part}` is not a text")),
        }
    }
    Ok(OfferedId { id: name, throughput: field(id, "throughput").and_then(throughput) })
}

/// The first amount of a kind that we know.
fn throughput(list: &Value) -> Option<Throughput> {
    list.as_array()?.iter().find_map(|one| {
        let [(kind, value)] = one.as_map()?.as_slice() else { return None };
        match kind.as_text()? {
            "Bytes" | "BytesDecimal" => whole(value).map(Throughput::Bytes),
            "Elements" => whole(value).map(Throughput::Elements),
            "ElementsAndBytes" => {
                field(value, "elements").and_then(whole).map(Throughput::Elements)
            }
            _ => None,
        }
    })
}

fn started(fields: &Value) -> Result<Message, String> {
    let estimate = field(fields, "estimate_ns").and_then(number).ok_or("no `estimate_ns`")?;
    let samples = field(fields, "sample_count").and_then(whole).ok_or("no `sample_count`")?;
    Ok(Message::Started { estimate, samples })
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(i128::from(*number) as f64),
        _ => None,
    }
}

fn whole(value: &Value) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

fn measured(fields: &Value) -> Result<Message, String> {
    let numbers = |name: &str| -> Result<Vec<f64>, String> {
        let list = field(fields, name).and_then(Value::as_array);
        let list = list.ok_or_else(|| format!("no list `{name}`"))?;
        let list: Option<Vec<f64>> = list.iter().map(number).collect();
        list.ok_or_else(|| format!("`{name}` has something that is not a number"))
    };
    let (iters, times) = (numbers("iters")?, numbers("times")?);
    if iters.len() == times.len() && !iters.is_empty() {
        Ok(Message::Measured { iters, times })
    } else {
        Err(format!("{} `iters` and {} `times`", iters.len(), times.len()))
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
