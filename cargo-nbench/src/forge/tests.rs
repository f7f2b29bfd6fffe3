//! The sticky comment against a stand-in server: what is posted, what is left
//! alone, and what each refusal says. Nothing here waits: pauses are recorded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::stub::{BOT, Fault, REPO, Stub, TOKEN};
use super::{Context, Forge, Posted, locate, post};
use crate::failure::{Exit, Failure};

const MARKER: &str = "<!-- cargo-nbench:default -->";
const LIST: &str = "GET /api/v3/repos/acme/widget/issues/7/comments?per_page=100";
const POST: &str = "POST /api/v3/repos/acme/widget/issues/7/comments";
const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn body(text: &str) -> String {
    format!("{MARKER}\n{text}")
}

fn url(id: u64) -> String {
    format!("https://github.test/{REPO}/pull/7#issuecomment-{id}")
}

fn variables(stub: &Stub) -> HashMap<&'static str, String> {
    HashMap::from([
        ("GITHUB_API_URL", stub.base.clone()),
        ("GITHUB_TOKEN", TOKEN.to_owned()),
        ("GITHUB_REPOSITORY", REPO.to_owned()),
    ])
}

type Found = Result<(Forge, Context), Failure>;

fn find(variables: &HashMap<&str, String>, repo: Option<&str>, pr: Option<u64>) -> Found {
    locate(&|name| variables.get(name).cloned(), repo, pr, &|_| {})
}

/// Posts `text` to pull request 7 and returns the outcome and the pauses in
/// seconds. Whatever happens, requests were well formed and no message holds
/// the token.
fn try_post(stub: &Stub, text: &str) -> (Result<Posted, Failure>, Vec<u64>) {
    let (forge, context) = find(&variables(stub), None, Some(7)).expect("an environment");
    let pauses = RefCell::new(Vec::new());
    let posted = post(&forge, &context, MARKER, &body(text), &|length: Duration| {
        pauses.borrow_mut().push(length.as_secs());
    });
    assert_eq!(stub.state().problems, Vec::<String>::new());
    assert!(!format!("{posted:?} {forge:?} {context:?}").contains(TOKEN), "{posted:?}");
    (posted, pauses.into_inner())
}

fn refusal(stub: &Stub) -> (Failure, Vec<u64>) {
    let (posted, pauses) = try_post(stub, "new");
    let failure = posted.expect_err("a refusal");
    assert_eq!(failure.exit, Exit::Publish);
    assert!(failure.error.starts_with(char::is_lowercase), "{}", failure.error);
    assert!(failure.hint.is_some(), "{failure:?}");
    (failure, pauses)
}

fn plain(status: u16, message: &str) -> Fault {
    Fault::Answer(status, Vec::new(), json!({ "message": message }))
}

fn limited(status: u16, headers: &[(&'static str, String)], message: &str) -> Fault {
    Fault::Answer(status, headers.to_vec(), json!({ "message": message }))
}

#[test]
fn the_first_post_creates() {
    let stub = Stub::start();
    stub.state().add("alice", false, "nice");
    let (posted, pauses) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1002) }));
    assert_eq!(stub.state().body_of(1002), Some(body("new").as_str()));
    assert_eq!(stub.state().calls(), [LIST, POST, LIST]);
    assert_eq!(pauses, [0u64; 0]);
}

#[test]
fn a_body_without_the_marker_gets_it() {
    let stub = Stub::start();
    let (forge, context) = find(&variables(&stub), None, Some(7)).expect("an environment");
    for _ in 0..2 {
        post(&forge, &context, MARKER, "bare", &|_| {}).expect("a comment");
    }
    assert_eq!(stub.state().comments.len(), 1);
    assert_eq!(stub.state().body_of(1001), Some(body("bare").as_str()));
    let failure = post(&forge, &context, " ", "bare", &|_| {}).expect_err("no marker");
    assert_eq!(failure.exit, Exit::Publish);
}

