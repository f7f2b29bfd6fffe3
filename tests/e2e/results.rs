//! What is made of stored results: `history`, its page, `comment`, and a store that cannot be
//! written. Wording is left to the templates' own tests.

use crate::support::Fixture;
use crate::{AB, RUN, with};

#[test]
fn history_shows_each_commit_and_its_page_needs_nothing_else() {
    let fixture = Fixture::new();
    // What a benchmark or a commit is called must not become part of the page.
    fixture.edit("subject/benches/work.rs", "\"table\"", r#""<i>\"odd\" & |name|""#);
    let first = fixture.commit("Name it <script>alert(1)</script>");
    fixture.nbench(&RUN).exits(0);
    fixture.set_work(1200);
    let second = fixture.commit("More work");
    fixture.nbench(&RUN).exits(0);

    let shown = fixture.nbench(&["history"]).exits(0).stdout;
    for part in [&first[..7], &second[..7], "spin"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let one = fixture.nbench(&["history", "spin"]).exits(0).stdout;
    assert!(one.contains("spin") && !one.contains("odd"), "{one}");

    fixture.nbench(&["history", "--html=page.html"]).exits(0);
    let page = fixture.read("page.html");
    for part in [&first[..7], &second[..7], "spin", "<svg", "&lt;i&gt;", "&lt;script&gt;"] {
        assert!(page.contains(part), "{part} in the page");
    }
    for part in ["<i>\"odd", "<script>alert", "<script src", "<link", "@import", "url(http"] {
        assert!(!page.contains(part), "{part} in the page");
    }
    for attribute in ["src=", "href="] {
        for (at, _) in page.match_indices(attribute) {
            let value = page[at + attribute.len()..].trim_start_matches(['"', '\'']);
            assert!(value.starts_with('#') || value.starts_with("data:"), "{}", &value[..40]);
        }
    }
}

#[test]
fn a_comment_is_made_from_the_store_or_from_lines() {
    let fixture = Fixture::alone();
    fixture.nbench(&["comment"]).complains(&["hint:"]);
    fixture.set_work(2000);
    fixture.commit("Twice the work");
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    fixture.write("lines.json", &output.stdout);
    let stored = fixture.nbench(&["comment"]).exits(0).stdout;
    let given = fixture.nbench(&["comment", "--from", "lines.json"]).exits(0).stdout;
    for text in [&stored, &given] {
        for part in ["spin", "slower", "| "] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.contains("|---") || text.contains("| ---") || text.contains("|:--"), "{text}");
    }
    fixture.write("lines.json", "{\"type\":\"comparison\"\n");
    fixture.nbench(&["comment", "--from", "lines.json"]).exits(2).complains(&["lines.json"]);
}

#[test]
fn a_store_of_a_newer_version_is_kept_and_results_are_still_printed() {
    let fixture = Fixture::new();
    fixture.nbench(&with(&RUN, &["spin"])).exits(0);
    let store = fixture.database().expect("a store");
    store.pragma_update(None, "user_version", 9999).unwrap();
    drop(store);
    let output = fixture.nbench(&with(&RUN, &["spin"])).exits(9).complains(&["store", "hint:"]);
    assert_eq!(output.named("measurement"), ["spin"]);
    let reasons = output.stderr.matches("9999").count();
    assert_eq!(reasons, 1, "once: {}", output.stderr);
    assert!(output.stderr.ends_with("results are not stored: exit 9\n"), "{}", output.stderr);
    assert_eq!(fixture.number("PRAGMA user_version"), 9999);
    assert_eq!(fixture.number("SELECT count(*) FROM run"), 1, "nothing was written to it");
}

#[test]
fn results_go_where_they_are_told() {
    let fixture = Fixture::new();
    fixture.nbench(&with(&RUN, &["spin", "--store", "elsewhere/results.sqlite"])).exits(0);
    assert!(fixture.root().join("elsewhere/results.sqlite").is_file());
    assert!(!fixture.store().exists());
    let shown = fixture.nbench(&["history", "--store", "elsewhere/results.sqlite"]).exits(0);
    assert!(shown.stdout.contains("spin"), "{}", shown.stdout);
}
