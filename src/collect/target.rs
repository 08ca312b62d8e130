//! What the hub is: its version, and which versions of ClusterProfile it serves, with which rules.

use http::Method;
use kube::client::Client;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    CollectError, Plan,
    call::{ATTEMPTS, Failure, again, get, read, request, segment, send},
    skew::Skew,
};
use crate::{api::names, clock::Clock, evidence::ServedVersion};

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
    client: &Client,
    clock: Clock,
    hub: &str,
    plan: &Plan,
) -> Result<Target, CollectError> {
    let failed =
        |failure: &Failure| CollectError::of(failure, hub, "ask the hub which API versions it serves");
    let mut skew = Skew::default();
    let server_version = match timed::<Version>(client, clock, "/version", &mut skew).await {
        Ok(version) => Some(version.git_version),
        // Some hubs show their version to nobody.
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
    let version = choose(&served, plan.api_version.as_deref())?;
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
        served: versions_of(&crd),
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
    client: &Client,
    clock: Clock,
    path: &str,
    skew: &mut Skew,
) -> Result<T, Failure> {
    let (asked, response) = again(ATTEMPTS, Failure::is_ailing, || async {
        let asked = clock.now();
        send(client, request(Method::GET, path)?)
            .await
            .map(|response| (asked, response))
    })
    .await?;
    skew.note(asked, clock.now(), response.headers());
    read(response, path).await
}

fn choose(served: &[String], wanted: Option<&str>) -> Result<String, CollectError> {
    let refused = |wanted: String, advice: String| CollectError::VersionNotServed {
        wanted,
        served: served.to_vec(),
        advice,
    };
    match wanted {
        Some(wanted) if served.iter().any(|version| version == wanted) => Ok(wanted.to_owned()),
        Some(wanted) => Err(refused(
            wanted.to_owned(),
            format!("choose `--api-version {}`, or leave the flag out", served[0]),
        )),
        None => {
            let known = names::VERSIONS
                .iter()
                .find(|known| served.iter().any(|version| version == *known));
            known.map(|version| (*version).to_owned()).ok_or_else(|| {
                refused(
                    names::VERSIONS.join(" or "),
                    format!("use a newer suite, or try `--api-version {}`", served[0]),
                )
            })
        }
    }
}

/// What the CRD says of each version that it serves.
fn versions_of(crd: &Value) -> Vec<ServedVersion> {
    let versions = crd["spec"]["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let served = versions.iter().filter(|version| version["served"] == true);
    let read = |version: &Value| ServedVersion {
        name: version["name"].as_str().unwrap_or_default().to_owned(),
        immutable_manager: keeps_manager(&version["schema"]["openAPIV3Schema"]),
        status_subresource: version["subresources"]["status"].is_object(),
    };
    served.map(read).collect()
}

/// Whether a schema has a transition rule on `spec.clusterManager`: at the field itself, at its name, or above.
fn keeps_manager(schema: &Value) -> bool {
    let spec = &schema["properties"]["spec"];
    let manager = &spec["properties"]["clusterManager"];
    let name = &manager["properties"]["name"];
    let has = |schema: &Value, fits: &dyn Fn(&str) -> bool| {
        let rules = schema["x-kubernetes-validations"].as_array();
        rules
            .into_iter()
            .flatten()
            .filter_map(|rule| rule["rule"].as_str())
            .any(fits)
    };
    let transition = |rule: &str| rule.contains("oldSelf");
    let of_manager = |rule: &str| transition(rule) && rule.contains("clusterManager");
    // On all of `spec`, `self == oldSelf` keeps the manager with the rest.
    let of_spec = |rule: &str| of_manager(rule) || is_equality(rule);
    has(name, &transition) || has(manager, &transition) || has(spec, &of_spec) || has(schema, &of_manager)
}

fn is_equality(rule: &str) -> bool {
    let plain: String = rule.split_whitespace().collect();
    plain == "self==oldSelf" || plain == "oldSelf==self"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_the_rule_that_keeps_the_manager() {
        let rule = |rule: &str| json!([{"rule": rule}]);
        let crd = |spec: Value| {
            let version = json!({
                "name": "v1alpha1", "served": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}},
            });
            versions_of(&json!({"spec": {"versions": [version, {"name": "v1", "served": false}]}}))
        };
        let at_manager =
            |rules| json!({"properties": {"clusterManager": {"x-kubernetes-validations": rules}}});
        let at_name = |rules| json!({"properties": {"clusterManager": {"properties": {"name": {"x-kubernetes-validations": rules}}}}});
        for spec in [
            at_manager(rule("self == oldSelf")),
            at_manager(rule("oldSelf.name == self.name")),
            at_name(rule("self == oldSelf")),
            json!({"x-kubernetes-validations": rule("self.clusterManager == oldSelf.clusterManager")}),
            json!({"x-kubernetes-validations": rule("self==oldSelf")}),
        ] {
            let versions = crd(spec.clone());
            assert_eq!(versions.len(), 1);
            assert!(
                versions[0].immutable_manager && versions[0].status_subresource,
                "{spec}"
            );
        }
        for spec in [
            json!({}),
            at_manager(rule("self.name != ''")),
            json!({"x-kubernetes-validations": rule("self.displayName == oldSelf.displayName")}),
        ] {
            assert!(!crd(spec.clone())[0].immutable_manager, "{spec}");
        }
        assert!(versions_of(&Value::Null).is_empty());
    }

    #[test]
    fn chooses_the_newest_version_it_can_read() {
        let served = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let both = served(&["v1alpha1", "v1alpha2"]);
        assert_eq!(choose(&both, None).expect("one"), "v1alpha2");
        assert_eq!(choose(&both, Some("v1alpha1")).expect("one"), "v1alpha1");
        assert_eq!(
            choose(&served(&["v1beta9", "v1alpha1"]), None).expect("one"),
            "v1alpha1"
        );
        let error = choose(&served(&["v1beta9"]), None).expect_err("none").to_string();
        assert!(
            error.contains("not in v1alpha2 or v1alpha1 but in v1beta9"),
            "{error}"
        );
        let error = choose(&both, Some("v2")).expect_err("none").to_string();
        assert!(error.contains("not in v2 but in v1alpha1, v1alpha2"), "{error}");
    }
}
