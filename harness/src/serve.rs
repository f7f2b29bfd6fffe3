//! The worker end of a session whose suite is a list of functions: walks them in order. It must not
//! know what is said about a benchmark.

use std::io::{Read, Write};

use crate::session::Session;
use crate::suite::{Names, Suite};
use crate::{batch, Entry};

/// Walks the suite functions in order over one connection and returns when the driver has ended the
/// session or is gone. `end` is called at that very moment, which may be in the middle of a suite
/// function: a worker process exits there; when it returns, the benchmarks that are left are passed
/// over.
pub fn serve(reader: impl Read, writer: impl Write, entries: &[Entry], end: impl FnMut()) {
    let mut session = Session::open(reader, writer, end);
    let mut names = Names::default();
    for entry in entries {
        if session.is_over() {
            return;
        }
        let walked = batch::catch(|| (entry.run)(&mut Suite::new(&mut session, &mut names)));
        if let Err(message) = walked {
            session.broken(format!("`{}` panicked: {message}", entry.name));
        }
    }
    session.done();
    session.wait();
}
