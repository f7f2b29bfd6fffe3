//! Names among the user's flags that nothing has: told once, with what was probably meant, before
//! anything is built. It must not know what is done with those that exist.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use cargo_metadata::TargetKind;

use super::command::configuration_file;
use super::{BuildContext, BuildOptions, Workspace, matches, packages, specifies};
use crate::build::error::BuildError;
use crate::failure::Failure;
use crate::suggest::nearest;

/// Profiles that every workspace has.
const PROFILES: [&str; 4] = ["bench", "dev", "release", "test"];

/// How many names a hint lists.
const LISTED: usize = 12;

/// Refuses the first name of a package, bench target, feature or profile that the workspace does
/// not have.
///
/// # Errors
/// A sentence with the name and what there is instead.
pub fn refuse_unknown(
    workspace: &Workspace,
    options: &BuildOptions,
    context: &BuildContext<'_>,
) -> Result<(), Failure> {
    let members = workspace.members();
    if let Some(wanted) =
        options.packages.iter().find(|wanted| !members.iter().any(|p| specifies(wanted, p)))
    {
        let names = members.iter().map(|package| package.name.to_string()).collect();
        let message = format!("the workspace has no package `{wanted}`");
        return Err(BuildError::UnknownSelection { message, hint: instead(wanted, &names) }.into());
    }
    let benches = |names: &mut BTreeSet<String>, package: &cargo_metadata::Package| {
        let targets = package.targets.iter().filter(|t| t.kind.contains(&TargetKind::Bench));
        names.extend(targets.map(|target| target.name.clone()));
    };
    let (mut selected, mut all) = (BTreeSet::new(), BTreeSet::new());
    packages(workspace, options).0.into_iter().for_each(|p| benches(&mut selected, p));
    members.iter().for_each(|package| benches(&mut all, package));
    // Where another package has it, the selection says so; where there is none at all, how one is
    // added.
    let is_unknown = |wanted: &&String| !all.iter().any(|name| matches(wanted, name));
    if let Some(wanted) = options.benches.iter().find(is_unknown).filter(|_| !all.is_empty()) {
        let names = if selected.is_empty() { all } else { selected };
        let message = format!("no bench target is called `{wanted}`");
        return Err(BuildError::UnknownSelection { message, hint: instead(wanted, &names) }.into());
    }
    let features: BTreeSet<String> =
        members.iter().flat_map(|package| package.features.keys().cloned()).collect();
    let named = options.features.iter().flat_map(|list| list.split([',', ' ']));
    for wanted in named.filter(|name| !name.is_empty()) {
        let known = match wanted.split_once('/') {
            Some((package, feature)) => members
                .iter()
                .find(|member| member.name.as_str() == package)
                .is_none_or(|member| member.features.contains_key(feature)),
            None => features.contains(wanted),
        };
        if !known {
            let message = format!("no package of the workspace has a feature `{wanted}`");
            let hint = instead(wanted, &features);
            return Err(BuildError::UnknownFlag { message, hint }.into());
        }
    }
    match &options.profile {
        Some(profile) => refuse_profile(workspace, options, context, profile),
        None => Ok(()),
    }
}

fn refuse_profile(
    workspace: &Workspace,
    options: &BuildOptions,
    context: &BuildContext<'_>,
    wanted: &str,
) -> Result<(), Failure> {
    let text = fs::read_to_string(workspace.root.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let mut names: BTreeSet<String> = PROFILES.iter().map(|name| (*name).to_owned()).collect();
    names.extend(
        manifest
            .get("profile")
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(|table| table.keys().cloned()),
    );
    // Cargo's configuration may define one too, in more ways than are worth reading here: it is
    // left to cargo wherever a configuration could.
    let variable = format!("CARGO_PROFILE_{}_", wanted.to_uppercase().replace('-', "_"));
    let may_define = |text: String| text.contains("profile") || text.contains("include");
    let here = std::path::absolute(context.dir).unwrap_or_else(|_| context.dir.to_owned());
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let files = here.ancestors().map(|directory| directory.join(".cargo")).chain(home);
    let mut texts = files
        .filter_map(|directory| configuration_file(&directory))
        .chain(context.configuration.iter().cloned())
        .filter_map(|file| fs::read_to_string(file).ok())
        .chain(options.config.iter().cloned());
    let is_elsewhere = env::vars_os()
        .any(|(name, _)| name.to_string_lossy().starts_with(&variable))
        || options.config.iter().any(|value| !value.contains('='))
        || texts.any(may_define);
    if names.contains(wanted) || is_elsewhere {
        return Ok(());
    }
    let message = format!("no profile is called `{wanted}`");
    Err(BuildError::UnknownFlag { message, hint: instead(wanted, &names) }.into())
}

/// Hint on what was probably meant, or on what there is.
fn instead(wanted: &str, names: &BTreeSet<String>) -> String {
    if let Some(name) = nearest(wanted, names.iter().map(String::as_str)) {
        return format!("did you mean `{name}`?");
    }
    let mut listed: Vec<String> = names.iter().take(LISTED).map(|n| format!("`{n}`")).collect();
    if names.len() > LISTED {
        listed.push(format!("{} more", names.len() - LISTED));
    }
    match listed.as_slice() {
        [] => "the workspace has none".to_owned(),
        listed => format!("there is {}", listed.join(", ")),
    }
}
