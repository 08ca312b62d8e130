//! Finds the hub's version, and which versions of ClusterProfile it serves.

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    Claim, Hub, ServedVersion,
    api::{Edition, ObjectKind, Role, names},
    crd::served_versions,
};
use http::Method;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    error::CollectError,
    permissions::{CRD_GROUP, Permissions},
};
use crate::{
    clock::{Clock, Skew},
    connect::{
        ATTEMPTS, RequestFailure, TimedClient, call::read, get, in_namespace, one_line, request, retry,
        segment, send, unhealthy_or_cut_off_once,
    },
};

/// How long the CRD may take: a run can do without.
const DEFINITION: Duration = Duration::from_secs(10);
/// How many versions that would not do an error lists, and how long their names may be.
const OTHER_VERSIONS: usize = 8;
const LONGEST_VERSION: usize = 63;

/// What is known of the hub before anything is listed.
#[derive(Clone, Debug)]
pub(crate) struct HubTarget {
    /// The hub, as the evidence names it. It has no version of PlacementDecision if they are not wanted, or not served.
    pub hub: Hub,
    pub skew: Skew,
}

impl HubTarget {
    /// Reads the CRDs, where the runner may.
    pub async fn describe(&mut self, client: &TimedClient, permissions: &Permissions) {
        if permissions.allows("get", CRD_GROUP, "customresourcedefinitions", "") != Some(false) {
            self.hub.served = served_by_crd(client, ObjectKind::ClusterProfile).await;
            if self.has_placements() {
                self.hub.placement_served = served_by_crd(client, ObjectKind::PlacementDecision).await;
            }
        }
    }

    /// Whether the hub serves PlacementDecisions, and they are wanted.
    pub fn has_placements(&self) -> bool {
        self.hub.placement_version.is_some()
    }

    /// The path of a kind's objects in a namespace, or in all if it is empty.
    pub fn collection(&self, kind: ObjectKind, namespace: &str) -> String {
        let (version, objects) = (self.version_of(kind), in_namespace(namespace, kind.plural()));
        format!("/apis/{}/{version}/{objects}", names::GROUP)
    }

    /// The version to read a kind's objects in. Both kinds are served in versions of the same names.
    pub fn version_of(&self, kind: ObjectKind) -> &str {
        let of_slices = self.hub.placement_version.as_deref();
        let of_slices = of_slices.filter(|_| kind == ObjectKind::PlacementDecision);
        of_slices.or(self.hub.api_version.as_deref()).unwrap_or_default()
    }
}

/// Asks the hub for its version and for the API versions that it serves. [`HubTarget::describe`] reads the CRDs.
/// Fails if the hub serves no ClusterProfiles in a usable version, or no PlacementDecisions although they are needed.
pub(crate) async fn target(
    client: &TimedClient,
    clock: Clock,
    hub: &str,
    claim: &Claim,
    placements: Option<Edition>,
    api_version: Option<&str>,
) -> Result<HubTarget, CollectError> {
    let failed =
        |failure: RequestFailure| CollectError::of(&failure, hub, "ask the hub which API versions it serves");
    let mut skew = Skew::default();
    let server_version = match timed(client, clock, "/version", &mut skew).await {
        Ok(version) => version["gitVersion"].as_str().map(str::to_owned),
        // Some hubs do not show their version.
        Err(failure) if matches!(failure.code(), 403 | 404) => None,
        Err(failure) => return Err(failed(failure)),
    };
    let missing = |kind| CollectError::NotServed {
        hub: hub.to_owned(),
        kind,
    };
    let group = format!("/apis/{}", names::GROUP);
    let group = match timed(client, clock, &group, &mut skew).await {
        Ok(group) => group,
        Err(failure) if failure.code() == 404 => return Err(missing(ObjectKind::ClusterProfile)),
        Err(failure) => return Err(failed(failure)),
    };
    let listed: Vec<String> = texts(&group["versions"], "version").map(str::to_owned).collect();
    let profiles = ObjectKind::ClusterProfile;
    let versions = candidates(&listed, api_version, claim.edition);
    let version = first_served(client, &versions, profiles).await;
    let Some(version) = version.map_err(failed)? else {
        // Other APIs have versions in this group, too.
        let extra: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let extra = extra.into_iter().filter(|version| !versions.contains(version));
        let mut served = Vec::new();
        for version in extra.take(OTHER_VERSIONS) {
            if serves(client, version, profiles).await.map_err(failed)? {
                served.push(one_line(version, LONGEST_VERSION));
            }
        }
        if served.is_empty() {
            return Err(missing(profiles));
        }
        return Err(CollectError::VersionNotServed {
            wanted: api_version.map_or_else(|| names::VERSIONS.join(" or "), str::to_owned),
            served,
            requested: api_version.is_some(),
        });
    };
    let are_judged = claim.edition_of(Role::Scheduler).is_some();
    let are_needed = claim.edition.role() == Role::Scheduler || (placements.is_some() && !are_judged);
    let mut placement_version = None;
    if let Some(edition) = placements {
        let versions = candidates(&listed, api_version, edition);
        let served = first_served(client, &versions, ObjectKind::PlacementDecision).await;
        placement_version = served.map_err(failed)?;
    }
    if placement_version.is_none() && are_needed {
        return Err(missing(ObjectKind::PlacementDecision));
    }
    let hub = Hub {
        source: hub.to_owned(),
        server_version,
        api_version: Some(version),
        placement_version,
        ..Hub::default()
    };
    Ok(HubTarget { hub, skew })
}

