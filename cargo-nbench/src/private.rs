//! Temporary directories that nobody but the user can enter, whatever the umask and the place for
//! temporary files are. It does not know what is put there.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// A new directory in the place for temporary files, which vanishes when dropped.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn directory(prefix: &str) -> io::Result<TempDir> {
    directory_in(&std::env::temp_dir(), prefix)
}

/// A new directory in `base`, which vanishes when dropped.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn directory_in(base: &Path, prefix: &str) -> io::Result<TempDir> {
    let permissions = Permissions::from_mode(0o700);
    // Set when it is made: between making and narrowing somebody could have entered.
    tempfile::Builder::new().prefix(prefix).rand_bytes(8).permissions(permissions).tempdir_in(base)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{directory, directory_in};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn nobody_else_can_enter() {
        assert_eq!(mode(directory("nbench").unwrap().path()), 0o700);
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(mode(directory_in(base.path(), "nb").unwrap().path()), 0o700);
    }
}
