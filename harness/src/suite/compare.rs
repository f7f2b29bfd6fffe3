//! Several cases of one benchmark that are to be compared with each other. It must not know how.

use crate::bencher::Bencher;
use crate::suite::{Id, Suite};
use crate::wire::Offer;

/// A comparison of one reference with one or more contenders; see [`Suite::compare`].
///
/// ```
/// # fn example(suite: &mut nbench::Suite) {
/// let sorted: Vec<u32> = (0..1000).collect();
/// suite
///     .compare("search")
///     .reference("binary", || sorted.binary_search(&700))
///     .contender("linear", || sorted.iter().position(|value| *value == 700))
///     .run();
/// # }
/// ```
#[must_use = "a comparison is registered by `run`"]
pub struct Compare<'c, 'w> {
    suite: &'c mut Suite<'w>,
    offer: Offer,
    cases: Vec<Case<'c>>,
    references: usize,
}

type Case<'c> = Box<dyn FnMut(&mut Bencher) + 'c>;

impl<'c, 'w> Compare<'c, 'w> {
    pub(super) fn new(suite: &'c mut Suite<'w>, offer: Offer) -> Compare<'c, 'w> {
        Compare { suite, offer, cases: Vec::new(), references: 0 }
    }

    /// The case that the others are compared with; there is exactly one.
    pub fn reference<O>(self, name: impl Into<Id>, mut body: impl FnMut() -> O + 'c) -> Self {
        self.reference_with(name, move |bencher| bencher.iter(&mut body))
    }

    /// As [`reference`](Compare::reference), for a case that calls a timing form itself.
    pub fn reference_with(
        mut self,
        name: impl Into<Id>,
        case: impl FnMut(&mut Bencher) + 'c,
    ) -> Self {
        self.offer.reference.get_or_insert(self.cases.len());
        self.references += 1;
        self.contender_with(name, case)
    }

    /// A case that is compared with the reference.
    pub fn contender<O>(self, name: impl Into<Id>, mut body: impl FnMut() -> O + 'c) -> Self {
        self.contender_with(name, move |bencher| bencher.iter(&mut body))
    }

    /// As [`contender`](Compare::contender), for a case that calls a timing form itself.
    pub fn contender_with(
        mut self,
        name: impl Into<Id>,
        case: impl FnMut(&mut Bencher) + 'c,
    ) -> Self {
        self.offer.cases.push(name.into().into_string());
        self.cases.push(Box::new(case));
        self
    }

    /// Registers the comparison. Without exactly one reference, without a contender or with two
    /// cases of one name it fails, as a benchmark that panics does, and the rest of the suite
    /// goes on.
    pub fn run(self) {
        let Compare { suite, offer, mut cases, references } = self;
        let misuse = misuse(&offer, references);
        suite.visit(offer, &mut |case, bencher| match (&misuse, cases.get_mut(case)) {
            (Some(reason), _) => bencher.refuse(reason.clone()),
            (None, Some(run)) => run(bencher),
            (None, None) => bencher.refuse(format!("there is no case {case}")),
        });
    }
}

fn misuse(offer: &Offer, references: usize) -> Option<String> {
    let Offer { id, cases, .. } = offer;
    let repeated = cases.iter().enumerate().find(|(index, name)| cases[..*index].contains(name));
    if references != 1 {
        Some(format!("comparison `{id}` has {references} references, it must have one"))
    } else if cases.len() < 2 {
        Some(format!("comparison `{id}` has no contender"))
    } else {
        repeated.map(|(_, name)| format!("comparison `{id}` has two cases called `{name}`"))
    }
}
