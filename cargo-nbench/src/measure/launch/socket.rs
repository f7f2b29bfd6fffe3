//! Names of the directories that hold a worker's socket for a moment, and sweeping up those that a
//! killed driver left. It must not touch what another process still uses, or what only looks alike.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Beginning of every name.
const OURS: &str = "nb-";

/// The beginning of a name: it tells which process it belongs to, and since when that runs, because
/// numbers of processes are used again.
pub(super) fn prefix() -> String {
    let pid = std::process::id();
    format!("{OURS}{pid}-{}-", started(pid).unwrap_or(0))
}

/// Removes directories of processes that are gone from `base`, once in the life of this process.
pub(super) fn sweep(base: &Path) {
    static SWEPT: std::sync::Once = std::sync::Once::new();
    SWEPT.call_once(|| sweep_dead(base));
}

fn sweep_dead(base: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let Some((pid, since)) = entry.file_name().to_str().and_then(owner) else { continue };
        let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
        if !about.is_dir() || about.uid() != own || is_running(pid, since) {
            continue;
        }
        // Only what we put there: a directory with anything else in it stays.
        let _ = fs::remove_file(entry.path().join("s"));
        let _ = fs::remove_dir(entry.path());
    }
}

/// The process that a name belongs to, and when it started.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(OURS)?.split('-');
    let owner = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let random = parts.next()?;
    (random.len() == 6 && parts.next().is_none()).then_some(owner)
}

/// Whether the very process still runs. Where the start cannot be read any process of the number
/// counts.
fn is_running(pid: u32, since: u64) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    match started(pid) {
        Some(started) => since == 0 || started == since,
        None => {
            // `EPERM` means that it is somebody else's.
            rustix::process::test_kill_process(number) != Err(rustix::io::Errno::SRCH)
        }
    }
}

/// When a process started, in ticks since the system did; Linux only.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the start is the 20th field behind it.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ours_whose_process_is_gone_are_swept() {
        let base = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        let gone = i32::MAX as u32;
        let own = format!("{}abcdef", prefix());
        let reused = format!("nb-{pid}-1-abcdef");
        let names = [
            (format!("nb-{gone}-5-abcdef"), false),
            // The number is in use again.
            (reused, started(pid).is_none()),
            (own, true),
            (format!("nb-{gone}-5"), true),
            (format!("nb-{gone}-5-abcdef-more"), true),
            (format!("nb-{gone}-x-abcdef"), true),
            ("nb-notes".to_owned(), true),
        ];
        for (name, _) in &names {
            fs::create_dir(base.path().join(name)).unwrap();
            fs::write(base.path().join(name).join("s"), "").unwrap();
        }
        let foreign = format!("nb-{gone}-6-abcdef");
        fs::create_dir(base.path().join(&foreign)).unwrap();
        fs::write(base.path().join(&foreign).join("save.txt"), "mine").unwrap();
        sweep_dead(base.path());
        for (name, stays) in &names {
            assert_eq!(base.path().join(name).exists(), *stays, "{name}");
        }
        assert!(base.path().join(foreign).join("save.txt").exists());
    }
}
