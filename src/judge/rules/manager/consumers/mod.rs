//! The suite `consumers`: credentials pushed to consumers as Secrets.

mod credentials;
mod kubeconfig;
mod logins;
mod places;
mod retired;
mod served;
mod subject;
mod unlabelled;

pub(in crate::rules) use credentials::secret_single_consumer;
pub(in crate::rules) use kubeconfig::{
    kubeconfig_points_at_member, kubeconfig_self_contained, secret_has_kubeconfig,
};
pub(in crate::rules) use logins::{kubeconfig_works, least_privilege};
pub(in crate::rules) use places::{consumer_name_unique, secret_names_profile, secret_namespace_labelled};
pub(in crate::rules) use retired::secrets_retired;
pub(in crate::rules) use served::declared_consumer_served;
pub(in crate::rules) use unlabelled::secret_labelled;
