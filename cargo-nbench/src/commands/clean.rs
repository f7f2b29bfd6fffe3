//! `cargo nbench clean`: removes cached checkouts and builds. Results are never removed.

use std::path::Path;

use indicatif::BinaryBytes;

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
    term.line(&summary(freed, &cache));
    Ok(Exit::Done)
}

fn summary(bytes: u64, cache: &Path) -> String {
    let size = BinaryBytes(bytes);
    format!("freed {size} of cached checkouts and builds in `{}`", cache.display())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::summary;

    #[test]
    fn a_little_is_not_nothing() {
        for (bytes, size) in [(0, "0 B"), (1536, "1.50 KiB"), (5 << 30, "5.00 GiB")] {
            let text = format!("freed {size} of cached checkouts and builds in `/c`");
            assert_eq!(summary(bytes, Path::new("/c")), text);
        }
    }
}
