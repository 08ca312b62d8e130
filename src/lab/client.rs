//! The hub as the reference implementations use it: writes with retries.
//!
//! When the hub is busy or a write conflicts, they retry with growing delays, at least as long as the hub asks for.
//! Creating an existing object is not an error: after a lost answer, the implementation itself created it.

use std::time::Duration;

use evidence::api::{
    Labels,
    names::{GROUP, KIND, PLACEMENT_KIND, PLACEMENT_PLURAL, PLURAL},
};
use futures::{StreamExt, stream::BoxStream};
use http::{HeaderValue, header::USER_AGENT};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    api::{
        Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams, WatchEvent, WatchParams,
    },
    client::Body,
};
use serde_json::{Value, json};

/// The version that the implementations write: hubs of the suite serve it.
const VERSION: &str = "v1alpha1";

/// How often a request is sent before the implementation gives up.
const ATTEMPTS: u32 = 8;
/// The wait before the second attempt; it doubles from one to the next.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// A request of a reference implementation that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {kind} {path}")]
pub struct RequestError {
    verb: &'static str,
    kind: String,
    path: String,
    #[source]
    source: Box<kube::Error>,
}

impl RequestError {
    /// True if the object was not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.is_not_found())
    }

    /// True if the object was not valid.
    pub(crate) fn is_invalid(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.code == 422)
    }
}

/// An object on the hub.
#[derive(Clone, Debug)]
pub(crate) struct ObjectTarget {
    pub resource: ApiResource,
    /// `None` for a cluster-scoped kind.
    pub namespace: Option<String>,
    pub name: String,
}

/// The resource by which an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// The object itself.
    Object,
    /// Its `/status`.
    Status,
}

impl Via {
    pub(crate) fn of_status(is_of_status: bool) -> Self {
        if is_of_status { Via::Status } else { Via::Object }
    }
}

/// ClusterProfile, in the version that the manager writes.
pub(crate) fn profile_resource() -> ApiResource {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    ApiResource::from_gvk_with_plural(&kind, PLURAL)
}

/// PlacementDecision, in the version that the scheduler writes.
pub(crate) fn slice_resource() -> ApiResource {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, PLACEMENT_KIND);
    ApiResource::from_gvk_with_plural(&kind, PLACEMENT_PLURAL)
}

/// The conditions of a profile.
pub(crate) fn conditions(profile: &DynamicObject) -> impl Iterator<Item = &Value> {
    let conditions = profile.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten()
}

/// Whether a profile has a condition of that type that is `False`.
pub(crate) fn is_false(profile: &DynamicObject, kind: &str) -> bool {
    conditions(profile).any(|condition| condition["type"] == kind && condition["status"] == "False")
}

/// RFC 3339 in seconds, as Kubernetes writes times.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// A client that retries, and names the field manager of its writes.
#[derive(Clone)]
pub(crate) struct HubClient {
    client: kube::Client,
}

