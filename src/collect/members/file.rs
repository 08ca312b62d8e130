//! Reads the file that lists member kubeconfigs.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use evidence::{LARGEST_TEXT, ObjectKey, read_text, user_file};
use kube::config::Kubeconfig;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::plan::MemberWay;
use crate::connect;

/// An example for error messages.
const EXAMPLE: &str = "give for each profile a kubeconfig and a context, such as \
                       `fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}`";

/// Why the file of members cannot be used. No message holds a secret of a kubeconfig.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MembersError(String);

/// The way to one member.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemberEntry {
    /// The kubeconfig, as seen from the file.
    kubeconfig: PathBuf,
    /// The context of the kubeconfig; its current one where none is named.
    context: Option<String>,
}

/// Reads a file of members, and the kubeconfigs that it names; also returns the files that were read. Calls no
/// member yet, and runs no plugin.
///
/// # Errors
/// When the file, a kubeconfig or a context cannot be used.
pub fn read_members(path: &Path) -> Result<(Vec<MemberWay>, Vec<PathBuf>), MembersError> {
    let shown = path.display();
    let unusable = |flaw| MembersError(format!("failed to use the members' file {shown}: {flaw}"));
    let malformed = |flaw: String| unusable(format!("{flaw}; {EXAMPLE}"));
    let text = read_text(path, LARGEST_TEXT)
        .map_err(|error| MembersError(format!("failed to read the members' file {shown}: {error}")))?;
    let entries: BTreeMap<String, MemberEntry> =
        user_file::read(&text).map_err(|error| malformed(error.to_string()))?;
    if entries.is_empty() {
        return Err(malformed("it names no profile".to_owned()));
    }
    let mut read: HashMap<PathBuf, Kubeconfig> = HashMap::new();
    let mut ways = Vec::new();
    for (name, MemberEntry { kubeconfig, context }) in entries {
        let profile = profile(&name);
        let profile =
            profile.ok_or_else(|| malformed(format!("`{name}` is not namespace/name of a profile")))?;
        let failed = |error| unusable(format!("{name}: {error}"));
        let place = path.parent().unwrap_or(Path::new("")).join(kubeconfig);
        if !read.contains_key(&place) {
            read.insert(place.clone(), connect::read(&place).map_err(failed)?);
        }
        let shown = place.display().to_string();
        let (config, context) = connect::config(&read[&place], &shown, context.as_deref()).map_err(failed)?;
        let description = format!("context {context} of {shown}");
        ways.push(MemberWay::by_config(profile, description, config));
    }
    Ok((ways, read.into_keys().collect()))
}

/// The JSON Schema of such a file: ways by the profiles' `namespace/name`.
pub fn members_schema() -> Schema {
    evidence::json_schema::read::<BTreeMap<String, MemberEntry>>()
}

fn profile(name: &str) -> Option<ObjectKey> {
    let (namespace, name) = name.split_once('/')?;
    let is_whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    is_whole.then(|| ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
