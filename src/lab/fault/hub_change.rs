//! Changes of the hub's definitions, without which the hub would refuse what a fault does.

use evidence::api::names;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};

/// What the hub's definitions lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubChange {
    /// Nothing.
    #[default]
    None,
    /// The rule that makes a ClusterProfile's `spec.clusterManager` immutable.
    WithoutImmutability,
    /// A PlacementDecision's limit of 100 decisions: it allows 200.
    WithoutLimit,
    /// The demand for a list of decisions in a PlacementDecision.
    WithoutRequiredList,
}

impl HubChange {
    pub(crate) fn make(self, definitions: &mut [CustomResourceDefinition]) {
        match self {
            HubChange::None => {}
            HubChange::WithoutImmutability => {
                let profiles = schemas(definitions, names::PLURAL);
                for manager in profiles.filter_map(cluster_manager) {
                    manager.x_kubernetes_validations = None;
                }
            }
            HubChange::WithoutLimit => {
                let slices = schemas(definitions, names::PLACEMENT_PLURAL);
                for decisions in slices.filter_map(|slice| property(slice, "decisions")) {
                    decisions.max_items = Some(200);
                }
            }
            HubChange::WithoutRequiredList => {
                for slice in schemas(definitions, names::PLACEMENT_PLURAL) {
                    slice.required = None;
                }
            }
        }
    }
}

/// The schemas of that resource, one of each version.
fn schemas<'a>(
    definitions: &'a mut [CustomResourceDefinition],
    plural: &'static str,
) -> impl Iterator<Item = &'a mut JSONSchemaProps> {
    let definitions = definitions.iter_mut();
    definitions
        .filter(move |definition| definition.spec.names.plural == plural)
        .flat_map(|definition| &mut definition.spec.versions)
        .filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut())
}

/// The schema of `spec.clusterManager`.
fn cluster_manager(profile: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    property(property(profile, "spec")?, "clusterManager")
}

fn property<'a>(schema: &'a mut JSONSchemaProps, name: &str) -> Option<&'a mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut(name)
}
