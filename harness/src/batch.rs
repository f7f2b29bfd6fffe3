//! Runs one batch of a benchmark, `count` samples of `iters` iterations, and turns panics and
//! misuse into messages. It must not know the wire or the table that shows the result.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

use crate::axis::OwnReading;
use crate::bencher::{Bencher, Region};
use crate::probe::alloc::{self, Allocations};
use crate::probe::clock;
use crate::probe::rusage::{CpuTime, CpuTimes};

/// Cost of one batch; as many entries in `wall` as in `spent`.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) wall: Vec<u64>,
    pub(crate) spent: Vec<u64>,
    pub(crate) cpu: CpuTime,
    pub(crate) thread_cpu: CpuTime,
    pub(crate) own: Vec<OwnReading>,
}

/// Takes the samples; an error is the message of the panic or of the misuse.
pub(crate) fn run(
    id: &str,
    iters: u64,
    count: usize,
    benchmark: &mut dyn FnMut(&mut Bencher),
) -> Result<Reply, String> {
    if iters == 0 || count == 0 {
        return Err("a batch needs at least one iteration and one sample".to_owned());
    }
    let mut wall = Vec::with_capacity(count);
    let mut spent = Vec::with_capacity(count);
    let mut parts: Option<CpuTimes> = None;
    let mut own: Vec<OwnReading> = Vec::new();
    let mut allocations = alloc::installed().then(Allocations::default);
    let start = CpuTimes::now();
    for _ in 0..count {
        alloc::forget_timed();
        let begin = clock::now();
        let timed = catch(|| {
            let mut bencher = Bencher::new(iters);
            benchmark(&mut bencher);
            bencher
        })?
        .finish(id)?;
        spent.push(clock::since(begin).0);
        wall.push(timed.wall.0);
        add(&mut own, timed.own);
        // A benchmark that times itself is not known to have allocated nothing.
        allocations = allocations.zip(alloc::timed()).map(|(sum, timed)| sum.plus(timed));
        let part = match timed.region {
            Region::Call => continue,
            Region::Parts(cpu) => cpu,
            Region::Own => CpuTimes::unavailable("the benchmark times itself"),
        };
        parts = Some(parts.unwrap_or_else(CpuTimes::zero).plus(&part));
    }
    let whole = CpuTimes::since(&start);
    let cpu = parts.unwrap_or(whole);
    if let Some(Allocations { count, bytes }) = allocations {
        add(
            &mut own,
            vec![reading("allocations", "allocs", count), reading("allocated", "B", bytes)],
        );
    }
    Ok(Reply { wall, spent, cpu: cpu.process, thread_cpu: cpu.thread, own })
}

fn reading(name: &str, unit: &str, value: u64) -> OwnReading {
    OwnReading { name: name.to_owned(), unit: unit.to_owned(), value: value as f64 }
}

/// Adds the readings of one more sample to the sums.
fn add(sums: &mut Vec<OwnReading>, readings: Vec<OwnReading>) {
    for reading in readings {
        match sums.iter_mut().find(|sum| sum.name == reading.name && sum.unit == reading.unit) {
            Some(sum) => sum.value += reading.value,
            None => sums.push(reading),
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `body`; a panic becomes its message with the place it came from.
pub(crate) fn catch<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    remember_panics();
    LAST_PANIC.with(|last| last.take());
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let remembered = LAST_PANIC.with(|last| last.take());
        remembered.unwrap_or_else(|| payload_text(payload.as_ref()))
    })
}

/// Notes message and place of each panic, and then does what was done before, which is printing to
/// stderr unless the program has a hook of its own.
fn remember_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = payload_text(info.payload());
            let message = match info.location() {
                Some(place) => format!("{text}, at {place}"),
                None => text,
            };
            // The thread-local is gone while a thread ends; such a panic is nobody's message.
            let _ = LAST_PANIC.try_with(|last| last.replace(Some(message)));
            previous(info);
        }));
    });
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    const LONGEST: usize = 32 << 10;
    let text = if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "panicked with a value that is not a text"
    };
    let end =
        (0..=text.len().min(LONGEST)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reply_has_one_entry_for_each_sample() {
        let mut calls = 0;
        let reply = run("it", 10, 3, &mut |b| b.iter(|| calls += 1)).unwrap();
        assert_eq!((reply.wall.len(), reply.spent.len(), calls), (3, 3, 30));
        for (wall, spent) in reply.wall.iter().zip(&reply.spent) {
            assert!(wall <= spent);
        }
    }

    #[test]
    fn custom_time_has_no_cpu_time() {
        let reply = run("it", 2, 2, &mut |b| b.iter_custom(|_| Duration::from_nanos(5))).unwrap();
        assert_eq!(reply.wall, [5, 5]);
        assert_eq!(reply.cpu, Err("the benchmark times itself".to_owned()));
        assert!(reply.thread_cpu.is_err());
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn set_up_is_spent_but_neither_timed_nor_in_the_cpu_time() {
        let mut busy = || {
            let start = CpuTimes::now();
            while CpuTimes::since(&start).thread.unwrap() < 5_000_000 {}
        };
        let reply = run("it", 4, 1, &mut |b| b.with_setup(&mut busy).iter(|()| ())).unwrap();
        assert!(reply.spent[0] >= 20_000_000, "{reply:?}");
        assert!(reply.thread_cpu.clone().unwrap() < 5_000_000, "{reply:?}");
    }

    #[test]
    fn own_readings_are_summed_over_the_samples() {
        let mut value = 0.0;
        let reply = run("it", 1, 3, &mut |b| {
            b.iter(|| ());
            value += 1.5;
            b.own.push(OwnReading { name: "misses".into(), unit: "1".into(), value });
        })
        .unwrap();
        assert_eq!(reply.own, [OwnReading { name: "misses".into(), unit: "1".into(), value: 9.0 }]);
    }

    #[test]
    fn a_panic_is_a_message_with_its_place() {
        let error = run("it", 1, 1, &mut |_| panic!("number {}", 7)).unwrap_err();
        assert!(error.starts_with("number 7, at "), "{error}");
        assert!(error.contains("batch.rs:"), "{error}");
    }

    #[test]
    fn a_panic_that_was_resumed_is_told_by_its_payload() {
        let error = catch(|| std::panic::resume_unwind(Box::new("quiet"))).unwrap_err();
        assert_eq!(error, "quiet");
        let error = catch(|| std::panic::resume_unwind(Box::new(3))).unwrap_err();
        assert!(error.contains("not a text"));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = "é".repeat(20_000);
        let cut = payload_text(&text as &(dyn Any + Send));
        assert_eq!(cut.len(), 32 << 10);
        assert!(run("it", 0, 1, &mut |b| b.iter(|| 1)).is_err());
    }
}
