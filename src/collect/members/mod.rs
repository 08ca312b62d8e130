//! Queries the members' API servers: their state, whether endpoints answer, and whether consumers' credentials work.
//!
//! Members are asked in parallel, each within a budget; a member that fails leaves a gap of its own. Only gets, lists and
//! self reviews are sent. What a member says when it refuses is not kept: it may repeat the credential.

mod credentials;
pub(super) mod endpoints;
mod poll;
mod sample;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::{LARGEST_TEXT, ObjectKey, read_text, user_file};
use kube::{Client, Config, config::Kubeconfig};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use self::credentials::AccessSource;
pub(super) use self::poll::MemberPoll;
pub use self::poll::reach_members;
use crate::{
    connect::{self, ClientError},
    hub::profile_key,
    plugins::Plugins,
};

/// Which members to ask, by which ways. By default none.
#[derive(Clone)]
pub struct Members {
    /// Ways to single members. Of two ways to one the first counts.
    pub access: Vec<MemberAccess>,
    /// Whether consumers' Secrets are tried on their members, and serve as access to those that have no other.
    pub from_secrets: bool,
    /// The credential plugins that are run for profiles with such an access provider. What they yield is tried on the
    /// members, and serves as access to those that have no other; none: no plugin is run.
    pub plugins: Option<Plugins>,
    /// Whether Secrets, plugins, and endpoints are tried only for members in `access`: no other member exists.
    pub is_exclusive: bool,
    /// How to connect to where a Secret, an access provider or an endpoint leads.
    pub dial: Arc<dyn Dial>,
}

/// A way to one member.
#[derive(Clone)]
pub struct MemberAccess {
    /// The profile that describes the member.
    pub profile: ObjectKey,
    /// The way, for people: `context lisbon of fleet.kubeconfig`.
    pub description: String,
    source: AccessSource,
}

/// Connects to servers.
pub trait Dial: Send + Sync {
    /// A client for where the configuration leads.
    ///
    /// # Errors
    /// When there can be none.
    fn connect(&self, config: Config) -> Result<Client, ClientError>;
}

/// Connects over the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Network;

impl Dial for Network {
    fn connect(&self, config: Config) -> Result<Client, ClientError> {
        connect::client(config)
    }
}

impl MemberAccess {
    /// A way by a client that is ready. It should name itself as the suite does.
    pub fn by_client(profile: ObjectKey, description: impl Into<String>, client: Client) -> Self {
        Self {
            profile,
            description: description.into(),
            source: AccessSource::Client(client),
        }
    }
}

impl Members {
    /// Whether any is asked.
    pub fn are_asked(&self) -> bool {
        self.from_secrets || self.plugins.is_some() || !self.access.is_empty()
    }

    /// Whether what a profile and its Secrets lead to is called. A Secret need not name the namespace.
    fn hold(&self, profile: &ObjectKey) -> bool {
        let is_of_profile = |access: &MemberAccess| {
            let is_there = profile.namespace.is_empty() || access.profile.namespace == profile.namespace;
            access.profile.name == profile.name && is_there
        };
        !self.is_exclusive || self.access.iter().any(is_of_profile)
    }
}

impl Default for Members {
    fn default() -> Self {
        Self {
            access: Vec::new(),
            from_secrets: false,
            plugins: None,
            is_exclusive: false,
            dial: Arc::new(Network),
        }
    }
}

const EXAMPLE: &str = "give for each profile a kubeconfig and a context, for example \
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
pub fn read_members(path: &Path) -> Result<(Vec<MemberAccess>, Vec<PathBuf>), MembersError> {
    let file = path.display();
    let unusable = |why| MembersError(format!("failed to use the members' file {file}: {why}"));
    let malformed = |why: String| unusable(format!("{why}; {EXAMPLE}"));
    let text = read_text(path, LARGEST_TEXT)
        .map_err(|error| MembersError(format!("failed to read the members' file {file}: {error}")))?;
    let entries: BTreeMap<String, MemberEntry> =
        user_file::read(&text).map_err(|error| malformed(error.to_string()))?;
    if entries.is_empty() {
        return Err(malformed("it names no profile".to_owned()));
    }
    let mut read: HashMap<PathBuf, Kubeconfig> = HashMap::new();
    let mut accesses = Vec::new();
    for (name, MemberEntry { kubeconfig, context }) in entries {
        let profile = profile_key(&name);
        let profile =
            profile.ok_or_else(|| malformed(format!("`{name}` is not namespace/name of a profile")))?;
        let failed = |error| unusable(format!("{name}: {error}"));
        let place = path.parent().unwrap_or(Path::new("")).join(kubeconfig);
        if !read.contains_key(&place) {
            read.insert(place.clone(), connect::read(&place).map_err(failed)?);
        }
        let file = place.display().to_string();
        let (config, context) = connect::config(&read[&place], &file, context.as_deref()).map_err(failed)?;
        accesses.push(MemberAccess {
            profile,
            description: format!("context {context} of {file}"),
            source: AccessSource::Config(Box::new(config)),
        });
    }
    Ok((accesses, read.into_keys().collect()))
}

/// The JSON Schema of such a file: ways by the profiles' `namespace/name`.
pub fn members_schema() -> Schema {
    evidence::json_schema::of_input::<BTreeMap<String, MemberEntry>>()
}
