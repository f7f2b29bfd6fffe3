//! The house rules, held over the whole source tree. It reads files and knows no crate; every check
//! is a function of a path and a text, and is shown to find a planted violation.

#[path = "tidy/lexer.rs"]
mod lexer;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lexer::code_only;

const LONGEST_FILE: usize = 700;
const LONGEST_MEDIAN: usize = 350;

/// A check of one file: path relative to the repository with `/`, and text. Returns what is wrong.
type Check = fn(&str, &str) -> Vec<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace").to_owned()
}

/// Every file of the repository that is neither hidden nor built.
fn files() -> Vec<(String, PathBuf)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let relative =
                    path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                found.push((relative, path));
            }
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<(String, String)> {
    let rust: Vec<(String, String)> = files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    assert!(rust.len() > 30, "the walk has lost the sources: {} files", rust.len());
    rust
}

fn hold(check: Check) {
    let wrong: Vec<String> =
        rust_files().iter().flat_map(|(path, text)| check(path, text)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Asserts that `check` finds exactly `count` things wrong.
#[track_caller]
fn finds(check: Check, path: &str, text: &str, count: usize) {
    let wrong = check(path, text);
    assert_eq!(wrong.len(), count, "{path}: {wrong:?}");
}

fn manifest(crate_dir: &str) -> String {
    fs::read_to_string(root().join(crate_dir).join("Cargo.toml")).unwrap()
}

/// Sources of throw-away repositories: programs of their own, to which only the form of a file
/// applies.
fn is_fixture(path: &str) -> bool {
    path.starts_with("tests/fixtures/")
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

// Reading Rust: enough of it to tell code from comments and texts.

/// Whether `word` stands in `line` with no letter, digit or underscore before it, nor behind it
/// when it ends with one.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let open_end =
            part(word.chars().next_back()) && part(line[at + word.len()..].chars().next());
        !part(line[..at].chars().next_back()) && !open_end
    })
}

/// A finding for each line of `text` in which one of `words` stands.
fn lines_with(path: &str, text: &str, words: &[&str]) -> Vec<String> {
    let found = |line: &str| words.iter().copied().find(|word| has_word(line, word));
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| Some(format!("{path}:{}: `{}`", at + 1, found(line)?)))
        .collect()
}

// The checks.

fn opening(path: &str, text: &str) -> Vec<String> {
    let opens = text.starts_with("//!") || text.starts_with("#![");
    if opens { Vec::new() } else { vec![format!("{path}: does not open with `//!`")] }
}

fn length(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let long = lines > LONGEST_FILE;
    if long { vec![format!("{path}: {lines} lines, at most {LONGEST_FILE}")] } else { Vec::new() }
}

fn names(path: &str, _text: &str) -> Vec<String> {
    const VAGUE: [&str; 7] = ["utils", "util", "common", "helpers", "core", "types", "manager"];
    path.split('/')
        .map(|part| part.strip_suffix(".rs").unwrap_or(part))
        .filter(|part| VAGUE.contains(part))
        .map(|part| format!("{path}: `{part}` says nothing about what is in it"))
        .collect()
}

/// Files that measure and must not be able to favour a side. The wire is among them, but for the
/// one key by which a benchmark says which of its own cases the others are compared with.
const BLIND: [&str; 4] = [
    "harness/src/subject.rs",
    "harness/src/wire/line.rs",
    "engine/src/collect.rs",
    "engine/src/schedule.rs",
];

/// Roles exist in commands and results only.
fn roles(path: &str, text: &str) -> Vec<String> {
    const ROLES: [&str; 4] = ["reference", "contender", "baseline", "candidate"];
    if !BLIND.contains(&path) {
        return Vec::new();
    }
    let named = |line: &str| {
        let lower = line.to_lowercase();
        ROLES.iter().any(|role| lower.contains(role)) || has_word(line, "HEAD")
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| named(line))
        .map(|(at, line)| format!("{path}:{}: names a role: {}", at + 1, line.trim()))
        .collect()
}

/// Standard streams are written to in one place. (Clippy refuses the macros that print.)
fn streams(path: &str, text: &str) -> Vec<String> {
    let may = path == "cargo-nbench/src/term.rs"
        || path.starts_with("harness/src/standalone")
        || path.starts_with("engine/examples/")
        || path.starts_with("engine/benches/")
        || is_test(path)
        || is_fixture(path);
    if may { Vec::new() } else { lines_with(path, &code_only(text), &["stdout()", "stderr()"]) }
}

