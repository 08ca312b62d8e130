//! Finds the hub's version, and which versions of ClusterProfile it serves.

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    Claim, ServedVersion,
    api::{Edition, ObjectKind, Role, names},
    crd::served_versions,
};
use http::Method;
use serde_json::Value;
use tokio::time::timeout;

use super::{error::CollectError, permissions::Permissions};
use crate::{
    clock::{Clock, Skew},
    connect::{
        call::{ATTEMPTS, TimedClient, ailing_or_cut_off_once, get, read, request, retry, segment, send},
        failure::{Failure, one_line},
    },
};

/// How long the CRD may take: a run can do without.
const DEFINITION: Duration = Duration::from_secs(10);
/// How many versions that would not do an error lists, and how long their names may be.
const OTHER_VERSIONS: usize = 8;
const LONGEST_VERSION: usize = 63;

/// What is known of the hub before anything is listed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The API server's version, if it reports it.
    pub server_version: Option<String>,
    /// The version of ClusterProfile to read, for example `v1alpha1`.
    pub version: String,
    /// What the CRD says of the versions; empty where it may not be read.
    pub served: Vec<ServedVersion>,
    /// How far the clocks are apart.
    pub skew: Skew,
    /// How the hub serves PlacementDecisions; none if they are not wanted, or not served.
    pub placements: Option<PlacementTarget>,
}

/// How the hub serves PlacementDecisions.
#[derive(Clone, Debug)]
pub(crate) struct PlacementTarget {
    /// The version to read.
    pub version: String,
    /// What the CRD says of the versions; empty where it may not be read.
    pub served: Vec<ServedVersion>,
}

impl Target {
    /// The path of the profiles, of one namespace or of all.
    pub fn profiles(&self, namespace: Option<&str>) -> String {
        path(&self.version, namespace, ObjectKind::ClusterProfile)
    }

    /// Reads the CRDs, where the runner may.
    pub async fn describe(&mut self, client: &TimedClient, permissions: &Permissions) {
        if permissions.may_read_definitions() {
            self.served = served_by_crd(client, ObjectKind::ClusterProfile).await;
            if let Some(placements) = &mut self.placements {
                placements.served = served_by_crd(client, ObjectKind::PlacementDecision).await;
            }
        }
    }

    /// The path of a kind's objects in a namespace.
    pub fn collection(&self, kind: ObjectKind, namespace: &str) -> String {
        path(self.version_of(kind), Some(namespace), kind)
    }

    /// The version to read a kind's objects in. Both kinds are served in versions of the same names.
    pub fn version_of(&self, kind: ObjectKind) -> &str {
        let placements = self
            .placements
            .as_ref()
            .filter(|_| kind == ObjectKind::PlacementDecision);
        placements.map_or(&self.version, |target| &target.version)
    }
}

impl PlacementTarget {
    /// The path of the slices, of one namespace or of all.
    pub fn slices(&self, namespace: Option<&str>) -> String {
        path(&self.version, namespace, ObjectKind::PlacementDecision)
    }
}

fn path(version: &str, namespace: Option<&str>, kind: ObjectKind) -> String {
    let namespace = namespace.map(|name| format!("namespaces/{}/", segment(name)));
    let namespace = namespace.unwrap_or_default();
    format!("/apis/{}/{version}/{namespace}{}", names::GROUP, kind.plural())
}

