//! The one walk of this process, shared by all suites in it: it begins with the first benchmark and
//! ends with the process. It must not know which harness the suites were written for.

use std::cell::Cell;
use std::io::Stdout;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::batch;
use crate::bencher::Bencher;
use crate::connect;
use crate::probe::exit;
use crate::standalone::{self, Standalone};
use crate::suite::{Names, Walk};
use crate::wire::Offer;

#[cfg(unix)]
type Session =
    crate::session::Session<std::os::unix::net::UnixStream, std::os::unix::net::UnixStream, fn()>;

/// Who is told of the benchmarks.
enum Walker {
    #[cfg(unix)]
    Driven(Session),
    Alone(Standalone<Stdout>),
    Over,
}

struct Process {
    walker: Walker,
    names: Names,
}

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

/// The panic that went through `main`, as far as can be told.
static UNCAUGHT: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// Whether this thread is within a benchmark.
    static VISITING: Cell<bool> = const { Cell::new(false) };
    /// How many calls of [`guard`] and [`visit`] this thread is within.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Holds a thread-local at another value until it is dropped, also by a panic.
struct Held<T: Copy + 'static> {
    key: &'static std::thread::LocalKey<Cell<T>>,
    before: T,
}

impl<T: Copy + 'static> Held<T> {
    fn new(key: &'static std::thread::LocalKey<Cell<T>>, value: T) -> Held<T> {
        Held { key, before: key.with(|cell| cell.replace(value)) }
    }
}

impl<T: Copy + 'static> Drop for Held<T> {
    fn drop(&mut self) {
        self.key.with(|cell| cell.set(self.before));
    }
}

fn locked<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects to the driver if there is one, which waits for a first sign of life.
pub(crate) fn start() {
    if std::env::var_os(connect::SOCKET_VARIABLE).is_some() {
        begun(&mut locked(&PROCESS));
    }
}

/// Offers one benchmark and runs it as often as is asked for.
pub(crate) fn visit(mut offer: Offer, run: &mut dyn FnMut(&mut Bencher)) {
    assert!(!VISITING.with(Cell::get), "a benchmark cannot register another one while it runs");
    let mut slot = locked(&PROCESS);
    let process = begun(&mut slot);
    offer.id = process.names.unique(&offer.id);
    let _visiting = Held::new(&VISITING, true);
    let _guarded = Held::new(&GUARDED, GUARDED.with(Cell::get) + 1);
    let mut run = |_case: usize, bencher: &mut Bencher| run(bencher);
    match &mut process.walker {
        #[cfg(unix)]
        Walker::Driven(session) => session.visit(offer, &mut run),
        Walker::Alone(walk) => walk.visit(offer, &mut run),
        Walker::Over => {}
    }
}

/// Calls a function that registers benchmarks; when it panics outside of them its rest is not
/// reached.
pub(crate) fn guard(name: &str, body: impl FnOnce()) {
    let guarded = Held::new(&GUARDED, GUARDED.with(Cell::get) + 1);
    let result = batch::catch(body);
    drop(guarded);
    if let Err(message) = result {
        match &mut begun(&mut locked(&PROCESS)).walker {
            #[cfg(unix)]
            Walker::Driven(session) => session.broken(format!("`{name}` panicked: {message}")),
            Walker::Alone(walk) => walk.broken(name, &message),
            Walker::Over => {}
        }
    }
}

/// Ends the walk at the end of `main`. With a driver it does not return.
pub(crate) fn end() {
    let mut slot = locked(&PROCESS);
    let code = match std::mem::replace(&mut begun(&mut slot).walker, Walker::Over) {
        #[cfg(unix)]
        Walker::Driven(mut session) => {
            session.done();
            session.wait();
            0
        }
        Walker::Alone(walk) => walk.finish(),
        Walker::Over => 0,
    };
    drop(slot);
    if code != 0 {
        std::process::exit(i32::from(code));
    }
}

fn begun(slot: &mut Option<Process>) -> &mut Process {
    slot.get_or_insert_with(|| {
        let walker = match connect::socket() {
            Some(socket) => dial(&socket),
            None => Walker::Alone(Standalone::begin()),
        };
        notice_uncaught_panics();
        // Where the system refuses, the driver takes the end of the stream for a crash.
        let _registered = exit::at_exit(at_exit);
        Process { walker, names: Names::default() }
    })
}

#[cfg(unix)]
fn dial(socket: &std::path::Path) -> Walker {
    match connect::dial(socket) {
        Ok(Some((reader, writer))) => Walker::Driven(Session::open(reader, writer, quit)),
        Ok(None) => std::process::exit(0),
        Err(message) => {
            standalone::complain(&message);
            std::process::exit(1)
        }
    }
}

#[cfg(not(unix))]
fn dial(_socket: &std::path::Path) -> Walker {
    standalone::complain(connect::NO_SOCKETS);
    std::process::exit(1)
}

/// No destructor of the suite may run or hang once the driver has what it wants.
#[cfg(unix)]
fn quit() {
    std::process::exit(0);
}

/// Notes panics of the main thread that nothing here will catch: after one the suite is not
/// complete.
fn notice_uncaught_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let guarded = GUARDED.try_with(Cell::get).unwrap_or(0) > 0;
            if !guarded && std::thread::current().name() == Some("main") {
                *locked(&UNCAUGHT) = Some(info.to_string());
            }
            previous(info);
        }));
    });
}

/// A `main` that was written by hand just returns. This says for it that the suite is over.
extern "C" fn at_exit() {
    // Held by this very thread when the process is made to exit within a benchmark.
    let Ok(mut slot) = PROCESS.try_lock() else { return };
    let Some(process) = slot.as_mut() else { return };
    match std::mem::replace(&mut process.walker, Walker::Over) {
        #[cfg(unix)]
        Walker::Driven(mut session) => {
            if let Some(message) = locked(&UNCAUGHT).take() {
                session.broken(message);
            }
            session.done();
        }
        Walker::Alone(walk) => drop(walk.finish()),
        Walker::Over => {}
    }
}