/// The compiler denies unsafe code, and clippy asks for its reason; where it is expected all the
/// same is held here.
fn expected_unsafe(path: &str, text: &str) -> Vec<String> {
    if is_fixture(path) || path.starts_with("harness/src/probe/") {
        return Vec::new();
    }
    lines_with(path, &code_only(text), &["expect(unsafe_code", "allow(unsafe_code"])
}

/// Work that is put off. (Clippy refuses the macros that stand for it.)
fn unfinished(path: &str, text: &str) -> Vec<String> {
    let mut wrong = lines_with(path, &code_only(text), &["#[ignore"]);
    // Put together so that this file does not contain them; they usually stand in comments.
    wrong.extend(lines_with(path, text, &[concat!("FIX", "ME"), concat!("X", "XX")]));
    wrong
}

/// Widest line that is only a comment.
const COMMENT_WIDTH: usize = 100;

/// Comments have one width, and documentation begins with what the thing is.
fn comments(path: &str, text: &str) -> Vec<String> {
    if is_fixture(path) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let mut above = "";
    for (at, line) in text.lines().enumerate() {
        let words = line.trim_start();
        // Code in documentation is not wrapped.
        let is_code = words.starts_with("/// # ") || words.starts_with("/// static ");
        if words.starts_with("//") && !is_code && line.chars().count() > COMMENT_WIDTH {
            wrong.push(format!("{path}:{}: a comment of more than {COMMENT_WIDTH}", at + 1));
        }
        let opens = !above.trim_start().starts_with("///");
        // Help of the command line is a question and its answer.
        let is_help = path == "cargo-nbench/src/cli/args.rs";
        if opens && !is_help && !is_test(path) && words.starts_with("/// What ") {
            wrong.push(format!("{path}:{}: begins with \"What\"", at + 1));
        }
        above = line;
    }
    wrong
}

/// Types of one crate that go by a name of another one, tests aside.
fn doubled(files: &[(String, String)]) -> Vec<String> {
    let mut seen: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in files {
        let Some((crate_dir, inner)) = path.split_once("/src/") else { continue };
        if crate_dir.contains('/') || is_test(path) || inner.ends_with("readme.rs") {
            continue;
        }
        let code = code_only(without_tests(text));
        for line in code.lines() {
            // `pub`, or the end of `pub(in ..)`.
            let is_scope =
                |word: &&str| word.starts_with("pub") || word.ends_with(')') || *word == "unsafe";
            let mut words = line.split_whitespace().skip_while(is_scope);
            let kind = words.next().unwrap_or_default();
            if !["struct", "enum", "trait", "type", "union"].contains(&kind) {
                continue;
            }
            // What a trait's implementation names is indented.
            if kind == "type" && line.starts_with(' ') {
                continue;
            }
            let name: String = words
                .next()
                .unwrap_or_default()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            seen.entry((crate_dir.to_owned(), name)).or_default().insert(path);
        }
    }
    let several = seen.into_iter().filter(|(_, paths)| paths.len() > 1);
    several.map(|((in_crate, name), paths)| format!("{in_crate}: `{name}` in {paths:?}")).collect()
}

/// Where the test module of a source file begins, which stands at its end; the end if it has none.
/// A module that is only declared here is a file of its own.
fn start_of_tests(code: &str) -> usize {
    const MARK: &str = "#[cfg(test)]";
    let has_body = |at: &usize| {
        let item = code[at + MARK.len()..].trim_start().lines().next().unwrap_or_default();
        item.starts_with("mod ") && item.ends_with('{')
    };
    code.match_indices(MARK).map(|(at, _)| at).find(has_body).unwrap_or(code.len())
}

fn sleeping(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let tests = if is_test(path) { 0 } else { start_of_tests(&code) };
    let above = code[..tests].lines().count();
    let sleeps = |line: &str| has_word(line, "thread::sleep") || has_word(line, "sleep(");
    code[tests..]
        .lines()
        .enumerate()
        .filter(|(_, line)| sleeps(line))
        .map(|(at, _)| format!("{path}:{}: a test that sleeps", above + at + 1))
        .collect()
}