#[test]
fn the_second_post_edits() {
    let stub = Stub::start();
    let id = stub.state().add(BOT, true, &body("old"));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(id) }));
    let state = stub.state();
    assert_eq!(state.body_of(id), Some(body("new").as_str()));
    assert_eq!(state.calls(), [LIST, "PATCH /api/v3/repos/acme/widget/issues/comments/1001"]);
}

#[test]
fn the_same_words_change_nothing() {
    let stub = Stub::start();
    let stored = format!("{}\r\n", body("a\nb").replace('\n', "\r\n"));
    let id = stub.state().add(BOT, true, &stored);
    let (posted, _) = try_post(&stub, "a\nb\n");
    assert_eq!(posted, Ok(Posted::Unchanged { url: url(id) }));
    assert_eq!(stub.state().calls(), [LIST]);
}

#[test]
fn the_comment_is_found_on_the_third_page() {
    let stub = Stub::start();
    for index in 0..230 {
        stub.state().add("alice", false, &format!("comment {index}"));
    }
    let id = stub.state().add(BOT, true, &body("old"));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(id) }));
    assert_eq!(stub.state().seen.len(), 4);
}

#[test]
fn a_marker_planted_by_a_stranger_is_left_alone() {
    let stub = Stub::start();
    let planted = stub.state().add("mallory", false, &body("all is well"));
    stub.state().add(BOT, true, &format!("> quoted: {}", body("old")));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1003) }));
    let state = stub.state();
    assert_eq!(state.body_of(planted), Some(body("all is well").as_str()));
    assert_eq!(state.calls(), [LIST, "GET /api/v3/user", POST, LIST]);
}

#[test]
fn a_personal_token_knows_its_own_comment() {
    let stub = Stub::start();
    stub.state().account = ("carol", false);
    stub.state().add("mallory", false, &body("planted"));
    stub.state().add(BOT, true, &body("by a workflow"));
    let own = stub.state().add("carol", false, &body("old"));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(own) }));
    assert_eq!(stub.state().body_of(1001), Some(body("planted").as_str()));
}

#[test]
fn a_deleted_author_is_a_stranger() {
    let stub = Stub::start();
    stub.state().add("ghost", false, &body("old"));
    stub.state().comments[0]["user"] = Value::Null;
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1002) }));
}

#[test]
fn a_comment_deleted_before_its_edit_is_posted_anew() {
    let stub = Stub::start();
    let id = stub.state().add(BOT, true, &body("old"));
    stub.fault(2, Fault::Vanish(id));
    let (posted, pauses) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1002) }));
    // Two changes in a row keep the distance that GitHub asks for.
    assert_eq!(pauses, [1]);
}

#[test]
fn the_loser_of_a_race_edits_the_older_comment() {
    let stub = Stub::start();
    stub.fault(2, Fault::Rival(body("rival")));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(1001) }));
    let state = stub.state();
    assert_eq!(state.comments.len(), 1);
    assert_eq!(state.body_of(1001), Some(body("new").as_str()));
}

#[test]
fn the_winner_of_a_race_deletes_only_own_newer_duplicates() {
    let stub = Stub::start();
    stub.fault(2, Fault::RivalAfter(body("rival")));
    stub.state().add("mallory", false, "first");
    stub.fault(3, Fault::Rival(body("second rival")));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1002) }));
    let state = stub.state();
    let ids: Vec<&Value> = state.comments.iter().map(|comment| &comment["id"]).collect();
    assert_eq!(ids, [1001, 1002]);
}

#[test]
fn another_bot_with_the_marker_is_never_deleted() {
    let stub = Stub::start();
    let own = stub.state().add(BOT, true, &body("old"));
    let other = stub.state().add("other[bot]", true, &body("other"));
    stub.state().add(BOT, true, &body("left by a race"));
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(own) }));
    let state = stub.state();
    assert_eq!(state.comments.len(), 2);
    // Not even tried: some tokens may delete what others wrote.
    let deletions = state.calls().into_iter().filter(|call| call.starts_with("DELETE"));
    assert_eq!(
        deletions.collect::<Vec<_>>(),
        ["DELETE /api/v3/repos/acme/widget/issues/comments/1003"]
    );
    assert_eq!(state.body_of(other), Some(body("other").as_str()));
}

