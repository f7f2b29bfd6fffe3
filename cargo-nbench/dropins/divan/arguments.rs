//! Run-time arguments of a benchmark: made once, named, and handed to it by number. It must not
//! know where they are run.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::OnceLock;

use crate::forms::Bencher;

/// The arguments of one function, made when they are first asked for and shared by its instances.
#[derive(Default)]
pub struct Arguments {
    made: OnceLock<Made>,
}

struct Made {
    /// A `Vec` of the arguments.
    values: Box<dyn Any + Send + Sync>,
    names: Vec<String>,
}

/// The arguments of one instance with the function that takes them.
pub struct Cases {
    names: &'static [String],
    run: Box<dyn Fn(Bencher<'_, '_>, usize)>,
}

impl Arguments {
    /// No arguments so far.
    pub const fn new() -> Arguments {
        Arguments { made: OnceLock::new() }
    }

    /// The arguments, with `run` for this instance.
    pub fn cases<I, B>(
        &'static self,
        make: impl FnOnce() -> I,
        name: impl Fn(&I::Item) -> String,
        run: B,
    ) -> Cases
    where
        I: IntoIterator,
        I::Item: Any + Send + Sync,
        B: FnOnce(Bencher<'_, '_>, &I::Item) + Copy + 'static,
    {
        let made = self.made.get_or_init(|| {
            let values: Vec<I::Item> = make().into_iter().collect();
            let names = values.iter().map(name).collect();
            Made { values: Box::new(values), names }
        });
        let values: Option<&'static Vec<I::Item>> = made.values.downcast_ref();
        Cases {
            names: &made.names,
            run: Box::new(move |bencher, index| {
                // All instances are made by one macro call, from one expression.
                if let Some(value) = values.and_then(|values| values.get(index)) {
                    run(bencher, crate::black_box(value));
                }
            }),
        }
    }
}

impl Cases {
    pub(crate) fn names(&self) -> &'static [String] {
        self.names
    }

    pub(crate) fn run(&self, bencher: Bencher<'_, '_>, index: usize) {
        (self.run)(bencher, index);
    }
}

/// How an argument is shown: as `ToString` says, and otherwise as `Debug` says. The method of the
/// type comes before that of the trait wherever there are both.
pub struct Shown<'a, T: 'static>(pub &'a T);

#[expect(clippy::to_string_trait_impl, reason = "there is no other trait in scope at the caller")]
impl<T: Debug> ToString for Shown<'_, T> {
    fn to_string(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl<T: ToString> Shown<'_, T> {
    /// The text.
    #[expect(clippy::inherent_to_string, reason = "it has to shadow the method of the trait")]
    pub fn to_string(&self) -> String {
        self.0.to_string()
    }
}

/// Value of an argument for a parameter of type `T`.
pub trait Arg<T> {
    /// The value to pass.
    fn get(this: Self) -> T;
}

impl<T> Arg<T> for T {
    fn get(this: Self) -> T {
        this
    }
}

impl<'a, T: ?Sized + ToOwned> Arg<&'a T> for &'a Cow<'a, T> {
    fn get(this: Self) -> &'a T {
        this
    }
}

impl<'a> Arg<&'a str> for &'a String {
    fn get(this: Self) -> &'a str {
        this
    }
}

impl<T: Copy> Arg<T> for &T {
    fn get(this: Self) -> T {
        *this
    }
}

impl<T: Copy> Arg<T> for &&T {
    fn get(this: Self) -> T {
        **this
    }
}

impl<T: Copy> Arg<T> for &&&T {
    fn get(this: Self) -> T {
        ***this
    }
}