fn statistics_stand_alone(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("engine/src/stats") {
        return Vec::new();
    }
    let code = code_only(text);
    let leaves = |line: &str| {
        line.replace("crate::stats", "").contains("crate::")
            || line.contains("super::super")
            || (path.ends_with("stats/mod.rs") && has_word(line, "super::"))
            || has_word(line, "nbench")
    };
    code.lines()
        .enumerate()
        .filter(|(_, line)| leaves(line))
        .map(|(at, line)| format!("{path}:{}: leaves stats: {}", at + 1, line.trim()))
        .collect()
}

/// Names of what a crate is built from, for users: dependencies that only its tests have do not
/// count.
fn dependencies(manifest: &str) -> Vec<String> {
    let table: toml::Table = manifest.parse().unwrap();
    let mut names = Vec::new();
    let mut tables = vec![&table];
    if let Some(targets) = table.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            if let Some(entries) = table.get(kind).and_then(toml::Value::as_table) {
                names.extend(entries.keys().cloned());
            }
        }
    }
    names
}

/// Our own crates that `manifest` depends on beyond `allowed`.
fn wrong_direction(manifest: &str, allowed: &[&str]) -> Vec<String> {
    let ours = |name: &String| name.starts_with("nbench") || name == "cargo-nbench";
    let mut found = dependencies(manifest);
    found.retain(|name| ours(name) && !allowed.contains(&name.as_str()));
    found
}

/// Dependencies from elsewhere without a comment right above that gives the reason.
fn unexplained(manifest: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut inside, mut above) = (false, "");
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
        } else if inside && line.starts_with(|c: char| c.is_alphanumeric()) {
            // Our own crates explain themselves.
            let own = line.contains("path =");
            if !own && !above.starts_with("# ") {
                wrong.push(line.to_owned());
            }
        }
        above = line;
    }
    wrong
}

// The rules over the tree, and a planted violation for each.

#[test]
fn every_file_says_what_it_owns() {
    finds(opening, "a.rs", "use std::fs;\n//! Late.\n", 1);
    finds(opening, "a.rs", "//! Owns a.\n", 0);
    finds(opening, "a.rs", "#![no_std]\n", 0);
    hold(opening);
}

#[test]
fn no_file_is_long_and_most_are_short() {
    finds(length, "a.rs", &"\n".repeat(LONGEST_FILE), 0);
    finds(length, "a.rs", &"\n".repeat(LONGEST_FILE + 1), 1);
    hold(length);
    let mut lengths: Vec<usize> = rust_files().iter().map(|(_, t)| t.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < LONGEST_MEDIAN, "the median file has {median} lines");
}

#[test]
fn names_say_what_is_inside() {
    finds(names, "engine/src/utils.rs", "", 1);
    finds(names, "engine/src/common/clock.rs", "", 1);
    finds(names, "engine/src/clock.rs", "", 0);
    hold(names);
}

#[test]
fn what_measures_does_not_know_the_sides() {
    let roles_named = "// The Baseline\nlet Candidate = 1;\nHEAD\nreference\nlet contenders = 2;\n";
    finds(roles, "harness/src/wire/line.rs", roles_named, 5);
    finds(roles, "engine/src/collect.rs", "let HEADROOM = 1; let ahead = 2;\n", 0);
    finds(roles, "cargo-nbench/src/commands/ab.rs", "HEAD", 0);
    for path in BLIND {
        assert!(root().join(path).is_file(), "`{path}` moved: the rule must follow it");
    }
    hold(roles);
}

#[test]
fn one_file_writes_to_standard_streams() {
    finds(streams, "engine/src/stop.rs", "fn f() { std::io::stdout().lock() }\n", 1);
    finds(streams, "cargo-nbench/src/terminal.rs", "io::stderr().write(b)\n", 1);
    finds(streams, "engine/src/stop.rs", "// stdout()\nlet a = \"stderr()\";\n", 0);
    finds(streams, "cargo-nbench/src/term.rs", "io::stdout()", 0);
    hold(streams);
}