#[test]
fn each_refusal_has_its_hint() {
    let cases = [
        (401, "Bad credentials", "GITHUB_TOKEN"),
        (
            403,
            "Resource not accessible by integration",
            "permissions:\n  contents: read\n  pull-requests: write\n",
        ),
        (403, "Unable to create comment because issue is locked.", "pull-requests: write"),
        (404, "Not Found", "private repository"),
        (410, "Issues are disabled for this repo", "job summary"),
        (422, "Validation Failed", "65,536"),
        (418, "teapot", "GITHUB_API_URL"),
    ];
    for (status, message, hint) in cases {
        for request in [1, 2] {
            let stub = Stub::start();
            stub.fault(request, plain(status, message));
            let (failure, pauses) = refusal(&stub);
            let verb = ["list the comments on", "post a comment on"][request - 1];
            assert_eq!(
                failure.error,
                format!(
                    "{verb} pull request #7 of `acme/widget`: GitHub answered {status}: {message}"
                )
            );
            assert!(failure.hint.unwrap_or_default().contains(hint), "{status}");
            assert_eq!(pauses, [0u64; 0]);
            assert_eq!(stub.state().seen.len(), request);
        }
    }
}

#[test]
fn the_hint_for_forks_names_the_recipe() {
    let stub = Stub::start();
    // A used-up budget beside it must not make the tool wait for nothing.
    let headers = [("x-ratelimit-remaining", "0".into()), ("x-ratelimit-reset", "9".into())];
    stub.fault(2, limited(403, &headers, "Resource not accessible by integration"));
    let (failure, pauses) = refusal(&stub);
    assert!(failure.hint.unwrap_or_default().contains("`on: workflow_run`"));
    assert_eq!(pauses, [0u64; 0]);
}

#[test]
fn a_refused_edit_is_told() {
    let stub = Stub::start();
    stub.state().add("other[bot]", true, &body("old"));
    let (failure, _) = refusal(&stub);
    assert!(failure.error.starts_with("edit the comment on"), "{}", failure.error);
    assert!(failure.error.ends_with("403: Must have admin rights"), "{}", failure.error);
}

#[test]
fn a_long_body_is_refused_with_the_limit() {
    let stub = Stub::start();
    let (posted, _) = try_post(&stub, &"x".repeat(65_536));
    let failure = posted.expect_err("too long");
    assert!(failure.error.contains("422: Validation Failed: body is too long"), "{failure}");
}

#[test]
fn a_502_on_the_post_makes_no_second_comment() {
    for fault in [plain(502, "Bad Gateway"), Fault::Drop] {
        let stub = Stub::start();
        stub.fault(2, fault);
        let (posted, pauses) = try_post(&stub, "new");
        assert_eq!(posted, Ok(Posted::Created { url: url(1001) }));
        assert_eq!(stub.state().comments.len(), 1);
        assert_eq!(stub.state().calls(), [LIST, POST, LIST, POST, LIST]);
        assert_eq!(pauses, [1, 1]);
    }
}

#[test]
fn a_post_whose_answer_was_lost_is_found_again() {
    let stub = Stub::start();
    stub.fault(2, Fault::DropAfter);
    let (posted, pauses) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1001) }));
    assert_eq!(stub.state().comments.len(), 1);
    assert_eq!(stub.state().calls(), [LIST, POST, LIST, LIST]);
    assert_eq!(pauses, [1]);
}

#[test]
fn a_lost_answer_to_the_last_trial_still_counts() {
    let stub = Stub::start();
    for request in [2, 4, 6] {
        stub.fault(request, plain(503, "busy"));
    }
    stub.fault(8, Fault::DropAfter);
    let (posted, pauses) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Created { url: url(1001) }));
    assert_eq!(stub.state().comments.len(), 1);
    // Back-off of 1, 2 and 4 s, each followed by the second between changes.
    assert_eq!(pauses, [1, 1, 2, 1, 4, 1]);
}

