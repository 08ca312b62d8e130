//! Lists the workloads that carry a placement key.

use std::sync::Arc;

use evidence::{Kind, ObjectRef, Reason, ReasonId, Workload, api::names};
use parking_lot::Mutex;
use serde::Deserialize;

use super::state::{ATTEMPTS, Run};
use crate::{
    connect::{
        call::{retry, segment},
        failure::Failure,
    },
    hub::wanted::Workloads,
    watch::list::list,
};

/// What is read of a workload.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Labelled {
    metadata: LabelledMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LabelledMetadata {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    labels: std::collections::BTreeMap<String, String>,
}

impl Workloads {
    /// The path of those of them, in all namespaces, that have a placement key.
    fn path(&self) -> String {
        let version = segment(&self.version);
        let root = match self.group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{}/{version}", segment(group)),
        };
        let label = segment(names::LABEL_PLACEMENT_KEY);
        format!("{root}/{}?labelSelector={label}", segment(&self.resource))
    }
}

impl Run<'_> {
    /// Lists the workloads, if the plan names a kind.
    pub(super) async fn workloads(&mut self) {
        let Some(workloads) = &self.plan.workloads else {
            return;
        };
        if self.target.placements.is_none() {
            return;
        }
        let found: Arc<Mutex<Vec<Workload>>> = Arc::default();
        let (client, path, kind) = (self.client(), workloads.path(), workloads.resource.clone());
        let listing = retry(ATTEMPTS, Failure::may_pass, || {
            let (into, kind) = (Arc::clone(&found), kind.clone());
            into.lock().clear();
            let each = move |json: &[u8]| into.lock().extend(workload(json, &kind));
            list(&client, &path, each)
        });
        let reason = match self.patience.within(self.patience.list, listing).await {
            Ok(Ok(_)) => None,
            Ok(Err(failure)) if failure.code() == 403 => {
                let told = format!("the runner may not list {kind}: grant list on {kind}");
                Some(Reason::of(ReasonId::ReadForbidden, told))
            }
            Ok(Err(failure)) => Some(format!("the hub did not list {kind}: {failure}").into()),
            Err(unfinished) => Some(unfinished.to_string().into()),
        };
        self.evidence.workloads = std::mem::take(&mut *found.lock());
        if let Some(reason) = reason {
            self.gap(Kind::Workloads, reason);
        }
    }
}

/// A workload as it is listed; none without the label.
fn workload(json: &[u8], kind: &str) -> Option<Workload> {
    let read: Labelled = serde_json::from_slice(json).ok()?;
    let metadata = read.metadata;
    Some(Workload {
        placement_key: metadata.labels.get(names::LABEL_PLACEMENT_KEY)?.clone(),
        object: ObjectRef {
            kind: kind.to_owned(),
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
        },
    })
}