#[test]
fn unsafe_code_is_expected_in_one_place() {
    let expected = "#[expect(unsafe_code, reason = \"x\")]\nunsafe { f() }\n";
    finds(expected_unsafe, "engine/src/stop.rs", expected, 1);
    finds(expected_unsafe, "harness/src/probe/clock.rs", expected, 0);
    finds(expected_unsafe, "harness/src/batch.rs", "#![allow(unsafe_code)]\n", 1);
    hold(expected_unsafe);
    let manifest: toml::Table = manifest("").parse().unwrap();
    let lints = &manifest["workspace"]["lints"];
    assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("deny"));
    for lint in ["undocumented_unsafe_blocks", "print_stdout", "print_stderr", "dbg_macro", "todo"]
    {
        assert!(lints["clippy"].get(lint).is_some(), "nothing holds {lint}");
    }
}

#[test]
fn nothing_is_left_unfinished() {
    finds(unfinished, "a.rs", "#[ignore = \"slow\"]\n", 1);
    finds(unfinished, "a.rs", concat!("// FIX", "ME later\n// X", "XX\n"), 2);
    finds(unfinished, "a.rs", "// All of it is done.\nlet a = \"#[ignore\";\n", 0);
    hold(unfinished);
}

#[test]
fn comments_have_one_width_and_begin_with_what_the_thing_is() {
    finds(comments, "a.rs", &format!("// {}\n", "x".repeat(COMMENT_WIDTH)), 1);
    finds(comments, "a.rs", &format!("// {}\n", "x".repeat(COMMENT_WIDTH - 3)), 0);
    finds(comments, "templates/src/a.rs", "/// What it is.\nfn f() {}\n", 1);
    finds(comments, "templates/src/a.rs", "/// Outcome of\n/// What it did.\nfn f() {}\n", 0);
    hold(comments);
}

#[test]
fn no_two_types_of_a_crate_share_a_name() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let one = file("a/src/x.rs", "pub(crate) struct Built<'a> {}\n");
    for other in
        ["type Built = u8;\n", "pub(in crate::y) struct Built;\n", "unsafe trait Built {}\n"]
    {
        assert_eq!(doubled(&[one.clone(), file("a/src/y.rs", other)]).len(), 1, "{other}");
    }
    let elsewhere = file("b/src/y.rs", "enum Built {}\n");
    let associated = file("a/src/y.rs", "impl T for U {\n    type Built = u8;\n}\n");
    let tested = file("a/src/z.rs", "#[cfg(test)]\nmod tests {\nstruct Built;\n}\n");
    assert_eq!(doubled(&[one, elsewhere, associated, tested]), Vec::<String>::new());
    assert_eq!(doubled(&rust_files()), Vec::<String>::new());
}

#[test]
fn no_test_sleeps() {
    let tests_below =
        "fn f() { std::thread::sleep(t) }\n#[cfg(test)]\nmod tests {\n  sleep(t);\n}\n";
    finds(sleeping, "store/src/lib.rs", tests_below, 1);
    assert!(sleeping("store/src/lib.rs", tests_below)[0].contains(":4:"));
    finds(sleeping, "store/tests/store.rs", "thread::sleep(t);\n", 1);
    finds(sleeping, "store/src/lib.rs", "thread::sleep(t);\n", 0);
    let declared = "#[cfg(test)]\nmod tests;\nfn f() { thread::sleep(t) }\n";
    finds(sleeping, "store/src/lib.rs", declared, 0);
    hold(sleeping);
}

#[test]
fn statistics_are_functions_of_numbers() {
    finds(statistics_stand_alone, "engine/src/stats/spread.rs", "use crate::plan::Plan;\n", 1);
    finds(statistics_stand_alone, "engine/src/stats/mod.rs", "use super::plan;\n", 1);
    finds(statistics_stand_alone, "engine/src/stats/spread.rs", "use super::ordered::median;\n", 0);
    finds(statistics_stand_alone, "engine/src/stats/spread.rs", "use crate::stats::ordered;\n", 0);
    finds(statistics_stand_alone, "engine/src/paired.rs", "use crate::plan::Plan;\n", 0);
    hold(statistics_stand_alone);
}

#[test]
fn crates_depend_in_one_direction() {
    let planted = "[dependencies]\nnbench-engine = \"1\"\n[target.'cfg(unix)'.dependencies]\nnbench = \"1\"\n\
                   [dev-dependencies]\nnbench-store = \"1\"\n";
    assert_eq!(wrong_direction(planted, &["nbench"]), ["nbench-engine"]);
    assert_eq!(dependencies(planted), ["nbench-engine", "nbench"]);
    for (name, allowed) in [
        ("store", &[][..]),
        ("templates", &[][..]),
        ("engine", &["nbench"][..]),
        ("config", &["nbench-engine"][..]),
    ] {
        let wrong = wrong_direction(&manifest(name), allowed);
        assert!(wrong.is_empty(), "{name} depends on {wrong:?}");
    }
}

