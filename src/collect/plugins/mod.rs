//! Credential plugins of access providers (KEP-5339): how a consumer of the inventory gets access to a member.
//!
//! The suite runs only plugins that a provider file names, in the format of consumers. The file's policies decide which
//! arguments and variables a profile may add. A plugin's answer stays in memory, is tried on the member, and is wiped.

mod call;
mod file;

#[cfg(test)]
mod tests;

pub use call::Processes;
pub(super) use call::Request;
pub(crate) use file::find as find_program;
pub use file::{
    Call, NoProgram, PluginConfig, Plugins, Provider, ProvidersError, Ran, Runner, read_providers,
};
