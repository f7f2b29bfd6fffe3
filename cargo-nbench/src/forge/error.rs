//! Failures of posting: what each is in words that complete "failed to", what helps, and with which
//! exit code it ends the command. It must not know how any of them is met.

use super::one_line;
use crate::failure::{Exit, Failure};

const PERMISSIONS: &str = "give the job these lines:\n\
    permissions:\n  \
      contents: read\n  \
      pull-requests: write\n\
    a pull request from a fork gets a read-only token whatever they say: there, measure and upload \
    the result in a `pull_request` workflow, and post it from a second workflow that runs `on: \
    workflow_run`";
const NOT_FOUND: &str = "check the repository, the number of the pull request, and that the \
    token may read both: GitHub answers 404 as well for a private repository without access";
const GONE: &str = "comments are disabled there; read the result in the job summary, or turn on issues in the \
     settings of the repository";
const INVALID: &str = "GitHub takes 1 to 65,536 characters a comment; compare fewer benchmarks or shorten the comment";
const LATER: &str = "run `cargo nbench comment --post` again later; the result is stored";
const NUMBER: &str = "run in a workflow on `pull_request` or `workflow_run`, or give `--pr NUMBER`";

/// Failure of finding the pull request or of writing to it. Texts of a server are bounded and
/// without the token when they get here.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForgeError {
    /// `--repo` is no `OWNER/NAME`.
    #[error("understand the repository `{}`", one_line(.0, 80))]
    BadRepositoryFlag(String),
    /// `GITHUB_REPOSITORY` is no `OWNER/NAME`.
    #[error("understand GITHUB_REPOSITORY, which is `{}`", one_line(.0, 80))]
    BadRepositoryVariable(String),
    /// Nothing names the repository.
    #[error("find the repository: GITHUB_REPOSITORY is not set")]
    NoRepository,
    /// `--pr 0`.
    #[error("understand the pull request number `0`")]
    NumberZero,
    /// The event is of another repository than the one that was asked for.
    #[error("tell which pull request of `{0}` is meant")]
    OtherRepository(String),
    /// There is no token.
    #[error("find a token: neither GITHUB_TOKEN nor GH_TOKEN is set")]
    NoToken,
    /// The token cannot be one.
    #[error("use the token in {0}: it holds characters that no token has")]
    BadToken(&'static str),
    /// The address of the API is none. It is not repeated: it may hold a password.
    #[error("understand GITHUB_API_URL: it is no plain http address")]
    BadAddress,
    /// The token would go over the network in the clear.
    #[error(
        "send the token: GITHUB_API_URL is an `http://` address, where anybody on the way reads it"
    )]
    InTheClear,
    /// A comment without a marker would match every other one.
    #[error("post a comment without a marker: every comment would match")]
    NoMarker,
    /// Nothing names the event.
    #[error("find the pull request: GITHUB_EVENT_PATH is not set")]
    NoEvent,
    /// The event is of a kind that has no pull request.
    #[error("find the pull request: the event `{}` names none", one_line(.0, 40))]
    NamelessEvent(String),
    /// The event cannot be read.
    #[error("read the event in GITHUB_EVENT_PATH (`{path}`): {why}")]
    UnreadableEvent {
        /// Its path.
        path: String,
        /// Fault, as a fragment.
        why: String,
    },
    /// The run that the event is about has no commit.
    #[error("find the commit of the event: `head_sha` is no full hash")]
    NoCommit,
    /// No pull request has the commit.
    #[error("{0}: no pull request has it as its head")]
    NoPullRequest(String),
    /// Several pull requests have the commit.
    #[error("{task}: {numbers} all have it as their head")]
    SeveralPullRequests {
        /// Task, as the beginning of a message.
        task: String,
        /// Their numbers.
        numbers: String,
    },
    /// The server refuses.
    #[error("{task}: GitHub answered {status}{message}")]
    Refused {
        /// Task, as the beginning of a message.
        task: String,
        /// HTTP status.
        status: u16,
        /// Message of the server, behind a colon.
        message: String,
        /// The variable that the token came from.
        token_variable: &'static str,
    },
    /// The server asks to wait for longer than the comment is worth.
    #[error("{task}: GitHub answered {status}{message} (rate limit, {seconds} s to wait)")]
    Limited {
        /// Task, as the beginning of a message.
        task: String,
        /// HTTP status.
        status: u16,
        /// Message of the server, behind a colon.
        message: String,
        /// Seconds to wait.
        seconds: u64,
    },
    /// The last retry met this.
    #[error("{task}: {seen} ({trials} trials)")]
    GaveUp {
        /// Task, as the beginning of a message.
        task: String,
        /// Finding of the last trial.
        seen: String,
        /// How many trials there were.
        trials: u32,
    },
    /// An address lies outside of the API, where the token must not go.
    #[error("{task}: {what} lies outside {base}, where the token must not go{target}")]
    Foreign {
        /// Task, as the beginning of a message.
        task: String,
        /// Part of the exchange that the address is of.
        what: &'static str,
        /// Address of the API.
        base: String,
        /// The address, behind a colon.
        target: String,
    },
    /// Redirects do not end.
    #[error("{task}: more than {most} redirects")]
    Redirects {
        /// Task, as the beginning of a message.
        task: String,
        /// How many are followed.
        most: usize,
    },
    /// A list of comments does not end.
    #[error("{task}: the list does not end after {most} pages")]
    Endless {
        /// Task, as the beginning of a message.
        task: String,
        /// How many pages are read.
        most: usize,
    },
    /// An answer is none that the API has.
    #[error("{0}: the answer is not what GitHub documents")]
    StrangeAnswer(String),
    /// There is no connection, and trying again is no help.
    #[error("{task}: {seen}")]
    NoConnection {
        /// Task, as the beginning of a message.
        task: String,
        /// Finding instead of an answer.
        seen: String,
    },
}

