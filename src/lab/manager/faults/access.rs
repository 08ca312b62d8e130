//! Faults of the suite `access`.

use apiserver::new_token;
use evidence::api::names::EXTENSION_EXEC;
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    client::Via,
    manager::{
        members::{QUIET, QUIET_IN_SET},
        script::minutes,
        world::{MANAGER, World},
    },
};

pub(super) const FAULTS: &[FaultInfo] = &[
    // A secret counts however briefly it was published.
    FaultInfo::new(
        "access/no-secrets-elsewhere:briefly",
        "leaves a password in an annotation for a minute",
        |world| {
            for (at, password) in [(4, json!(new_token())), (5, json!(null))] {
                let patch = json!({"metadata": {"annotations": {"example.com/password": password}}});
                world.request(minutes(at), QUIET, MANAGER, Via::Object, patch);
            }
        },
    ),
    FaultInfo::new(
        "access/plugin-yields-credential",
        "tells the credential plugin of a cluster that it does not know",
        |world| cluster(world, "atlantis"),
    ),
    FaultInfo::new(
        "access/plugin-yields-credential:another",
        "tells the credential plugin of another cluster",
        |world| cluster(world, QUIET_IN_SET),
    ),
];

/// Sets the cluster name that the quiet member's plugin gets.
fn cluster(world: &mut World, name: &str) {
    for access in &mut world.profile(QUIET).status.access {
        if let Some(settings) = access.extension(EXTENSION_EXEC) {
            settings["clusterName"] = name.into();
        }
    }
}
