//! `cargo nbench clean`: removes cached checkouts and builds. Results are never removed.

use std::path::Path;

use crate::cache;
use crate::cli::args::CleanArgs;
use crate::failure::{Exit, Failure};
use crate::revisions::checkout;
use crate::revisions::revision::{Repository, Undiscovered};
use crate::term::Term;

/// Frees the cache of this repository, or of all.
///
/// # Errors
/// When the cache cannot be read or written.
pub fn clean(term: &mut Term, args: &CleanArgs) -> Result<Exit, Failure> {
    let repository = match Repository::find(Path::new(".")) {
        _ if args.all => None,
        Ok(repository) => Some(repository),
        Err(Undiscovered::Outside(failure)) => {
            return Err(
                failure.hint("`cargo nbench clean --all` removes those of all repositories")
            );
        }
        Err(Undiscovered::Refused(failure)) => return Err(failure),
    };
    let freed = checkout::clean(repository.as_ref())?;
    let cache = cache::path()?;
    term.line(&format!(
        "freed {:.1} MiB of cached checkouts and builds in `{}`",
        freed as f64 / 1048576.0,
        cache.display()
    ));
    Ok(Exit::Done)
}
