//! Registration: a suite function meets its benchmarks in flow order and hands each to whoever
//! walks the suite. It must not know whether that is a driver or a table.

mod compare;
mod group;
mod id;

use std::collections::HashMap;

pub use compare::Compare;
pub use group::Group;
pub use id::Id;

use crate::bencher::Bencher;
use crate::wire::Offer;

/// Who walks a suite: told of every benchmark when the walk reaches it, and free to run it.
pub(crate) trait Walk {
    /// The walk has reached a benchmark. `run` calls one case of it once.
    fn visit(&mut self, offer: Offer, run: &mut dyn FnMut(usize, &mut Bencher));

    /// As [`visit`](Walk::visit), for a benchmark whose set-up is its own: `enter` is only called
    /// when the benchmark is to run, and calls what it is given with the body. Who can serves
    /// all samples within one call of `enter`, so that the set-up is paid once.
    fn visit_within(&mut self, offer: Offer, enter: &mut Enter<'_>) {
        self.visit(offer, &mut |_case, bencher| enter(&mut |body| body(bencher)));
    }
}

/// One sample of a benchmark.
pub(crate) type Body<'b> = dyn FnMut(&mut Bencher) + 'b;

/// Set-up of a benchmark, around the call of its argument with the body.
pub(crate) type Enter<'e> = dyn FnMut(&mut dyn FnMut(&mut Body<'_>)) + 'e;

/// Registry that a suite function adds its benchmarks to.
///
/// A benchmark runs when it is registered, so it may borrow whatever the suite function owns.
pub struct Suite<'w> {
    walk: &'w mut dyn Walk,
    names: &'w mut Names,
}

/// How often each id was met in this target.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, u32>);

impl Names {
    /// The id itself at first, then with `#2`, `#3` and so on.
    pub(crate) fn unique(&mut self, id: &str) -> String {
        let mut count = self.0.get(id).copied().unwrap_or(0);
        loop {
            count += 1;
            let name = if count == 1 { id.to_owned() } else { format!("{id}#{count}") };
            self.0.insert(id.to_owned(), count);
            if count == 1 || !self.0.contains_key(&name) {
                self.0.entry(name.clone()).or_insert(1);
                return name;
            }
        }
    }
}

impl<'w> Suite<'w> {
    pub(crate) fn new(walk: &'w mut dyn Walk, names: &'w mut Names) -> Suite<'w> {
        Suite { walk, names }
    }

    fn visit(&mut self, mut offer: Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        offer.id = self.names.unique(&offer.id);
        self.walk.visit(offer, run);
    }

    /// Registers a benchmark whose set-up only runs when it is measured, and then once for all its
    /// samples: `enter` does the set-up and calls its argument with the benchmark.
    #[doc(hidden)]
    pub fn bench_within(
        &mut self,
        mut offer: Offer,
        mut enter: impl FnMut(&mut dyn FnMut(&mut dyn FnMut(&mut Bencher))),
    ) {
        offer.id = self.names.unique(&offer.id);
        self.walk.visit_within(offer, &mut |serve| enter(&mut |body| serve(body)));
    }

    /// Registers a body. Its results are consumed and dropped within the timed region.
    pub fn bench<O>(&mut self, id: impl Into<Id>, body: impl FnMut() -> O) {
        self.ungrouped().bench(id, body);
    }

    /// Registers a benchmark of a parameter; it calls one timing form of the [`Bencher`].
    pub fn bench_with<P: ?Sized>(
        &mut self,
        id: impl Into<Id>,
        input: &P,
        benchmark: impl FnMut(&mut Bencher, &P),
    ) {
        self.ungrouped().bench_with(id, input, benchmark);
    }

    /// Registers a benchmark that calls one timing form of the [`Bencher`].
    pub fn bench_fn(&mut self, id: impl Into<Id>, benchmark: impl FnMut(&mut Bencher)) {
        self.ungrouped().bench_fn(id, benchmark);
    }

    /// Opens a group: its benchmarks are called `group/name` and share settings.
    pub fn group(&mut self, name: impl Into<Id>) -> Group<'_, 'w> {
        Group::new(self, name.into().into_string())
    }

    /// Opens a comparison of several cases, which ends with [`Compare::run`].
    pub fn compare<'s>(&'s mut self, id: impl Into<Id>) -> Compare<'s, 'w> {
        Compare::new(self, Offer { id: id.into().into_string(), ..Offer::default() })
    }

    fn ungrouped(&mut self) -> Group<'_, 'w> {
        Group::new(self, String::new())
    }
}

#[cfg(test)]
mod tests;
