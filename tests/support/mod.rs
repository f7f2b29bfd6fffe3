//! A throw-away git repository with bench targets, and the real binary run in it. It owns how tests
//! set things up and look at what is left; it must not know what any command should answer.

mod existing;
mod process;
mod snapshot;
mod turn;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use process::{Output, Running};
pub use snapshot::Snapshot;
use tempfile::TempDir;

const HARNESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness");

/// Files of every fixture, by path in the repository.
const FILES: [(&str, &str); 3] = [
    ("subject/src/lib.rs", include_str!("../fixtures/subject/src/lib.rs")),
    ("subject/data/words.csv", include_str!("../fixtures/subject/data/words.csv")),
    ("Cargo.toml", "[workspace]\nmembers = [\"subject\"]\nresolver = \"2\"\n"),
];

/// Bench targets a fixture may have.
const TARGETS: [(&str, &str); 4] = [
    ("work", include_str!("../fixtures/subject/benches/work.rs")),
    ("varied", include_str!("../fixtures/subject/benches/varied.rs")),
    ("bad", include_str!("../fixtures/subject/benches/bad.rs")),
    ("plain", include_str!("../fixtures/subject/benches/plain.rs")),
];

/// The step count that `spin` starts with, as it stands in the library.
const WORK: &str = "WORK: u64 = 1000;";

/// Variables that would let the outside reach into a fixture.
const SCRUBBED: [&str; 14] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "NBENCH_PRESET",
    "NBENCH_STORE",
    "NBENCH_THRESHOLD",
    "NBENCH_CONFIDENCE",
    "NBENCH_RUN_SEED",
    "GITHUB_TOKEN",
];

/// Says that a test did not run, and why, where it is seen although the test passes.
pub fn skipped(why: &str) {
    let _ =
        std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {why}\n").as_bytes());
}

/// A repository in a temporary directory, with a cache of its own beside it. All of it vanishes
/// when the fixture is dropped.
pub struct Fixture {
    home: TempDir,
    root: PathBuf,
    _turn: Option<turn::Turn>,
}

impl Fixture {
    /// Package `subject-lib` with the bench target `work`, in one commit.
    pub fn new() -> Fixture {
        Fixture::with(&["work"])
    }

    /// As [`Fixture::new`], and no other fixture is in use meanwhile: for tests that expect a
    /// verdict.
    pub fn alone() -> Fixture {
        Fixture::build(&["work"], turn::alone())
    }

    /// Package `subject-lib` with some of the bench targets `work`, `varied`, `bad` and `plain`.
    pub fn with(targets: &[&str]) -> Fixture {
        Fixture::build(targets, turn::beside_others())
    }

