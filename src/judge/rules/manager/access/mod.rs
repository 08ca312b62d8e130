//! The suite `access`: how `status.accessProviders` lets consumers reach a member, and that profiles contain no credentials.

mod authority;
mod connection;
mod environment;
mod extensions;
mod plugin;
mod providers;
mod secrets;

pub(in crate::rules) use authority::{ca_data_current, ca_data_is_certificates, no_local_paths};
pub(in crate::rules) use connection::{
    portable, proxy_url_well_formed, server_is_url, server_told, tls_verified,
};
pub(in crate::rules) use environment::not_environment_specific;
pub(in crate::rules) use extensions::{
    additional_args_well_formed, additional_envs_well_formed, exec_extension_well_formed,
};
pub(in crate::rules) use plugin::plugin_yields_credential;
pub(in crate::rules) use providers::{not_deprecated_only, provider_named, within_v1alpha2_limits};
pub(in crate::rules) use secrets::{no_secrets, no_secrets_elsewhere};
