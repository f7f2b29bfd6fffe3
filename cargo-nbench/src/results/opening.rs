//! The beginning of a session: the row of its run in the store and the line that says where and how
//! it measures. It must not know what is measured.

use std::path::Path;

use nbench_config::Settings;
use nbench_store::{Host, NewRun, RunCommand, Toolchain};
use nbench_templates::lines::{Context, Line};

use crate::results::record::{now_ms, rev, revision_row};
use crate::results::recorder::Recorder;
use crate::results::session::Session;
use crate::results::stored_settings;
use crate::revisions::revision::Revision;
use crate::term::Term;

/// All that is known when a session begins.
pub struct Opening<'o> {
    /// Which command measures.
    pub command: RunCommand,
    /// The command line, as the user would repeat it.
    pub invocation: String,
    /// The file of the store.
    pub store: &'o Path,
    /// The settings in force.
    pub settings: &'o Settings,
    /// The machine.
    pub host: Host,
    /// The compiler.
    pub toolchain: Toolchain,
    /// Where workers run, in words.
    pub placement: String,
    /// Revisions by side.
    pub revisions: Vec<Revision>,
}

impl Opening<'_> {
    /// Begins a run in the store and tells what it depends on.
    pub fn begin(self, term: &mut Term) -> Session<'_> {
        let Opening {
            command, invocation, settings, host, toolchain, placement, revisions, ..
        } = self;
        let mut recorder = Recorder::open(self.store);
        recorder.begin(
            &host,
            &toolchain,
            &revisions.iter().map(revision_row).collect::<Vec<_>>(),
            &NewRun {
                command,
                host: host.key.clone(),
                toolchain: toolchain.key.clone(),
                started_at: now_ms(),
                pid: std::process::id(),
                engine_version: env!("CARGO_PKG_VERSION").to_owned(),
                settings: stored_settings::written(settings),
                seed: settings.plan.seed,
                dirty_digest: revisions.iter().rev().find_map(|r| r.dirty.clone()),
            },
        );
        let context = Context {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.as_str().to_owned(),
            invocation,
            host: host.key,
            host_summary: host.summary,
            toolchain: toolchain.key,
            toolchain_summary: toolchain.summary,
            placement,
            preset: settings.preset.name().to_owned(),
            seed: settings.plan.seed,
            revisions: revisions.iter().map(rev).collect(),
        };
        let mut session = Session::new(term, recorder, revisions);
        session.emit(Line::Context(context));
        session
    }
}
