//! Finds the hub's version, and which versions of ClusterProfile it serves.

use evidence::{
    ServedVersion,
    api::{Edition, names},
    crd::served_versions,
};
use http::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    CollectError, Plan,
    call::{ATTEMPTS, Failure, TimedClient, get, read, request, retry, segment, send},
    skew::Skew,
};
use crate::clock::Clock;

/// What was found out of the hub before anything is listed.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The API server's version, where it tells.
    pub server_version: Option<String>,
    /// The version of ClusterProfile to read, such as `v1alpha1`.
    pub version: String,
    /// What the CRD says of the versions; empty where it may not be read.
    pub served: Vec<ServedVersion>,
    /// How far the clocks are apart.
    pub skew: Skew,
}

impl Target {
    /// The path of the profiles, of one namespace or of all.
    pub fn profiles(&self, namespace: Option<&str>) -> String {
        let namespace = namespace.map(|name| format!("namespaces/{}/", segment(name)));
        let namespace = namespace.unwrap_or_default();
        format!(
            "/apis/{}/{}/{namespace}{}",
            names::GROUP,
            self.version,
            names::PLURAL
        )
    }
}

/// Asks the hub what it is.
///
/// # Errors
/// When it does not answer, does not let us in, or serves no ClusterProfiles in a version that would do.
pub(super) async fn target(
    client: &TimedClient,
    clock: Clock,
    hub: &str,
    plan: &Plan,
) -> Result<Target, CollectError> {
    let failed =
        |failure: &Failure| CollectError::of(failure, hub, "ask the hub which API versions it serves");
    let mut skew = Skew::default();
    let server_version = match timed::<Version>(client, clock, "/version", &mut skew).await {
        Ok(version) => Some(version.git_version),
        // Some hubs do not show their version.
        Err(failure) if matches!(failure.code(), 403 | 404) => None,
        Err(failure) => return Err(failed(&failure)),
    };
    let missing = || CollectError::CrdMissing { hub: hub.to_owned() };
    let group = format!("/apis/{}", names::GROUP);
    let group: ApiGroup = match timed(client, clock, &group, &mut skew).await {
        Ok(group) => group,
        Err(failure) if failure.code() == 404 => return Err(missing()),
        Err(failure) => return Err(failed(&failure)),
    };
    let mut served = Vec::new();
    for version in group.versions.into_iter().map(|version| version.version) {
        // Other kinds have versions in this group too.
        let path = format!("/apis/{}/{}", names::GROUP, segment(&version));
        let list: ApiResourceList = match get(client, &path).await {
            Ok(list) => list,
            Err(failure) if failure.code() == 404 => continue,
            Err(failure) => return Err(failed(&failure)),
        };
        if list
            .resources
            .iter()
            .any(|resource| resource.name == names::PLURAL)
        {
            served.push(version);
        }
    }
    if served.is_empty() {
        return Err(missing());
    }
    let version = choose(&served, plan.api_version.as_deref(), plan.claim.edition)?;
    let crd = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}",
        names::PLURAL,
        names::GROUP
    );
    // Whoever may not read it (or finds the profiles served by something else) learns nothing of its rules.
    let crd: Value = get(client, &crd).await.unwrap_or_default();
    Ok(Target {
        server_version,
        version,
        served: served_versions(&crd),
        skew,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

#[derive(Deserialize)]
struct ApiGroup {
    #[serde(default)]
    versions: Vec<GroupVersion>,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

#[derive(Deserialize)]
struct ApiResourceList {
    #[serde(default)]
    resources: Vec<ApiResource>,
}

#[derive(Deserialize)]
struct ApiResource {
    name: String,
}

/// Reads an object, and what the answer tells of the hub's clock.
async fn timed<T: DeserializeOwned>(
    client: &TimedClient,
    clock: Clock,
    path: &str,
    skew: &mut Skew,
) -> Result<T, Failure> {
    let (asked, response) = retry(ATTEMPTS, Failure::is_ailing, || async {
        let asked = clock.now();
        send(client, request(Method::GET, path)?)
            .await
            .map(|response| (asked, response))
    })
    .await?;
    skew.note(asked, clock.now(), response.headers());
    read(response, path, client.request_timeout).await
}

fn choose(served: &[String], wanted: Option<&str>, edition: Edition) -> Result<String, CollectError> {
    let refused = |wanted: String, requested: bool| CollectError::VersionNotServed {
        wanted,
        served: served.to_vec(),
        requested,
    };
    match wanted {
        Some(wanted) if served.iter().any(|version| version == wanted) => Ok(wanted.to_owned()),
        Some(wanted) => Err(refused(wanted.to_owned(), true)),
        None => {
            let known = readable(edition).find(|known| served.iter().any(|version| version == known));
            known
                .map(str::to_owned)
                .ok_or_else(|| refused(names::VERSIONS.join(" or "), false))
        }
    }
}

/// The versions that the suite can read, the edition's own first: the older editions know v1alpha1, which has a list
/// (`credentialProviders`) that v1alpha2 does not show.
fn readable(edition: Edition) -> impl Iterator<Item = &'static str> {
    let mut versions = names::VERSIONS;
    if edition < Edition::Y2026M09 {
        versions.reverse();
    }
    versions.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_the_version_that_the_edition_is_about() {
        let served = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let both = served(&["v1alpha1", "v1alpha2"]);
        let chosen = |served: &[String], edition| choose(served, None, edition).expect("one");
        assert_eq!(chosen(&both, Edition::Standard), "v1alpha1");
        assert_eq!(chosen(&both, Edition::Y2026M07), "v1alpha1");
        assert_eq!(chosen(&both, Edition::Y2026M09), "v1alpha2");
        assert_eq!(
            chosen(&served(&["v1beta9", "v1alpha1"]), Edition::Y2026M09),
            "v1alpha1"
        );
        assert_eq!(chosen(&served(&["v1alpha2"]), Edition::Standard), "v1alpha2");
        assert_eq!(
            choose(&both, Some("v1alpha2"), Edition::Standard).expect("one"),
            "v1alpha2"
        );

        let refusal = |served: &[String], wanted| {
            let refused = choose(served, wanted, Edition::Standard);
            refused.expect_err("none").to_string()
        };
        let error = refusal(&served(&["v1beta9"]), None);
        assert!(
            error.contains("not in v1alpha2 or v1alpha1 but in v1beta9"),
            "{error}"
        );
        let error = refusal(&both, Some("v2"));
        assert!(error.contains("not in v2 but in v1alpha1, v1alpha2"), "{error}");
    }
}
