//! One authenticated HTTP exchange with GitHub's REST API: headers, redirects
//! inside the API's origin, bounded waiting, retries, and a refusal turned into
//! a failure with a hint. It knows nothing of comments or events.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use ureq::http::{HeaderMap, Method, Request, Response};
use ureq::{Agent, Body};

use super::Forge;
use super::address::{Origin, next_link};
use super::error::ForgeError;
use crate::failure::Failure;

/// How often a call is tried again after an answer of 500 or above, or after a
/// broken connection.
pub(super) const RETRIES: u32 = 3;
/// How many rate-limit answers in a row one call sits through.
const RATE_LIMIT_WAITS: u32 = 4;
/// The longest that one client waits for rate limits in sum. A job that waits
/// longer costs more than the comment is worth.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// GitHub asks for this distance between two calls that change something.
const BETWEEN_CHANGES: Duration = Duration::from_secs(1);
/// GitHub redirects once, for a renamed repository; more is a loop.
const MAX_REDIRECTS: usize = 5;
/// A page of 100 comments of 65,536 four-byte characters, and some room.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// How much of a message written by the server is repeated, in characters.
const MAX_QUOTED: usize = 300;

/// Plain JSON stands second for servers that know GitHub's own type by no name.
const ACCEPT: &str = "application/vnd.github+json, application/json;q=0.9";
const API_VERSION: &str = "2022-11-28";
const USER_AGENT: &str = concat!("cargo-nbench/", env!("CARGO_PKG_VERSION"));

/// An answer, whatever its status.
#[derive(Debug)]
pub(super) struct Reply {
    /// HTTP status code.
    pub(super) status: u16,
    headers: HeaderMap,
    /// The JSON document, or null where the answer held none.
    pub(super) body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Message of the server about the status, with the details of a 422.
    fn message(&self) -> String {
        let mut message = self.body["message"].as_str().unwrap_or_default().to_owned();
        for error in self.body["errors"].as_array().into_iter().flatten() {
            if let Some(detail) = error["message"].as_str().or(error.as_str()) {
                message.push_str(": ");
                message.push_str(detail);
            }
        }
        message
    }

    fn says(&self, fragment: &str) -> bool {
        self.message().to_ascii_lowercase().contains(fragment)
    }

    /// Whether the token lacks a permission, which no waiting mends.
    fn lacks_permission(&self) -> bool {
        self.status == 403 && self.says("resource not accessible by")
    }

    /// How long a rate limit asks to wait: its own word when it has one,
    /// otherwise a minute, doubled each time. `None` when this is no rate limit.
    fn rate_limit(&self, wait: u32, now: u64) -> Option<Duration> {
        if !matches!(self.status, 403 | 429) || self.lacks_permission() {
            return None;
        }
        let number = |name| self.header(name).and_then(|value| value.trim().parse::<u64>().ok());
        if let Some(seconds) = number("retry-after") {
            return Some(Duration::from_secs(seconds.max(1)));
        }
        if number("x-ratelimit-remaining") == Some(0)
            && let Some(reset) = number("x-ratelimit-reset")
        {
            // The second named is still inside the limited window.
            return Some(Duration::from_secs(reset.saturating_sub(now).saturating_add(1)));
        }
        (self.status == 429 || self.says("rate limit"))
            .then(|| Duration::from_secs(60) * 2u32.saturating_pow(wait))
    }
}

/// Why there is no answer to work with.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection broke or the server is in trouble; whether the call took
    /// effect is unknown. The text says what was seen.
    Passing(String),
    /// Trying again cannot help.
    Final(Failure),
}

/// A connection to one API with one token.
pub(super) struct Client<'a> {
    forge: &'a Forge,
    origin: Origin,
    agent: Agent,
    pause: &'a dyn Fn(Duration),
    waited: Cell<Duration>,
    has_changed: Cell<bool>,
}

