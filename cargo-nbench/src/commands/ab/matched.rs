//! The benchmarks that all sides have, listed target by target, as the lanes that are driven. It
//! must not know what becomes of them.

use nbench_config::{Layouts, Settings};
use nbench_engine::Plan;
use nbench_templates::lines::Line;

use super::advice::{Newcomers, OverlayOffer};
use crate::build::cargo::Words;
use crate::build::sides::Sides;
use crate::cli::args::{AbArgs, GatePolicy};
use crate::commands::{none_of, warn_of_idle};
use crate::failure::{Exit, Failure};
use crate::measure::drive::Lane;
use crate::measure::filter::Filter;
use crate::measure::idle::ListedIds;
use crate::measure::launch::Starter;
use crate::measure::layout::{Draws, Supply};
use crate::measure::plans::Plans;
use crate::measure::suite::{Listed, Target, list_target};
use crate::results::policy;
use crate::results::session::Session;
use crate::revisions::revision::{Repository, Revision};

/// Request of which benchmarks of every target are wanted.
pub struct Matching<'l> {
    /// The command line.
    pub args: &'l AbArgs,
    /// The settings in force.
    pub settings: &'l Settings,
    /// The sides.
    pub built: &'l Sides,
    /// Where their trees are.
    pub repository: &'l Repository,
    /// Which benchmarks are wanted.
    pub filter: &'l Filter,
}

/// Benchmarks that listing all targets finds.
#[derive(Default)]
pub struct Matched {
    /// Lanes to be compared.
    pub lanes: Vec<Lane>,
    /// All ids that were listed.
    ids: Vec<String>,
    /// Whether a benchmark needs no measuring.
    pub is_identical: bool,
    /// The same by target, for settings that fit none.
    seen: ListedIds,
    /// Package and name of every target that was listed.
    targets: Vec<(String, String)>,
    /// Whether ids are missing because they change from process to process.
    has_lost: bool,
    /// Benchmarks that the last side has and another one lacks.
    pub newcomers: Newcomers,
}

