//! A testbed for a consumer: the run acts as cluster manager, and records which members the consumer calls.
//!
//! * `scenarios`: the scenarios, from `scenarios.yaml`;
//! * `player`: takes the steps of scenarios; `publish`, `decisions`, `cleanup`: write profiles and slices;
//! * `expectations`: what an honest consumer does, and during which time;
//! * `calls`, `plugin`, `outputs`, `mentions`: record what the consumer does.
//!
//! Rules compare both.

mod calls;
mod cleanup;
mod decisions;
mod expectations;
mod mentions;
mod outputs;
mod player;
mod plugin;
mod publish;
mod scenarios;

use std::{sync::Arc, time::Duration};

pub use calls::{Arrival, Calls, OpenConnection};
use evidence::{ConsumerSpec, MemberAddress};
use futures::future::BoxFuture;
pub use mentions::{ConsumerLog, log_files};
pub use outputs::OutputPlace;
pub(super) use player::run_testbed;
pub use plugin::{PluginReply, PluginRun, Recorder, report_plugin_run};
pub use publish::is_profile_variable;

use crate::driver::{Hooks, Journal, OfferError};

/// The testbed of a run.
#[derive(Clone)]
pub struct TestbedPlan {
    /// The id of the run. Everything that the run creates carries it.
    pub run: String,
    /// What the consumer's author says of it.
    pub claims: ConsumerSpec,
    /// A namespace whose profiles the consumer does not read.
    pub unselected: Option<String>,
    /// Where the consumer writes its outputs.
    pub outputs: Vec<OutputPlace>,
    /// Opens the addresses of members.
    pub members: Arc<dyn MemberAddresses>,
    /// What the members and the credential plugin recorded.
    pub calls: Arc<Calls>,
    /// The log of the consumer, if it was given.
    pub log: Option<ConsumerLog>,
    /// The hooks of the consumer.
    pub hooks: Arc<dyn Hooks>,
    /// How long the consumer may take to call a control.
    pub patience: Duration,
    /// Where the consumer's plugin reaches the run; none if the plugin is in this process.
    pub recorder: Option<Arc<Recorder>>,
    /// The log of changes to undo; without a file if the hub ends with the run.
    pub journal: Arc<Journal>,
}

/// Opens addresses of members, and records who calls there in [`Calls`].
pub trait MemberAddresses: Send + Sync {
    /// Opens an address. The member answers for as long as this lives.
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>>;

    /// Opens a proxy that leads to members. Returns its URL.
    fn open_proxy(&self) -> BoxFuture<'_, Result<String, OfferError>>;
}

/// An address to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAddress {
    /// The member that answers there.
    pub member: String,
    /// The server name to which alone it answers.
    pub server_name: Option<String>,
    /// The URL to share with another member. Server names distinguish the members.
    pub shared_url: Option<String>,
}

impl TestbedPlan {
    /// All namespaces in which profiles are published.
    pub fn namespaces(&self) -> Vec<String> {
        let selected = self.claims.namespaces.iter();
        selected.chain(&self.unselected).cloned().collect()
    }
}