impl<'a> Client<'a> {
    /// A client that waits by calling `pause`. Nothing is sent yet.
    pub(super) fn new(forge: &'a Forge, pause: &'a dyn Fn(Duration)) -> Result<Self, Failure> {
        // The address is not repeated: it may hold a password.
        let plain = Some(&forge.base).filter(|base| !base.contains(['?', '#']));
        let origin = plain.and_then(|base| Origin::of(base)).ok_or(ForgeError::BadAddress)?;
        if !origin.is_private() {
            return Err(ForgeError::InTheClear.into());
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_global(Some(Duration::from_secs(60)));
        if origin.is_loopback() {
            config = config.proxy(None);
        }
        Ok(Self {
            forge,
            origin,
            agent: config.build().into(),
            pause,
            waited: Cell::new(Duration::ZERO),
            has_changed: Cell::new(false),
        })
    }

    /// Lets time pass before trial number `retry` (from 0): 1, 2, 4 s.
    pub(super) fn back_off(&self, retry: u32) {
        (self.pause)(Duration::from_secs(1) * 2u32.saturating_pow(retry));
    }

    /// Sends a call that may be repeated without harm, and repeats it while the
    /// trouble may pass. `path` starts with `/` or is absolute inside the origin
    /// of the API; `task` opens the message of a failure.
    pub(super) fn call(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        task: &str,
    ) -> Result<Reply, Failure> {
        let mut retry = 0;
        loop {
            match self.call_once(method, path, body, task) {
                Ok(reply) => return Ok(reply),
                Err(Trouble::Final(failure)) => return Err(failure),
                Err(Trouble::Passing(seen)) if retry >= RETRIES => {
                    return Err(self.gave_up(task, &seen));
                }
                Err(Trouble::Passing(_)) => self.back_off(retry),
            }
            retry += 1;
        }
    }

    /// Sends a call once; only rate limits, which refuse before anything is
    /// done, are waited for.
    pub(super) fn call_once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        task: &str,
    ) -> Result<Reply, Trouble> {
        let address =
            if path.starts_with('/') { format!("{}{path}", self.forge.base) } else { path.into() };
        if method != Method::GET && self.has_changed.replace(true) {
            (self.pause)(BETWEEN_CHANGES);
        }
        let mut wait = 0;
        loop {
            let reply = self.follow(method, &address, body, task)?;
            if reply.status >= 500 {
                let message = self.quoted(&reply.message());
                return Err(Trouble::Passing(format!("GitHub answered {}{message}", reply.status)));
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
            let Some(length) = reply.rate_limit(wait, now) else { return Ok(reply) };
            let total = self.waited.get().saturating_add(length);
            if wait >= RATE_LIMIT_WAITS || total > LONGEST_WAIT {
                return Err(Trouble::Final(self.limited(&reply, length, task)));
            }
            self.waited.set(total);
            (self.pause)(length);
            wait += 1;
        }
    }

    /// The next page that an answer points at, when there is one.
    ///
    /// # Errors
    /// When it lies outside the origin of the API.
    pub(super) fn next_page(&self, reply: &Reply, task: &str) -> Result<Option<String>, Failure> {
        let links = reply.headers.get_all("link").iter().filter_map(|value| value.to_str().ok());
        match links.filter_map(next_link).next() {
            None => Ok(None),
            Some(link) => match self.origin.resolve(link) {
                Some(address) => Ok(Some(address)),
                None => Err(self.foreign(task, "the next page", link)),
            },
        }
    }

    /// The failure that an unwelcome answer means.
    pub(super) fn refusal(&self, reply: &Reply, task: &str) -> Failure {
        ForgeError::Refused {
            task: task.to_owned(),
            status: reply.status,
            message: self.quoted(&reply.message()),
            token_variable: self.forge.token_variable,
        }
        .into()
    }

    /// The failure after the last retry; `seen` is what the last one met.
    pub(super) fn gave_up(&self, task: &str, seen: &str) -> Failure {
        let (task, seen) = (task.to_owned(), seen.to_owned());
        ForgeError::GaveUp { task, seen, trials: RETRIES + 1 }.into()
    }

    /// Text of the server made fit for a message: one line, bounded, and
    /// without the token. Empty text stays empty, other text gets a colon.
    pub(super) fn quoted(&self, text: &str) -> String {
        let text = super::one_line(&self.forge.without_token(text), MAX_QUOTED);
        if text.is_empty() { text } else { format!(": {text}") }
    }

    fn limited(&self, reply: &Reply, length: Duration, task: &str) -> Failure {
        ForgeError::Limited {
            task: task.to_owned(),
            status: reply.status,
            message: self.quoted(&reply.message()),
            seconds: length.as_secs(),
        }
        .into()
    }

    fn foreign(&self, task: &str, what: &'static str, target: &str) -> Failure {
        ForgeError::Foreign {
            task: task.to_owned(),
            what,
            base: self.forge.base.clone(),
            target: self.quoted(target),
        }
        .into()
    }

    /// Sends a call and follows redirects with the same method and body.
    fn follow(
        &self,
        method: &Method,
        address: &str,
        body: Option<&Value>,
        task: &str,
    ) -> Result<Reply, Trouble> {
        let mut address = self
            .origin
            .resolve(address)
            .ok_or_else(|| Trouble::Final(self.foreign(task, "the address", address)))?;
        for _ in 0..=MAX_REDIRECTS {
            let reply = self.send(method, &address, body, task)?;
            if !matches!(reply.status, 301 | 302 | 307) {
                return Ok(reply);
            }
            let target = reply.header("location").unwrap_or_default();
            address = self
                .origin
                .resolve(target)
                .ok_or_else(|| Trouble::Final(self.foreign(task, "the redirect", target)))?;
        }
        let error = ForgeError::Redirects { task: task.to_owned(), most: MAX_REDIRECTS };
        Err(Trouble::Final(error.into()))
    }

    fn send(
        &self,
        method: &Method,
        address: &str,
        body: Option<&Value>,
        task: &str,
    ) -> Result<Reply, Trouble> {
        let request = Request::builder()
            .method(method.clone())
            .uri(address)
            .header("authorization", format!("Bearer {}", self.forge.token))
            .header("accept", ACCEPT)
            .header("x-github-api-version", API_VERSION)
            .header("user-agent", USER_AGENT);
        let built = match body {
            None => request.body(None),
            Some(json) => {
                request.header("content-type", "application/json").body(Some(json.to_string()))
            }
        };
        let answer = built.map_err(ureq::Error::Http).and_then(|request| {
            let (parts, body) = request.into_parts();
            match body {
                None => self.agent.run(Request::from_parts(parts, ())),
                Some(text) => self.agent.run(Request::from_parts(parts, text)),
            }
        });
        answer.and_then(read).map_err(|error| self.broken(error, task))
    }

    fn broken(&self, error: ureq::Error, task: &str) -> Trouble {
        use ureq::Error;
        let seen = format!("no answer from {}{}", self.forge.base, self.quoted(&error.to_string()));
        match error {
            Error::Io(_)
            | Error::Timeout(_)
            | Error::HostNotFound
            | Error::ConnectionFailed
            | Error::ConnectProxyFailed(_)
            | Error::Protocol(_)
            | Error::BodyStalled => Trouble::Passing(seen),
            _ => Trouble::Final(ForgeError::NoConnection { task: task.to_owned(), seen }.into()),
        }
    }
}

fn read(response: Response<Body>) -> Result<Reply, ureq::Error> {
    let (parts, mut body) = response.into_parts();
    let text = body.with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true).read_to_string()?;
    Ok(Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_str(&text).unwrap_or(Value::Null),
    })
}
