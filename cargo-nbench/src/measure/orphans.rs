//! Processes that benchmarks started and left behind, in sessions of their own where ending a
//! worker's process group does not reach them. They would load whatever is measured next. Linux
//! only: elsewhere they cannot be told from processes of others, and nothing is claimed. It must
//! not end what it has not seen to be ours.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::sync::Mutex;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

/// Children that were there before any worker: those of a shell that became this program, for
/// instance.
#[cfg(target_os = "linux")]
static BEFORE: Mutex<Option<BTreeSet<i32>>> = Mutex::new(None);

/// From now on orphans of workers become our children. Called before the first worker, after the
/// builds: a server that a build started for itself is none of ours.
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

/// Ends what workers left behind, once no worker runs, and returns how many those were. Members of
/// a worker's own group, which were ended with it, are taken leave of and not counted.
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
    let Some(session) = stat("self").and_then(|stat| Some(Stat::parse(&stat)?.session)) else {
        return Vec::new();
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let pid: i32 = name.to_str()?.parse().ok()?;
            child(pid, &stat(name.to_str()?)?, own, session)
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn stat(process: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{process}/stat")).ok()
}

/// Of a line of `/proc/PID/stat`. A parent or session outside of this namespace of processes is 0,
/// as that of everything that was started into a container: a number to compare, and no process.
#[cfg(target_os = "linux")]
struct Stat<'a> {
    state: &'a str,
    parent: u32,
    group: i32,
    session: i32,
}

#[cfg(target_os = "linux")]
impl Stat<'_> {
    /// State, parent, group and session follow the name in parentheses.
    fn parse(stat: &str) -> Option<Stat<'_>> {
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        Some(Stat {
            state: fields.next()?,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
        })
    }
}

/// The child of `parent` that this line is about, unless it is another's.
#[cfg(target_os = "linux")]
fn child(pid: i32, stat: &str, parent: u32, own_session: i32) -> Option<Child> {
    let stat = Stat::parse(stat)?;
    // A worker is a group of its own in our session.
    let leads_or_left = stat.session != own_session || stat.group == pid;
    let is_dead = stat.state == "Z" || stat.state == "X";
    (stat.parent == parent).then_some(Child { pid, is_dead, leads_or_left })
}

/// Description of processes that were left behind.
pub fn describe(target: &str, count: usize) -> String {
    let (noun, were) = if count == 1 { ("process", "was") } else { ("processes", "were") };
    format!(
        "`{target}`: its benchmarks left {count} {noun} behind, which {were} ended: they would load what is measured next"
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_are_read_also_where_the_session_was_begun_outside() {
        let of = |line: &str, session| child(71, line, 20, session);
        let worker = of("71 (a) b) S 20 71 0 0 -1", 0).unwrap();
        assert!(worker.leads_or_left && !worker.is_dead);
        // A member of a worker's group, dead, in our session; one that left for a session of its
        // own.
        let member = of("71 (sh) Z 20 70 0 0 -1", 0).unwrap();
        assert!(!member.leads_or_left && member.is_dead);
        assert!(of("71 (sh) S 20 70 70 0 -1", 0).unwrap().leads_or_left);
        assert!(!of("71 (sh) S 20 70 33 0 -1", 33).unwrap().leads_or_left);
        // Children of others, and lines that are none.
        assert!(of("71 (sh) S 0 70 0 0 -1", 0).is_none());
        assert!(of("71 sh S 20", 0).is_none());
        assert!(of("71 (sh) S 20 x", 0).is_none());
    }

    #[test]
    fn a_child_of_this_process_is_seen() {
        let mut sleeper = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let pid = i32::try_from(sleeper.id()).unwrap();
        assert!(children().iter().any(|child| child.pid == pid && !child.is_dead));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(!children().iter().any(|child| child.pid == pid));
    }
}