#[test]
fn three_retries_are_the_limit() {
    let stub = Stub::start();
    for request in 1..=9 {
        stub.fault(request, plain(502, "Bad Gateway"));
    }
    let (failure, pauses) = refusal(&stub);
    assert_eq!(
        failure.error,
        "list the comments on pull request #7 of `acme/widget`: GitHub answered 502: Bad Gateway \
         (4 trials)"
    );
    assert_eq!(pauses, [1, 2, 4]);
    assert_eq!(stub.state().seen.len(), 4);

    let stub = Stub::start();
    for request in [2, 4, 6, 8] {
        stub.fault(request, plain(502, "Bad Gateway"));
    }
    let (failure, _) = refusal(&stub);
    assert!(failure.error.starts_with("post a comment on"), "{failure}");
    assert_eq!(stub.state().comments.len(), 0);
}

#[test]
fn an_edit_is_retried() {
    let stub = Stub::start();
    let id = stub.state().add(BOT, true, &body("old"));
    stub.fault(1, Fault::Drop);
    stub.fault(3, Fault::DropAfter);
    let (posted, _) = try_post(&stub, "new");
    assert_eq!(posted, Ok(Posted::Edited { url: url(id) }));
    assert_eq!(stub.state().comments.len(), 1);
}

#[test]
fn nobody_listening_is_told() {
    let stub = Stub::start();
    let vars = variables(&stub);
    drop(stub);
    let (forge, context) = find(&vars, None, Some(7)).expect("an environment");
    let failure = post(&forge, &context, MARKER, "x", &|_| {}).expect_err("no server");
    assert_eq!(failure.exit, Exit::Publish);
    assert!(failure.error.contains("no answer from http://127.0.0.1:"), "{failure}");
}

#[test]
fn rate_limits_are_waited_for_as_they_ask() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let remaining = ("x-ratelimit-remaining", "0".to_owned());
    let cases: [(Fault, std::ops::RangeInclusive<u64>); 5] = [
        (limited(429, &[("retry-after", "17".into())], "slow down"), 17..=17),
        (limited(403, &[("retry-after", "0".into())], "slow down"), 1..=1),
        (
            limited(
                403,
                &[remaining.clone(), ("x-ratelimit-reset", (now + 40).to_string())],
                "API rate limit exceeded",
            ),
            20..=41,
        ),
        // A reset that has passed.
        (limited(429, &[remaining, ("x-ratelimit-reset", "1".into())], ""), 1..=1),
        (limited(403, &[], "You have exceeded a secondary rate limit"), 60..=60),
    ];
    for (fault, expected) in cases {
        for request in [1, 2] {
            let stub = Stub::start();
            stub.fault(request, fault.clone());
            let (posted, pauses) = try_post(&stub, "new");
            assert_eq!(posted, Ok(Posted::Created { url: url(1001) }));
            assert_eq!(stub.state().comments.len(), 1);
            assert_eq!(pauses.len(), 1);
            assert!(expected.contains(&pauses[0]), "{pauses:?} not in {expected:?}");
        }
    }
}

#[test]
fn rate_limits_are_waited_for_within_bounds() {
    let stub = Stub::start();
    for request in 1..=9 {
        stub.fault(request, plain(429, "Too Many Requests"));
    }
    let (failure, pauses) = refusal(&stub);
    // 60 + 120 + 240 = 420 s; another 480 s reach exactly 15 minutes.
    assert_eq!(pauses, [60, 120, 240, 480]);
    assert!(failure.error.ends_with("(rate limit, 960 s to wait)"), "{failure}");

    let stub = Stub::start();
    stub.fault(1, limited(429, &[("retry-after", "901".into())], "come back later"));
    let (failure, pauses) = refusal(&stub);
    assert_eq!(pauses, [0u64; 0]);
    assert!(failure.error.contains("come back later (rate limit, 901 s"), "{failure}");
}

