//! The suite `consumers`: credentials pushed to consumers as Secrets.

mod credentials;
mod kubeconfig;
mod logins;
mod places;
mod retired;
mod served;
mod subject;
mod unlabelled;

pub(super) use credentials::secret_single_consumer;
pub(super) use kubeconfig::{kubeconfig_points_at_member, kubeconfig_self_contained, secret_has_kubeconfig};
pub(super) use logins::{kubeconfig_works, least_privilege};
pub(super) use places::{consumer_name_unique, secret_names_profile, secret_namespace_labelled};
pub(super) use retired::secrets_retired;
pub(super) use served::declared_consumer_served;
pub(super) use unlabelled::secret_labelled;
