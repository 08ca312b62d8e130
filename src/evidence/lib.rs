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
mod objects;
/// What was asked for, when and by whom, and what of it is missing.
mod observation {
    pub(crate) mod gaps;
    pub(crate) mod header;
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
    pub mod crd;
    pub(crate) mod driver;
    pub(crate) mod member;
    pub(crate) mod request;
    pub(crate) mod testbed;
}

pub use evidence::{Evidence, Input};
pub use file::{checksum::Checksum, json_schema};
pub use objects::{
    Awaited, History, Later, Namespace, ObjectRef, Origin, ProfileHistory, Settled, SliceHistory, Tracked,
    Unreadable, Version,
};
pub use observation::{
    gaps::{Asked, Gap, Gaps, Kind, Reason, ReasonId, Spans},
    header::{
        About, AgentError, Claim, Environment, FORMAT, Header, Hub, Identity, Implementation, Permission,
        Realness, RealnessError, Scope, ServedVersion, Submitter, Traffic, Window, agent_program, parse_time,
    },
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
    crd,
    driver::{
        Change, Driver, DriverAction, DriverStep, ObjectKey, PlacementRequest, PlacementSlices, Scenario,
        StepOutcome, clusters_of,
    },
    member::{
        ClusterProperty, EndpointCall, Lease, Login, LoginOutcome, LoginWith, Look, Member, MemberPart,
        Readyz,
    },
    request::{Log, Probe, ProbeMethod, ProbeOutcome, Request, RequestBody, Requests},
    testbed::{
        CallEvent, ConsumerSpec, Expect, Expectation, HookCall, MemberAddress, MemberCall, MemberCredential,
        Mention, MentionLocation, Mentions, Output, OutputReader, OutputSnapshot, PluginAnswer, PluginCall,
        PluginCluster, Publication, Published, Reads, ScenarioRun, Testbed,
    },
};
