//! Posting one sticky comment on a pull request through GitHub's REST API: who
//! to talk to, which comment is ours, and how it is replaced. It must not know
//! what the comment says, and the token leaves it only towards the API.

mod address;
mod client;
mod error;
mod event;

use std::cell::OnceCell;
use std::fmt;
use std::time::Duration;

use client::{Client, RETRIES, Trouble};
use error::ForgeError;
use serde_json::{Value, json};
use ureq::http::Method;

use crate::failure::Failure;

const DEFAULT_BASE: &str = "https://api.github.com";
/// 100 pages of 100: more comments than GitHub allows on one pull request.
const MAX_PAGES: usize = 100;

/// One repository behind one API, and the token for it.
#[derive(Clone)]
pub struct Forge {
    /// Address of the API without a slash at its end.
    base: String,
    token: String,
    /// The variable that the token came from, for hints.
    token_variable: &'static str,
    /// `owner/name`, checked.
    owner_repo: String,
}

impl fmt::Debug for Forge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forge")
            .field("base", &self.base)
            .field("token", &"(hidden)")
            .field("owner_repo", &self.owner_repo)
            .finish_non_exhaustive()
    }
}

impl Forge {
    fn without_token(&self, text: &str) -> String {
        text.replace(&self.token, "***")
    }

    /// The last gate before a message leaves this module: servers and addresses
    /// may repeat what they were sent.
    fn redacted(&self, failure: Failure) -> Failure {
        Failure {
            error: self.without_token(&failure.error),
            hint: failure.hint.map(|hint| self.without_token(&hint)),
            ..failure
        }
    }
}

/// The pull request that is commented on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Context {
    /// `owner/name` of the repository that the pull request asks to change.
    pub repository: String,
    /// Number of the pull request, from 1.
    pub number: u64,
    /// Full hash of the pull request's head where the event names it.
    pub head_sha: Option<String>,
}

/// Outcome of posting a comment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Posted {
    /// There was none; now there is.
    Created {
        /// Address of the comment for a browser.
        url: String,
    },
    /// There was one; it says something new now.
    Edited {
        /// Address of the comment for a browser.
        url: String,
    },
    /// There was one that already said this.
    Unchanged {
        /// Address of the comment for a browser.
        url: String,
    },
}

/// Finds API, token, repository and pull request in the environment of a CI job.
///
/// `repo` (`owner/name`) and `pr` come from the command line and win over
/// `GITHUB_REPOSITORY` and the event in `GITHUB_EVENT_PATH`. A `workflow_run`
/// event that names no pull request, as for forks, is looked up through the API
/// by the commit it ran for; rate limits met there are slept through.
///
/// # Errors
/// [`Exit::Usage`] for a malformed `repo` or `pr`, [`Exit::Publish`] for
/// everything else, naming the variable that is missing.
pub fn from_environment(
    env: &dyn Fn(&str) -> Option<String>,
    repo: Option<&str>,
    pr: Option<u64>,
) -> Result<(Forge, Context), Failure> {
    locate(env, repo, pr, &|length| std::thread::sleep(length))
}

/// [`from_environment`] with the waiting left to `pause`.
fn locate(
    env: &dyn Fn(&str) -> Option<String>,
    repo: Option<&str>,
    pr: Option<u64>,
    pause: &dyn Fn(Duration),
) -> Result<(Forge, Context), Failure> {
    let set = |name: &str| {
        env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let at_home = set("GITHUB_REPOSITORY");
    let owner_repo = match (repo, &at_home) {
        (Some(given), _) => checked_repository(given)
            .ok_or_else(|| ForgeError::BadRepositoryFlag(given.to_owned()))?,
        (None, Some(value)) => checked_repository(value)
            .ok_or_else(|| ForgeError::BadRepositoryVariable(value.clone()))?,
        (None, None) => return Err(ForgeError::NoRepository.into()),
    };
    if pr == Some(0) {
        return Err(ForgeError::NumberZero.into());
    }
    let forge = Forge { owner_repo, ..credentials(&set)? };
    // Also what is wrong with the address is told before the event is read.
    let client = Client::new(&forge, pause).map_err(|failure| forge.redacted(failure))?;
    let context = match pr {
        Some(number) => Context { repository: forge.owner_repo.clone(), number, head_sha: None },
        None => {
            if let Some(home) = &at_home
                && !home.eq_ignore_ascii_case(&forge.owner_repo)
            {
                return Err(ForgeError::OtherRepository(forge.owner_repo.clone()).into());
            }
            event::pull_request(&set, &client, &forge.owner_repo)
                .map_err(|failure| forge.redacted(failure))?
        }
    };
    drop(client);
    Ok((forge, context))
}

/// Token and API address; the repository is left empty.
fn credentials(set: &dyn Fn(&str) -> Option<String>) -> Result<Forge, Failure> {
    let (token, token_variable) = set("GITHUB_TOKEN")
        .map(|token| (token, "GITHUB_TOKEN"))
        .or_else(|| set("GH_TOKEN").map(|token| (token, "GH_TOKEN")))
        .ok_or(ForgeError::NoToken)?;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ForgeError::BadToken(token_variable).into());
    }
    let base = set("GITHUB_API_URL").unwrap_or_else(|| DEFAULT_BASE.to_owned());
    let base = base.trim_end_matches('/').to_owned();
    Ok(Forge { base, token, token_variable, owner_repo: String::new() })
}