/// The first of the versions in which the hub serves a kind.
async fn first_served(
    client: &TimedClient,
    versions: &[&str],
    kind: ObjectKind,
) -> Result<Option<String>, RequestFailure> {
    for version in versions {
        if serves(client, version, kind).await? {
            return Ok(Some((*version).to_owned()));
        }
    }
    Ok(None)
}

/// The versions that the CRD of a kind serves; none if the runner may not read it, or if another API server serves the
/// objects.
async fn served_by_crd(client: &TimedClient, kind: ObjectKind) -> Vec<ServedVersion> {
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}",
        kind.plural(),
        names::GROUP
    );
    let crd = timeout(DEFINITION, get::<Value>(client, &path)).await;
    let crd = crd.ok().and_then(Result::ok).unwrap_or_default();
    served_versions(&crd, kind)
}

/// Whether that version of the group has objects of that kind: other kinds have versions in it too.
async fn serves(client: &TimedClient, version: &str, kind: ObjectKind) -> Result<bool, RequestFailure> {
    let path = format!("/apis/{}/{}", names::GROUP, segment(version));
    match get::<Value>(client, &path).await {
        Ok(list) => Ok(texts(&list["resources"], "name").any(|name| name == kind.plural())),
        Err(failure) if failure.code() == 404 => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn texts<'v>(list: &'v Value, field: &'static str) -> impl Iterator<Item = &'v str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(move |item| item[field].as_str())
}

async fn timed(
    client: &TimedClient,
    clock: Clock,
    path: &str,
    skew: &mut Skew,
) -> Result<Value, RequestFailure> {
    let (object, new_skew) = retry(ATTEMPTS, unhealthy_or_cut_off_once(), || async {
        let (requested_at, mut new_skew) = (clock.now(), *skew);
        let response = send(client, request(Method::GET, path)?).await?;
        new_skew.note(requested_at, clock.now(), response.headers());
        let object = read(response, path, client).await?;
        Ok((object, new_skew))
    })
    .await?;
    *skew = new_skew;
    Ok(object)
}

/// Of the versions that the hub lists for the group, those that would do, the best one first.
fn candidates<'a>(listed: &'a [String], requested: Option<&str>, edition: Edition) -> Vec<&'a str> {
    let mut readable = names::VERSIONS;
    // The older editions know v1alpha1, which has a list (`credentialProviders`) that v1alpha2 does not show.
    if !matches!(edition, Edition::Y2026M09 | Edition::Placement2026M09) {
        readable.reverse();
    }
    let candidates = requested.as_ref().map_or(&readable[..], std::slice::from_ref);
    let is_listed = |version: &&str| listed.iter().find(|name| name == version);
    let listed = candidates.iter().filter_map(is_listed);
    listed.map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_about_the_version_that_the_edition_is_about_first() {
        let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let both = listed(&["v1alpha1", "v1alpha2"]);
        let good = |listed: &[String], edition| candidates(listed, None, edition).join(" ");
        assert_eq!(good(&both, Edition::Standard), "v1alpha1 v1alpha2");
        assert_eq!(good(&both, Edition::Y2026M07), "v1alpha1 v1alpha2");
        assert_eq!(good(&both, Edition::Y2026M09), "v1alpha2 v1alpha1");
        assert_eq!(
            good(&listed(&["v1beta9", "v1alpha1"]), Edition::Y2026M09),
            "v1alpha1"
        );
        assert_eq!(good(&listed(&["v1alpha2"]), Edition::Standard), "v1alpha2");
        let asked = candidates(&both, Some("v1alpha2"), Edition::Standard);
        assert_eq!(asked, ["v1alpha2"]);
        assert!(candidates(&both, Some("v2"), Edition::Standard).is_empty());
    }
}
