//! The access providers of a profile, and the rules on the two lists that contain them.

use evidence::api::{AccessProvider, Cluster, ClusterProfile};

use crate::{
    engine::{Answer, Hub},
    hash::HashSet,
    subjects::Finding,
    text::{ABSENT, redacted},
};

const ACCESS_PROVIDERS: &str = "accessProviders";
const CREDENTIAL_PROVIDERS: &str = "credentialProviders";

/// The maximum number of access providers in v1alpha2.
const MAX_PROVIDERS: usize = 64;
/// The maximum length of a name in v1alpha2, in characters.
const MAX_NAME: usize = 253;
/// The maximum length of a URL in v1alpha2, in characters.
const MAX_URL: usize = 2048;

/// One access provider of a profile.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// The field name of the list that contains it.
    list: &'static str,
    /// Its index in that list.
    index: usize,
    /// Its content.
    pub(super) provider: &'a AccessProvider,
}

/// The access providers of both lists.
pub(super) fn all_entries(profile: &ClusterProfile) -> impl Iterator<Item = Entry<'_>> {
    let status = &profile.status;
    entries_of(ACCESS_PROVIDERS, &status.access_providers)
        .chain(entries_of(CREDENTIAL_PROVIDERS, &status.credential_providers))
}

/// The access providers that consumers use. An entry of the deprecated list counts unless the newer list has its name.
pub(super) fn effective_entries(profile: &ClusterProfile) -> impl Iterator<Item = Entry<'_>> {
    let newer = &profile.status.access_providers;
    all_entries(profile).filter(|entry| {
        entry.list == ACCESS_PROVIDERS || newer.iter().all(|other| other.name != entry.provider.name)
    })
}

/// The effective entries that set a field, each with its text. An empty text is unset: Go serializes unset fields so.
pub(super) fn entries_with<'a>(
    profile: &'a ClusterProfile,
    field: fn(&'a Cluster) -> Option<&'a str>,
) -> impl Iterator<Item = (Entry<'a>, &'a str)> {
    effective_entries(profile).filter_map(move |entry| {
        let text = field(&entry.provider.cluster).filter(|text| !text.is_empty())?;
        Some((entry, text))
    })
}

fn entries_of<'a>(list: &'static str, providers: &'a [AccessProvider]) -> impl Iterator<Item = Entry<'a>> {
    let providers = providers.iter().enumerate();
    providers.map(move |(index, provider)| Entry {
        list,
        index,
        provider,
    })
}

impl Entry<'_> {
    /// The path of a field, given as `part` with a leading dot. An entry without a name is identified by its index.
    pub(super) fn path(&self, part: &str) -> String {
        let list = self.list;
        match &*self.provider.name {
            "" => format!("status.{list}[{}]{part}", self.index),
            name => format!("status.{list}[{name}]{part}"),
        }
    }

    /// A finding on one of its fields.
    pub(super) fn finding(&self, part: &str, message: impl Into<String>) -> Finding {
        Finding::at_path(self.path(part), message)
    }
}

/// `access/provider-named`
///
/// Each access provider has a name that is unique in its list.
///
/// The two lists may name the same provider: the newer list takes precedence.
pub(in crate::rules) fn provider_named(profile: &ClusterProfile, _: &Hub) -> Answer {
    let mut names = HashSet::default();
    Answer::each(all_entries(profile), |entry| {
        let name = &*entry.provider.name;
        if name.trim().is_empty() {
            return Answer::broken(
                entry
                    .finding(".name", "access provider has no name")
                    .expected("the name by which consumers pick a plugin")
                    .observed(ABSENT),
            );
        }
        Answer::broken_if(!names.insert((entry.list, name)), || {
            entry
                .finding(".name", "two access providers of a list have the same name")
                .expected("a name of its own")
                .observed(redacted(name))
        })
    })
}

/// `access/not-deprecated-only`
///
/// A profile that fills the deprecated provider list also fills its replacement.
pub(in crate::rules) fn not_deprecated_only(profile: &ClusterProfile, _: &Hub) -> Answer {
    let deprecated = profile.status.credential_providers.len();
    let has_replacement = !profile.status.access_providers.is_empty();
    if deprecated == 0 && !has_replacement {
        return Answer::NotApplicable;
    }
    Answer::broken_if(!has_replacement, || {
        let message = "only the deprecated list credentialProviders is filled";
        Finding::at_path("status.credentialProviders", message)
            .expected("the same in status.accessProviders")
            .observed(format!("{deprecated} in status.credentialProviders alone"))
    })
}

/// `access/within-v1alpha2-limits`
///
/// Access providers stay within the numbers and lengths that v1alpha2 accepts.
///
/// The deprecated list is not examined: v1alpha2 lacks it.
pub(in crate::rules) fn within_v1alpha2_limits(profile: &ClusterProfile, _: &Hub) -> Answer {
    let providers = &profile.status.access_providers;
    if providers.is_empty() {
        return Answer::NotApplicable;
    }
    let number = Answer::broken_if(providers.len() > MAX_PROVIDERS, || {
        let message = "profile has more access providers than v1alpha2 accepts";
        Finding::at_path("status.accessProviders", message)
            .expected(format!("at most {MAX_PROVIDERS}"))
            .observed(providers.len().to_string())
    });
    let entries = entries_of(ACCESS_PROVIDERS, providers);
    number.and(Answer::each(entries, |entry| lengths_within_limits(&entry)))
}

/// Judges the lengths of an entry's texts, in characters as the API server counts them.
fn lengths_within_limits(entry: &Entry) -> Answer {
    let length = |text: Option<&str>| text.unwrap_or_default().chars().count();
    let cluster = &entry.provider.cluster;
    let mut lengths = vec![
        (
            ".name".to_owned(),
            length(Some(&entry.provider.name)),
            0..=MAX_NAME,
        ),
        (
            ".cluster.server".to_owned(),
            length(cluster.server.as_deref()),
            0..=MAX_URL,
        ),
        (
            ".cluster.tls-server-name".to_owned(),
            length(cluster.tls_server_name.as_deref()),
            0..=MAX_NAME,
        ),
        (
            ".cluster.proxy-url".to_owned(),
            length(cluster.proxy_url.as_deref()),
            0..=MAX_URL,
        ),
    ];
    for extension in &cluster.extensions {
        let path = format!(".cluster.extensions[{}].name", extension.name);
        lengths.push((path, length(Some(&extension.name)), 1..=MAX_NAME));
    }
    Answer::each(lengths, |(path, length, limits)| {
        Answer::broken_if(!limits.contains(&length), || {
            let at_least = if *limits.start() > 0 { "1 to " } else { "at most " };
            entry
                .finding(&path, "text has a length that v1alpha2 does not accept")
                .expected(format!("{at_least}{} characters", limits.end()))
                .observed(format!("{length} characters"))
        })
    })
}
