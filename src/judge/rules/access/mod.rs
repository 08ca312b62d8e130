//! The suite `access`: how `status.accessProviders` lets consumers reach a member, and that profiles contain no credentials.

mod authority;
mod entries;
mod environment;
mod extensions;
mod limits;
mod plugin;
mod portable;
mod providers;
mod secrets;
mod server;

pub(super) use authority::{ca_data_current, ca_data_is_certificates, no_local_paths};
pub(super) use environment::not_environment_specific;
pub(super) use extensions::{
    additional_args_well_formed, additional_envs_well_formed, exec_extension_well_formed,
};
pub(super) use limits::within_v1alpha2_limits;
pub(super) use plugin::plugin_yields_credential;
pub(super) use portable::portable;
pub(super) use providers::{not_deprecated_only, provider_named};
pub(super) use secrets::{no_secrets, no_secrets_elsewhere};
pub(super) use server::{proxy_url_well_formed, server_is_url, server_told, tls_verified};
