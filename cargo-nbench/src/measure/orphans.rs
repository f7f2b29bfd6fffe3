//! Processes that benchmarks started and left behind, in sessions of their own where ending a worker's process
//! group does not reach them. They would load whatever is measured next. Linux only: elsewhere they cannot be
//! told from processes of others, and nothing is claimed. It must not end what it has not seen to be ours.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::sync::Mutex;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

/// Children that were there before any worker: those of a shell that became this program, for instance.
#[cfg(target_os = "linux")]
static BEFORE: Mutex<Option<BTreeSet<i32>>> = Mutex::new(None);

/// From now on orphans of workers become our children. Called before the first worker, after the builds: a
/// server that a build started for itself is none of ours.
#[cfg(target_os = "linux")]
pub fn adopt() {
    let Ok(mut before) = BEFORE.lock() else { return };
    if before.is_none() && set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        *before = Some(children().into_iter().map(|child| child.pid).collect());
    }
}

/// There is nobody to adopt them here.
#[cfg(not(target_os = "linux"))]
pub fn adopt() {}

/// Ends what workers left behind, once no worker runs, and returns how many those were. Members of a worker's
/// own group, which were ended with it, are taken leave of and not counted.
#[cfg(target_os = "linux")]
pub fn end() -> usize {
    let Ok(before) = BEFORE.lock() else { return 0 };
    let Some(before) = before.as_ref() else { return 0 };
    let mut ended = BTreeSet::new();
    // What a process had started becomes ours when it ends.
    for _ in 0..ROUNDS {
        let left: Vec<Child> =
            children().into_iter().filter(|child| !before.contains(&child.pid)).collect();
        if left.is_empty() {
            break;
        }
        for child in left {
            let Some(pid) = Pid::from_raw(child.pid) else { continue };
            if !child.is_dead && kill_process(pid, Signal::KILL).is_ok() && child.leads_or_left {
                ended.insert(child.pid);
            }
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    ended.len()
}

/// Nothing is claimed here.
#[cfg(not(target_os = "linux"))]
pub fn end() -> usize {
    0
}

/// How often children are looked for before what will not die is left alone.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 50;

#[cfg(target_os = "linux")]
struct Child {
    pid: i32,
    is_dead: bool,
    /// Whether it is not about to die with the group of a worker that was ended just now.
    leads_or_left: bool,
}

/// Children of this process, of whatever thread.
#[cfg(target_os = "linux")]
fn children() -> Vec<Child> {
    let own = std::process::id();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            child(pid, &stat, own)
        })
        .collect()
}

/// Reads a line of `/proc/PID/stat`: state, parent, group and session follow the name in parentheses.
#[cfg(target_os = "linux")]
fn child(pid: i32, stat: &str, parent: u32) -> Option<Child> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if fields.next()?.parse() != Ok(parent) {
        return None;
    }
    let group: i32 = fields.next()?.parse().ok()?;
    let session: i32 = fields.next()?.parse().ok()?;
    // A worker is a group of its own in our session.
    let own_session = rustix::process::getsid(None).map_or(-1, |sid| sid.as_raw_nonzero().get());
    let leads_or_left = session != own_session || group == pid;
    Some(Child { pid, is_dead: state == "Z" || state == "X", leads_or_left })
}

/// What is said about it.
pub fn told(target: &str, count: usize) -> String {
    let (noun, were) = if count == 1 { ("process", "was") } else { ("processes", "were") };
    format!(
        "`{target}`: its benchmarks left {count} {noun} behind, which {were} ended: they would load what is measured next"
    )
}
