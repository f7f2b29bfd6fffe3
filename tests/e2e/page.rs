//! The pages in a real browser. A machine without Chromium says that this was skipped;
//! `NBENCH_TEST_CHROMIUM=1` turns the skip into a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Fixture};
use crate::{AB, RUN, with};

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("NBENCH_TEST_CHROMIUM").is_none(),
            "NBENCH_TEST_CHROMIUM is set, but there is no chromium in PATH"
        );
        support::skipped("no chromium in PATH to open a page with");
    }
    found
}

/// What a browser shows of a page, which must neither run nor load anything.
#[track_caller]
fn shown(browser: &Path, fixture: &Fixture, page: &str) -> String {
    let profile = fixture.root().join("target/browser");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", fixture.root().join(page).display()))
        .output()
        .expect("the browser starts");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("Content Security Policy"), "the page wanted what it forbids: {said}");
    // If the name became markup, the title of the page would tell.
    assert!(!shown.contains("<title>broken out"), "a name became markup: {shown}");
    assert!(shown.contains("&lt;img src=x"), "the name is shown as text");
    shown
}

/// A fixture with a benchmark whose name would be markup if it were not escaped.
fn named_like_markup() -> Fixture {
    let fixture = Fixture::new();
    let name = r#""<img src=x onerror=\"document.title='broken out'\">""#;
    fixture.edit("subject/benches/work.rs", "\"table\"", name);
    fixture.commit("Name a benchmark like markup");
    fixture
}

#[test]
fn a_browser_shows_the_page_without_running_or_loading_anything() {
    let Some(browser) = chromium() else { return };
    let fixture = named_like_markup();
    fixture.nbench(&RUN).exits(0);
    fixture.nbench(&["history", "--html=page.html"]).exits(0);
    let shown = shown(&browser, &fixture, "page.html");
    assert!(shown.contains("spin") && shown.contains("<svg"), "{shown}");
}

#[test]
fn a_browser_shows_the_pairs_of_a_comparison() {
    let Some(browser) = chromium() else { return };
    let fixture = named_like_markup();
    fixture.set_work(1500);
    fixture.commit("More work");
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "--html"])).exits(0);
    assert_eq!(output.of_type("comparison").len(), 2, "standard output stays JSON");
    assert!(output.stderr.contains("comparison.html"), "{}", output.stderr);
    let shown = shown(&browser, &fixture, ".nbench/comparison.html");
    for text in ["spin", "2 comparisons", "process CPU time", "Order effect", "HEAD~1"] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    // The plot of all benchmarks, and two charts for each of the two.
    assert_eq!(shown.matches("<svg class=\"plot\"").count(), 1);
    assert_eq!(shown.matches("<path class=\"pair\"").count(), 2);
    assert_eq!(shown.matches("<path class=\"bars\"").count(), 2);
}

#[test]
fn a_page_that_cannot_be_written_costs_no_result() {
    let fixture = Fixture::new();
    fixture.write("README.md", "# Subject\n");
    fixture.commit("Describe it");
    // A directory stands where the page should go.
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "--html=subject"])).exits(8);
    assert_eq!(output.named("comparison"), ["spin", "table"]);
    assert_eq!(fixture.number("SELECT count(*) FROM comparison WHERE state = 'complete'"), 2);
    output.complains(&["subject", "--html=file"]);
}
