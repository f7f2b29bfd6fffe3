//! Lets criterion's own runner serve a driver of ours: this program stands between the two, a
//! worker to the driver and the runner to an executable that was built with the real criterion. It
//! must not know what is compared, and the only time it takes is that of a whole block.

mod arguments;
mod driver;
mod message;
mod process;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, io};

use driver::DriverSocket;
use message::{Message, OfferedId};
use nbench::wire::{FromDriver, FromWorker, Hello, Offer, PROTOCOL};
use process::{BridgeError, CriterionRun, RunnerRelease, Suite};

/// The `pairing` of benchmarks that are sampled in runs of their own length, as it stands on the
/// wire.
pub(crate) const BLOCKS: &str = "blocks";

/// The word that makes this program a bridge; no command that anyone types.
const SUBCOMMAND: &str = "__criterion-bridge";

/// Why link layouts are not varied for what is driven so.
pub const KEEPS_LAYOUT: &str = "criterion's own runner measures it";

/// The unit in which criterion's clock counts.
const NANOSECONDS: &str = "ns";

/// This program as the bridge to `executable`, which the words of `runner` start.
///
/// # Errors
/// When the system does not say where this program is.
pub fn command(executable: &Path, runner: &[OsString]) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(SUBCOMMAND).arg(executable).args(runner);
    Ok(command)
}

/// Serves as a bridge when the arguments ask for it.
pub fn maybe_run(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(SUBCOMMAND)) {
        return None;
    }
    let (Some(executable), Some(socket)) = (arguments.next(), env::var_os(nbench::SOCKET_VARIABLE))
    else {
        return Some(ExitCode::FAILURE);
    };
    Some(match DriverSocket::connect(Path::new(&socket)) {
        Ok(driver) => {
            serve(driver, &Suite { executable: executable.into(), runner: arguments.collect() });
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    })
}

/// Offers what the executable has, in its order, and measures what the driver asks for, until the
/// driver has ended it or is gone.
fn serve(mut driver: DriverSocket, suite: &Suite) {
    driver.send(&FromWorker::Hello(Hello {
        protocol: PROTOCOL,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        clock: "criterion".to_owned(),
    }));
    match list(&driver, suite) {
        Err(BridgeError::Gone) => return,
        Err(BridgeError::Failed(message)) => driver.send(&FromWorker::Broken { message }),
        Ok((release, found)) => {
            let mut seen: Vec<&str> = Vec::new();
            for identity in &found {
                let earlier = seen.iter().filter(|id| **id == identity.id).count();
                seen.push(&identity.id);
                let asked = BatchOf { release, id: &identity.id, earlier };
                if offer(&mut driver, suite, identity, &asked).is_none() {
                    return;
                }
            }
        }
    }
    driver.send(&FromWorker::Done);
    while driver.next().is_some() {}
}

/// All benchmarks and the release of criterion, from a run that is asked for none.
fn list(
    driver: &DriverSocket,
    suite: &Suite,
) -> Result<(RunnerRelease, Vec<OfferedId>), BridgeError> {
    let is_gone = || driver.is_gone();
    let mut run = CriterionRun::start(suite, &arguments::listing(), &is_gone)?;
    let mut found = Vec::new();
    while let Some(message) = run.message()? {
        match message {
            Message::Skipping(identity) => found.push(identity),
            Message::GroupFinished => run.proceed()?,
            Message::Beginning(identity) => return Err(deaf(&identity)),
            Message::Started { .. }
            | Message::Measured { .. }
            | Message::Unit(_)
            | Message::Other => {}
        }
    }
    match run.end()? {
        None => Ok((run.release(), found)),
        Some(end) => Err(BridgeError::Failed(format!("{end} while it listed its benchmarks"))),
    }
}

/// The trouble with a `main` that runs everything whatever it is asked for.
fn deaf(identity: &OfferedId) -> BridgeError {
    BridgeError::Failed(format!(
        "`{}` ran without being asked for: does its `main` call `configure_from_args`?",
        identity.id
    ))
}

/// One benchmark of an executable.
struct BatchOf<'a> {
    release: RunnerRelease,
    id: &'a str,
    /// How many of the same id come before it.
    earlier: usize,
}

