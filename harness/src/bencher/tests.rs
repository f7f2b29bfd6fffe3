//! Tests of the timing forms. They must not depend on how fast the machine is.

use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Wake, Waker};

use super::*;

struct NoWake;

impl Wake for NoWake {
    fn wake(self: std::sync::Arc<Self>) {}
}

fn poll_to_end(mut future: Pin<Box<dyn Future<Output = ()> + '_>>) {
    let waker = Waker::from(std::sync::Arc::new(NoWake));
    while future.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Pending {}
}

fn run(iters: u64, body: impl FnOnce(&mut Bencher)) -> Result<Timed, String> {
    let mut bencher = Bencher::new(iters);
    body(&mut bencher);
    bencher.finish("it")
}

#[test]
fn iter_runs_exactly_the_asked_number() {
    let runs = Cell::new(0);
    run(1000, |b| b.iter(|| runs.set(runs.get() + 1))).unwrap();
    assert_eq!(runs.get(), 1000);
}

#[test]
fn the_default_chunk_is_bounded_by_memory() {
    assert_eq!(default_chunk::<()>(), 64);
    assert_eq!(default_chunk::<u64>(), 64);
    assert_eq!(default_chunk::<[u8; 1 << 20]>(), 8);
    assert_eq!(default_chunk::<[u8; 1 << 24]>(), 1);
}

/// Writes down the order of events: `+n` made, `-n` dropped.
struct Traced<'t>(u32, &'t RefCell<Vec<String>>);

impl<'t> Traced<'t> {
    fn new(number: &Cell<u32>, log: &'t RefCell<Vec<String>>) -> Traced<'t> {
        number.set(number.get() + 1);
        log.borrow_mut().push(format!("+{}", number.get()));
        Traced(number.get(), log)
    }
}

impl Drop for Traced<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push(format!("-{}", self.0));
    }
}

#[test]
fn results_are_dropped_in_the_loop_or_after_the_chunk() {
    let (log, number) = (RefCell::default(), Cell::new(0));
    run(2, |b| b.iter(|| Traced::new(&number, &log))).unwrap();
    assert_eq!(log.take(), ["+1", "-1", "+2", "-2"]);
    number.set(0);
    run(2, |b| b.iter_drop_outside(|| Traced::new(&number, &log))).unwrap();
    assert_eq!(log.take(), ["+1", "+2", "-1", "-2"]);
}

#[test]
fn inputs_by_value_are_made_in_chunks_and_outputs_dropped_outside() {
    let (log, number) = (RefCell::default(), Cell::new(0));
    let run_chunked = |b: &mut Bencher| {
        b.with_setup(|| Traced::new(&number, &log)).chunk(2).iter(|input| {
            log.borrow_mut().push(format!("run {}", input.0));
            input
        });
    };
    run(3, run_chunked).unwrap();
    assert_eq!(log.take(), ["+1", "+2", "run 1", "run 2", "-1", "-2", "+3", "run 3", "-3"]);
}

#[test]
fn inputs_by_reference_are_torn_down_by_value() {
    let log = RefCell::new(Vec::new());
    let next = Cell::new(0);
    let timed = run(3, |b| {
        b.with_setup(|| next.replace(next.get() + 1))
            .chunk(2)
            .teardown(|input: i32| log.borrow_mut().push(input))
            .iter_ref(|input| *input += 10);
    });
    assert!(matches!(timed.unwrap().region, Region::Parts(_)));
    assert_eq!(log.take(), [10, 11, 12]);
}

#[test]
fn teardown_gets_every_output_that_exists_after_a_panic() {
    let log = RefCell::new(Vec::new());
    let next = Cell::new(0);
    let mut bencher = Bencher::new(5);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        bencher
            .with_setup(|| next.replace(next.get() + 1))
            .teardown(|output: String| log.borrow_mut().push(output))
            .iter(|input: i32| {
                assert!(input < 3, "input {input} is too large");
                format!("out {input}")
            });
    }));
    let message = caught.unwrap_err();
    assert_eq!(message.downcast_ref::<String>().map(String::as_str), Some("input 3 is too large"));
    assert_eq!(log.take(), ["out 0", "out 1", "out 2"]);
}

#[test]
fn teardown_gets_every_input_after_a_panic_of_routine_or_setup() {
    for bad_setup in [false, true] {
        let log = RefCell::new(Vec::new());
        let next = Cell::new(0);
        let mut bencher = Bencher::new(4);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            bencher
                .with_setup(|| {
                    assert!(!bad_setup || next.get() < 2, "bad set-up");
                    next.replace(next.get() + 1)
                })
                .teardown(|input: i32| {
                    log.borrow_mut().push(input);
                    assert!(input != 0, "a second panic is not the one to report");
                })
                .iter_ref(|input| assert!(*input < 1, "bad routine"));
        }));
        let message = *caught.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(message, if bad_setup { "bad set-up" } else { "bad routine" });
        assert_eq!(log.take(), if bad_setup { vec![0, 1] } else { vec![0, 1, 2, 3] });
    }
}

#[test]
fn outputs_of_borrowed_inputs_are_dropped_before_the_inputs_and_outside() {
    struct Loud<'l>(char, &'l RefCell<String>);
    impl Drop for Loud<'_> {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }
    let log = RefCell::new(String::new());
    let timed = run(3, |b| {
        b.with_setup(|| Loud('i', &log)).chunk(2).iter_ref_drop_outside(|input| {
            input.1.borrow_mut().push('r');
            Loud('o', &log)
        });
    });
    assert!(matches!(timed.unwrap().region, Region::Parts(_)));
    assert_eq!(log.take(), "rrooiiroi");
}

#[test]
fn custom_time_is_taken_as_it_is() {
    let timed = run(7, |b| b.iter_custom(Duration::from_micros)).unwrap();
    assert_eq!(timed.wall, Nanos(7_000));
    assert!(matches!(timed.region, Region::Own));
    let endless = run(1, |b| b.iter_custom(|_| Duration::MAX)).unwrap();
    assert_eq!(endless.wall, Nanos(u64::MAX));
}

#[test]
fn async_bodies_are_awaited_in_turn_within_one_block_on() {
    let (entered, ran) = (Cell::new(0), Cell::new(0));
    let timed = run(5, |b| {
        b.iter_async(
            |future| {
                entered.set(entered.get() + 1);
                poll_to_end(future);
            },
            || async {
                let mut pending = true;
                std::future::poll_fn(|_| {
                    if std::mem::take(&mut pending) {
                        Poll::Pending
                    } else {
                        Poll::Ready(())
                    }
                })
                .await;
                ran.set(ran.get() + 1);
            },
        );
    });
    assert!(timed.is_ok());
    assert_eq!((entered.get(), ran.get()), (1, 5));
}

#[test]
fn misuse_is_a_message() {
    let message = |body: fn(&mut Bencher)| run(1, body).err().unwrap();
    assert_eq!(message(|_| ()), "`it` never called `iter`");
    assert!(message(|b| {
        b.iter(|| 1);
        b.iter(|| panic!("the second form must not run"));
    })
    .contains("2 times"));
    assert!(message(|b| b.iter_async(|future| drop(future), || async {}))
        .contains("before the future was finished"));
    assert_eq!(message(|b| b.refuse("no reference".to_owned())), "no reference");
}
