//! Benchmarks that share a prefix and settings. It must not know what the settings do.

use std::time::Duration;

use crate::bencher::Bencher;
use crate::suite::{Compare, Id, Suite};
use crate::wire::{Offer, Throughput};

/// A group of benchmarks; see [`Suite::group`]. Settings apply to what is registered after them, in
/// this group and the groups opened from it.
pub struct Group<'s, 'w> {
    suite: &'s mut Suite<'w>,
    /// Offer that each benchmark starts from; its id is the name of the group.
    template: Offer,
}

impl<'s, 'w> Group<'s, 'w> {
    pub(super) fn new(suite: &'s mut Suite<'w>, name: String) -> Group<'s, 'w> {
        Group { suite, template: Offer { id: name, ..Offer::default() } }
    }

    /// How much one iteration processes.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.template.throughput = Some(throughput);
        self
    }

    /// Adds a label to select by.
    pub fn tag(&mut self, tag: impl Into<String>) -> &mut Self {
        let tag = tag.into();
        if !self.template.tags.contains(&tag) {
            self.template.tags.push(tag);
        }
        self
    }

    /// How long one slice of a comparison should take.
    pub fn slice(&mut self, slice: Duration) -> &mut Self {
        self.set("slice_ns", slice.as_nanos().to_string())
    }

    /// How long each benchmark is warmed up in each launch.
    pub fn warmup(&mut self, warmup: Duration) -> &mut Self {
        self.set("warmup_ns", warmup.as_nanos().to_string())
    }

    /// The most launches that are taken.
    pub fn launches(&mut self, launches: u32) -> &mut Self {
        self.set("launches", launches.to_string())
    }

    /// The smallest change that matters, as a fraction: 0.02 is 2 %.
    pub fn threshold(&mut self, threshold: f64) -> &mut Self {
        self.set("threshold", threshold.to_string())
    }

    /// Says that the benchmarks use several threads, so that they are never pinned to one CPU.
    pub fn threads(&mut self, threads: bool) -> &mut Self {
        self.set("threads", threads.to_string())
    }

    fn set(&mut self, key: &str, value: String) -> &mut Self {
        let settings = &mut self.template.settings;
        match settings.iter_mut().find(|(known, _)| known == key) {
            Some(setting) => setting.1 = value,
            None => settings.push((key.to_owned(), value)),
        }
        self
    }

    /// Registers a body. Its results are consumed and dropped within the timed region.
    pub fn bench<O>(&mut self, id: impl Into<Id>, mut body: impl FnMut() -> O) {
        self.bench_fn(id, |bencher| bencher.iter(&mut body));
    }

    /// Registers a benchmark of a parameter; it calls one timing form of the [`Bencher`].
    pub fn bench_with<P: ?Sized>(
        &mut self,
        id: impl Into<Id>,
        input: &P,
        mut benchmark: impl FnMut(&mut Bencher, &P),
    ) {
        self.bench_fn(id, |bencher| benchmark(bencher, input));
    }

    /// Registers a benchmark that calls one timing form of the [`Bencher`].
    pub fn bench_fn(&mut self, id: impl Into<Id>, mut benchmark: impl FnMut(&mut Bencher)) {
        let offer = self.offer(id.into());
        self.suite.visit(offer, &mut |_case, bencher| benchmark(bencher));
    }

    /// Opens a group within this one, which starts with its settings.
    pub fn group(&mut self, name: impl Into<Id>) -> Group<'_, 'w> {
        let template = self.offer(name.into());
        Group { suite: self.suite, template }
    }

    /// Opens a comparison of several cases, which ends with [`Compare::run`].
    pub fn compare<'c>(&'c mut self, id: impl Into<Id>) -> Compare<'c, 'w> {
        let offer = self.offer(id.into());
        Compare::new(self.suite, offer)
    }

    fn offer(&self, id: Id) -> Offer {
        let id = id.into_string();
        let prefix = &self.template.id;
        let id = if prefix.is_empty() { id } else { format!("{prefix}/{id}") };
        Offer { id, ..self.template.clone() }
    }
}