#[test]
fn a_renamed_repository_is_followed_with_method_and_body() {
    for status in [301, 302, 307] {
        let stub = Stub::start();
        let target = format!("{}/repositories/1/issues/7/comments", stub.base);
        let relative = "/api/v3/repositories/1/issues/7/comments?per_page=100".to_owned();
        stub.fault(1, Fault::Answer(status, vec![("location", relative)], Value::Null));
        stub.fault(3, Fault::Answer(status, vec![("location", target)], Value::Null));
        let (posted, _) = try_post(&stub, "new");
        assert_eq!(posted, Ok(Posted::Created { url: url(1001) }));
        assert_eq!(stub.state().calls()[3], "POST /api/v3/repositories/1/issues/7/comments");
    }
}

#[test]
fn redirects_in_a_circle_end() {
    let stub = Stub::start();
    let target = "/api/v3/repos/acme/widget/issues/7/comments?per_page=100".to_owned();
    for request in 1..=9 {
        let headers = vec![("location", target.clone())];
        stub.fault(request, Fault::Answer(302, headers, Value::Null));
    }
    let (failure, _) = refusal(&stub);
    assert!(failure.error.ends_with("more than 5 redirects"), "{failure}");
    assert_eq!(stub.state().seen.len(), 6);
}

#[test]
fn nothing_is_sent_to_another_origin() {
    let elsewhere = Stub::start();
    let foreign = elsewhere.base.clone();
    let other_name = foreign.replace("127.0.0.1", "localhost");
    for target in [foreign, other_name, "//elsewhere.test/x".into(), "nonsense".into()] {
        for request in [1, 2] {
            let stub = Stub::start();
            let headers = vec![("location", target.clone())];
            stub.fault(request, Fault::Answer(307, headers, Value::Null));
            let (failure, _) = refusal(&stub);
            assert!(failure.error.contains("the redirect lies outside"), "{failure}");
            assert_eq!(stub.state().seen.len(), request);
        }
        let stub = Stub::start();
        stub.fault(1, Fault::Link(format!("<{target}/comments?page=2>; rel=\"next\"")));
        let (failure, _) = refusal(&stub);
        assert!(failure.error.contains("the next page lies outside"), "{failure}");
        assert_eq!(stub.state().seen.len(), 1);
    }
    assert_eq!(elsewhere.state().seen.len(), 0);
}

#[test]
fn pages_without_an_end_end() {
    let stub = Stub::start();
    let link = format!("<{}/repos/{REPO}/issues/7/comments?per_page=100>; rel=\"next\"", stub.base);
    for request in 1..=150 {
        stub.fault(request, Fault::Link(link.clone()));
    }
    let (failure, _) = refusal(&stub);
    assert!(failure.error.ends_with("does not end after 100 pages"), "{failure}");
    assert_eq!(stub.state().seen.len(), 100);
}

#[test]
fn an_answer_that_makes_no_sense_is_told() {
    for answer in [json!({}), json!([{ "body": "x" }]), json!([1]), Value::Null] {
        let stub = Stub::start();
        stub.fault(1, Fault::Answer(200, Vec::new(), answer));
        let (failure, _) = refusal(&stub);
        assert!(failure.error.ends_with("not what GitHub documents"), "{failure}");
    }
}

#[test]
fn a_server_that_repeats_the_token_leaks_nothing() {
    let echo = format!("Bearer {TOKEN} is\u{1b}[31m bad\n{}{TOKEN}", "x".repeat(250));
    for status in [401, 403, 404, 410, 422, 429, 502] {
        let stub = Stub::start();
        for request in 1..=9 {
            stub.fault(request, plain(status, &echo));
        }
        let (failure, _) = refusal(&stub);
        assert!(failure.error.contains("Bearer *** is [31m bad x"), "{failure}");
        assert!(!failure.error.contains("ghx_"), "{failure}");
    }
    let stub = Stub::start();
    let headers = vec![("location", format!("https://elsewhere.test/?t={TOKEN}"))];
    stub.fault(1, Fault::Answer(307, headers, Value::Null));
    assert!(refusal(&stub).0.error.contains("?t=***"));
}

