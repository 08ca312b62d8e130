//! Evidence: what a run observed, as plain data. Rules see nothing else of the world.
//!
//! Collecting fills an [`Evidence`]; judging reads it. Unavailable evidence is a [`Gap`] or an [`Asked::No`] with its
//! reason, so that a rule can distinguish "not broken" from "not seen".

pub mod api;
pub mod dump;
mod evidence;
pub mod file;
mod marks;
mod objects;
mod observation;
mod read;
mod secrets;
mod seen;

pub use evidence::{Evidence, Input};
pub use file::{checksum::Checksum, json_schema};
pub use marks::{labels, runs};
pub use objects::{
    history::{History, Origin, ProfileHistory, SliceHistory, Version},
    later::{Awaited, Later, Settled},
    object::{Namespace, ObjectRef, Unreadable},
    tracked::Tracked,
};
pub use observation::{
    about::{About, Environment, Implementation, Realness, RealnessError, Submitter},
    gaps::{Gaps, Spans},
    header::{
        AgentError, Claim, FORMAT, Header, Hub, Identity, Permission, Scope, ServedVersion, Traffic, Window,
        agent_program, parse_time,
    },
    kind::{Asked, Gap, Kind},
    reason::{Reason, ReasonId},
};
pub use read::{
    bounded::{LARGEST_CREDENTIAL, LARGEST_KUBECONFIG, LARGEST_TEXT, check_bounded, read_bounded, read_text},
    input::{InputError, read_input, read_input_bounded},
    json_list, lenient,
    limits::{LARGEST_OBJECT, LimitError, Limits},
    user_file,
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
    driver::{Change, Driver, DriverAction, DriverStep, ObjectKey, Scenario, StepOutcome},
    hook_call::HookCall,
    member::{
        ClusterProperty, EndpointCall, Lease, Login, LoginOutcome, LoginWith, Look, Member, MemberPart,
        Readyz,
    },
    mentions::{Mention, MentionLocation, Mentions},
    output::{Output, OutputReader, OutputSnapshot},
    placement_request::{PlacementRequest, PlacementSlices, clusters_of},
    probe::{Probe, ProbeMethod, ProbeOutcome},
    request::{Log, Request, RequestBody, Requests},
    testbed::{
        CallEvent, ConsumerSpec, Expect, Expectation, MemberAddress, MemberCall, MemberCredential,
        PluginAnswer, PluginCall, PluginCluster, Publication, Published, Reads, ScenarioRun, Testbed,
    },
};
