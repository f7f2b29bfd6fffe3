//! What the macro makes for each benchmark and group, and the lists it is put into before `main`.
//! It must not know in which order they run.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use crate::arguments::Cases;
use crate::forms::Bencher;
use crate::options::BenchOptions;

/// Every benchmark that is not generic.
pub static BENCHMARKS: List<Benchmark> = List::new();

/// Every group: modules, and generic functions with their instances.
pub static GROUPS: List<Group> = List::new();

/// A list that grows before `main` without allocating: the nodes are statics of the suite, and an
/// allocator of the suite may not be ready by then.
pub struct List<T: 'static> {
    last: Mutex<Option<&'static Node<T>>>,
}

/// An element of a list.
pub struct Node<T: 'static> {
    value: &'static T,
    before: OnceLock<Option<&'static Node<T>>>,
}

impl<T> Node<T> {
    /// A node in no list.
    pub const fn new(value: &'static T) -> Node<T> {
        Node { value, before: OnceLock::new() }
    }
}

impl<T: Sync> List<T> {
    const fn new() -> List<T> {
        List { last: Mutex::new(None) }
    }

    /// Adds a node; one that is in a list stays where it is.
    pub fn push(&self, node: &'static Node<T>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if node.before.set(*last).is_ok() {
            *last = Some(node);
        }
    }

    pub(crate) fn values(&self) -> Vec<&'static T> {
        let mut next = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = Vec::new();
        while let Some(node) = next {
            values.push(node.value);
            next = node.before.get().copied().flatten();
        }
        values.reverse();
        values
    }
}

/// A function that is not generic.
pub struct Benchmark {
    /// Its name and options.
    pub meta: Meta,
    /// How to run it.
    pub run: Runner,
}

/// A module, or a generic function with a list of constants for each type.
pub struct Group {
    /// Its name and options.
    pub meta: Meta,
    /// The instances of a generic function.
    pub instances: &'static [&'static [Instance]],
    /// How many of each list count.
    pub limit: usize,
}

/// One instance of a generic function.
pub struct Instance {
    /// How to run it.
    pub run: Runner,
    /// Its type.
    pub of: Option<TypeName>,
    /// Its constant.
    pub value: Option<ConstValue>,
}

/// How a function is run.
pub enum Runner {
    /// With a bencher alone.
    Plain(fn(Bencher<'_, '_>)),
    /// With a bencher and each argument.
    Args(fn() -> Cases),
}

/// Name, place and options.
pub struct Meta {
    /// As it is written.
    pub raw_name: &'static str,
    /// As it is shown.
    pub display_name: &'static str,
    /// The module it stands in, from the crate on.
    pub module_path: &'static str,
    /// Where it stands.
    pub location: Location,
    /// Its options, if it has any.
    pub options: Option<LazyLock<BenchOptions<'static>>>,
}

/// A place in the sources; the order is that of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The name of a type.
pub struct TypeName(fn() -> &'static str);

impl TypeName {
    /// The name of `T`.
    pub const fn new<T: Any>() -> TypeName {
        TypeName(std::any::type_name::<T>)
    }

    /// Without the modules it is in; those of its parameters stay.
    pub(crate) fn short(&self) -> &'static str {
        let mut name = (self.0)();
        while let Some((before, after)) = name.split_once("::") {
            if before.contains('<') {
                break;
            }
            name = after;
        }
        name
    }
}

/// A constant.
pub struct ConstValue(&'static dyn Constant);

trait Constant: Sync {
    fn show(&self) -> String;
    fn compare(&self, other: &dyn Any) -> Option<Ordering>;
    fn any(&self) -> &dyn Any;
}

impl<T: PartialOrd + ToString + Sync + 'static> Constant for T {
    fn show(&self) -> String {
        self.to_string()
    }

    fn compare(&self, other: &dyn Any) -> Option<Ordering> {
        self.partial_cmp(other.downcast_ref()?)
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl ConstValue {
    /// The constant `value`.
    pub const fn new<T: PartialOrd + ToString + Send + Sync>(value: &'static T) -> ConstValue {
        ConstValue(value)
    }

    pub(crate) fn show(&self) -> String {
        self.0.show()
    }

    /// By value, where they are of one type.
    pub(crate) fn compare(&self, other: &ConstValue) -> Option<Ordering> {
        self.0.compare(other.0.any())
    }
}
