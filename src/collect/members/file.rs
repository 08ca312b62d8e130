//! The file that lists member kubeconfigs.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use evidence::{LARGEST_TEXT, ObjectKey, api::UnknownName, read_text};
use kube::config::Kubeconfig;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::{
    error::{EntryFlaw, MembersError, MembersFlaw},
    plan::MemberWay,
};
use crate::connect::{self, messages::read_quietly};

/// The way to one member.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Entry {
    /// The kubeconfig, as seen from the file.
    kubeconfig: PathBuf,
    /// The context of the kubeconfig; its current one where none is named.
    context: Option<String>,
}

impl Entry {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(entry: &Value) -> Result<Self, EntryFlaw> {
        let fields = entry.as_object().ok_or(EntryFlaw::NotMapping)?;
        let known = ["kubeconfig", "context"];
        if let Some(unknown) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(UnknownName::among("key", unknown, known).into());
        }
        let text = |key: &'static str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(EntryFlaw::NotText(key)),
        };
        Ok(Self {
            kubeconfig: text("kubeconfig")?.ok_or(EntryFlaw::NoKubeconfig)?.into(),
            context: text("context")?,
        })
    }
}

/// Reads a file of members, and the kubeconfigs that it names; also gives the files that were read. Calls no
/// member yet, and runs no plugin.
///
/// # Errors
/// When the file, a kubeconfig or a context cannot be used.
pub fn read_members(path: &Path) -> Result<(Vec<MemberWay>, Vec<PathBuf>), MembersError> {
    let malformed = |source| MembersError::Malformed {
        path: path.to_owned(),
        source,
    };
    let text = read_text(path, LARGEST_TEXT).map_err(|source| MembersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let entries: BTreeMap<String, Value> =
        read_quietly(&text).map_err(|flaw| malformed(MembersFlaw::Text(flaw)))?;
    if entries.is_empty() {
        return Err(malformed(MembersFlaw::Empty));
    }
    let mut read: HashMap<PathBuf, Kubeconfig> = HashMap::new();
    let mut ways = Vec::new();
    for (name, entry) in entries {
        let profile = profile(&name).ok_or_else(|| malformed(MembersFlaw::Name(name.clone())))?;
        let Entry { kubeconfig, context } = Entry::read(&entry).map_err(|source| {
            malformed(MembersFlaw::Entry {
                profile: name.clone(),
                source,
            })
        })?;
        let failed = |source| MembersError::Way {
            path: path.to_owned(),
            profile: name.clone(),
            source: Box::new(source),
        };
        let place = path.parent().unwrap_or(Path::new("")).join(kubeconfig);
        if !read.contains_key(&place) {
            read.insert(place.clone(), connect::read(&place).map_err(failed)?);
        }
        let told = place.display().to_string();
        let (config, context) = connect::config(&read[&place], &told, context.as_deref()).map_err(failed)?;
        ways.push(MemberWay::by_config(
            profile,
            format!("context {context} of {told}"),
            config,
        ));
    }
    Ok((ways, read.into_keys().collect()))
}

/// The JSON Schema of such a file: ways by the profiles' `namespace/name`.
pub fn members_schema() -> Schema {
    evidence::json_schema::read::<BTreeMap<String, Entry>>()
}

fn profile(name: &str) -> Option<ObjectKey> {
    let (namespace, name) = name.split_once('/')?;
    let whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    whole.then(|| ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
