//! A small stateful stand-in for GitHub's REST API on a local port, for tests.
//! It checks every request, keeps comments in pages of 100, and misbehaves on
//! request. It must not share code with the client it checks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use serde_json::{Value, json};

pub(super) const TOKEN: &str = "ghx_SecretOfTheTests0123456789";
pub(super) const REPO: &str = "acme/widget";
pub(super) const BOT: &str = "github-actions[bot]";

/// Mishap of one request instead of, or around, its proper answer.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Nothing is done; this answer is given.
    Answer(u16, Vec<(&'static str, String)>, Value),
    /// Nothing is done; the connection closes without an answer.
    Drop,
    /// The request takes effect, then the connection closes without an answer.
    DropAfter,
    /// Another job with the same account posts this body just before.
    Rival(String),
    /// Another job with the same account posts this body just after.
    RivalAfter(String),
    /// The comment with this id vanishes just before.
    Vanish(u64),
    /// The answer carries this `Link` header instead of its own.
    Link(String),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: String,
}

pub(super) struct State {
    pub(super) comments: Vec<Value>,
    pub(super) seen: Vec<Seen>,
    /// Faults that the stub found in requests.
    pub(super) problems: Vec<String>,
    /// Pairs of the number of a request (from 1) and what happens to it.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The account of the token: login, and whether it is a bot.
    pub(super) account: (&'static str, bool),
    /// Answers to `/commits/SHA/pulls` and to `/pulls?head=`.
    pub(super) pulls_of_commit: Value,
    pub(super) pulls_of_head: Value,
    next_id: u64,
    base: String,
    is_over: bool,
}

impl State {
    /// Puts a comment of any author there and returns its id.
    pub(super) fn add(&mut self, login: &str, is_bot: bool, body: &str) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.comments.push(json!({
            "id": id,
            "html_url": format!("https://github.test/{REPO}/pull/7#issuecomment-{id}"),
            "body": body,
            "user": { "login": login, "type": if is_bot { "Bot" } else { "User" } },
            "created_at": "2026-01-01T00:00:00Z",
        }));
        id
    }

    pub(super) fn body_of(&self, id: u64) -> Option<&str> {
        self.comments.iter().find(|comment| comment["id"] == id)?["body"].as_str()
    }

    /// Method and target of every request so far.
    pub(super) fn calls(&self) -> Vec<String> {
        self.seen.iter().map(|seen| format!("{} {}", seen.method, seen.target)).collect()
    }
}

pub(super) struct Stub {
    pub(super) base: String,
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        // A path as on a GitHub Enterprise server, which clients like to lose.
        let base = format!("http://{address}/api/v3");
        let state = Arc::new(Mutex::new(State {
            comments: Vec::new(),
            seen: Vec::new(),
            problems: Vec::new(),
            faults: Vec::new(),
            account: (BOT, true),
            pulls_of_commit: json!([]),
            pulls_of_head: json!([]),
            next_id: 1001,
            base: base.clone(),
            is_over: false,
        }));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut state = shared.lock().expect("the state");
                if state.is_over {
                    break;
                }
                if let Ok(stream) = stream {
                    serve(&mut state, stream);
                }
            }
        });
        Self { base, address, state, thread: Some(thread) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }

    pub(super) fn fault(&self, request: usize, fault: Fault) {
        self.state().faults.push((request, fault));
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            state.is_over = true;
        }
        // Wakes the thread from accepting.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

fn answer(status: u16, body: Value) -> Answer {
    Answer { status, headers: Vec::new(), body }
}

