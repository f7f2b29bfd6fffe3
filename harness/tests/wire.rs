//! The wire as released: golden lines that must stay decodable for ever, and properties of the
//! codec under random messages and random bytes. It knows only the public types.

use nbench::wire::{
    check, read_line, FromDriver, FromWorker, Hello, Offer, Throughput, MAX_COUNT, MAX_LINE,
    PROTOCOL,
};
use nbench::OwnReading;

fn offer() -> Offer {
    Offer {
        id: "group/parse, 10 %=é".into(),
        cases: vec!["binary".into(), "a,b".into()],
        reference: Some(1),
        tags: vec!["fast".into(), String::new()],
        throughput: Some(Throughput::Custom { amount: 2.5, unit: "frames".into() }),
        settings: vec![("slice_ns".into(), "1000".into()), ("odd key".into(), "a=b".into())],
    }
}

/// Every message of protocol 1 and its line. Lines are only ever added.
fn golden_worker() -> Vec<(FromWorker, &'static str)> {
    vec![
        (
            FromWorker::Hello(Hello {
                protocol: 1,
                harness: "0.1.0".into(),
                pid: 4711,
                clock: "CLOCK_MONOTONIC_RAW".into(),
            }),
            "hello protocol=1 harness=0.1.0 pid=4711 clock=CLOCK_MONOTONIC_RAW\n",
        ),
        (
            FromWorker::Offer(offer()),
            "offer id=group/parse%2C%2010%20%25%3D%C3%A9 cases=binary,a%2Cb reference=1 tags=fast, \
             throughput=custom,2.5,frames set.slice_ns=1000 set.odd%20key=a%3Db\n",
        ),
        (FromWorker::Offer(Offer { id: "plain".into(), ..Offer::default() }), "offer id=plain\n"),
        (
            FromWorker::Offer(Offer { id: "b".into(), throughput: Some(Throughput::Bytes(1024)), ..Offer::default() }),
            "offer id=b throughput=bytes,1024\n",
        ),
        (
            FromWorker::Offer(Offer { id: "e".into(), throughput: Some(Throughput::Elements(7)), ..Offer::default() }),
            "offer id=e throughput=elements,7\n",
        ),
        (
            FromWorker::Samples {
                iters: 100,
                wall: vec![1000, 1001],
                spent: vec![1100, 1101],
                cpu: Ok(2050),
                thread_cpu: Err("no thread clock".into()),
                threads: Ok(3),
                own: Vec::new(),
            },
            "samples iters=100 wall=1000,1001 spent=1100,1101 cpu=2050 thread_cpu_unavailable=no%20thread%20clock threads=3\n",
        ),
        (
            FromWorker::Samples {
                iters: 1,
                wall: vec![5],
                spent: vec![6],
                cpu: Ok(1),
                thread_cpu: Ok(2),
                threads: Ok(3),
                own: vec![own("cache misses", "1", 1.5), own("time", "ns", -2e300)],
            },
            "samples iters=1 wall=5 spent=6 cpu=1 thread_cpu=2 threads=3 own=cache%20misses,1,1.5,time,ns,-2e300\n",
        ),
        (
            FromWorker::Failed { message: "index out of bounds\nat src/x.rs:1:2".into() },
            "failed message=index%20out%20of%20bounds%0Aat%20src/x.rs:1:2\n",
        ),
        (FromWorker::Broken { message: String::new() }, "broken message=\n"),
        (FromWorker::Done, "done\n"),
    ]
}

fn own(name: &str, unit: &str, value: f64) -> OwnReading {
    OwnReading { name: name.to_owned(), unit: unit.to_owned(), value }
}

#[test]
fn own_readings_are_triples_of_finite_values() {
    let line = |own: &str| format!("samples iters=1 wall=5 spent=6 own={own}\n");
    for (text, wrong) in [
        ("a,b", "name, unit and value"),
        ("a,b,1,c", "name, unit and value"),
        ("a,b,x", "no value but `x`"),
        ("a,b,inf", "no value but `inf`"),
    ] {
        let error = FromWorker::decode(line(text).as_bytes()).unwrap_err();
        assert!(error.message.contains(wrong), "{text}: {error}");
    }
    let unsent = FromWorker::Samples {
        iters: 1,
        wall: vec![5],
        spent: vec![6],
        cpu: Ok(1),
        thread_cpu: Ok(1),
        threads: Ok(1),
        own: vec![own("a", "b", f64::NAN)],
    };
    assert!(!unsent.encode().contains("own"));
}

fn golden_driver() -> Vec<(FromDriver, &'static str)> {
    vec![
        (FromDriver::Skip, "skip\n"),
        (
            FromDriver::Batch { case: 1, iters: 1000, count: 20 },
            "batch case=1 iters=1000 count=20\n",
        ),
        (FromDriver::Next, "next\n"),
        (FromDriver::Quit, "quit\n"),
    ]
}

