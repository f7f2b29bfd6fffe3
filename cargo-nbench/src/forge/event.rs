//! Which pull request a workflow event is about. It reads the event's file and
//! asks the API when a `workflow_run` names none; the event is data that others
//! wrote, so a number counts only when its head is the commit that ran.

use std::io::Read as _;

use serde_json::Value;
use ureq::http::Method;

use super::Context;
use super::address::encoded;
use super::client::{Client, Reply};
use super::error::ForgeError;
use crate::failure::Failure;

/// GitHub's largest event is 25 MB.
const MAX_EVENT_BYTES: u64 = 32 << 20;

/// The pull request of the event in `GITHUB_EVENT_PATH`.
pub(super) fn pull_request(
    set: &dyn Fn(&str) -> Option<String>,
    client: &Client<'_>,
    repository: &str,
) -> Result<Context, Failure> {
    let path = set("GITHUB_EVENT_PATH").ok_or(ForgeError::NoEvent)?;
    let event = read(&path)?;
    let context = |number, head_sha: Option<&str>| Context {
        repository: repository.to_owned(),
        number,
        head_sha: head_sha.map(str::to_owned),
    };
    if event["workflow_run"].is_object() {
        let run = Run::parse(&event["workflow_run"])?;
        return Ok(context(run.pull_request(client, repository)?, Some(&run.head_sha)));
    }
    let number = event["number"].as_u64().or_else(|| event["pull_request"]["number"].as_u64());
    match number.filter(|number| *number > 0) {
        Some(number) => Ok(context(
            number,
            event["pull_request"]["head"]["sha"].as_str().filter(|s| is_hash(s)),
        )),
        None => Err(nameless(&set("GITHUB_EVENT_NAME").unwrap_or_else(|| "unnamed".into()))),
    }
}

fn nameless(event: &str) -> Failure {
    ForgeError::NamelessEvent(event.to_owned()).into()
}

fn read(path: &str) -> Result<Value, Failure> {
    let fail =
        |why| -> Failure { ForgeError::UnreadableEvent { path: path.to_owned(), why }.into() };
    let file = std::fs::File::open(path).map_err(|error| fail(error.to_string()))?;
    let mut text = Vec::new();
    file.take(MAX_EVENT_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| fail(error.to_string()))?;
    if text.len() as u64 > MAX_EVENT_BYTES {
        return Err(fail(format!("it is larger than {MAX_EVENT_BYTES} bytes")));
    }
    serde_json::from_slice(&text).map_err(|error| fail(format!("no JSON: {error}")))
}

/// A finished run of another workflow.
struct Run {
    head_sha: String,
    /// `OWNER:BRANCH` where both are known.
    head: Option<String>,
    listed: Vec<Value>,
}

impl Run {
    fn parse(run: &Value) -> Result<Self, Failure> {
        let head_sha =
            run["head_sha"].as_str().filter(|sha| is_hash(sha)).ok_or(ForgeError::NoCommit)?;
        let owner = run["head_repository"]["owner"]["login"].as_str();
        let branch = run["head_branch"].as_str();
        Ok(Self {
            head_sha: head_sha.to_owned(),
            head: owner.zip(branch).map(|(owner, branch)| format!("{owner}:{branch}")),
            listed: run["pull_requests"].as_array().cloned().unwrap_or_default(),
        })
    }

    fn pull_request(&self, client: &Client<'_>, repository: &str) -> Result<u64, Failure> {
        let task = format!("find the pull request of commit `{}`", self.head_sha);
        let suffix = format!("/repos/{repository}").to_ascii_lowercase();
        // A run in a fork's branch also lists what that branch asks of others.
        let listed = self.listed.iter().filter(|entry| {
            entry["base"]["repo"]["url"]
                .as_str()
                .is_none_or(|url| url.to_ascii_lowercase().ends_with(&suffix))
        });
        if let Some(number) = self.only(listed, &task)? {
            return Ok(number);
        }
        let by_commit = format!("/repos/{repository}/commits/{}/pulls?per_page=100", self.head_sha);
        let mut queries = vec![by_commit];
        if let Some(head) = &self.head {
            queries.push(format!("/repos/{repository}/pulls?state=open&head={}", encoded(head)));
        }
        for query in &queries {
            let reply = client.call(&Method::GET, query, None, &task)?;
            if let Some(number) = self.only(entries(&reply, client, &task)?, &task)? {
                return Ok(number);
            }
        }
        Err(ForgeError::NoPullRequest(task).into())
    }

    /// The number of the one pull request whose head is the commit that ran.
    /// Open ones come before closed ones.
    fn only<'v>(
        &self,
        entries: impl Iterator<Item = &'v Value>,
        task: &str,
    ) -> Result<Option<u64>, Failure> {
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for entry in entries.filter(|entry| entry["head"]["sha"] == *self.head_sha) {
            let Some(number) = entry["number"].as_u64().filter(|number| *number > 0) else {
                continue;
            };
            let state = if entry["state"] == "closed" { &mut closed } else { &mut open };
            if !state.contains(&number) {
                state.push(number);
            }
        }
        let found = if open.is_empty() { closed } else { open };
        match found[..] {
            [] => Ok(None),
            [number] => Ok(Some(number)),
            _ => {
                let numbers: Vec<String> = found.iter().map(|n| format!("#{n}")).collect();
                let numbers = numbers.join(", ");
                Err(ForgeError::SeveralPullRequests { task: task.to_owned(), numbers }.into())
            }
        }
    }
}

/// The list in an answer. A commit that the repository does not know (404, 409,
/// 422) has no pull request there; any other status is a refusal.
fn entries<'r>(
    reply: &'r Reply,
    client: &Client<'_>,
    task: &str,
) -> Result<std::slice::Iter<'r, Value>, Failure> {
    match reply.status {
        200 => Ok(reply.body.as_array().map(|list| list.iter()).unwrap_or_default()),
        404 | 409 | 422 => Ok([].iter()),
        _ => Err(client.refusal(reply, task)),
    }
}

/// Whether `text` is a full SHA-1 or SHA-256: it becomes a part of addresses.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