fn serve(state: &mut State, stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = header(&headers, "content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        state.problems.push("the body is shorter than promised".into());
        return;
    }
    let body = String::from_utf8(body).unwrap_or_else(|_| "not UTF-8".into());
    let seen = Seen { method, target, body };
    state.seen.push(seen.clone());
    let number = state.seen.len();
    let fault = state.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| fault.clone());

    let (login, is_bot) = state.account;
    match &fault {
        Some(Fault::Drop) => return,
        Some(Fault::Rival(body)) => drop(state.add(login, is_bot, body)),
        Some(Fault::Vanish(id)) => state.comments.retain(|comment| comment["id"] != *id),
        _ => {}
    }
    let mut reply = match (&fault, check(&seen, &headers)) {
        (_, Err(refusal)) => {
            state.problems.push(format!("{} {}: {}", seen.method, seen.target, refusal.body));
            refusal
        }
        (Some(Fault::Answer(status, headers, body)), Ok(())) => {
            Answer { status: *status, headers: headers.clone(), body: body.clone() }
        }
        (_, Ok(())) => route(state, &seen),
    };
    match fault {
        Some(Fault::DropAfter) => return,
        Some(Fault::RivalAfter(body)) => drop(state.add(login, is_bot, &body)),
        Some(Fault::Link(link)) => reply.headers = vec![("link", link)],
        _ => {}
    }
    let text = if reply.status == 204 { String::new() } else { reply.body.to_string() };
    let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", reply.status);
    for (name, value) in reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if reply.status != 204 {
        head.push_str(&format!(
            "content-type: application/json; charset=utf-8\r\ncontent-length: {}\r\n",
            text.len()
        ));
    }
    // A client that has gone away is its own test's business.
    let _ = write!(reader.get_mut(), "{head}\r\n{text}");
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The headers every call must have, and the shape of every body.
fn check(seen: &Seen, headers: &[(String, String)]) -> Result<(), Answer> {
    if header(headers, "authorization") != Some(format!("Bearer {TOKEN}").as_str()) {
        return Err(answer(401, json!({ "message": "Bad credentials" })));
    }
    let wanted = [
        ("accept", "application/vnd.github+json, application/json;q=0.9".to_owned()),
        ("x-github-api-version", "2022-11-28".to_owned()),
        ("user-agent", format!("cargo-nbench/{}", env!("CARGO_PKG_VERSION"))),
    ];
    for (name, value) in wanted {
        if header(headers, name) != Some(&value) {
            return Err(answer(400, json!({ "message": format!("`{name}` is not `{value}`") })));
        }
    }
    if matches!(seen.method.as_str(), "GET" | "DELETE") {
        return if seen.body.is_empty() {
            Ok(())
        } else {
            Err(answer(400, json!({ "message": "a body where none belongs" })))
        };
    }
    if header(headers, "content-type") != Some("application/json") {
        return Err(answer(415, json!({ "message": "the content type is not JSON" })));
    }
    let body: Value = serde_json::from_str(&seen.body).unwrap_or(Value::Null);
    let text = body["body"].as_str().unwrap_or_default();
    if body.as_object().is_none_or(|object| object.len() != 1) || text.is_empty() {
        return Err(answer(422, json!({ "message": "not exactly one field `body` with text" })));
    }
    Ok(())
}

fn route(state: &mut State, seen: &Seen) -> Answer {
    let not_found = || answer(404, json!({ "message": "Not Found" }));
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let Some(path) = path.strip_prefix("/api/v3") else { return not_found() };
    let (login, is_bot) = state.account;
    if path == "/user" && seen.method == "GET" {
        return if is_bot {
            answer(403, json!({ "message": "Resource not accessible by integration" }))
        } else {
            answer(200, json!({ "login": login, "type": "User" }))
        };
    }
    // Where GitHub redirects to for a repository that was renamed.
    let inside = path
        .strip_prefix(&format!("/repos/{REPO}"))
        .or_else(|| path.strip_prefix("/repositories/1"));
    let Some(inside) = inside else { return not_found() };
    let text = || {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or(Value::Null);
        body["body"].as_str().unwrap_or_default().to_owned()
    };
    let parts: Vec<&str> = inside.trim_start_matches('/').split('/').collect();
    match (seen.method.as_str(), &parts[..]) {
        ("GET", ["issues", "7", "comments"]) => list(state, path, query),
        ("POST", ["issues", "7", "comments"]) => {
            let text = text();
            if text.chars().count() > 65_536 {
                return answer(
                    422,
                    json!({
                        "message": "Validation Failed",
                        "errors": [{ "message": "body is too long (maximum is 65536 characters)" }],
                    }),
                );
            }
            state.add(login, is_bot, &text);
            answer(201, state.comments.last().cloned().unwrap_or_default())
        }
        ("PATCH", ["issues", "comments", id]) => {
            let text = text();
            match state.comments.iter_mut().find(|c| c["id"].as_u64() == id.parse().ok()) {
                None => not_found(),
                Some(comment) if comment["user"]["login"] != login => {
                    answer(403, json!({ "message": "Must have admin rights" }))
                }
                Some(comment) => {
                    comment["body"] = text.into();
                    answer(200, comment.clone())
                }
            }
        }
        ("DELETE", ["issues", "comments", id]) => {
            let before = state.comments.len();
            state
                .comments
                .retain(|c| c["id"].as_u64() != id.parse().ok() || c["user"]["login"] != login);
            if state.comments.len() < before { answer(204, Value::Null) } else { not_found() }
        }
        ("GET", ["commits", _, "pulls"]) => answer(200, state.pulls_of_commit.clone()),
        ("GET", ["pulls"]) => answer(200, state.pulls_of_head.clone()),
        _ => not_found(),
    }
}

fn list(state: &State, path: &str, query: &str) -> Answer {
    let value =
        |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    if value("per_page") != Some("100") {
        return answer(422, json!({ "message": "the test wants per_page=100" }));
    }
    let page: usize = value("page").map_or(1, |page| page.parse().unwrap_or(0));
    if page == 0 {
        return answer(422, json!({ "message": "no such page" }));
    }
    let rest = state.comments.get((page - 1) * 100..).unwrap_or_default();
    let mut reply = answer(200, rest.iter().take(100).cloned().collect());
    if rest.len() > 100 {
        let origin = state.base.trim_end_matches("/api/v3");
        let link = |page| format!("<{origin}/api/v3{}?per_page=100&page={page}>", &path);
        reply.headers.push((
            "link",
            format!(
                "{}; rel=\"first\", {}; rel=\"next\", {}; rel=\"last\"",
                link(1),
                link(page + 1),
                link(state.comments.len().div_ceil(100))
            ),
        ));
    }
    reply
}