#[test]
fn golden_lines() {
    for (message, line) in golden_worker() {
        assert_eq!(message.encode(), line);
        assert_eq!(FromWorker::decode(line.as_bytes()), Ok(message.clone()));
        assert_eq!(FromWorker::decode(line.trim_end_matches('\n').as_bytes()), Ok(message));
    }
    for (message, line) in golden_driver() {
        assert_eq!(message.encode(), line);
        assert_eq!(FromDriver::decode(line.as_bytes()), Ok(message));
    }
}

#[test]
fn unknown_keys_are_ignored_and_unknown_verbs_named() {
    assert_eq!(FromDriver::decode(b"next why=because"), Ok(FromDriver::Next));
    assert_eq!(
        FromDriver::decode(b"batch case=0 iters=5 axes=cpu count=1"),
        Ok(FromDriver::Batch { case: 0, iters: 5, count: 1 })
    );
    let error = FromWorker::decode(b"sing song=1").unwrap_err();
    assert_eq!(error.message, "unknown verb `sing`");
    assert_eq!(error.line, "sing song=1");
    assert_eq!(error.to_string(), "unknown verb `sing` in the line `sing song=1`");
    let unit = FromWorker::decode(b"offer id=x throughput=furlongs,3").unwrap();
    assert_eq!(unit, FromWorker::Offer(Offer { id: "x".into(), ..Offer::default() }));
}

#[test]
fn malformed_lines_are_errors_that_say_what_is_wrong() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "no verb"),
        (b"done\ndone\n", "byte 0x0a"),
        (b"done \xff", "byte 0xff"),
        (b"hello harness=1", "`protocol` is missing"),
        (b"failed message=%4", "not percent-encoded"),
        (b"failed message=%FF", "not UTF-8"),
        (b"failed message", "not key=value"),
        (b"samples iters=1 wall=1,2 spent=1", "`wall` has 2 values and `spent` 1"),
        (b"samples iters=-1 wall= spent=", "`iters` is not a number"),
        (b"samples iters=1 wall=1,,2 spent=1,2,3", "`wall` is not a number"),
        (b"offer id=x cases=a reference=1", "there are 1 cases"),
        (b"offer id=x throughput=custom,NaN,x", "`throughput` has no amount"),
    ];
    for (line, expected) in cases {
        let error = FromWorker::decode(line).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    assert!(FromDriver::decode(b"batch case=0 iters=18446744073709551616 count=1").is_err());
    assert!(FromWorker::decode(&vec![b'x'; MAX_LINE + 1])
        .unwrap_err()
        .message
        .contains("more than"));
}

#[test]
fn a_reading_that_is_not_sent_is_unavailable_and_not_zero() {
    let FromWorker::Samples { cpu, threads, .. } =
        FromWorker::decode(b"samples iters=1 wall=5 spent=6 cpu=0").unwrap()
    else {
        panic!("samples");
    };
    assert_eq!(cpu, Ok(0));
    assert_eq!(threads, Err("not reported by the worker".to_owned()));
}

#[test]
fn a_newer_worker_is_understood_as_far_as_its_protocol() {
    for line in [
        "hello protocol=2\n",
        "hello shiny protocol=2 pid=many clock=%",
        "hello protocol=2 harness=%zz",
    ] {
        let FromWorker::Hello(hello) = FromWorker::decode(line.as_bytes()).unwrap() else {
            panic!("{line}")
        };
        assert_eq!(hello.protocol, 2);
        assert_eq!(
            check(&hello),
            Err("the driver speaks protocol 1, the worker 2: update cargo-nbench".to_owned())
        );
    }
    assert!(FromWorker::decode(b"hello shiny protocol=1").is_err());
    let hello = |protocol| Hello { protocol, harness: "0".into(), pid: 1, clock: "c".into() };
    assert_eq!(check(&hello(PROTOCOL)), Ok(()));
    assert!(check(&hello(0)).unwrap_err().ends_with("update `nbench` in the benchmarked package"));
}

#[test]
fn lines_are_read_within_bounds() {
    let mut line = Vec::new();
    let mut stream: &[u8] = b"one\ntwo\nrest";
    assert!(read_line(&mut stream, &mut line).unwrap());
    assert_eq!(line, b"one");
    line.clear();
    assert!(read_line(&mut stream, &mut line).unwrap());
    line.clear();
    assert_eq!(
        read_line(&mut stream, &mut line).unwrap_err().kind(),
        std::io::ErrorKind::UnexpectedEof
    );
    line.clear();
    assert!(!read_line(&mut stream, &mut line).unwrap());
    let endless = std::io::repeat(b'x');
    let error = read_line(&mut std::io::BufReader::new(endless), &mut line).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert_eq!(line.len(), MAX_LINE);
}