#[test]
fn the_harness_depends_on_nothing() {
    assert_eq!(dependencies(&manifest("harness")), Vec::<String>::new());
}

#[test]
fn every_dependency_has_its_reason() {
    let planted = "[workspace.dependencies]\n# Why.\na = \"1\"\nb = \"2\"\nours = { path = \"x\" }\n[x]\nc = 1\n";
    assert_eq!(unexplained(planted), ["b = \"2\""]);
    assert_eq!(unexplained(&manifest("")), Vec::<String>::new());
}

#[test]
fn code_is_told_from_comments_and_texts() {
    let source = "a /* b /* c */ d */ e 'f' '\\'' \"g\\\"h\" r#\"i\"j\"# k<'l>(br\"m\") // n\no";
    let code: Vec<char> = code_only(source).chars().filter(|c| c.is_alphabetic()).collect();
    assert_eq!(code.iter().collect::<String>(), "aeklbo");
    assert_eq!(code_only(source).lines().count(), source.lines().count());
}

// What this program starts, and where it puts things.

/// A file up to its tests, which stand at its end.
fn without_tests(text: &str) -> &str {
    let end = text.find("#[cfg(all(test").unwrap_or(text.len());
    &text[..end.min(start_of_tests(text))]
}

/// A file that starts programs withholds credentials, or says here why it need not.
fn starts_without_credentials(path: &str, text: &str) -> Vec<String> {
    const NEED_NOT: [&str; 3] = [
        // Runs within cargo, which has none.
        "cargo-nbench/src/build/lint_cap.rs",
        // Copies files, and runs nothing of others.
        "cargo-nbench/src/revisions/checkout/seed.rs",
        // The launcher clears the environment of what it makes.
        "cargo-nbench/src/foreign/bridge.rs",
    ];
    let own = without_tests(text);
    let starts = own.contains("Command::new(") && path.starts_with("cargo-nbench/src/");
    if !starts || is_test(path) || NEED_NOT.contains(&path) || own.contains("secrets::") {
        return Vec::new();
    }
    vec![format!("{path}: starts a program that may see credentials: `secrets::withhold`")]
}

#[test]
fn every_program_is_started_without_credentials() {
    hold(starts_without_credentials);
    let starting = "fn f() { Command::new(\"git\"); }";
    finds(starts_without_credentials, "cargo-nbench/src/other.rs", starting, 1);
    let withholding = format!("{starting} secrets::withhold(&mut command);");
    finds(starts_without_credentials, "cargo-nbench/src/other.rs", &withholding, 0);
    let tested = format!("#[cfg(test)]\nmod tests {{\n{starting}\n}}\n");
    finds(starts_without_credentials, "cargo-nbench/src/other.rs", &tested, 0);
}

/// Only `private.rs` makes temporary directories.
fn makes_private_directories(path: &str, text: &str) -> Vec<String> {
    let own = without_tests(text);
    let is_ours = path.starts_with("cargo-nbench/src/") && !path.ends_with("/private.rs");
    let makes = ["tempfile::tempdir", "tempdir_in(", "tempfile::Builder", "TempDir::new"];
    if !is_ours || is_test(path) || !makes.iter().any(|word| own.contains(word)) {
        return Vec::new();
    }
    vec![format!("{path}: a temporary directory that others may enter: `private::directory`")]
}

#[test]
fn temporary_directories_are_private() {
    hold(makes_private_directories);
    let making = "fn f() { tempfile::tempdir(); }";
    finds(makes_private_directories, "cargo-nbench/src/other.rs", making, 1);
    finds(makes_private_directories, "cargo-nbench/src/private.rs", making, 0);
}

// How the command is laid out, and what the documents say of it.

/// The rooms of the command, each above all from which it may import, and the files at their foot.
const ROOMS: [&str; 8] =
    ["commands", "results", "measure", "cli", "build", "revisions", "foreign", "forge"];
const FOOT: [&str; 8] =
    ["cache", "failure", "interrupt", "private", "process", "secrets", "suggest", "term"];

