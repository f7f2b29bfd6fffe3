//! The worker's end of our wire: a thread reads what the driver says, so that its end is noticed in
//! the middle of a block. It does not know what is measured.

use std::io::{self, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use nbench::wire::{FromDriver, FromWorker, MAX_COUNT, read_line};

/// The connection to the driver.
pub(super) struct DriverSocket {
    writer: UnixStream,
    commands: Receiver<Result<FromDriver, String>>,
    gone: Arc<AtomicBool>,
}

impl DriverSocket {
    /// Connects to the socket on which the driver listens.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(super) fn connect(socket: &Path) -> io::Result<DriverSocket> {
        DriverSocket::over(UnixStream::connect(socket)?)
    }

    /// Speaks over a connection that exists.
    ///
    /// # Errors
    /// When it cannot be used in both directions at once.
    pub(super) fn over(stream: UnixStream) -> io::Result<DriverSocket> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (sender, commands) = mpsc::channel();
        let gone = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&gone);
        thread::spawn(move || {
            let mut line = Vec::new();
            loop {
                line.clear();
                match read_line(&mut reader, &mut line) {
                    Ok(true) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(false) | Err(_) => break,
                }
                let command = match FromDriver::decode(&line) {
                    Ok(FromDriver::Quit) => break,
                    Ok(FromDriver::Batch { count, .. }) if count > MAX_COUNT => {
                        Err(format!("{count} samples are more than the {MAX_COUNT} of one batch"))
                    }
                    Ok(command) => Ok(command),
                    Err(error) => Err(format!("the bridge does not understand: {error}")),
                };
                if sender.send(command).is_err() {
                    break;
                }
            }
            over.store(true, Ordering::Release);
        });
        Ok(DriverSocket { writer: stream, commands, gone })
    }

    /// Sends a message; a driver that cannot be written to is gone.
    pub(super) fn send(&mut self, message: &FromWorker) {
        if self.writer.write_all(message.encode().as_bytes()).is_err() {
            self.gone.store(true, Ordering::Release);
        }
    }

    /// The next command, or why it is none; nothing when the driver has ended it or is gone.
    pub(super) fn next(&self) -> Option<Result<FromDriver, String>> {
        self.commands.recv().ok()
    }

    /// Whether nothing that is still being done is wanted any more.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}
