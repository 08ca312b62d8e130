//! Credential plugins of access providers (KEP-5339): how a consumer of the inventory gets into a member.
//!
//! A provider file names the plugins, as it does for consumers; nothing else makes the suite run one. What profiles add
//! to a plugin's arguments and environment is taken as the file's policies have it. A plugin's answer is kept in memory,
//! is tried on the member, and is wiped.

mod answer;
mod call;
mod error;
mod file;
mod plan;
mod process;
mod stderr_tail;

#[cfg(test)]
mod tests;

pub(super) use answer::Issued;
pub(super) use call::{Request, Yield};
pub use error::{NoProgram, ProviderFlaw, ProvidersError, ProvidersFlaw};
pub use file::read_providers;
pub use plan::{ArgsPolicy, Call, EnvsPolicy, Output, Plugins, Protocol, Provider, Ran, Runner};
pub use process::Processes;