/// The environment of a job whose event is `event`.
fn job(stub: &Stub, event: &Value) -> (tempfile::TempDir, HashMap<&'static str, String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("event.json");
    std::fs::write(&path, event.to_string()).expect("an event");
    let mut variables = variables(stub);
    variables.insert("GITHUB_EVENT_PATH", path.display().to_string());
    variables.insert("GITHUB_EVENT_NAME", "push".into());
    (folder, variables)
}

#[test]
fn the_number_comes_from_the_event() {
    let stub = Stub::start();
    let full = json!({ "number": 7, "pull_request": { "number": 7, "head": { "sha": SHA } } });
    let nested = json!({ "pull_request": { "number": 7 } });
    for (event, sha) in [(full, Some(SHA)), (nested, None)] {
        let (_folder, variables) = job(&stub, &event);
        let (_, context) = find(&variables, None, None).expect("a pull request");
        let expected =
            Context { repository: REPO.into(), number: 7, head_sha: sha.map(str::to_owned) };
        assert_eq!(context, expected);
    }
    assert_eq!(stub.state().seen.len(), 0);
}

fn run(listed: Value) -> Value {
    json!({ "workflow_run": {
        "head_sha": SHA,
        "head_branch": "fix/a b",
        "head_repository": { "owner": { "login": "mallory" } },
        "pull_requests": listed,
    }})
}

fn pull(number: u64, sha: &str, state: &str) -> Value {
    json!({ "number": number, "state": state, "head": { "sha": sha } })
}

#[test]
fn a_workflow_run_in_the_repository_lists_its_pull_request() {
    let stub = Stub::start();
    let of = |number: u64, repository: &str| {
        json!({
            "number": number,
            "head": { "sha": SHA },
            "base": { "repo": { "url": format!("https://api.github.com/repos/{repository}") } },
        })
    };
    let (_folder, variables) = job(&stub, &run(json!([of(3, "other/widget"), of(7, REPO)])));
    let (_, context) = find(&variables, None, None).expect("a pull request");
    assert_eq!((context.number, context.head_sha.as_deref()), (7, Some(SHA)));
    assert_eq!(stub.state().seen.len(), 0);
}

#[test]
fn a_workflow_run_of_a_fork_is_looked_up_by_its_commit() {
    let stub = Stub::start();
    let stale = "f".repeat(40);
    stub.state().pulls_of_commit =
        json!([pull(5, &stale, "open"), pull(6, SHA, "closed"), pull(7, SHA, "open")]);
    let (_folder, variables) = job(&stub, &run(json!([])));
    let (_, context) = find(&variables, None, None).expect("a pull request");
    assert_eq!(context.number, 7);
    assert_eq!(
        stub.state().calls(),
        [format!("GET /api/v3/repos/acme/widget/commits/{SHA}/pulls?per_page=100")]
    );
    assert_eq!(stub.state().problems, Vec::<String>::new());
}

#[test]
fn a_commit_that_the_api_does_not_know_is_looked_up_by_its_branch() {
    let stub = Stub::start();
    stub.state().pulls_of_head = json!([pull(7, SHA, "open")]);
    stub.fault(1, plain(422, "No commit found"));
    let (_folder, variables) = job(&stub, &run(json!([])));
    let (_, context) = find(&variables, None, None).expect("a pull request");
    assert_eq!(context.number, 7);
    assert_eq!(
        stub.state().calls()[1],
        "GET /api/v3/repos/acme/widget/pulls?state=open&head=mallory%3Afix%2Fa%20b"
    );
}

#[test]
fn a_workflow_run_without_one_certain_pull_request_fails() {
    let stub = Stub::start();
    let (_folder, variables) = job(&stub, &run(json!([])));
    let failure = find(&variables, None, None).expect_err("none");
    assert!(failure.error.ends_with("no pull request has it as its head"), "{failure}");
    assert_eq!(failure.exit, Exit::Publish);

    stub.state().pulls_of_commit = json!([pull(7, SHA, "open"), pull(8, SHA, "open")]);
    let failure = find(&variables, None, None).expect_err("two");
    assert!(failure.error.ends_with("#7, #8 all have it as their head"), "{failure}");

    let mut event = run(json!([]));
    event["workflow_run"]["head_sha"] = "../../user".into();
    let (_folder, variables) = job(&stub, &event);
    let failure = find(&variables, None, None).expect_err("no hash");
    assert!(failure.error.contains("`head_sha` is no full hash"), "{failure}");
}

