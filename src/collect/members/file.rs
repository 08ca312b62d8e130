//! The file that lists member kubeconfigs.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use evidence::{ProfileKey, api::UnknownName};
use kube::config::Kubeconfig;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::plan::MemberWay;
use crate::{connect, connect::ConnectError, words::read_quietly};

/// An example for error messages.
const EXAMPLE: &str = "give for each profile a kubeconfig and a context, such as \
                       `fleet/lisbon: {kubeconfig: fleet.kubeconfig, context: lisbon}`";

/// Why the file of members cannot be used. No message holds a secret of a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum MembersError {
    /// The file cannot be read.
    #[error("failed to read the members' file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file does not say what it should.
    #[error("failed to use the members' file {}: {flaw}; {EXAMPLE}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        flaw: String,
    },

    /// A kubeconfig that the file names is of no use.
    #[error("failed to use the members' file {}: {profile}: {source}", path.display())]
    Way {
        /// The file.
        path: PathBuf,
        /// Namespace and name of the profile.
        profile: String,
        /// What is wrong with the kubeconfig.
        source: Box<ConnectError>,
    },
}

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
    /// What is wrong with it; quotes no value.
    fn read(entry: &Value) -> Result<Self, String> {
        let fields = entry.as_object().ok_or("it is no mapping")?;
        let known = ["kubeconfig", "context"];
        if let Some(unknown) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(UnknownName::among("key", unknown, known).to_string());
        }
        let text = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("its {key} is no text")),
        };
        Ok(Self {
            kubeconfig: text("kubeconfig")?.ok_or("it has no kubeconfig")?.into(),
            context: text("context")?,
        })
    }
}

/// Reads a file of members, and the kubeconfigs that it names; also gives the files that were read. Nobody is called yet,
/// and no plugin is run.
///
/// # Errors
/// When the file, a kubeconfig or a context cannot be used.
pub fn read_members(path: &Path) -> Result<(Vec<MemberWay>, Vec<PathBuf>), MembersError> {
    let malformed = |flaw: String| MembersError::Malformed {
        path: path.to_owned(),
        flaw,
    };
    let text = fs::read_to_string(path).map_err(|source| MembersError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let entries: BTreeMap<String, Value> = read_quietly(&text).map_err(|flaw| malformed(flaw.to_string()))?;
    if entries.is_empty() {
        return Err(malformed("it names no profile".to_owned()));
    }
    let mut read: HashMap<PathBuf, Kubeconfig> = HashMap::new();
    let mut ways = Vec::new();
    for (name, entry) in entries {
        let profile =
            profile(&name).ok_or_else(|| malformed(format!("`{name}` is no namespace/name of a profile")))?;
        let Entry { kubeconfig, context } =
            Entry::read(&entry).map_err(|flaw| malformed(format!("`{name}`: {flaw}")))?;
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

fn profile(name: &str) -> Option<ProfileKey> {
    let (namespace, name) = name.split_once('/')?;
    let whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    whole.then(|| ProfileKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
