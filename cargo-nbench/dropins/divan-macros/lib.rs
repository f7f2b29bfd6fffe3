//! The attributes `bench` and `bench_group`: they leave the item as it is and put a static beside
//! it that registers it before `main`. The crate has no dependency, so tokens are read and written
//! by hand; it must not know how a benchmark is run.

mod expand;
mod parse;
mod token;

use proc_macro::TokenStream;

/// Registers a benchmark.
#[proc_macro_attribute]
pub fn bench(options: TokenStream, item: TokenStream) -> TokenStream {
    beside(expand::bench(options, item.clone()), item)
}

/// Gives a module of benchmarks a name and options.
#[proc_macro_attribute]
pub fn bench_group(options: TokenStream, item: TokenStream) -> TokenStream {
    beside(expand::bench_group(options, item.clone()), item)
}

fn beside(made: TokenStream, mut item: TokenStream) -> TokenStream {
    item.extend(made);
    item
}