/// `text` if it is `owner/name` in characters that GitHub allows: it becomes a
/// part of addresses.
fn checked_repository(text: &str) -> Option<String> {
    let (owner, name) = text.split_once('/')?;
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    (is_plain(owner) && is_plain(name)).then(|| text.to_owned())
}

/// `text` on one line, at most `length` characters, without control characters.
fn one_line(text: &str, length: usize) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(length)
        .collect::<String>()
        .trim()
        .to_owned();
    if text.chars().count() > length {
        out.push_str("...");
    }
    out
}

/// Makes the pull request carry exactly one comment of ours that says `body`.
///
/// `marker` is an invisible line, such as an HTML comment, that `body` opens
/// with (it is put there when it does not). A comment is ours when it opens with
/// the marker and was written by a bot or by the owner of the token; strangers
/// may plant the marker, so it alone proves nothing. `pause` is called to let
/// time pass: at most 15 minutes in sum for rate limits, and a few seconds
/// between retries and changes.
///
/// # Errors
/// [`Exit::Publish`] with a hint when GitHub refuses, is out of reach, or points
/// at an address outside the API. The token is in no message.
pub fn post(
    forge: &Forge,
    context: &Context,
    marker: &str,
    body: &str,
    pause: &dyn Fn(Duration),
) -> Result<Posted, Failure> {
    let marker = marker.trim();
    if marker.is_empty() {
        return Err(ForgeError::NoMarker.into());
    }
    let body = if body.starts_with(marker) { body.to_owned() } else { format!("{marker}\n{body}") };
    Client::new(forge, pause)
        .and_then(|client| {
            Sticky { forge, context, marker, body, client, login: OnceCell::new() }.settle()
        })
        .map_err(|failure| forge.redacted(failure))
}

/// A comment as far as it matters here.
#[derive(Clone, Debug)]
struct Comment {
    id: u64,
    url: String,
    body: String,
    /// Absent when the account is deleted.
    login: Option<String>,
    is_bot: bool,
}

impl Comment {
    fn parse(value: &Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        Some(Self {
            id: value["id"].as_u64()?,
            url: one_line(text("/html_url").unwrap_or_default(), 500),
            body: text("/body").unwrap_or_default().to_owned(),
            login: text("/user/login").map(str::to_owned),
            is_bot: text("/user/type") == Some("Bot"),
        })
    }

    fn says(&self, body: &str) -> bool {
        // GitHub may store other line ends and no blank end.
        let plain = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
        plain(&self.body) == plain(body)
    }
}

/// One call of [`post`].
struct Sticky<'a> {
    forge: &'a Forge,
    context: &'a Context,
    marker: &'a str,
    body: String,
    client: Client<'a>,
    /// The account behind the token, asked for at most once.
    login: OnceCell<Option<String>>,
}

