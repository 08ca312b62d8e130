//! Compares the access providers of two profiles.

use std::{borrow::Cow, hash::Hash};

use evidence::api::{AccessProvider, Cluster, ClusterProfile, endpoints::Place, names};

use super::digest_index::digest;

/// Whether both have an access provider with the same server, CA and settings. Settings count because a gateway may
/// distinguish its members by them.
pub(crate) fn share_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    shared_access(one, other).is_some()
}

/// The first access provider of a profile that the other one has too, with the same server, CA and settings.
pub(super) fn shared_access<'a>(
    one: &'a ClusterProfile,
    other: &ClusterProfile,
) -> Option<&'a AccessProvider> {
    let mut providers = one.access();
    providers.find(|ours| {
        let same = |theirs: &AccessProvider| {
            have_one_server(&ours.cluster, &theirs.cluster) && agree(&ours.cluster, &theirs.cluster)
        };
        other.access().any(same)
    })
}

/// Whether the access providers of two profiles lead to one server and distinguish two members behind it: by the CA, by
/// the name in the server's certificate or by what the exec plugin is told. Providers of one name decide.
pub(crate) fn are_told_apart(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    let pairs: Vec<_> = shared_servers(one, other).collect();
    let differ = |(ours, theirs): &(&AccessProvider, &AccessProvider)| {
        Member::of(&ours.cluster) != Member::of(&theirs.cluster)
    };
    let mut namesakes = pairs
        .iter()
        .filter(|(ours, theirs)| ours.name == theirs.name)
        .peekable();
    match namesakes.peek() {
        Some(_) => namesakes.any(differ),
        None => !pairs.is_empty() && pairs.iter().all(differ),
    }
}

/// The digests of an access provider that identifies a server.
pub(super) struct AccessDigests {
    /// That of server, CA and settings.
    pub(super) access: u64,
    /// That of the provider's name, its server, and what it says about the member behind that.
    pub(super) member: u64,
}

/// The digests of each access provider that identifies a server.
pub(super) fn access_digests(profile: &ClusterProfile) -> impl Iterator<Item = AccessDigests> {
    profile.access().filter_map(|provider| {
        let cluster = &provider.cluster;
        let server = digest(server(cluster)?);
        let authority = cluster.certificate_authority_data.as_deref().map(digest);
        let extensions = cluster.extensions.iter();
        let extensions = extensions.map(|extension| digest((&extension.name, extension.extension.text())));
        Some(AccessDigests {
            access: digest((
                server,
                authority,
                &cluster.tls_server_name,
                &cluster.proxy_url,
                extensions.collect::<Vec<u64>>(),
            )),
            member: digest((&provider.name, server, Member::of(cluster))),
        })
    })
}

/// What tells a member from the others behind one server.
#[derive(PartialEq, Eq, Hash)]
struct Member<'a> {
    authority: Cow<'a, str>,
    tls_server_name: Option<&'a str>,
    exec: Vec<&'a str>,
}

impl<'a> Member<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let authority = cluster.certificate_authority_data.as_deref().unwrap_or_default();
        let extensions = cluster.extensions.iter();
        Self {
            authority: without_breaks(authority),
            tls_server_name: cluster.tls_server_name.as_deref().filter(|name| !name.is_empty()),
            exec: extensions
                .filter(|extension| &*extension.name == names::EXTENSION_EXEC)
                .map(|extension| extension.extension.text())
                .collect(),
        }
    }
}

/// Base64 without its line breaks, which do not matter.
fn without_breaks(base64: &str) -> Cow<'_, str> {
    // No byte of base64 is less than a space. The least of many bytes is found without a branch for each, as a search for
    // white space has.
    if base64.bytes().fold(u8::MAX, u8::min) <= b' ' {
        base64.split_ascii_whitespace().collect::<String>().into()
    } else {
        base64.into()
    }
}

/// Pairs of access providers with the same server.
fn shared_servers<'a>(
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> impl Iterator<Item = (&'a AccessProvider, &'a AccessProvider)> {
    let pairs = one
        .access()
        .flat_map(|ours| other.access().map(move |theirs| (ours, theirs)));
    pairs.filter(|(ours, theirs)| have_one_server(&ours.cluster, &theirs.cluster))
}

fn have_one_server(ours: &Cluster, theirs: &Cluster) -> bool {
    server(ours).is_some_and(|ours| server(theirs) == Some(ours))
}

/// Whether two access providers with one server lead to one member.
fn agree(ours: &Cluster, theirs: &Cluster) -> bool {
    ours.certificate_authority_data == theirs.certificate_authority_data
        && ours.tls_server_name == theirs.tls_server_name
        && ours.proxy_url == theirs.proxy_url
        && ours.extensions == theirs.extensions
}

/// Whether both have an access provider with the same server, settings and CA, and the CA is set.
pub(super) fn share_authority(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    share_access_where(one, other, has_authority)
}

/// Whether both have an access provider with the same server, settings and CA, and either the address is public or
/// the CA is set.
pub(super) fn share_known_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    share_access_where(one, other, |cluster| {
        has_authority(cluster) || server(cluster).is_some_and(|server| !server.is_private())
    })
}

fn share_access_where(
    one: &ClusterProfile,
    other: &ClusterProfile,
    counts: impl Fn(&Cluster) -> bool,
) -> bool {
    shared_servers(one, other)
        .any(|(ours, theirs)| counts(&ours.cluster) && agree(&ours.cluster, &theirs.cluster))
}

fn has_authority(cluster: &Cluster) -> bool {
    let authority = cluster.certificate_authority_data.as_deref();
    authority.is_some_and(|authority| !authority.is_empty())
}

/// The place of an access provider's server, if it identifies one.
fn server(cluster: &Cluster) -> Option<Place<'_>> {
    Place::read(cluster.server.as_deref()?)
}
