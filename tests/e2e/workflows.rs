//! The README's workflows: their steps are run as they stand there, on an artifact that its author
//! made to harm, and against a forge of the test's own. It knows how a runner lays out its
//! directories, and only as much YAML as the README uses.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const TOKEN: &str = "ghs_TheTokenOfTheTest";
const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

struct Job {
    text: String,
    steps: Vec<String>,
}

impl Job {
    /// Whether anything in it gets more than reading.
    fn may_write(&self) -> bool {
        self.text.contains(": write") || self.text.contains("token }}")
    }
}

/// The jobs of each workflow.
fn workflows() -> Vec<Vec<Job>> {
    let readme = fs::read_to_string(README).expect("the README is there");
    let blocks = readme.split("```yaml\n").skip(1);
    blocks.map(|block| jobs(block.split("```").next().unwrap_or_default())).collect()
}

fn jobs(workflow: &str) -> Vec<Job> {
    let (_, text) = workflow.split_once("\njobs:\n").expect("jobs");
    let mut jobs: Vec<Job> = Vec::new();
    for line in text.lines() {
        let line = line.split("  #").next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        if indent == 2 {
            jobs.push(Job { text: String::new(), steps: Vec::new() });
        }
        let job = jobs.last_mut().expect("a job begins");
        if line.starts_with("      - ") {
            job.steps.push(String::new());
        }
        job.text.push_str(&format!("{line}\n"));
        if let Some(step) = job.steps.last_mut() {
            step.push_str(&format!("{}\n", line.replacen("      - ", "        ", 1)));
        }
    }
    jobs
}

/// The value of a key in a step, with the lines of a block.
fn value(step: &str, key: &str) -> Option<String> {
    let at = step.lines().position(|line| line.trim_start().starts_with(&format!("{key}:")))?;
    let lines: Vec<&str> = step.lines().collect();
    let first = lines[at].split_once(':')?.1.trim();
    if first != "|" {
        return Some(first.to_owned());
    }
    let indent = lines[at].len() - lines[at].trim_start().len();
    let more = lines[at + 1..].iter().take_while(|l| l.len() - l.trim_start().len() > indent);
    Some(more.map(|line| line.trim_start()).collect::<Vec<_>>().join("\n"))
}

#[test]
fn no_job_that_may_write_holds_code_of_a_pull_request() {
    let workflows = workflows();
    assert_eq!(workflows.len(), 2);
    let mut measuring = 0;
    for job in workflows.iter().flatten() {
        let runs: Vec<String> = job.steps.iter().filter_map(|step| value(step, "run")).collect();
        if job.may_write() {
            assert!(!job.text.contains("actions/checkout"), "{}", job.text);
            for run in &runs {
                // Cargo looks for aliases, toolchains and wrappers in the directory it stands in.
                let is_install = run.starts_with("cargo install ") && !run.contains("--path");
                assert!(is_install || !run.contains("cargo "), "{run}");
            }
        } else {
            measuring += 1;
            assert!(job.text.contains("persist-credentials: false"), "{}", job.text);
            assert!(job.text.contains("contents: read"), "{}", job.text);
            let ab = runs.iter().find(|run| run.contains(" ab ")).expect("it compares");
            assert!(ab.starts_with("cargo-nbench nbench ab "), "{ab}");
        }
    }
    assert_eq!(measuring, 1);
}

/// Requests that were seen: method and path, and body.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// Answers like a forge with one open pull request, #7, and keeps what it was sent.
fn forge() -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            let mut request = String::new();
            let _ = reader.read_line(&mut request);
            let (mut length, mut header) = (0, String::new());
            while reader.read_line(&mut header).is_ok_and(|n| n > 2) {
                if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                header.clear();
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let target = request.split(" HTTP").next().unwrap_or_default().to_owned();
            let (status, answer) = if target.contains("/pulls") {
                (200, json!([{"number": 7, "state": "open", "head": {"sha": SHA}}]))
            } else if target.starts_with("POST") {
                let user = json!({"login": "bot", "type": "Bot"});
                (201, json!({"id": 1, "html_url": "u", "body": "", "user": user}))
            } else {
                (200, json!([]))
            };
            kept.lock()
                .expect("nobody panics")
                .push((target, String::from_utf8_lossy(&body).into_owned()));
            let answer = answer.to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (address, seen)
}