#[test]
fn what_is_missing_is_named() {
    let stub = Stub::start();
    for (missing, named) in [
        ("GITHUB_TOKEN", "neither GITHUB_TOKEN nor GH_TOKEN is set"),
        ("GITHUB_REPOSITORY", "GITHUB_REPOSITORY is not set"),
        ("GITHUB_EVENT_PATH", "GITHUB_EVENT_PATH is not set"),
    ] {
        let (_folder, mut variables) = job(&stub, &json!({ "number": 7 }));
        variables.insert(missing, " ".into());
        let failure = find(&variables, None, None).expect_err(missing);
        assert!(failure.error.contains(named), "{failure}");
        assert_eq!(failure.exit, Exit::Publish);
        assert!(failure.hint.is_some());
    }
    let (_folder, mut variables) = job(&stub, &json!({ "ref": "refs/heads/main" }));
    let failure = find(&variables, None, None).expect_err("no number");
    assert_eq!(failure.error, "find the pull request: the event `push` names none");
    variables.insert("GITHUB_EVENT_PATH", "/nonexistent/event".into());
    let failure = find(&variables, None, None).expect_err("no file");
    assert!(failure.error.contains("`/nonexistent/event`"), "{failure}");
}

#[test]
fn what_is_malformed_is_named() {
    let stub = Stub::start();
    for repo in ["widget", "a/b/c", "/b", "a/", "a/..", "a b/c", "a/b?x=1"] {
        let failure = find(&variables(&stub), Some(repo), Some(7)).expect_err(repo);
        assert_eq!(failure.exit, Exit::Usage);
    }
    assert_eq!(find(&variables(&stub), None, Some(0)).expect_err("0").exit, Exit::Usage);
    for (name, value) in [
        ("GITHUB_REPOSITORY", "widget"),
        ("GITHUB_TOKEN", "two\nlines"),
        ("GITHUB_API_URL", "api.github.com"),
        ("GITHUB_API_URL", "https://user:secret@api.github.com"),
        ("GITHUB_API_URL", "https://api.github.com/?x"),
        ("GITHUB_API_URL", "http://api.github.com"),
        ("GITHUB_API_URL", "http://10.0.0.1/api/v3"),
        ("GITHUB_API_URL", "http://[2001:db8::1]:3000"),
    ] {
        let mut variables = variables(&stub);
        variables.insert(name, value.into());
        let failure = find(&variables, None, Some(7)).expect_err(value);
        assert!(failure.error.contains(name), "{failure}");
        assert_eq!(failure.exit, Exit::Publish);
        assert!(!format!("{failure:?}").contains("secret"));
    }
}

#[test]
fn flags_win_over_the_environment() {
    let stub = Stub::start();
    let (_folder, mut variables) = job(&stub, &json!({ "number": 7 }));
    let (_, context) = find(&variables, Some("a/b"), Some(9)).expect("both given");
    assert_eq!((context.repository.as_str(), context.number), ("a/b", 9));
    // The event's number means nothing in another repository.
    let failure = find(&variables, Some("a/b"), None).expect_err("a foreign event");
    assert_eq!(failure.exit, Exit::Usage);
    let (_, context) = find(&variables, Some("Acme/Widget"), None).expect("the same repository");
    assert_eq!(context.number, 7);

    let token = variables.remove("GITHUB_TOKEN").expect("a token");
    variables.insert("GH_TOKEN", token);
    let (forge, context) = find(&variables, None, None).expect("the second name");
    stub.fault(1, plain(401, "Bad credentials"));
    let failure = post(&forge, &context, MARKER, "x", &|_| {}).expect_err("401");
    assert!(failure.hint.unwrap_or_default().contains("GH_TOKEN"));
    variables.remove("GITHUB_API_URL");
    let (forge, _) = find(&variables, None, None).expect("the public API");
    assert_eq!(forge.base, "https://api.github.com");
}