impl Matching<'_> {
    /// Lists `targets`, which all sides have; `unmatched` are those that only some have, `last` is
    /// the side that brings new ones.
    ///
    /// # Errors
    /// When an executable or a tree cannot be read.
    pub fn find(
        &self,
        session: &mut Session<'_>,
        starter: &Starter,
        targets: Vec<Target>,
        (unmatched, last): (&[Line], &Revision),
    ) -> Result<Matched, Failure> {
        let args = self.args;
        let mut found = Matched::default();
        found.newcomers.by_reference = policy::is_gated(args.gate, args.require_verdict);
        // Whether a target that was not listed has what is wanted, nobody knows.
        if !self.filter.is_given() {
            found.newcomers.hear_targets(unmatched, &last.label);
        }
        self.list(session, starter, targets, &mut found)?;
        // What only one side has was not listed.
        if unmatched.is_empty() {
            let manifest = args.build.manifest_path.as_deref();
            warn_of_idle(session.term, &found.seen, self.settings, manifest);
        }
        Ok(found)
    }

    /// Lists `targets` into `found` and tells the session what is left out.
    ///
    /// # Errors
    /// When an executable or a tree cannot be read.
    fn list(
        &self,
        session: &mut Session<'_>,
        starter: &Starter,
        targets: Vec<Target>,
        found: &mut Matched,
    ) -> Result<(), Failure> {
        let plans = Plans {
            plan: Plan::clone(&self.settings.plan),
            rules: &self.settings.rules,
            pinned: self.settings.pinned,
        };
        let labels: Vec<String> =
            self.built.sides.iter().map(|side| side.revision.label.clone()).collect();
        session.term.start_waiting("listing benchmarks");
        for target in targets {
            let is_identical = !self.args.force
                && self.built.identical(self.repository, &target.name(), &target.executables())?;
            let mut listed = list_target(starter, target, &self.settings.aliases);
            listed.by_reference = self.is_gated();
            found.ids.extend(listed.ids());
            found.targets.push(listed.target.name());
            found.seen.hear(listed.target.name(), listed.ids(), listed.is_whole());
            found.has_lost |= listed.unsteady.has_lost();
            found.newcomers.hear(&listed, self.filter);
            if let Some(text) = listed.left_behind() {
                session.term.warn(&text);
            }
            for remark in listed.remarks(&labels, self.filter) {
                session.emit(remark);
            }
            if is_identical {
                found.is_identical |= self.emit_identical(session, &listed);
            } else {
                found.lanes.extend(self.lane(session, &listed, &plans)?);
            }
        }
        session.term.end_progress();
        Ok(())
    }

    fn is_gated(&self) -> bool {
        self.args.gate.is_some_and(|policy| policy != GatePolicy::Report)
    }

    /// Tells of all benchmarks of a target that they need no measuring; whether there is one.
    fn emit_identical(&self, session: &mut Session<'_>, listed: &Listed) -> bool {
        let offers = listed.common(self.filter);
        for offer in &offers {
            let names: Vec<String> = if offer.cases.is_empty() {
                vec![offer.id.clone()]
            } else {
                offer.cases.iter().map(|case| format!("{}/{case}", offer.id)).collect()
            };
            for name in names {
                session.identical(
                    &listed.target.package,
                    &listed.target.target,
                    &name,
                    &offer.tags,
                    self.settings.plan.threshold,
                );
            }
        }
        !offers.is_empty()
    }

    /// The lane of a target, with its notes and where its layouts come from.
    fn lane(
        &self,
        session: &mut Session<'_>,
        listed: &Listed,
        plans: &Plans<'_>,
    ) -> Result<Option<Lane>, Failure> {
        let (mut lane, doubts) = listed.lane(self.filter, plans);
        if let Some(lane) = &mut lane {
            let name = listed.target.name();
            let notes = self.built.notes(self.repository, &name, self.is_gated())?;
            session.explain(&listed.target.package, &listed.target.target, notes);
            let supply = match self.settings.layouts {
                Layouts::Off => Supply::Kept,
                Layouts::Fresh | Layouts::Confirm => {
                    self.built.layouts(&listed.target, Draws::Shared)
                }
            };
            if let Supply::Unavailable(reason) = &supply {
                let target = &lane.target;
                session.term.note(&format!("`{target}` keeps the layouts of its builds: {reason}"));
            }
            lane.vary_layouts(self.settings.layouts, supply, true);
        }
        for doubt in doubts {
            session.term.warn(&doubt);
        }
        Ok(lane)
    }
}

impl Matched {
    /// Why there is nothing to compare.
    pub fn nothing(
        &self,
        is_unmatched: bool,
        overlay: OverlayOffer<'_>,
        filter: &Filter,
        words: &Words,
    ) -> Failure {
        if is_unmatched || self.has_lost {
            nothing_in_common(self.has_lost, overlay, &self.newcomers)
        } else {
            none_of(&self.ids, &self.targets, filter, words)
        }
    }
}

fn nothing_in_common(changing: bool, overlay: OverlayOffer<'_>, newcomers: &Newcomers) -> Failure {
    let hint = if changing {
        "their ids change from process to process: give each benchmark a name of its own".to_owned()
    } else if overlay.is_given {
        "the ids differ although the sources are the same: do they depend on the library?"
            .to_owned()
    } else if let Some(pairing) = newcomers.pairing() {
        [pairing].into_iter().chain(overlay.offer()).collect::<Vec<_>>().join("; ")
    } else {
        overlay
            .offer()
            .unwrap_or_else(|| "`[aliases]` in `nbench.toml` pairs renamed ones".to_owned())
    };
    Failure::new(Exit::NothingSelected, "the revisions have no benchmark in common").hint(hint)
}