#[test]
fn the_largest_reply_fits_into_a_line() {
    let full = vec![u64::MAX; MAX_COUNT];
    let reason = || Err("é".repeat(1000));
    let message = FromWorker::Samples {
        iters: u64::MAX,
        wall: full.clone(),
        spent: full,
        cpu: reason(),
        thread_cpu: reason(),
        threads: reason(),
        own: Vec::new(),
    };
    assert!(message.encode().len() <= MAX_LINE);
}

/// A small generator (xorshift64*), so that the crate needs no dependency for its tests either.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Numbers of every magnitude.
    fn number(&mut self) -> u64 {
        let shift = self.below(64);
        self.next() >> shift
    }

    fn text(&mut self) -> String {
        const SPECIAL: &[char] =
            &[' ', '%', '=', ',', '\n', '\r', '\0', '\u{7f}', 'é', '\u{10ffff}', '#', 'a', '/'];
        let length = self.below(12);
        (0..length)
            .map(|_| match self.below(3) {
                0 => SPECIAL[self.below(SPECIAL.len() as u64) as usize],
                1 => char::from(self.below(128) as u8),
                _ => char::from_u32(self.below(0x11_0000) as u32).unwrap_or('x'),
            })
            .collect()
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
        let length = self.below(4);
        (0..length).map(|_| one(self)).collect()
    }

    fn reading(&mut self) -> Result<u64, String> {
        if self.coin() {
            Ok(self.number())
        } else {
            Err(self.text())
        }
    }

    fn message(&mut self) -> FromWorker {
        match self.below(6) {
            0 => FromWorker::Hello(Hello {
                protocol: self.below(u64::from(PROTOCOL) + 1) as u32,
                harness: self.text(),
                pid: self.next() as u32,
                clock: self.text(),
            }),
            1 => {
                let cases = self.list(Random::text);
                let reference = if cases.is_empty() {
                    None
                } else {
                    Some(self.below(cases.len() as u64) as usize)
                };
                let throughput = match self.below(4) {
                    0 => None,
                    1 => Some(Throughput::Bytes(self.number())),
                    2 => Some(Throughput::Elements(self.number())),
                    _ => {
                        let amount =
                            Some(f64::from_bits(self.next())).filter(|amount| amount.is_finite());
                        Some(Throughput::Custom {
                            amount: amount.unwrap_or(0.1),
                            unit: self.text(),
                        })
                    }
                };
                FromWorker::Offer(Offer {
                    id: self.text(),
                    cases,
                    reference,
                    tags: self.list(Random::text),
                    throughput,
                    settings: self.list(|random| (random.text(), random.text())),
                })
            }
            2 => {
                let wall = self.list(Random::number);
                let spent = wall.iter().map(|_| self.number()).collect();
                FromWorker::Samples {
                    iters: self.number(),
                    wall,
                    spent,
                    cpu: self.reading(),
                    thread_cpu: self.reading(),
                    threads: self.reading(),
                    own: self.list(|random| own(&random.text(), &random.text(), 0.25)),
                }
            }
            3 => FromWorker::Failed { message: self.text() },
            4 => FromWorker::Broken { message: self.text() },
            _ => FromWorker::Done,
        }
    }
}

#[test]
fn what_is_encoded_is_decoded_and_is_one_printable_line() {
    let mut random = Random(1);
    for _ in 0..20_000 {
        let message = random.message();
        let line = message.encode();
        let body = line.strip_suffix('\n').unwrap();
        assert!(body.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{line:?}");
        assert_eq!(FromWorker::decode(line.as_bytes()), Ok(message), "{line:?}");
        let command = FromDriver::Batch {
            case: random.number() as usize,
            iters: random.number(),
            count: random.number() as usize,
        };
        assert_eq!(FromDriver::decode(command.encode().as_bytes()), Ok(command));
    }
}

#[test]
fn random_and_damaged_bytes_never_panic() {
    let mut random = Random(2);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..40_000 {
        let mut line =
            if random.coin() { random.message().encode().into_bytes() } else { Vec::new() };
        for _ in 0..random.below(8) {
            let at = random.below(line.len() as u64 + 1) as usize;
            if random.coin() || at == line.len() {
                line.insert(at, random.next() as u8);
            } else {
                line[at] = b" %=,\n1"[random.below(6) as usize];
            }
        }
        let _ = FromDriver::decode(&line);
        match FromWorker::decode(&line) {
            // What was understood can be said again, unless it came from a newer peer.
            Ok(message) => {
                accepted += 1;
                assert_eq!(FromWorker::decode(message.encode().as_bytes()), Ok(message));
            }
            Err(error) => {
                refused += 1;
                assert!(error.line.is_ascii() && error.line.len() < 400);
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} {refused}");
}
