//! The hub as the manager writes to it: politely.
//!
//! The hub is shared. Where it is busy or a write collides, the manager waits and tries again, longer each time, and
//! as long as the hub asks for. Creating what is there already is no error: after a lost answer it is the manager's
//! own.

use std::time::Duration;

use evidence::api::names::{GROUP, KIND, PLURAL};
use futures::{StreamExt, stream::BoxStream};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams, WatchEvent, WatchParams,
};
use serde_json::Value;

use super::script::Via;

/// The version that the manager writes: every hub that serves a newer one stores this one.
const VERSION: &str = "v1alpha1";

/// How often a request is sent before the manager gives up.
const ATTEMPTS: u32 = 8;
/// The wait before the second attempt; it doubles from one to the next.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// A request that the manager needed to make, and that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {kind} {path}")]
pub struct ManagerError {
    verb: &'static str,
    kind: String,
    path: String,
    #[source]
    source: Box<kube::Error>,
}

impl ManagerError {
    /// Whether the object was not there.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(&*self.source, kube::Error::Api(status) if status.is_not_found())
    }
}

/// An object on the hub.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub resource: ApiResource,
    /// `None` for a cluster-scoped kind.
    pub namespace: Option<String>,
    pub name: String,
}

/// ClusterProfile, in the version that the manager writes.
pub(super) fn profile_resource() -> ApiResource {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    ApiResource::from_gvk_with_plural(&kind, PLURAL)
}

/// A client that is patient, and signs its writes.
#[derive(Clone)]
pub(super) struct Hub {
    client: kube::Client,
}

impl Hub {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Creates the object, or makes the one that is there like it. Gives it as it is then.
    pub(super) async fn create(
        &self,
        target: &Target,
        by: &str,
        object: &Value,
    ) -> Result<DynamicObject, ManagerError> {
        let api = self.api(target);
        let mut body = DynamicObject::new(&target.name, &target.resource);
        body.metadata =
            serde_json::from_value(object["metadata"].clone()).expect("the world writes valid metadata");
        body.data = object.clone();
        if let Some(rest) = body.data.as_object_mut() {
            rest.remove("metadata");
        }
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

    /// Merges `patch` into the object. Gives it as it is then.
    pub(super) async fn patch(
        &self,
        target: &Target,
        by: &str,
        via: Via,
        patch: &Value,
    ) -> Result<DynamicObject, ManagerError> {
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

    /// Deletes the object; that it is gone already is as good.
    pub(super) async fn delete(&self, target: &Target) -> Result<(), ManagerError> {
        let api = self.api(target);
        let params = DeleteParams::default();
        match patiently(|| api.delete(&target.name, &params)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(target.error("delete", error)),
        }
    }

    /// The object, where it is there.
    pub(super) async fn find(&self, target: &Target) -> Result<Option<DynamicObject>, ManagerError> {
        let api = self.api(target);
        let found = patiently(|| api.get_opt(&target.name)).await;
        found.map_err(|error| target.error("read", error))
    }

    /// All objects of a kind in a namespace, and the version at which they were so.
    pub(super) async fn list(
        &self,
        resource: &ApiResource,
        namespace: &str,
    ) -> Result<(Vec<DynamicObject>, String), ManagerError> {
        let all = Target::all(resource, namespace);
        let (api, params) = (self.api(&all), ListParams::default());
        let list = patiently(|| api.list(&params)).await;
        let list = list.map_err(|error| all.error("list", error))?;
        Ok((list.items, list.metadata.resource_version.unwrap_or_default()))
    }

    /// What happens to them after that version.
    pub(super) async fn watch(
        &self,
        resource: &ApiResource,
        namespace: &str,
        version: &str,
    ) -> Result<BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>, ManagerError> {
        let all = Target::all(resource, namespace);
        let (api, params) = (self.api(&all), WatchParams::default());
        let events = patiently(async || Ok(api.watch(&params, version).await?.boxed())).await;
        events.map_err(|error| all.error("watch", error))
    }

    fn api(&self, target: &Target) -> Api<DynamicObject> {
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &target.resource),
            None => Api::all_with(self.client.clone(), &target.resource),
        }
    }
}

impl Target {
    /// All objects of a kind in a namespace.
    fn all(resource: &ApiResource, namespace: &str) -> Self {
        Self {
            resource: resource.clone(),
            namespace: Some(namespace.to_owned()),
            name: "*".to_owned(),
        }
    }

    fn error(&self, verb: &'static str, source: kube::Error) -> ManagerError {
        ManagerError {
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

/// Sends a request until it is answered for good.
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

/// Whether the same request may well succeed a little later.
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

/// How long the hub asks the manager to wait.
fn asked_delay(error: &kube::Error) -> Duration {
    match error {
        kube::Error::Api(status) => status.details.as_ref().map_or(Duration::ZERO, |details| {
            Duration::from_secs(details.retry_after_seconds.into())
        }),
        _ => Duration::ZERO,
    }
}
