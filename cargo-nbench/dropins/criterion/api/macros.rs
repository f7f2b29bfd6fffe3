//! The macros that make a program of benchmark functions. They must not name this crate, which may
//! have been renamed.

/// Defines a function that runs benchmark functions with one configuration.
#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $( $target:path ),+ $(,)*) => {
        /// Runs the benchmarks of this group.
        pub fn $name() {
            let mut criterion: $crate::Criterion<_> = $config.configure_from_args();
            $(
                $crate::__guard(::std::stringify!($target), || {
                    $target(&mut criterion);
                });
            )+
        }
    };
    ($name:ident, $( $target:path ),+ $(,)*) => {
        $crate::criterion_group! {
            name = $name;
            config = $crate::Criterion::default();
            targets = $( $target ),+
        }
    };
}

/// Defines the `main` function, which runs groups one after another.
#[macro_export]
macro_rules! criterion_main {
    ( $( $group:path ),+ $(,)* ) => {
        fn main() {
            $crate::__begin();
            $(
                $crate::__guard(::std::stringify!($group), || {
                    $group();
                });
            )+
            $crate::__end();
        }
    };
}
