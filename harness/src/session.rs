//! One connection of a worker with its driver, benchmark by benchmark: offers each one and obeys.
//! It must not know what the driver wants to find out, nor how the suite is walked, and never
//! touches stdout.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::batch;
use crate::bencher::Bencher;
use crate::probe::{clock, system};
use crate::suite::{Enter, Walk};
use crate::wire::{self, FromDriver, FromWorker, Hello, Offer, MAX_COUNT, MAX_LINE, PROTOCOL};

fn hello() -> FromWorker {
    FromWorker::Hello(Hello {
        protocol: PROTOCOL,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        clock: clock::backend().to_owned(),
    })
}

/// A session, from the hello on. `end` is called at the very moment when the driver has ended it or
/// is gone.
pub(crate) struct Session<R, W, E> {
    reader: BufReader<R>,
    writer: W,
    line: Vec<u8>,
    over: bool,
    end: E,
}

impl<R: Read, W: Write, E: FnMut()> Session<R, W, E> {
    /// Says hello.
    pub(crate) fn open(reader: R, writer: W, end: E) -> Session<R, W, E> {
        let reader = BufReader::new(reader);
        let mut session = Session { reader, writer, line: Vec::new(), over: false, end };
        session.send(&hello());
        session
    }

    /// Whether the driver has ended the session or is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Says that set-up outside any benchmark failed.
    pub(crate) fn broken(&mut self, message: String) {
        self.send(&FromWorker::Broken { message });
    }

    /// Says that there are no more benchmarks.
    pub(crate) fn done(&mut self) {
        self.send(&FromWorker::Done);
    }

    /// Waits until the driver has ended the session or is gone.
    pub(crate) fn wait(&mut self) {
        while self.receive().is_some() {}
    }

    /// A driver that cannot be written to is gone.
    fn send(&mut self, message: &FromWorker) {
        if self.over {
            return;
        }
        let mut line = message.encode();
        if line.len() > MAX_LINE {
            // Only a message that quotes a very long id gets here, and the driver is owed an
            // answer.
            line = FromWorker::Failed {
                message: format!("the answer is longer than {MAX_LINE} bytes"),
            }
            .encode();
        }
        if self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.flush()).is_err() {
            self.finish();
        }
    }

    /// The next command; `None` when the session is over.
    fn receive(&mut self) -> Option<Result<FromDriver, String>> {
        if self.over {
            return None;
        }
        self.line.clear();
        match read_retrying(&mut self.reader, &mut self.line) {
            Ok(true) => match FromDriver::decode(&self.line) {
                Ok(FromDriver::Quit) => self.finish(),
                Ok(command) => return Some(Ok(command)),
                Err(error) => return Some(Err(error.to_string())),
            },
            Ok(false) | Err(_) => self.finish(),
        }
        None
    }

    fn finish(&mut self) {
        self.over = true;
        (self.end)();
    }
}

/// A signal without consequences must not end the session.
fn read_retrying(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        match wire::read_line(reader, line) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A batch that the driver has asked for.
struct Order {
    case: usize,
    iters: u64,
    count: usize,
}

impl<R: Read, W: Write, E: FnMut()> Session<R, W, E> {
    /// Offers a benchmark and returns its id and number of cases, or nothing when it is passed
    /// over.
    fn offer(&mut self, offer: Offer) -> Option<(String, usize)> {
        let id = offer.id.clone();
        let cases = offer.cases.len().max(1);
        let message = FromWorker::Offer(offer);
        if message.encode().len() > MAX_LINE {
            let shown: String = id.chars().take(60).collect();
            let message = format!("the description of `{shown}...` is longer than {MAX_LINE} bytes, so it is passed over");
            self.send(&FromWorker::Broken { message });
            return None;
        }
        self.send(&message);
        Some((id, cases))
    }

    /// Reads on to the next batch; `None` when the benchmark is finished. What cannot be done is
    /// answered here.
    fn order(&mut self, id: &str, cases: usize) -> Option<Order> {
        while let Some(command) = self.receive() {
            let message = match command {
                Ok(FromDriver::Skip | FromDriver::Next | FromDriver::Quit) => return None,
                Ok(FromDriver::Batch { case, .. }) if case >= cases => {
                    format!("`{id}` has no case {case}, it has {cases}")
                }
                Ok(FromDriver::Batch { count, .. }) if count > MAX_COUNT => {
                    format!("{count} samples are more than the {MAX_COUNT} of one batch")
                }
                Ok(FromDriver::Batch { case, iters, count }) => {
                    return Some(Order { case, iters, count });
                }
                // A driver that is newer than this worker may ask for what is not known here.
                Err(message) => format!("the worker does not understand the driver: {message}"),
            };
            self.send(&FromWorker::Failed { message });
        }
        None
    }

    fn take(&mut self, id: &str, order: &Order, run: &mut dyn FnMut(&mut Bencher)) {
        let answer = match batch::run(id, order.iters, order.count, run) {
            Ok(reply) => FromWorker::Samples {
                iters: order.iters,
                wall: reply.wall,
                spent: reply.spent,
                cpu: reply.cpu,
                thread_cpu: reply.thread_cpu,
                threads: system::threads(),
                own: reply.own,
            },
            Err(message) => FromWorker::Failed { message },
        };
        self.send(&answer);
    }
}

impl<R: Read, W: Write, E: FnMut()> Walk for Session<R, W, E> {
    fn visit(&mut self, offer: Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        let Some((id, cases)) = self.offer(offer) else { return };
        while let Some(order) = self.order(&id, cases) {
            self.take(&id, &order, &mut |bencher| run(order.case, bencher));
        }
    }

    fn visit_within(&mut self, offer: Offer, enter: &mut Enter<'_>) {
        let Some((id, cases)) = self.offer(offer) else { return };
        let mut order = self.order(&id, cases);
        while order.is_some() {
            let entered = batch::catch(|| {
                enter(&mut |body| {
                    while let Some(asked) = order.take() {
                        self.take(&id, &asked, body);
                        order = self.order(&id, cases);
                    }
                });
            });
            let message = match entered {
                Err(message) => message,
                Ok(()) if order.is_none() => return,
                Ok(()) => format!("`{id}` never called `iter`"),
            };
            if order.is_none() {
                let message = format!("`{id}` panicked after its last sample: {message}");
                return self.send(&FromWorker::Broken { message });
            }
            self.send(&FromWorker::Failed { message });
            order = self.order(&id, cases);
        }
    }
}