/// Asks the hub for its version and for the API versions that it serves. [`Target::describe`] reads the CRDs.
///
/// # Errors
/// When it does not answer, does not let us in, or serves no ClusterProfiles in a version that would do; or no
/// PlacementDecisions where only these are judged, or nothing can be judged without them.
pub(crate) async fn target(
    client: &TimedClient,
    clock: Clock,
    hub: &str,
    claim: &Claim,
    placements: Option<Edition>,
    api_version: Option<&str>,
) -> Result<Target, CollectError> {
    let failed =
        |failure: &Failure| CollectError::of(failure, hub, "ask the hub which API versions it serves");
    let mut skew = Skew::default();
    let server_version = match timed(client, clock, "/version", &mut skew).await {
        Ok(version) => version["gitVersion"].as_str().map(str::to_owned),
        // Some hubs do not show their version.
        Err(failure) if matches!(failure.code(), 403 | 404) => None,
        Err(failure) => return Err(failed(&failure)),
    };
    let missing = |kind| CollectError::NotServed {
        hub: hub.to_owned(),
        kind,
    };
    let group = format!("/apis/{}", names::GROUP);
    let group = match timed(client, clock, &group, &mut skew).await {
        Ok(group) => group,
        Err(failure) if failure.code() == 404 => return Err(missing(ObjectKind::ClusterProfile)),
        Err(failure) => return Err(failed(&failure)),
    };
    let listed: Vec<String> = texts(&group["versions"], "version").map(str::to_owned).collect();
    let profiles = ObjectKind::ClusterProfile;
    let wanted = candidates(&listed, api_version, claim.edition);
    let version = first_served(client, &wanted, profiles).await;
    let Some(version) = version.map_err(|failure| failed(&failure))? else {
        // Other APIs have versions in this group, too.
        let others: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let others = others.into_iter().filter(|version| !wanted.contains(version));
        let mut served = Vec::new();
        for version in others.take(OTHER_VERSIONS) {
            let serves = serves(client, version, profiles).await;
            if serves.map_err(|failure| failed(&failure))? {
                served.push(one_line(version, LONGEST_VERSION));
            }
        }
        return Err(if served.is_empty() {
            missing(profiles)
        } else {
            not_served(served, api_version)
        });
    };
    let are_judged = claim.edition_of(Role::Scheduler).is_some();
    let are_needed = claim.edition.role() == Role::Scheduler || (placements.is_some() && !are_judged);
    let placements = match placements {
        Some(edition) => {
            let wanted = candidates(&listed, api_version, edition);
            let version = first_served(client, &wanted, ObjectKind::PlacementDecision).await;
            version.map_err(|failure| failed(&failure))?
        }
        None => None,
    };
    let placements = placements.map(|version| PlacementTarget {
        version,
        served: Vec::new(),
    });
    if placements.is_none() && are_needed {
        return Err(missing(ObjectKind::PlacementDecision));
    }
    Ok(Target {
        server_version,
        version,
        served: Vec::new(),
        skew,
        placements,
    })
}

/// The first of the versions in which the hub serves a kind.
async fn first_served(
    client: &TimedClient,
    versions: &[&str],
    kind: ObjectKind,
) -> Result<Option<String>, Failure> {
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
async fn serves(client: &TimedClient, version: &str, kind: ObjectKind) -> Result<bool, Failure> {
    let path = format!("/apis/{}/{}", names::GROUP, segment(version));
    match get::<Value>(client, &path).await {
        Ok(list) => Ok(texts(&list["resources"], "name").any(|name| name == kind.plural())),
        Err(failure) if failure.code() == 404 => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The texts of a field in a list of objects.
fn texts<'v>(list: &'v Value, field: &'static str) -> impl Iterator<Item = &'v str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(move |item| item[field].as_str())
}

/// Reads an object, and notes the hub's clock.
async fn timed(client: &TimedClient, clock: Clock, path: &str, skew: &mut Skew) -> Result<Value, Failure> {
    let (object, noted) = retry(ATTEMPTS, ailing_or_cut_off_once(), || async {
        let (asked, mut noted) = (clock.now(), *skew);
        let response = send(client, request(Method::GET, path)?).await?;
        noted.note(asked, clock.now(), response.headers());
        let object = read(response, path, client).await?;
        Ok((object, noted))
    })
    .await?;
    *skew = noted;
    Ok(object)
}

/// Of the versions that the hub lists for the group, those that would do, the best one first.
fn candidates<'a>(listed: &'a [String], wanted: Option<&str>, edition: Edition) -> Vec<&'a str> {
    let is_listed = |version: &str| {
        listed
            .iter()
            .map(String::as_str)
            .find(|listed| *listed == version)
    };
    match wanted {
        Some(wanted) => is_listed(wanted).into_iter().collect(),
        None => readable(edition).filter_map(is_listed).collect(),
    }
}

fn not_served(served: Vec<String>, wanted: Option<&str>) -> CollectError {
    CollectError::VersionNotServed {
        wanted: wanted.map_or_else(|| names::VERSIONS.join(" or "), str::to_owned),
        served,
        requested: wanted.is_some(),
    }
}

/// The versions that the suite can read, the edition's own first: the older editions know v1alpha1, which has a list
/// (`credentialProviders`) that v1alpha2 does not show.
fn readable(edition: Edition) -> impl Iterator<Item = &'static str> {
    let mut versions = names::VERSIONS;
    if !matches!(edition, Edition::Y2026M09 | Edition::Placement2026M09) {
        versions.reverse();
    }
    versions.into_iter()
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