/// Offers one benchmark and does what is wanted of it; nothing when the driver has ended it.
fn offer(
    driver: &mut DriverSocket,
    suite: &Suite,
    identity: &OfferedId,
    asked: &BatchOf<'_>,
) -> Option<()> {
    let id = match asked.earlier {
        0 => identity.id.clone(),
        earlier => format!("{}#{}", identity.id, earlier + 1),
    };
    driver.send(&FromWorker::Offer(Offer {
        id,
        throughput: identity.throughput.clone(),
        settings: vec![("pairing".to_owned(), BLOCKS.to_owned())],
        ..Offer::default()
    }));
    loop {
        let answer = match driver.next()? {
            Ok(FromDriver::Batch { case: 0, iters, count }) => {
                let started = Instant::now();
                match block(driver, suite, asked) {
                    Ok(each) => samples(each, iters, count, started.elapsed().as_nanos()),
                    Err(BridgeError::Failed(message)) => FromWorker::Failed { message },
                    Err(BridgeError::Gone) => return None,
                }
            }
            Ok(FromDriver::Batch { case, .. }) => {
                FromWorker::Failed { message: format!("`{}` has no case {case}", identity.id) }
            }
            Ok(FromDriver::Skip | FromDriver::Next | FromDriver::Quit) => return Some(()),
            Err(message) => FromWorker::Failed { message },
        };
        driver.send(&answer);
    }
}

/// One run of a benchmark by criterion: nanoseconds of one iteration.
fn block(driver: &DriverSocket, suite: &Suite, asked: &BatchOf<'_>) -> Result<f64, BridgeError> {
    match attempt(driver, suite, asked, false)? {
        Some(each) => Ok(each),
        None => attempt(driver, suite, asked, true)?.ok_or_else(|| {
            BridgeError::Failed("criterion does not begin to measure it".to_owned())
        }),
    }
}

/// A block with the usual number of samples, or the fewest; nothing when these would take too long.
fn attempt(
    driver: &DriverSocket,
    suite: &Suite,
    asked: &BatchOf<'_>,
    fewest: bool,
) -> Result<Option<f64>, BridgeError> {
    let words = arguments::block(asked.release, asked.id, fewest);
    let is_gone = || driver.is_gone();
    let mut run = CriterionRun::start(suite, &words, &is_gone)?;
    let mut before = asked.earlier;
    while let Some(message) = run.message()? {
        match message {
            Message::Beginning(identity) if identity.id != asked.id => return Err(deaf(&identity)),
            Message::Started { estimate, samples }
                if !fewest
                    && samples > u64::from(arguments::FEWEST)
                    && estimate > arguments::longest(asked.release) =>
            {
                return Ok(None);
            }
            Message::Measured { .. } if before > 0 => {
                before -= 1;
                run.proceed()?;
            }
            Message::Measured { iters, times } => {
                let unit = run.unit()?;
                if unit != NANOSECONDS {
                    return Err(BridgeError::Failed(format!(
                        "it measures in `{unit}` and not in time, which criterion's own runner cannot be asked for"
                    )));
                }
                // Nothing behind it is wanted: dropping the run ends the process.
                return median_of(&iters, &times).map(Some).ok_or_else(|| {
                    BridgeError::Failed("criterion sent no usable times".to_owned())
                });
            }
            Message::GroupFinished => run.proceed()?,
            Message::Beginning(_)
            | Message::Skipping(_)
            | Message::Started { .. }
            | Message::Unit(_)
            | Message::Other => {}
        }
    }
    let end = run.end()?.unwrap_or_else(|| "the process ended".to_owned());
    Err(BridgeError::Failed(format!("{end} before `{}` was measured", asked.id)))
}

/// The answer to a batch: what one iteration takes, as often as the driver asked for.
fn samples(each: f64, iters: u64, count: usize, spent: u128) -> FromWorker {
    let nanos = (each * iters as f64).round();
    let unavailable = || Err("criterion's own runner does not tell".to_owned());
    let share = u64::try_from(spent / count.max(1) as u128).unwrap_or(u64::MAX);
    FromWorker::Samples {
        iters,
        wall: vec![nanos as u64; count],
        spent: vec![share; count],
        cpu: unavailable(),
        thread_cpu: unavailable(),
        threads: unavailable(),
        own: Vec::new(),
    }
}

/// The median over samples of the time of one iteration.
fn median_of(iters: &[f64], times: &[f64]) -> Option<f64> {
    let usable = |(iters, time): (&f64, &f64)| {
        let each = time / iters;
        (*iters > 0.0 && each.is_finite() && each >= 0.0).then_some(each)
    };
    let each: Option<Vec<f64>> = iters.iter().zip(times).map(usable).collect();
    nbench_engine::stats::median(&each?)
}

#[cfg(test)]
mod tests;
