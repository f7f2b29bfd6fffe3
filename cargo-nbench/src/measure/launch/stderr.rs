//! What a worker writes to standard error: its end, as far as people want to read it. It must not
//! know what the worker does.

use std::collections::VecDeque;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long reading what is written already may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Standard error of a worker, read as it comes.
#[derive(Debug, Default)]
pub(super) struct Stderr {
    tail: Arc<Mutex<Tail>>,
    /// The same pipe once more, to see whether something is unread.
    pipe: Option<OwnedFd>,
}

impl Stderr {
    /// Reads the stream to its end on a thread of its own, so that a worker never blocks on a full
    /// pipe. A grandchild may keep the stream open; nobody waits for the thread.
    pub(super) fn follow(stream: ChildStderr) -> Stderr {
        let pipe = stream.as_fd().try_clone_to_owned().ok();
        let stderr = Stderr { tail: Arc::default(), pipe };
        let tail = Arc::clone(&stderr.tail);
        thread::spawn(move || read(stream, &tail));
        stderr
    }

    /// The last lines; all that was written before is part of it.
    pub(super) fn tail(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while self.has_unread() && Instant::now() < deadline {
            thread::sleep(Duration::from_micros(200));
        }
        self.tail.lock().map(|tail| tail.text()).unwrap_or_default()
    }

    /// Forgets what was written so far.
    pub(super) fn forget(&self) {
        if let Ok(mut tail) = self.tail.lock() {
            tail.0.clear();
        }
    }

    fn has_unread(&self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut pipes = [PollFd::new(pipe, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut pipes, Some(&now)).is_ok() && pipes[0].revents().contains(PollFlags::IN)
    }
}

fn read(mut stream: ChildStderr, tail: &Mutex<Tail>) {
    let mut buffer = [0u8; 8192];
    loop {
        match poll(&mut [PollFd::new(&stream, PollFlags::IN)], None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        // What has left the pipe is in the tail for everyone who can lock it.
        let Ok(mut tail) = tail.lock() else { return };
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => tail.push(&buffer[..read]),
        }
    }
}

/// The end of a stream.
#[derive(Debug, Default)]
struct Tail(VecDeque<u8>);

/// Enough for a panic's message before the back-trace that follows it.
const TAIL_BYTES: usize = 1 << 16;

/// Lines of it that are kept for people.
const TAIL_LINES: usize = 20;

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        self.0.drain(..over);
        self.0.extend(bytes);
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines = without_back_trace(&text);
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n").trim().to_owned()
    }
}

/// Lines of standard error without the frames of back-traces: the message before them is what
/// matters.
fn without_back_trace(text: &str) -> Vec<&str> {
    let mut in_trace = false;
    let is_frame = |line: &str| {
        let line = line.trim_start();
        let numbered = line.split_once(':').is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        numbered || line.starts_with("at ")
    };
    text.lines()
        .filter(|line| {
            in_trace = *line == "stack backtrace:" || (in_trace && is_frame(line));
            !in_trace && !line.starts_with("note: ")
        })
        .collect()
}

/// The message of the last panic in what a process wrote to standard error, with its place.
pub fn panic_in(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .rposition(|line| line.starts_with("thread ") && line.contains(" panicked at "))?;
    let (_, place) = lines[at].split_once(" panicked at ")?;
    let message = lines.get(at + 1).filter(|message| !message.trim().is_empty())?;
    Some(format!("{message}, at {}", place.trim_end_matches(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = Tail::default();
        tail.push(&[b'a'; 10_000]);
        tail.push(b"\nthe end\n");
        let text = tail.text();
        assert!(text.ends_with("the end") && text.len() <= TAIL_BYTES);
    }

    #[test]
    fn a_panic_is_told_by_its_own_line_and_not_by_frames() {
        let text = "warming up\n\nthread 'main' (71) panicked at benches/b.rs:2:55:\n\
                    the port is free: AddrInUse\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n\
                    \x20            at /rustc/library/std/src/panicking.rs:689:5\n   1: main\n\
                    note: Some details are omitted, run with `RUST_BACKTRACE=full`\nlater\n";
        let mut tail = Tail::default();
        tail.push(text.as_bytes());
        let shown = tail.text();
        assert!(!shown.contains("rust_begin_unwind") && !shown.contains("note:"), "{shown}");
        assert!(shown.ends_with("the port is free: AddrInUse\nlater"), "{shown}");
        assert_eq!(
            panic_in(&shown).as_deref(),
            Some("the port is free: AddrInUse, at benches/b.rs:2:55")
        );
        assert_eq!(panic_in("thread of text\nno panic"), None);
        assert_eq!(panic_in("thread 'a' panicked at x.rs:1:1:"), None, "it was cut off");
        // Nothing that only looks like a frame is left out elsewhere.
        assert_eq!(without_back_trace("1: one\nat two"), ["1: one", "at two"]);
    }

    #[test]
    fn what_was_written_before_is_part_of_the_tail() {
        for round in 0..50 {
            let mut child = std::process::Command::new("sh")
                .args(["-c", &format!("echo line {round} >&2")])
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let stderr = Stderr::follow(child.stderr.take().unwrap());
            child.wait().unwrap();
            assert_eq!(stderr.tail(), format!("line {round}"));
        }
    }
}
