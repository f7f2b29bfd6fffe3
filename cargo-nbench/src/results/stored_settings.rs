//! Settings as a run keeps them in the store, by name, and what differs between those of two runs.
//! Rows of older versions, which held a text made for programmers, are read too. It must not know
//! what they do.

use std::collections::{BTreeMap, BTreeSet};

use nbench_config::Settings;
use nbench_engine::{Looks, Plan};
use serde_json::{Value, json};

use crate::cache;

/// Settings that only the comparison of revisions obeys, or that say no more than others do: they
/// make no single measurement another one.
const NOT_MEASURING: [&str; 10] = [
    "seed",
    "threshold",
    "looks",
    "look_errors",
    "may_say_equivalent",
    "control_discovery",
    "half_width",
    "interval",
    "layouts",
    "preset",
];

/// Settings of a run by their names, each as a text.
pub type Stored = BTreeMap<String, String>;

/// The settings in force, as a JSON object.
pub fn written(settings: &Settings) -> String {
    json!({
        "preset": settings.preset.name(),
        "plan": plan(&settings.plan),
        "layouts": settings.layouts.name(),
    })
    .to_string()
}

fn plan(plan: &Plan) -> Value {
    // All fields are named, so that no new one is forgotten.
    let Plan {
        slice,
        warmup,
        launch_time,
        max_rounds,
        min_rounds,
        slow_operation,
        spent_cap,
        trim,
        batching,
        order,
        blocks,
        interval,
        looks: Looks { at, alpha },
        may_say_equivalent,
        control_discovery,
        half_width,
        threshold,
        seed,
        sample_time,
        sampling_time,
        max_samples,
        min_launches,
        max_launches,
        precision,
        confidence,
    } = plan;
    let time = |time: &std::time::Duration| format!("{time:?}");
    json!({
        "slice": time(slice),
        "warmup": time(warmup),
        "launch_time": time(launch_time),
        "max_rounds": max_rounds,
        "min_rounds": min_rounds,
        "slow_operation": time(slow_operation),
        "spent_cap": time(spent_cap),
        "trim": trim,
        "batching": word(&format!("{batching:?}")),
        "order": word(&format!("{order:?}")),
        "blocks": blocks,
        "interval": word(&format!("{interval:?}")),
        "looks": at,
        "look_errors": alpha,
        "may_say_equivalent": may_say_equivalent,
        "control_discovery": control_discovery,
        "half_width": half_width,
        "threshold": threshold,
        "seed": seed,
        "sample_time": time(sample_time),
        "sampling_time": time(sampling_time),
        "max_samples": max_samples,
        "min_launches": min_launches,
        "max_launches": max_launches,
        "precision": precision,
        "confidence": confidence,
    })
}

/// The settings that a row holds, however old; what cannot be understood is left out.
pub fn read(row: &str) -> Stored {
    let mut stored = Stored::new();
    let Ok(Value::Object(row)) = serde_json::from_str(row) else { return stored };
    for (name, value) in row {
        match (name.as_str(), value) {
            ("plan", Value::String(text)) => older(&text, "Plan", &mut stored),
            ("plan", Value::Object(plan)) => {
                stored.extend(plan.iter().map(|(name, value)| (name.clone(), shown(value))));
            }
            (_, value) => drop(stored.insert(name, shown(&value))),
        }
    }
    stored
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), plain),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The shortest text of a number, with no point where there is nothing behind it.
fn plain(number: f64) -> String {
    number.to_string()
}

/// Reads `Name { field: value, .. }`, in which values may have braces and brackets of their own.
fn older(text: &str, name: &str, stored: &mut Stored) {
    let inner = text.strip_prefix(name).map(str::trim);
    let inner = inner.and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
    for field in inner.map(fields).unwrap_or_default() {
        let Some((name, value)) = field.split_once(": ") else { continue };
        match (name, value.strip_prefix("Looks {").and_then(|rest| rest.strip_suffix('}'))) {
            ("looks", Some(looks)) => {
                for field in fields(looks) {
                    if let Some((name, value)) = field.split_once(": ") {
                        let name = if name == "at" { "looks" } else { "look_errors" };
                        stored.insert(name.to_owned(), older_value(value));
                    }
                }
            }
            _ => drop(stored.insert(name.to_owned(), older_value(value))),
        }
    }
}