    fn build(targets: &[&str], turn: turn::Turn) -> Fixture {
        let fixture = Fixture::empty(Some(turn));
        for (path, text) in FILES {
            fixture.write(path, text);
        }
        // Every result of a build is ignored, and the lock file too, as libraries used to do it.
        fixture.write(".gitignore", "/target\n/Cargo.lock\n");
        let mut manifest = format!(
            "[package]\nname = \"subject-lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [lib]\nbench = false\n\n[dev-dependencies]\nnbench = {{ path = {HARNESS:?} }}\n"
        );
        for name in targets {
            let known = TARGETS.iter().find(|(target, _)| target == name);
            let (_, source) = known.expect("a known bench target");
            fixture.write(&format!("subject/benches/{name}.rs"), source);
            manifest.push_str(&format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n"));
        }
        fixture.write("subject/Cargo.toml", &manifest);
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.commit("First commit");
        fixture
    }

    fn empty(turn: Option<turn::Turn>) -> Fixture {
        let home = tempfile::Builder::new().prefix("nbench-e2e").tempdir().expect("a directory");
        // Symbolic links on the way (as /tmp on macOS) would make paths differ from what git
        // prints.
        let root = home.path().canonicalize().expect("it exists").join("repo");
        fs::create_dir(&root).expect("it is new");
        fs::create_dir(home.path().join("tmp")).expect("it is new");
        Fixture { home, root, _turn: turn }
    }

    /// A clone with the newest commit only. It must not outlive `self`'s turn.
    pub fn shallow_clone(&self) -> Fixture {
        let clone = Fixture::empty(None);
        let source = format!("file://{}", self.root.display());
        clone.git(&["clone", "--quiet", "--depth=1", &source, "."]);
        clone
    }

    /// The root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where results are stored by default.
    pub fn store(&self) -> PathBuf {
        self.root.join(".nbench/store.sqlite")
    }

    /// Writes a file, with its folders.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file in the repository")).expect("folders");
        fs::write(path, text).expect("the file is writable");
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Replaces the only occurrence of `from`.
    #[track_caller]
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "`{from}` in {path}");
        self.write(path, &text.replace(from, to));
    }

    /// Sets how many steps `spin` takes; it starts with 1000.
    #[track_caller]
    pub fn set_work(&self, steps: u64) {
        self.edit("subject/src/lib.rs", WORK, &format!("WORK: u64 = {steps};"));
    }

    /// Commits everything that is not ignored and returns the full hash.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the repository, which must succeed, and returns its trimmed output.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().expect("git is installed");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {told}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// How many work trees git knows of; one is the user's own.
    pub fn worktrees(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count()
    }

    /// Roots of the checkouts that `ab` made.
    pub fn checkouts(&self) -> Vec<PathBuf> {
        let below = |directory: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let slots = below(&self.cache()).iter().flat_map(|repository| below(repository)).collect();
        let slots: Vec<PathBuf> = slots;
        let mut trees: Vec<PathBuf> = slots.iter().map(|slot| slot.join("tree")).collect();
        trees.retain(|tree| tree.join(".git/HEAD").is_file());
        trees.sort();
        trees
    }

    /// The cache directory of this fixture.
    pub fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    /// Everything the user owns in this repository, as it is now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(self)
    }

    /// Runs `cargo-nbench` to its end; a run that takes minutes is killed and fails the test.
    #[track_caller]
    pub fn nbench(&self, args: &[&str]) -> Output {
        self.spawn(args).finish()
    }

    /// As [`Fixture::nbench`] with these variables, which may replace those that fixtures set.
    #[track_caller]
    pub fn nbench_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Output {
        self.nbench_as(&self.root, variables, args)
    }

    /// As [`Fixture::nbench`] in another directory and with these variables.
    #[track_caller]
    pub fn nbench_as(&self, directory: &Path, variables: &[(&str, &str)], args: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-nbench"));
        command.args(args).current_dir(directory).envs(variables.iter().copied());
        Running::start(command).finish()
    }

    /// As [`Fixture::nbench`] in another directory.
    #[track_caller]
    pub fn nbench_in(&self, directory: &Path, args: &[&str]) -> Output {
        self.nbench_as(directory, &[], args)
    }

    /// The triple that the compiler builds for.
    pub fn host_triple(&self) -> String {
        let output = self.command("rustc").arg("-vV").output().expect("rustc is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        host.expect("rustc names its host").to_owned()
    }

    /// A path outside the repository that vanishes with it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// As [`Fixture::nbench`], started in another directory, which is relative to the repository.
    #[track_caller]
    pub fn nbench_at(&self, args: &[&str], directory: &Path) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-nbench"));
        command.args(args).current_dir(self.root.join(directory));
        Running::start(command).finish()
    }

    /// Starts `cargo-nbench`.
    #[track_caller]
    pub fn spawn(&self, args: &[&str]) -> Running {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-nbench"));
        command.args(args);
        Running::start(command)
    }

    /// Runs cargo itself in the repository.
    #[track_caller]
    pub fn cargo(&self, args: &[&str]) -> Output {
        self.cargo_with(&[], args)
    }

    /// As [`Fixture::cargo`] with these variables.
    #[track_caller]
    pub fn cargo_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Output {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo);
        command.args(args).envs(variables.iter().copied());
        Running::start(command).finish()
    }

    /// Asserts that no worker is left. The system needs a moment to end those of a killed driver.
    #[track_caller]
    pub fn outlived_by_nothing(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.workers();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "still running: {left:?}");
            std::thread::yield_now();
        }
    }

    /// Executables of the fixture that are running now; none are seen where there is no procfs.
    pub fn workers(&self) -> Vec<PathBuf> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let executable = |process: fs::DirEntry| fs::read_link(process.path().join("exe")).ok();
        let mut found: Vec<PathBuf> = processes.flatten().filter_map(executable).collect();
        let home = self.root.parent().expect("the root is in a folder");
        found.retain(|path| path.starts_with(home));
        found
    }

    /// What lies in the directory for temporary files, which is the fixture's own.
    pub fn temporary_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.path().join("tmp")).expect("it was made");
        entries.flatten().map(|entry| entry.path()).collect()
    }

    /// Opens the store as any program might while `cargo-nbench` has it open; `None` before it
    /// exists.
    pub fn database(&self) -> Option<rusqlite::Connection> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = rusqlite::Connection::open_with_flags(self.store(), flags).ok()?;
        connection.busy_timeout(Duration::from_secs(5)).ok()?;
        Some(connection)
    }

    /// The number that `sql` asks the store for; 0 before there is a store with its tables.
    pub fn number(&self, sql: &str) -> i64 {
        let ask = |store: rusqlite::Connection| store.query_row(sql, [], |row| row.get(0)).ok();
        self.database().and_then(ask).unwrap_or(0)
    }

    /// A command in the repository that sees neither the user's git settings nor a target directory
    /// that other fixtures share: two of them have packages of equal names, which cargo would
    /// confuse.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for name in SCRUBBED {
            command.env_remove(name);
        }
        command.env("NBENCH_CACHE_DIR", self.cache());
        command.env("TMPDIR", self.home.path().join("tmp"));
        command.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Ada Fixture");
            command.env(format!("GIT_{role}_EMAIL"), "ada@example.com");
        }
        command
    }
}
