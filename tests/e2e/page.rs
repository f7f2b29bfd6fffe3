//! The history page in a real browser. A machine without Chromium says that this was skipped;
//! `NBENCH_TEST_CHROMIUM=1` turns the skip into a failure.

use std::path::PathBuf;
use std::process::Command;

use crate::RUN;
use crate::support::Fixture;

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
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: no chromium in PATH to open the history page with\n",
        );
    }
    found
}

#[test]
fn a_browser_shows_the_page_without_running_or_loading_anything() {
    let Some(browser) = chromium() else { return };
    let fixture = Fixture::new();
    // If the name became markup, the title of the page would tell.
    let name = r#""<img src=x onerror=\"document.title='broken out'\">""#;
    fixture.edit("subject/benches/work.rs", "\"table\"", name);
    fixture.commit("Name a benchmark like markup");
    fixture.nbench(&RUN).exits(0);
    fixture.nbench(&["history", "--html=page.html"]).exits(0);
    let page = fixture.root().join("page.html");
    let profile = fixture.root().join("target/browser");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!shown.contains("<title>broken out"), "a name became markup: {shown}");
    assert!(shown.contains("spin") && shown.contains("<svg"), "{shown}");
    assert!(shown.contains("&lt;img src=x"), "the name is shown as text");
    assert!(!said.contains("Content Security Policy"), "the page wanted what it forbids: {said}");
}