impl Sticky<'_> {
    fn settle(&self) -> Result<Posted, Failure> {
        let comments = self.list()?;
        let Some(found) = self.ours(&comments)? else { return self.create() };
        let posted = if found.says(&self.body) {
            Posted::Unchanged { url: found.url.clone() }
        } else {
            match self.edit(found.id)? {
                Some(url) => Posted::Edited { url },
                // Deleted since it was listed.
                None => return self.create(),
            }
        };
        self.prune(&comments, found);
        Ok(posted)
    }

    fn task(&self, verb: &str) -> String {
        format!("{verb} pull request #{} of `{}`", self.context.number, self.forge.owner_repo)
    }

    fn comments_path(&self) -> String {
        format!("/repos/{}/issues/{}/comments", self.forge.owner_repo, self.context.number)
    }

    fn comment_path(&self, id: u64) -> String {
        format!("/repos/{}/issues/comments/{id}", self.forge.owner_repo)
    }

    fn list(&self) -> Result<Vec<Comment>, Failure> {
        let task = self.task("list the comments on");
        let mut comments = Vec::new();
        let mut page = Some(format!("{}?per_page=100", self.comments_path()));
        for _ in 0..MAX_PAGES {
            let Some(path) = page else { return Ok(comments) };
            let reply = self.client.call(&Method::GET, &path, None, &task)?;
            if reply.status != 200 {
                return Err(self.client.refusal(&reply, &task));
            }
            let entries = reply.body.as_array().ok_or_else(|| self.unreadable(&task))?;
            for entry in entries {
                comments.push(Comment::parse(entry).ok_or_else(|| self.unreadable(&task))?);
            }
            page = self.client.next_page(&reply, &task)?;
        }
        match page {
            None => Ok(comments),
            Some(_) => Err(ForgeError::Endless { task, most: MAX_PAGES }.into()),
        }
    }

    fn unreadable(&self, task: &str) -> Failure {
        ForgeError::StrangeAnswer(task.to_owned()).into()
    }

    /// The comment to replace: the oldest of the token's own account, or else
    /// the oldest of any bot.
    fn ours<'c>(&self, comments: &'c [Comment]) -> Result<Option<&'c Comment>, Failure> {
        let marked = || comments.iter().filter(|c| c.body.starts_with(self.marker));
        // Who a person's token belongs to matters only if a person wrote one.
        if marked().any(|comment| !comment.is_bot)
            && let Some(login) = self.own_login()?
            && let Some(own) =
                marked().filter(|c| c.login.as_ref() == Some(login)).min_by_key(|c| c.id)
        {
            return Ok(Some(own));
        }
        Ok(marked().filter(|comment| comment.is_bot).min_by_key(|comment| comment.id))
    }

    /// The account behind the token, or `None` when GitHub does not tell, as for
    /// the token of a workflow.
    fn own_login(&self) -> Result<Option<&String>, Failure> {
        if let Some(known) = self.login.get() {
            return Ok(known.as_ref());
        }
        let task = "ask GitHub whose token this is";
        // Tokens of app installations belong to no user.
        let login = if self.forge.token.starts_with("ghs_") {
            None
        } else {
            let reply = self.client.call(&Method::GET, "/user", None, task)?;
            match reply.status {
                200 => reply.body["login"].as_str().map(str::to_owned),
                403 | 404 => None,
                _ => return Err(self.client.refusal(&reply, task)),
            }
        };
        Ok(self.login.get_or_init(|| login).as_ref())
    }

    /// Replaces the text of comment `id`; `None` when it no longer exists.
    fn edit(&self, id: u64) -> Result<Option<String>, Failure> {
        let task = self.task("edit the comment on");
        let body = json!({ "body": self.body });
        let reply = self.client.call(&Method::PATCH, &self.comment_path(id), Some(&body), &task)?;
        match reply.status {
            200 => {
                let comment = Comment::parse(&reply.body).ok_or_else(|| self.unreadable(&task))?;
                Ok(Some(comment.url))
            }
            404 => Ok(None),
            _ => Err(self.client.refusal(&reply, &task)),
        }
    }

    fn create(&self) -> Result<Posted, Failure> {
        let task = self.task("post a comment on");
        let body = json!({ "body": self.body });
        let mut retry = 0;
        loop {
            let seen = match self.client.call_once(
                &Method::POST,
                &self.comments_path(),
                Some(&body),
                &task,
            ) {
                Ok(reply) if matches!(reply.status, 200 | 201) => {
                    let created =
                        Comment::parse(&reply.body).ok_or_else(|| self.unreadable(&task))?;
                    return self.resolve_race(created);
                }
                Ok(reply) => return Err(self.client.refusal(&reply, &task)),
                Err(Trouble::Final(failure)) => return Err(failure),
                Err(Trouble::Passing(seen)) => seen,
            };
            let is_last = retry >= RETRIES;
            if !is_last {
                self.client.back_off(retry);
            }
            // The comment may exist although its answer never came.
            let comments = self.list()?;
            if let Some(found) = self.ours(&comments)? {
                if found.says(&self.body) {
                    return self.resolve_race(found.clone());
                }
                if let Some(url) = self.edit(found.id)? {
                    return Ok(Posted::Edited { url });
                }
            }
            if is_last {
                return Err(self.client.gave_up(&task, &seen));
            }
            retry += 1;
        }
    }

    /// Two jobs that both found nothing both create one. The older comment
    /// stays, with the text of whoever looks last.
    fn resolve_race(&self, created: Comment) -> Result<Posted, Failure> {
        // The comment is up: not being able to look again is no failure.
        let Ok(comments) = self.list() else { return Ok(Posted::Created { url: created.url }) };
        let oldest = comments
            .iter()
            .filter(|comment| self.is_twin(comment, &created) && comment.id < created.id)
            .min_by_key(|comment| comment.id);
        let Some(oldest) = oldest else {
            self.prune(&comments, &created);
            return Ok(Posted::Created { url: created.url });
        };
        let url = if oldest.says(&self.body) {
            oldest.url.clone()
        } else {
            match self.edit(oldest.id)? {
                Some(url) => url,
                None => return Ok(Posted::Created { url: created.url }),
            }
        };
        self.prune(&comments, oldest);
        Ok(Posted::Edited { url })
    }

    /// Whether both carry the marker and come from one and the same account.
    fn is_twin(&self, comment: &Comment, other: &Comment) -> bool {
        comment.id != other.id
            && comment.body.starts_with(self.marker)
            && comment.login.is_some()
            && comment.login == other.login
    }

    /// Deletes the newer twins of `kept`. The comment itself is in place, so a
    /// twin that cannot be deleted fails nothing: the next post tries again.
    fn prune(&self, comments: &[Comment], kept: &Comment) {
        for twin in comments.iter().filter(|c| self.is_twin(c, kept) && c.id > kept.id) {
            let task = self.task("delete a second comment on");
            let _ = self.client.call(&Method::DELETE, &self.comment_path(twin.id), None, &task);
        }
    }
}

#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;
