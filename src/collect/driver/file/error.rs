//! What is wrong with a driver file, where, and what to do.

use std::path::PathBuf;

use evidence::{AgentError, DriverAction, user_file::UserFileError};

use crate::driver::{hooks::PREFIX, plan::MOST_MEMBERS};

/// Why a driver file cannot be used. No message quotes a value: it may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DriverFileError {
    /// It cannot be read.
    #[error("failed to read the driver file {}: {source}", path.display())]
    Read {
        /// The file, as it was given.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It says something that cannot be.
    #[error("the driver file {} cannot be used: {source}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What cannot be, and where.
        source: Box<DriverFileFlaw>,
    },
}

/// What a driver file says that cannot be, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum DriverFileFlaw {
    /// It is no YAML of that shape.
    #[error(transparent)]
    Text(#[from] UserFileError),
    /// It names no command.
    #[error(
        "there is no hook: give at least `join` and `leave`, `place` and `unplace`, or `restart`; of a consumer, say so under `consumer`"
    )]
    NoHook,
    /// There is no place for the profiles.
    #[error(
        "consumer.namespaces is empty: name a namespace whose profiles the consumer reads, for the run's own"
    )]
    NoNamespace,
    /// One namespace is read and is not.
    #[error(
        "consumer.unselected is {0}, which is one of consumer.namespaces, too: name one that the consumer does not read"
    )]
    SelectedAndNot(String),
    /// No decision can have that key, or the consumer reads none.
    #[error(
        "consumer.decision is {0:?}, by which the run cannot publish a decision: it takes `reads: [placements]`, and a key of \
         small letters, digits and `-`"
    )]
    Decision(String),
    /// A label is not valid.
    #[error("consumer.labels: {0:?} or its value is not a valid label")]
    Label(String),
    /// The version of the plugin's protocol is unknown.
    #[error(
        "consumer.execApiVersion is {0:?}: expected client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"
    )]
    ExecApiVersion(String),
    /// A user agent is not the name of a program.
    #[error("consumer.agents: {0}")]
    Agent(AgentError),
    /// The consumer has no plugin that the run could be.
    #[error(
        "consumer.providers is empty: name the access provider for which it runs `clusterprofile-conformance plugin`"
    )]
    NoProvider,
    /// A page of outputs has no URL.
    #[error("consumer.outputs: `{0}` is not a URL that begins with http:// or https://")]
    NoPage(String),
    /// Members could join and never leave, or the reverse.
    #[error("give both of the hooks `join` and `leave`, or neither: what joins must be able to leave")]
    JoinAndLeave,
    /// Members could break and never heal, or the reverse.
    #[error("give both of the hooks `break` and `heal`, or neither: what is broken must be healed")]
    BreakAndHeal,
    /// The implementation could be cut off and never be connected again, or the reverse.
    #[error(
        "give both of the hooks `disconnect` and `reconnect`, or neither: what is cut off must be connected again"
    )]
    DisconnectAndReconnect,
    /// A consumer could be stopped and never be started again, or the reverse.
    #[error("give both of the hooks `stop` and `start`, or neither: what is stopped must be started again")]
    StopAndStart,
    /// A scheduler could be asked for clusters, and that never be taken back, or the reverse.
    #[error("give both of the hooks `place` and `unplace`, or neither: what is placed must be taken back")]
    PlaceAndUnplace,
    /// There is nothing that could be rescheduled.
    #[error("the hook `reschedule` needs `place` and `unplace`: only what is placed can be rescheduled")]
    RescheduleWithoutPlace,
    /// It asks for stand-ins beside members of its own.
    #[error("`members` are your own, with which there are no stand-ins: leave out one of the two")]
    StandInsBesideMembers,
    /// It has hooks for what the run does to stand-ins itself.
    #[error(
        "the run breaks, heals and upgrades stand-ins itself: leave out the hooks `break`, `heal` and `upgrade` and \
         `upgradeTo`, or name `members` of your own, or set `standIns: false`"
    )]
    HooksForStandIns,
    /// The hook for upgrades lacks the version, or the reverse.
    #[error("give both the hook `upgrade` and `upgradeTo`, the version that it brings, or neither")]
    UpgradeAndVersion,
    /// A command cannot be run.
    #[error("hooks.{action}: {source}")]
    Hook {
        /// Which command.
        action: DriverAction,
        /// Why not.
        source: HookFlaw,
    },
    /// A member's name is empty, or another member has it.
    #[error("members: `{0}` is not a valid name, or is repeated")]
    MemberName(String),
    /// A member's kubeconfig is not there.
    #[error("members: {member}: there is no kubeconfig {}", path.display())]
    NoKubeconfig {
        /// The member.
        member: String,
        /// Where its kubeconfig should be.
        path: PathBuf,
    },
    /// The scale scenario wants more members than there are.
    #[error("scale.members is {wanted}, and there are {there} members")]
    TooFewMembers {
        /// How many it wants.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
    /// The scale scenario wants more members than any run tries.
    #[error("scale.members is {0}, and a run tries at most {MOST_MEMBERS}")]
    TooManyMembers(usize),
    /// The scale scenario lets no member join.
    #[error("scale.atOnce is 0: no member could ever join")]
    NoneAtOnce,
}

/// Why a command of a driver file cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookFlaw {
    /// It is an empty list.
    #[error("its command has no words: name a program")]
    NoWords,
    /// A name in its environment is not one, or is the run's.
    #[error("`{0}` cannot be in its environment: names that begin with {PREFIX} are for the run", PREFIX = PREFIX)]
    Environment(String),
    /// Its program is not there.
    #[error("there is no program {}", .0.display())]
    NoProgram(PathBuf),
}
