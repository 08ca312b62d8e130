//! How faults act that are about the slices of others.

use serde_json::json;

use super::{
    controller::Controller, misbehaviours::Misbehaviour, names::SCHEDULER, slice, slices::workload_of,
};
use crate::client::{RequestError, Via};

impl Controller {
    /// Does what faults do with the slices of others.
    pub(super) async fn meddle(&mut self) -> Result<(), RequestError> {
        let (claims, tidies) = (
            self.misbehaviours.has(Misbehaviour::Claims),
            self.misbehaviours.has(Misbehaviour::Tidies),
        );
        if !claims && !tidies {
            return Ok(());
        }
        let mut foreign = Vec::new();
        for (namespace, mirror) in &self.slices {
            let others = mirror.all().filter(|slice| workload_of(slice).is_none());
            let unclaimed = others.filter(|slice| tidies || slice.data["schedulerName"] != SCHEDULER);
            let names = unclaimed.filter_map(|slice| slice.metadata.name.as_deref());
            foreign.extend(names.map(|name| slice::target(namespace, name)));
        }
        for target in foreign {
            if tidies {
                self.hub.delete(&target).await?;
            } else {
                let patch = json!({"schedulerName": SCHEDULER});
                self.hub.patch(&target, SCHEDULER, Via::Object, &patch).await?;
            }
        }
        Ok(())
    }
}
