//! How the user's own tree is read and built without a change to its lock file: with the file as it
//! is where cargo need not write it, and otherwise in a mirror. It must not know what is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cargo_metadata::Metadata;

use super::command::{self, BuildContext};
use super::mirror::{Mirror, Original};
use super::{BuildOptions, Workspace, injected, load_as_it_is, load_in};
use crate::failure::Failure;

/// A workspace that is built where the user keeps it.
#[derive(Debug)]
pub struct InPlace {
    /// Workspace as cargo knows it.
    pub workspace: Workspace,
    /// The flags of every command that builds in it.
    pub options: BuildOptions,
}

impl InPlace {
    /// After a build: its lock file is good for the next one, and other processes may build.
    pub fn built(&self) {
        if let Some(mirror) = &self.workspace.mirror {
            mirror.keep();
        }
    }
}

/// Reads the workspace that cargo finds in `dir`, such that no later command of cargo writes the
/// user's lock file. `on_wait` is called when another process builds there and is waited for.
///
/// # Errors
///
/// A build failure with cargo's message.
pub fn load(
    dir: &Path,
    options: &BuildOptions,
    on_wait: &mut dyn FnMut(),
) -> Result<InPlace, Failure> {
    let context = BuildContext::new(dir);
    let layout = layout(&context, options)?;
    let root = layout.workspace_root.as_std_path();
    let root = &root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let locked = BuildOptions { locked: true, ..options.clone() };
    // What is wrong with a tree that cannot be read so is told by the way that always can.
    if root.join("Cargo.lock").exists()
        && let Ok(Ok(workspace)) = injected(&context, &locked, false)
    {
        return Ok(InPlace { workspace, options: locked });
    }
    // The mirror's lock file may be written, so what forbids to write the user's is asked of the
    // user's.
    if options.locked || options.frozen {
        load_as_it_is(&context, options)?;
    }
    let target = options.target_dir.as_deref().unwrap_or(layout.target_directory.as_std_path());
    let place = super::own_target(target, root).path;
    // The same directory as that of the root, where a link led to it.
    let resolved = |manifest: &Path| match manifest.strip_prefix(&layout.workspace_root) {
        Ok(inside) => root.join(inside),
        Err(_) => manifest.to_owned(),
    };
    let members: Vec<PathBuf> =
        layout.packages.iter().map(|p| resolved(p.manifest_path.as_std_path())).collect();
    let original = Original { root, members: &members, place: &place };
    let mirror = Arc::new(Mirror::of(&original, on_wait)?);
    let start = super::start_manifest(dir, options).unwrap_or_else(|| root.join("Cargo.toml"));
    let options = BuildOptions { manifest_path: Some(mirror.inside(&start)), ..options.clone() };
    let context = BuildContext { mirror: Some(Arc::clone(&mirror)), ..context };
    let mut workspace = load_in(&context, &options)?;
    workspace.target_directory = layout.target_directory.into_std_path_buf();
    Ok(InPlace { workspace, options })
}

/// Where the workspace and its packages are, which cargo tells without a lock file.
fn layout(context: &BuildContext<'_>, options: &BuildOptions) -> Result<Metadata, Failure> {
    let mut command = context.cargo("metadata");
    command.args(["--no-deps", "--format-version", "1"]);
    for config in &options.config {
        command.arg("--config").arg(config);
    }
    if let Some(manifest) = &options.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    super::parsed(&command::output(&mut command, &options.words)?)
}
