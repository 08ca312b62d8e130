//! Evidence: what a run observed, as plain data. Rules see nothing else of the world.
//!
//! Collecting fills an [`Evidence`]; judging reads it. Unavailable evidence is a [`Gap`] or an [`Asked::No`] with its
//! reason, so that a rule can distinguish "not broken" from "not seen".

pub mod api;
pub mod dump;
mod evidence;
pub mod file;
/// The labels on all objects that the suite prints or creates, by which they are found and deleted.
pub mod labels {
    /// What the object is part of: [`SUITE`], on all of them.
    pub const LABEL_PART_OF: &str = "app.kubernetes.io/part-of";
    /// Which program the object is for: [`SUITE`] for runs, and other names that begin so.
    pub const LABEL_NAME: &str = "app.kubernetes.io/name";
    /// What the suite calls itself.
    pub const SUITE: &str = "clusterprofile-conformance";
}
mod named;
/// Profiles and slices over time, and references to any object.
mod objects {
    pub(crate) mod later;
    pub(crate) mod object;
}
/// What was asked for, when and by whom, and what of it is missing.
mod observation {
    pub(crate) mod about;
    pub(crate) mod gaps;
    pub(crate) mod header;
    pub(crate) mod reason;
}
/// Reads what others wrote: within bounds, and without quoting a value.
mod read {
    pub(crate) mod files;
    pub(crate) mod input;
    pub mod lenient;
    pub mod user_file;
}
pub mod runs;
/// Consumers' Secrets without their values, and credentials that must not be shown.
mod secrets {
    pub(crate) mod digest;
    pub mod leak;
    pub mod redact;
    pub(crate) mod secret;
}
/// What was observed besides profiles and slices.
mod seen {
    pub(crate) mod consumer;
    pub mod crd;
    pub(crate) mod driver;
    pub(crate) mod member;
    pub(crate) mod placement_request;
    pub(crate) mod request;
    pub(crate) mod testbed;
}

pub use evidence::{Evidence, Input};
pub use file::{checksum::Checksum, json_schema};
pub use objects::{
    later::{Awaited, Later, Settled},
    object::{
        History, Namespace, ObjectRef, Origin, ProfileHistory, SliceHistory, Tracked, Unreadable, Version,
    },
};
pub use observation::{
    about::{About, Environment, Implementation, Realness, RealnessError, Submitter},
    gaps::{Asked, Gap, Gaps, Kind, Spans},
    header::{
        AgentError, Claim, FORMAT, Header, Hub, Identity, Permission, Scope, ServedVersion, Traffic, Window,
        agent_program, parse_time,
    },
    reason::{Reason, ReasonId},
};
pub use read::{
    files::{
        LARGEST_CREDENTIAL, LARGEST_KUBECONFIG, LARGEST_OBJECT, LARGEST_TEXT, LimitError, Limits,
        check_bounded, read_bounded, read_text,
    },
    input::{InputError, read_input, read_input_bounded},
    lenient, user_file,
};
pub use secrets::{
    digest::{Digester, SecretError, kubeconfig_in_clear},
    leak, redact,
    secret::{
        Credential, CredentialKind, Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser, Secret,
        UnlabelledSecret,
    },
};
pub use seen::{
    consumer::{HookCall, Mention, MentionLocation, Mentions, Output, OutputReader, OutputSnapshot},
    crd,
    driver::{Change, Driver, DriverAction, DriverStep, ObjectKey, Scenario, StepOutcome},
    member::{
        ClusterProperty, EndpointCall, Lease, Login, LoginOutcome, LoginWith, Look, Member, MemberPart,
        Readyz,
    },
    placement_request::{PlacementRequest, PlacementSlices, clusters_of},
    request::{Log, Probe, ProbeMethod, ProbeOutcome, Request, RequestBody, Requests},
    testbed::{
        CallEvent, ConsumerSpec, Expect, Expectation, MemberAddress, MemberCall, MemberCredential,
        PluginAnswer, PluginCall, PluginCluster, Publication, Published, Reads, ScenarioRun, Testbed,
    },
};
