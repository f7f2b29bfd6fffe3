//! How much one iteration processes, as suites say it. It must not know where the number is shown.

use std::any::{Any, TypeId};

use crate::wire::Throughput;

/// A kind of thing that is counted.
pub trait Counter: Sized + Any + Sealed {}

#[doc(hidden)]
pub trait Sealed {
    /// The kind and the number.
    fn counted(&self) -> (Kind, u64);
}

/// Something that says how much one iteration processes.
pub trait IntoCounter {
    /// The kind of thing that it counts.
    type Counter: Counter;

    /// Converts into a counter.
    fn into_counter(self) -> Self::Counter;
}

impl<C: Counter> IntoCounter for C {
    type Counter = C;

    fn into_counter(self) -> C {
        self
    }
}

/// The kinds of counters.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bytes,
    Chars,
    Cycles,
    Items,
}

impl Kind {
    pub(crate) fn of<C: Counter>() -> Kind {
        let id = TypeId::of::<C>();
        if id == TypeId::of::<BytesCount>() {
            Kind::Bytes
        } else if id == TypeId::of::<CharsCount>() {
            Kind::Chars
        } else if id == TypeId::of::<CyclesCount>() {
            Kind::Cycles
        } else {
            Kind::Items
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name {
            count: u64,
        }

        impl $name {
            /// Counts this many.
            pub fn new<N: CountUInt>(count: N) -> Self {
                Self { count: count.into_max_uint() }
            }
        }

        impl<C: AsCountUInt> From<C> for $name {
            fn from(count: C) -> Self {
                Self { count: count.as_max_uint() }
            }
        }

        impl Sealed for $name {
            fn counted(&self) -> (Kind, u64) {
                (Kind::$kind, self.count)
            }
        }

        impl Counter for $name {}
    )+};
}

counters! {
    /// Bytes.
    BytesCount => Bytes;
    /// Characters.
    CharsCount => Chars;
    /// Cycles of whatever the benchmark means by them.
    CyclesCount => Cycles;
    /// Items.
    ItemsCount => Items;
}

impl BytesCount {
    /// The size of a type.
    pub const fn of<T>() -> Self {
        Self { count: size_of::<T>() as u64 }
    }

    /// The size of `n` values of a type.
    ///
    /// # Panics
    /// When that is more than fits into 64 bits.
    pub const fn of_many<T>(n: usize) -> Self {
        match (size_of::<T>() as u64).checked_mul(n as u64) {
            Some(count) => Self { count },
            None => panic!("overflow"),
        }
    }

    /// The size of a value.
    pub fn of_val<T: ?Sized>(val: &T) -> Self {
        Self { count: size_of_val(val) as u64 }
    }

    /// The size of all values of an iterator.
    pub fn of_iter<T, I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self::of_many::<T>(iter.into_iter().count())
    }

    /// The bytes of a text.
    pub fn of_str<S: ?Sized + AsRef<str>>(s: &S) -> Self {
        Self::of_val(s.as_ref())
    }

    /// The bytes of a slice.
    pub fn of_slice<T, S: ?Sized + AsRef<[T]>>(s: &S) -> Self {
        Self::of_val(s.as_ref())
    }
}

macro_rules! bytes_of {
    ($($of:ident)+) => {
        impl BytesCount {$(
            /// The size of `n` values of the type of this name.
            pub const fn $of(n: usize) -> Self {
                Self::of_many::<$of>(n)
            }
        )+}
    };
}

bytes_of! { f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize }

impl CharsCount {
    /// The characters of a text.
    pub fn of_str<S: ?Sized + AsRef<str>>(s: &S) -> Self {
        Self::new(s.as_ref().chars().count())
    }
}

impl ItemsCount {
    /// The values of an iterator.
    pub fn of_iter<T, I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self::new(iter.into_iter().count())
    }
}

/// How bytes would be shown; without effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BytesFormat {
    /// In powers of 1000.
    #[default]
    Decimal,
    /// In powers of 1024.
    Binary,
}

/// The unsigned integers that counters are made from.
#[doc(hidden)]
pub trait CountUInt: Copy + Any {
    fn into_max_uint(self) -> u64;
}

/// The same, and references to them.
#[doc(hidden)]
pub trait AsCountUInt {
    fn as_max_uint(&self) -> u64;
}

impl<T: AsCountUInt> AsCountUInt for &T {
    fn as_max_uint(&self) -> u64 {
        T::as_max_uint(self)
    }
}

macro_rules! integers {
    ($($integer:ty)+) => {$(
        impl CountUInt for $integer {
            fn into_max_uint(self) -> u64 {
                self as u64
            }
        }

        impl AsCountUInt for $integer {
            fn as_max_uint(&self) -> u64 {
                *self as u64
            }
        }

        impl IntoCounter for $integer {
            type Counter = ItemsCount;

            fn into_counter(self) -> ItemsCount {
                ItemsCount::new(self)
            }
        }
    )+};
}

integers! { u8 u16 u32 u64 usize }

/// One number for each kind that was given.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct CounterSet([Option<u64>; 4]);

impl CounterSet {
    /// With one more counter, which replaces one of its kind.
    #[must_use]
    pub fn with(mut self, counter: impl IntoCounter) -> Self {
        self.insert(counter);
        self
    }

    pub(crate) fn insert(&mut self, counter: impl IntoCounter) {
        let (kind, count) = counter.into_counter().counted();
        self.0[kind as usize] = Some(count);
    }

    /// Settings of this one, and otherwise of the other one.
    pub(crate) fn or(&self, other: &CounterSet) -> CounterSet {
        let mut both = self.clone();
        for (own, other) in both.0.iter_mut().zip(other.0) {
            *own = own.or(other);
        }
        both
    }

    /// The first of bytes, items, characters and cycles that is known.
    pub(crate) fn throughput(&self) -> Option<Throughput> {
        let [bytes, chars, cycles, items] = self.0;
        let custom = |unit: &str| {
            let unit = unit.to_owned();
            move |count| Throughput::Custom { amount: count as f64, unit }
        };
        bytes
            .map(Throughput::Bytes)
            .or(items.map(Throughput::Elements))
            .or(chars.map(custom("chars")))
            .or(cycles.map(custom("cycles")))
    }
}
