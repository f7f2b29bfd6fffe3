//! Tests of what is read from criterion: real messages, made ones, and any bytes.

use proptest::prelude::*;

use super::{golden, *};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn golden(hex: &str) -> Message {
    decode(&bytes(hex)).unwrap()
}

fn named(id: &str, throughput: Option<Throughput>) -> OfferedId {
    OfferedId { id: id.to_owned(), throughput }
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

#[test]
fn messages_of_real_releases_are_understood() {
    assert_eq!(golden(golden::SKIPPING_0_8), Message::Skipping(named("u64[0]/std::fmt", None)));
    let of_720_bytes = Some(Throughput::Bytes(720));
    assert_eq!(golden(golden::BEGINNING_0_3), Message::Beginning(named("req/req", of_720_bytes)));
    let started = Message::Started { estimate: 200_000_592.946_853_4, samples: 10 };
    assert_eq!(golden(golden::STARTED_0_8), started);
    assert_eq!(golden(golden::GROUP_0_8), Message::GroupFinished);
    assert_eq!(golden(golden::UNIT_0_8), Message::Unit("ns".to_owned()));
}

#[test]
fn samples_of_real_releases_keep_their_numbers() {
    for (hex, first, last) in [
        (golden::MEASURED_0_3, (12_880.0, 1_842_385.0), (128_800.0, 181_428_969.0)),
        (golden::MEASURED_0_8, (276_775.0, 538_161.0), (2_767_750.0, 44_658_955.0)),
    ] {
        let Message::Measured { iters, times } = golden(hex) else { panic!("not samples") };
        assert_eq!((iters.len(), times.len()), (10, 10));
        assert_eq!([(iters[0], times[0]), (iters[9], times[9])], [first, last]);
    }
}

#[test]
fn ids_have_the_parts_that_there_are() {
    let part = |part: Option<&str>| part.map_or(Value::Null, text);
    let id = |function: Option<&str>, value: Option<&str>| {
        let id = Value::Map(vec![
            (text("group_id"), text("g")),
            (text("function_id"), part(function)),
            (text("value_str"), part(value)),
        ]);
        let fields = Value::Map(vec![(text("id"), id)]);
        match decode(&encoded(&Value::Map(vec![(text("SkippingBenchmark"), fields)]))).unwrap() {
            Message::Skipping(identity) => identity.id,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(id(None, None), "g");
    assert_eq!(id(Some("f"), None), "g/f");
    assert_eq!(id(None, Some("7")), "g/7");
    assert_eq!(id(Some("f"), Some("7")), "g/f/7");
}

#[test]
fn amounts_of_unknown_kinds_are_left_out() {
    let one = |kind: &str, value: Value| Value::Map(vec![(text(kind), value)]);
    let number = |number: u64| Value::Integer(number.into());
    let both = Value::Map(vec![(text("elements"), number(3)), (text("bytes"), number(4))]);
    for (list, expected) in [
        (vec![], None),
        (vec![one("Bits", number(8))], None),
        (vec![one("BytesDecimal", number(8))], Some(Throughput::Bytes(8))),
        (vec![one("Elements", number(5))], Some(Throughput::Elements(5))),
        (vec![one("ElementsAndBytes", both)], Some(Throughput::Elements(3))),
        (vec![one("Bytes", Value::Float(0.5))], None),
    ] {
        assert_eq!(throughput(&Value::Array(list)), expected);
    }
}

#[test]
fn what_is_no_message_is_told_in_words() {
    let measured = |iters: Vec<Value>, times: Vec<Value>| {
        let list = |values| Value::Array(values);
        let fields = Value::Map(vec![(text("iters"), list(iters)), (text("times"), list(times))]);
        encoded(&Value::Map(vec![(text("MeasurementComplete"), fields)]))
    };
    for (bytes, expected) in [
        (vec![], "not CBOR"),
        (vec![0xff], "not CBOR"),
        (vec![0x01], "neither a name"),
        (vec![0xa0], "not one named message"),
        (encoded(&text("SkippingBenchmark")), "no `id`"),
        (encoded(&text("ScaledValues")), "no `unit`"),
        (measured(vec![], vec![]), "0 `iters`"),
        (measured(vec![Value::Float(1.0)], vec![]), "1 `iters` and 0 `times`"),
        (measured(vec![text("1")], vec![]), "not a number"),
    ] {
        let error = decode(&bytes).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    // A newer criterion may say more.
    assert_eq!(decode(&encoded(&text("Later"))), Ok(Message::Other));
}

#[test]
fn answers_are_what_a_runner_sends() {
    assert_eq!(Question::Continue.encode(), b"\x68Continue");
    let mut expected = b"\xa1\x70ScaleForMachines\xa1\x66values\x81".to_vec();
    expected.extend(b"\xf9\x3c\x00");
    assert_eq!(Question::Unit.encode(), expected);
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn damaged_messages_are_messages_or_errors(
        which in 0usize..3,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        length in any::<prop::sample::Index>(),
    ) {
        let hex = [golden::MEASURED_0_8, golden::BEGINNING_0_3, golden::UNIT_0_8][which];
        let mut damaged = bytes(hex);
        let at = at.index(damaged.len());
        damaged[at] = byte;
        damaged.truncate(length.index(damaged.len()) + 1);
        if let Ok(Message::Measured { iters, times }) = decode(&damaged) {
            prop_assert_eq!(iters.len(), times.len());
        }
    }
}