impl HubClient {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// A client of the hub that impersonates another user, with all rights.
    pub(crate) fn acting_as(&self, user: &str) -> Self {
        let user = HeaderValue::from_str(user).expect("a fault names a user in ASCII");
        let client = self.client.clone();
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            let headers = request.headers_mut();
            headers.insert("Impersonate-User", user.clone());
            headers.insert(USER_AGENT, user.clone());
            headers.insert("Impersonate-Group", HeaderValue::from_static("system:masters"));
            let client = client.clone();
            async move { client.send(request).await }
        });
        Self::new(kube::Client::new(service, "default"))
    }

    /// Creates a namespace.
    pub(crate) async fn create_namespace(
        &self,
        name: &str,
        by: &str,
        labels: &Labels,
    ) -> Result<(), RequestError> {
        let target = ObjectTarget {
            resource: ApiResource::erase::<Namespace>(&()),
            namespace: None,
            name: name.to_owned(),
        };
        let object = json!({"metadata": {"labels": labels}});
        self.create(&target, by, &object).await.map(drop)
    }

    /// Creates the object, or patches the existing one to match. Returns the result.
    pub(crate) async fn create(
        &self,
        target: &ObjectTarget,
        by: &str,
        object: &Value,
    ) -> Result<DynamicObject, RequestError> {
        let api = self.api(target);
        let mut body = DynamicObject::new(&target.name, &target.resource);
        body.data = object.clone();
        if let Some(metadata) = body
            .data
            .as_object_mut()
            .and_then(|object| object.remove("metadata"))
        {
            body.metadata = serde_json::from_value(metadata).expect("the world has valid metadata");
        }
        body.metadata.name = Some(target.name.clone());
        body.metadata.namespace.clone_from(&target.namespace);
        let params = PostParams {
            dry_run: false,
            field_manager: Some(by.to_owned()),
        };
        let created = patiently(|| api.create(&params, &body)).await;
        match created {
            Ok(created) => Ok(created),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                self.patch(target, by, Via::Object, object).await
            }
            Err(error) => Err(target.error("create", error)),
        }
    }

    /// Merges `patch` into the object. Returns the result.
    pub(crate) async fn patch(
        &self,
        target: &ObjectTarget,
        by: &str,
        via: Via,
        patch: &Value,
    ) -> Result<DynamicObject, RequestError> {
        let api = self.api(target);
        let params = PatchParams {
            field_manager: Some(by.to_owned()),
            ..Default::default()
        };
        let patched = patiently(async || match via {
            Via::Object => api.patch(&target.name, &params, &Patch::Merge(patch)).await,
            Via::Status => {
                api.patch_status(&target.name, &params, &Patch::Merge(patch))
                    .await
            }
        })
        .await;
        patched.map_err(|error| target.error("update", error))
    }

    /// Deletes the object, if it exists.
    pub(crate) async fn delete(&self, target: &ObjectTarget) -> Result<(), RequestError> {
        let api = self.api(target);
        let params = DeleteParams::default();
        match patiently(|| api.delete(&target.name, &params)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(target.error("delete", error)),
        }
    }

    /// The object, if it exists.
    pub(crate) async fn find(&self, target: &ObjectTarget) -> Result<Option<DynamicObject>, RequestError> {
        let api = self.api(target);
        let object = patiently(|| api.get_opt(&target.name)).await;
        object.map_err(|error| target.error("read", error))
    }

    /// All objects of a kind in a namespace, and the resourceVersion of the list.
    pub(crate) async fn list(
        &self,
        resource: &ApiResource,
        namespace: &str,
    ) -> Result<(Vec<DynamicObject>, String), RequestError> {
        let all = ObjectTarget::all(resource, namespace);
        let (api, params) = (self.api(&all), ListParams::default());
        let list = patiently(|| api.list(&params)).await;
        let list = list.map_err(|error| all.error("list", error))?;
        Ok((list.items, list.metadata.resource_version.unwrap_or_default()))
    }

    /// Their events after that version.
    pub(crate) async fn watch(
        &self,
        resource: &ApiResource,
        namespace: &str,
        version: &str,
    ) -> Result<BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>, RequestError> {
        let all = ObjectTarget::all(resource, namespace);
        let (api, params) = (self.api(&all), WatchParams::default());
        let events = patiently(async || Ok(api.watch(&params, version).await?.boxed())).await;
        events.map_err(|error| all.error("watch", error))
    }

    fn api(&self, target: &ObjectTarget) -> Api<DynamicObject> {
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &target.resource),
            None => Api::all_with(self.client.clone(), &target.resource),
        }
    }
}

impl ObjectTarget {
    /// An object in a namespace.
    pub(crate) fn namespaced(resource: ApiResource, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// A ClusterProfile.
    pub(crate) fn profile(namespace: &str, name: &str) -> Self {
        Self::namespaced(profile_resource(), namespace, name)
    }

    /// All objects of a kind in a namespace.
    fn all(resource: &ApiResource, namespace: &str) -> Self {
        Self::namespaced(resource.clone(), namespace, "*")
    }

    fn error(&self, verb: &'static str, source: kube::Error) -> RequestError {
        RequestError {
            verb,
            kind: self.resource.kind.clone(),
            path: match &self.namespace {
                Some(namespace) => format!("{namespace}/{}", self.name),
                None => self.name.clone(),
            },
            source: Box::new(source),
        }
    }
}

/// Retries a request until its answer is final.
async fn patiently<T>(mut send: impl AsyncFnMut() -> Result<T, kube::Error>) -> Result<T, kube::Error> {
    let mut delay = FIRST_DELAY;
    for _ in 1..ATTEMPTS {
        match send().await {
            Err(error) if is_passing(&error) => {
                tokio::time::sleep(delay.max(asked_delay(&error))).await;
                delay = (delay * 2).min(LONGEST_DELAY);
            }
            answer => return answer,
        }
    }
    send().await
}

/// True if the same request may succeed later.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => match status.code {
            409 => !status.is_already_exists(),
            429 | 500 | 502 | 503 | 504 => true,
            _ => false,
        },
        kube::Error::HyperError(_) | kube::Error::Service(_) => true,
        _ => false,
    }
}

/// The delay that the hub asks for.
fn asked_delay(error: &kube::Error) -> Duration {
    match error {
        kube::Error::Api(status) => status.details.as_ref().map_or(Duration::ZERO, |details| {
            Duration::from_secs(details.retry_after_seconds.into())
        }),
        _ => Duration::ZERO,
    }
}