/// A machine that runs one job: its directories, and a program that must never run.
struct Runner {
    home: tempfile::TempDir,
    api: String,
}

impl Runner {
    fn new(api: &str) -> Runner {
        let home = tempfile::tempdir().expect("a directory");
        for directory in ["work/_temp", "work/repo/repo", "bin"] {
            fs::create_dir_all(home.path().join(directory)).expect("it is new");
        }
        symlink(env!("CARGO_BIN_EXE_cargo-nbench"), home.path().join("bin/cargo-nbench")).unwrap();
        let event = json!({
            "number": 7,
            "pull_request": {"number": 7, "head": {"sha": SHA}},
            "workflow_run": {"head_sha": SHA, "pull_requests": []},
        });
        fs::write(home.path().join("event.json"), event.to_string()).unwrap();
        Runner { home, api: api.to_owned() }
    }

    fn temp(&self) -> PathBuf {
        self.home.path().join("work/_temp")
    }

    /// Where steps run.
    fn workspace(&self) -> PathBuf {
        self.home.path().join("work/repo/repo")
    }

    fn proof(&self) -> PathBuf {
        self.home.path().join("the-strangers-program-ran")
    }

    /// All ways in which files that lie somewhere get a program run there, and a result.
    fn unpack_hostile_artifact(&self, place: &Path, result: &dyn Fn(&Path)) {
        let script = format!("#!/bin/sh\ntouch {:?}\n", self.proof());
        let write = |path: &str, text: &str| {
            let path = place.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        write("evil.sh", &script);
        let evil = place.join("evil.sh");
        write(
            ".cargo/config.toml",
            &format!(
                "[alias]\nnbench = [\"run\", \"-q\", \"--\"]\n\
                 [build]\nrustc-wrapper = {evil:?}\nrustc = {evil:?}\n\
                 [target.'cfg(all())']\nrunner = {evil:?}\n"
            ),
        );
        write("Cargo.toml", "[package]\nname = \"evil\"\nversion = \"0.1.0\"\n");
        let touch = format!("fn main() {{ let _ = std::fs::write({:?}, \"\"); }}", self.proof());
        write("src/main.rs", &touch);
        write("build.rs", &touch);
        write("rust-toolchain.toml", "[toolchain]\npath = \"toolchain\"\n");
        write("toolchain/bin/cargo", &script);
        write("toolchain/bin/rustc", &script);
        write("cargo-nbench", &script);
        write("cargo", &script);
        write("nbench.toml", "store = \"/nonexistent/x\"\n");
        write(".git/config", &format!("[core]\nfsmonitor = {evil:?}\nhooksPath = {place:?}\n"));
        write(".git/HEAD", "ref: refs/heads/main\n");
        result(&place.join("ab.json"));
    }

    /// Runs the steps of a job; those of others as far as they matter here.
    fn run(&self, job: &Job, result: &dyn Fn(&Path)) -> Option<Output> {
        let inserted = |text: &str| {
            let temp = self.temp().display().to_string();
            text.replace("${{ runner.temp }}", &temp).replace("${{ github.token }}", TOKEN)
        };
        let mut last = None;
        for step in &job.steps {
            if step.contains("actions/download-artifact@") {
                let path = value(step, "path").map(|path| PathBuf::from(inserted(&path)));
                self.unpack_hostile_artifact(&path.unwrap_or_else(|| self.workspace()), result);
            }
            let Some(run) = value(step, "run") else { continue };
            if run.starts_with("cargo install ") {
                continue;
            }
            let path = std::env::var("PATH").unwrap_or_default();
            let mut command = Command::new("bash");
            command.args(["-e", "-c", &inserted(&run)]).current_dir(self.workspace());
            command.env("PATH", format!("{}:{path}", self.home.path().join("bin").display()));
            command.env("RUNNER_TEMP", self.temp()).env("GITHUB_WORKSPACE", self.workspace());
            command.env("GITHUB_REPOSITORY", "acme/widget").env("GITHUB_API_URL", &self.api);
            command.env("GITHUB_EVENT_PATH", self.home.path().join("event.json"));
            for name in ["GH_TOKEN", "GITHUB_TOKEN", "GITHUB_STEP_SUMMARY", "CARGO", "http_proxy"] {
                command.env_remove(name);
            }
            if let Some(token) = value(step, "GITHUB_TOKEN") {
                command.env("GITHUB_TOKEN", inserted(&token));
            }
            last = Some(command.stdin(Stdio::null()).output().expect("bash is installed"));
        }
        last
    }
}

fn row(name: &str) -> String {
    json!({
        "type": "comparison", "package": "p", "target": "t", "benchmark": name,
        "reference": {"rev": "main", "commit": SHA, "dirty": false},
        "contender": {"rev": "HEAD", "commit": SHA, "dirty": false},
        "change": 0.5, "low": 0.4, "high": 0.6, "confidence": 0.95, "look_error": 0.05,
        "verdict": "slower", "threshold": 0.005, "pairs": 10, "launches": 10, "smallest": 0.01,
        "stop": "decided", "reference_ns": 1.0, "contender_ns": 1.5, "iters_per_sample": [1, 1],
        "p_adjusted": null, "layout": "fresh", "order_effect": null, "lag1": null,
        "contender_wins": 0, "reference_wins": 10, "ties": 0, "own": [], "layout_share": null,
        "between_launches": null, "within_launch": null, "launch_changes": [], "notes": [],
    })
    .to_string()
}

#[test]
fn a_hostile_artifact_runs_nothing_and_chooses_neither_place_nor_markup() {
    const NAME: &str =
        "@everyone [x](https://evil.test) </code><img src=x> <!-- cargo-nbench:b -->";
    let mut posts = 0;
    for job in workflows().iter().flatten().filter(|job| job.may_write()) {
        let (api, seen) = forge();
        let runner = Runner::new(&api);
        let output = runner.run(job, &|path| {
            let pr = json!({"type": "context", "command": "ab", "pr": 666, "repo": "evil/evil"});
            let summary = r#"{"type":"summary","slower":1}"#;
            fs::write(path, format!("{pr}\n{}\n{summary}\n", row(NAME))).unwrap();
        });
        let output = output.expect("it has a step of ours");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        assert!(!runner.proof().exists(), "the stranger's program ran: {told}");
        let seen = seen.lock().unwrap();
        let posted = seen.iter().find(|(target, _)| target.starts_with("POST")).expect("a comment");
        assert_eq!(posted.0, "POST /repos/acme/widget/issues/7/comments");
        for raw in ["@everyone", "](https", "</code><img", "<!-- cargo-nbench:b"] {
            assert!(!posted.1.contains(raw), "`{raw}` in {}", posted.1);
        }
        assert!(posted.1.contains("evil"), "the name is shown: {}", posted.1);
        posts += 1;
    }
    assert_eq!(posts, 2);
}

#[test]
fn a_result_that_is_a_link_to_the_environment_tells_nothing_of_it() {
    let workflows = workflows();
    let job = workflows.iter().flatten().find(|job| job.may_write()).expect("one that posts");
    let (api, seen) = forge();
    let runner = Runner::new(&api);
    let output = runner.run(job, &|path| symlink("/proc/self/environ", path).unwrap());
    let output = output.expect("it has a step of ours");
    assert_eq!(output.status.code(), Some(2));
    let told = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&told).contains(TOKEN));
    assert!(seen.lock().unwrap().iter().all(|(_, body)| !body.contains(TOKEN)));
    assert!(!runner.proof().exists());
}
