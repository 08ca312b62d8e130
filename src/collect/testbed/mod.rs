//! A testbed for a consumer: the run plays the cluster manager, and sees whom the consumer calls.
//!
//! Each scene publishes profiles that ask something of a consumer, and a control beside them, which asks nothing. The
//! members that they describe, and the credential plugin, are the run's own: they record each call. What the calls are
//! worth is for rules to say.

mod addresses;
mod calls;
mod decisions;
mod members;
mod mentions;
mod outputs;
mod plan;
mod play;
mod plugin;
mod profile;
mod random;
mod recorder;
mod scenes;
mod session;

pub use calls::{Arrival, Calls, Connection, MemberRequest};
pub use members::{Members, NewAddress};
pub use mentions::{ConsumerLog, LogFiles};
pub use outputs::OutputPlace;
pub use plan::TestbedPlan;
pub(super) use play::{Played, play};
pub use plugin::{PluginPlan, PluginReply, PluginRun};
pub use profile::is_staged_variable;
pub use recorder::{Recorder, RecorderError, tell_recorder};