/// Parts between the commas that lie in no bracket.
fn fields(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn older_value(text: &str) -> String {
    let text = text.trim();
    if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return fields(list).into_iter().map(older_value).collect::<Vec<_>>().join(", ");
    }
    if let Some(inner) = text.strip_prefix("Some(").and_then(|rest| rest.strip_suffix(')')) {
        return older_value(inner);
    }
    text.parse::<f64>().map_or_else(|_| word(text), plain)
}

/// `EqualTime` as `equal-time`; what is no such name stays.
fn word(name: &str) -> String {
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return name.to_owned();
    }
    let mut word = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

/// Settings of a row that make a single measurement what it is.
fn matter(row: &str) -> Stored {
    let mut stored = read(row);
    stored.retain(|name, _| !NOT_MEASURING.contains(&name.as_str()));
    stored
}

/// Digest of the settings that measurements of one run have in common with those of another where
/// the two can be compared: 16 hexadecimal digits. `None` for a row that cannot be understood,
/// which is comparable with none.
pub fn comparability(row: &str) -> Option<String> {
    let matter = matter(row);
    (!matter.is_empty()).then(|| cache::digest(format!("{matter:?}").as_bytes()))
}

/// Differences between the settings of two rows that are not comparable, each by its name with both
/// values; none where they are.
pub fn differences(one: &str, other: &str) -> Vec<String> {
    if let (Some(one), Some(other)) = (comparability(one), comparability(other))
        && one == other
    {
        return Vec::new();
    }
    let (one, other) = (matter(one), matter(other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    if names.is_empty() {
        return vec!["unknown on both sides".to_owned()];
    }
    let value = |of: &Stored, name: &str| of.get(name).map_or("unknown", String::as_str).to_owned();
    names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name))
        .map(|name| format!("{name}: {} against {}", value(&one, name), value(&other, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(change: impl FnOnce(&mut Plan)) -> Settings {
        let mut settings = nbench_config::resolve([]).unwrap();
        change(&mut settings.plan);
        settings
    }

    /// A row as versions before wrote it.
    fn row_before(settings: &Settings) -> String {
        json!({
            "preset": settings.preset.name(),
            "plan": format!("{:?}", settings.plan),
            "layouts": settings.layouts.name(),
        })
        .to_string()
    }

    #[test]
    fn rows_of_all_versions_say_the_same() {
        for settings in [
            settings(|_| ()),
            settings(|plan| plan.half_width = Some(0.005)),
            settings(|plan| {
                plan.batching = nbench_engine::Batching::EqualTime;
                plan.order = nbench_engine::Order::Sequential;
                plan.looks = Looks::thorough();
                plan.precision = 1.0;
                plan.spent_cap = Duration::from_micros(1500);
                plan.seed = u64::MAX;
            }),
        ] {
            let (before, now) = (row_before(&settings), written(&settings));
            assert_eq!(read(&before), read(&now));
            assert_eq!(read(&now).len(), 28, "{:?}", read(&now));
            assert_eq!(differences(&before, &now), Vec::<String>::new());
        }
        let stored = read(&written(&settings(|_| ())));
        for (name, value) in [("looks", "10, 16, 24"), ("slice", "1ms"), ("half_width", "none")] {
            assert_eq!(stored[name], value);
        }
    }

    #[test]
    fn what_differs_is_named_with_both_values_and_no_torn_text() {
        let plain = settings(|_| ());
        type Row = (fn(&mut Plan), &'static [&'static str]);
        let table: [Row; 5] = [
            (|plan| plan.precision = 0.01, &["precision: 0.02 against 0.01"]),
            (
                |plan| {
                    plan.sample_time = Duration::from_millis(5);
                    plan.max_launches = 30;
                },
                &["max_launches: 12 against 30", "sample_time: 10µs against 5ms"],
            ),
            (
                |plan| plan.order = nbench_engine::Order::Sequential,
                &["order: rounds against sequential"],
            ),
            // Another order of the same measurement, and what only `ab` obeys.
            (|plan| plan.seed = 77, &[]),
            (
                |plan| {
                    plan.looks = Looks::thorough();
                    plan.threshold = 0.05;
                },
                &[],
            ),
        ];
        for (change, wanted) in table {
            let other = settings(change);
            for row in [written(&other), row_before(&other)] {
                assert_eq!(differences(&row_before(&plain), &row), wanted);
                assert_eq!(differences(&written(&plain), &row), wanted);
            }
        }
    }

    #[test]
    fn rows_that_cannot_be_understood_are_unknown_and_no_panic() {
        let good = written(&settings(|_| ()));
        for row in
            ["", "[]", "7", r#"{"plan":"Plan { slice"}"#, r#"{"plan":"Plan { a: ]}, b: [ }"}"#]
        {
            let found = differences(row, &good);
            assert!(found.contains(&"slice: unknown against 1ms".to_owned()), "{row}: {found:?}");
        }
    }

    #[test]
    fn runs_are_comparable_whose_measurements_are_made_alike() {
        let of = |change: fn(&mut Plan)| comparability(&written(&settings(change)));
        let plain = of(|_| ());
        assert_eq!(plain.as_ref().map(String::len), Some(16));
        for same in [
            of(|plan| plan.seed = 2),
            of(|plan| plan.looks = Looks { at: vec![6], alpha: vec![0.05] }),
            of(|plan| plan.threshold = 0.05),
            comparability(&row_before(&settings(|_| ()))),
        ] {
            assert_eq!(plain, same);
        }
        // Every other setting counts, one by one.
        let ms = Duration::from_millis(5);
        let changes: [fn(&mut Plan, Duration); 18] = [
            |plan, ms| plan.sample_time = ms,
            |plan, ms| plan.sampling_time = ms,
            |plan, ms| plan.slice = ms,
            |plan, ms| plan.warmup = ms,
            |plan, ms| plan.launch_time = ms,
            |plan, ms| plan.slow_operation = ms,
            |plan, ms| plan.spent_cap = ms,
            |plan, _| plan.batching = nbench_engine::Batching::EqualTime,
            |plan, _| plan.order = nbench_engine::Order::Sequential,
            |plan, _| plan.blocks = true,
            |plan, _| plan.max_rounds = 7,
            |plan, _| plan.min_rounds = 2,
            |plan, _| plan.trim = 0.1,
            |plan, _| plan.max_samples = 7,
            |plan, _| plan.min_launches = 7,
            |plan, _| plan.max_launches = 30,
            |plan, _| plan.precision = 0.01,
            |plan, _| plan.confidence = 0.9,
        ];
        let names: BTreeSet<String> = changes
            .iter()
            .map(|change| {
                let row = written(&settings(|plan| change(plan, ms)));
                assert_ne!(comparability(&row), plain, "{row}");
                let [difference] = &differences(&written(&settings(|_| ())), &row)[..] else {
                    panic!("one difference: {row}")
                };
                difference.split(':').next().unwrap_or_default().to_owned()
            })
            .collect();
        let all: BTreeSet<String> = read(&written(&settings(|_| ()))).into_keys().collect();
        let left_out: BTreeSet<&str> = NOT_MEASURING.into();
        let counted = all.iter().filter(|name| !left_out.contains(name.as_str())).cloned();
        assert_eq!(names, counted.collect(), "no setting is left untried");
        for unknown in ["", "[]", "7"] {
            assert_eq!(comparability(unknown), None);
            assert_eq!(differences(unknown, unknown), ["unknown on both sides"]);
        }
    }
}