impl ForgeError {
    fn exit(&self) -> Exit {
        match self {
            ForgeError::BadRepositoryFlag(_)
            | ForgeError::NumberZero
            | ForgeError::OtherRepository(_) => Exit::Usage,
            _ => Exit::Publish,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            ForgeError::BadRepositoryFlag(_) => "write `--repo OWNER/NAME`",
            ForgeError::BadRepositoryVariable(_) => {
                "set GITHUB_REPOSITORY to OWNER/NAME, or give `--repo OWNER/NAME`"
            }
            ForgeError::NoRepository => {
                "GitHub Actions sets it; elsewhere give `--repo OWNER/NAME`"
            }
            ForgeError::NumberZero => "pull requests are numbered from 1: write `--pr NUMBER`",
            ForgeError::OtherRepository(_) => {
                "the event belongs to another repository (GITHUB_REPOSITORY): add `--pr NUMBER`"
            }
            ForgeError::NoToken => {
                "set `GITHUB_TOKEN: ${{ github.token }}` in the `env:` of the workflow step"
            }
            ForgeError::BadToken(variable) => {
                return Some(format!("set {variable} to the token alone, on one line"));
            }
            ForgeError::BadAddress => {
                "set GITHUB_API_URL to an address such as `https://api.github.com`"
            }
            ForgeError::InTheClear => "set GITHUB_API_URL to the `https://` address of the API",
            ForgeError::NoMarker => return None,
            ForgeError::NoEvent => {
                return Some(format!(
                    "GitHub Actions sets it; elsewhere give `--pr NUMBER` ({NUMBER})"
                ));
            }
            ForgeError::NamelessEvent(_) => NUMBER,
            ForgeError::UnreadableEvent { .. }
            | ForgeError::NoCommit
            | ForgeError::SeveralPullRequests { .. } => "give `--pr NUMBER`",
            ForgeError::NoPullRequest(_) => {
                "a newer push may have replaced it, and that push has a run of its own; otherwise \
                 give `--pr NUMBER`"
            }
            ForgeError::Refused { status: 401, token_variable, .. } => {
                return Some(format!(
                    "GitHub does not accept the token in {token_variable}: set it to a token that is valid and not \
                     expired, such as `${{{{ github.token }}}}`"
                ));
            }
            ForgeError::Refused { status: 403, .. } => PERMISSIONS,
            ForgeError::Refused { status: 404, .. } => NOT_FOUND,
            ForgeError::Refused { status: 410, .. } => GONE,
            ForgeError::Refused { status: 422, .. } => INVALID,
            ForgeError::Refused { .. } => {
                "check GITHUB_API_URL: this is no answer that GitHub documents"
            }
            ForgeError::Limited { .. } | ForgeError::GaveUp { .. } => LATER,
            ForgeError::Foreign { .. } => {
                "set GITHUB_API_URL to the address that GitHub itself answers at"
            }
            ForgeError::Endless { .. } | ForgeError::StrangeAnswer(_) => "check GITHUB_API_URL",
            ForgeError::Redirects { .. } => "check GITHUB_API_URL and the name of the repository",
            ForgeError::NoConnection { .. } => {
                "check GITHUB_API_URL, the proxy variables and the certificates"
            }
        };
        Some(hint.to_owned())
    }
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Failure {
        let failure = Failure::new(error.exit(), error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