/// Imports from a room that is not below the one of the file.
fn upward(path: &str, text: &str) -> Vec<String> {
    let Some(inner) = path.strip_prefix("cargo-nbench/src/") else { return Vec::new() };
    if is_test(path) || ["main.rs", "lib.rs"].contains(&inner) {
        return Vec::new();
    }
    let room = inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs");
    let height = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    if height(room).is_none() && !FOOT.contains(&room) {
        wrong.push(format!("{path}: `{room}` is no room that ARCHITECTURE.md knows"));
    }
    let code = code_only(without_tests(text));
    for (at, line) in code.lines().enumerate() {
        for (_, rest) in
            line.match_indices("crate::").map(|(at, word)| line.split_at(at + word.len()))
        {
            let end =
                rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
            let other = &rest[..end];
            let is_up = match (height(room), height(other)) {
                (Some(own), Some(other)) => other < own,
                (None, Some(_)) => true,
                _ => false,
            };
            if is_up {
                wrong.push(format!("{path}:{}: `{room}` imports from `{other}` above it", at + 1));
            }
        }
    }
    wrong
}

#[test]
fn no_room_imports_from_one_above_it() {
    hold(upward);
    let all = "use crate::measure::launch::Starter;\nfn f() { crate::term::Term::system() }\n";
    finds(upward, "cargo-nbench/src/build/sides.rs", all, 1);
    finds(upward, "cargo-nbench/src/results/page.rs", all, 0);
    finds(upward, "cargo-nbench/src/failure.rs", all, 1);
    finds(upward, "cargo-nbench/src/helpers.rs", "", 1);
    let tested = format!("#[cfg(test)]\nmod tests {{\n{all}}}\n");
    finds(upward, "cargo-nbench/src/build/sides.rs", &tested, 0);
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for room in ROOMS {
        assert!(document.contains(&format!("\n| `{room}` | ")), "{room} has no row");
    }
    for file in FOOT {
        assert!(document.contains(&format!("`{file}`")), "{file} is not named");
    }
}

/// Failures of these rooms are made in one file each, where their kinds, hints and exit codes
/// stand.
fn failures_by_kind(path: &str, text: &str) -> Vec<String> {
    let Some(inner) = path.strip_prefix("cargo-nbench/src/") else { return Vec::new() };
    let room = inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs");
    let is_held = ["build", "forge", "revisions"].contains(&room)
        && !inner.ends_with("/error.rs")
        // It replaces the failure of another step, with the exit code of that.
        && inner != "build/sides/absent.rs"
        && !is_test(path);
    let code = code_only(without_tests(text));
    if is_held { lines_with(path, &code, &["Failure::new("]) } else { Vec::new() }
}

#[test]
fn failures_are_made_where_their_kinds_stand() {
    hold(failures_by_kind);
    let made = "fn f() -> Failure { Failure::new(Exit::Host, \"x\") }\n";
    finds(failures_by_kind, "cargo-nbench/src/revisions/git.rs", made, 1);
    finds(failures_by_kind, "cargo-nbench/src/revisions/error.rs", made, 0);
    finds(failures_by_kind, "cargo-nbench/src/commands/ab.rs", made, 0);
}

/// Files that a document names in backticks and that are not there. They are named from the root,
/// from the sources of the command, or, in a table of one folder, by the end of their path.
fn lost_files(text: &str, there: &[String]) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    let named = words.filter(|word| {
        word.ends_with(".rs") && !word.contains(|c: char| c.is_whitespace() || "{}<*".contains(c))
    });
    named
        .filter(|word| {
            let end = format!("/{word}");
            !there.iter().any(|path| path == word || path.ends_with(&end))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn documents_name_files_that_are_there() {
    let there: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
    // The README's files are those of its readers.
    let is_ours = |name: &&String| {
        *name == "ARCHITECTURE.md" || (name.starts_with("docs/") && name.ends_with(".md"))
    };
    for document in there.iter().filter(is_ours) {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let lost = lost_files(&text, &there);
        assert!(lost.is_empty(), "{document}: {lost:?}");
    }
    let text = "see `store/src/row.rs`, `row.rs` and `nowhere/row.rs`, or `a/{b,c}.rs`";
    assert_eq!(lost_files(text, &there), ["nowhere/row.rs"]);
}
