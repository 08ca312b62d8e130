//! The suite `access`: how `status.accessProviders` tells consumers to reach a member.

mod plugin;

pub(super) use plugin::plugin_yields_credential;
