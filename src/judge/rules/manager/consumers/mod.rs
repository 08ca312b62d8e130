//! The suite `consumers`: credentials pushed to consumers as Secrets.

mod credentials;
mod kubeconfig;
mod logins;
mod names;
mod retired;
mod secrets;
mod served;

pub(in crate::rules) use credentials::secret_single_consumer;
pub(in crate::rules) use kubeconfig::{
    kubeconfig_points_at_member, kubeconfig_self_contained, secret_has_kubeconfig,
};
pub(in crate::rules) use logins::{kubeconfig_works, least_privilege};
pub(in crate::rules) use names::consumer_name_unique;
pub(in crate::rules) use retired::secrets_retired;
pub(in crate::rules) use secrets::{secret_labelled, secret_names_profile, secret_namespace_labelled};
pub(in crate::rules) use served::{declared_consumer_served, is_to_be_served};
