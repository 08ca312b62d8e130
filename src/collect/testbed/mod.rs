//! A testbed for a consumer: the run acts as cluster manager, and records which members the consumer calls.
//!
//! * `table`: the scenarios as data; `scenarios`: the types of the table;
//! * `player`: takes the steps of scenarios; `publish`, `decisions`, `cleanup`: write profiles and slices;
//! * `expectations`: what an honest consumer does, and during which time;
//! * `calls`, `plugin`, `recorder`, `outputs`, `mentions`: record what the consumer does.
//!
//! Rules compare both.

mod calls;
mod cleanup;
mod decisions;
mod expectations;
mod members;
mod mentions;
mod outputs;
mod plan;
mod player;
mod plugin;
mod publish;
mod random;
mod recorder;
mod scenarios;
#[rustfmt::skip]
mod table;

pub use calls::{Arrival, Calls, Connection, MemberRequest};
pub use members::{Members, NewAddress};
pub use mentions::{ConsumerLog, LogFiles};
pub use outputs::OutputPlace;
pub use plan::TestbedPlan;
pub(super) use player::{TestbedRecord, run_testbed};
pub use plugin::{PluginPlan, PluginReply, PluginRun};
pub use publish::is_profile_variable;
pub use recorder::{Recorder, RecorderError, tell_recorder};
