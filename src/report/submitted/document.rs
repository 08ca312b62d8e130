//! The shape of the report. Fields may be added, none renamed; unknown ones are errors.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Environment, Identity, Implementation, Kind, ReasonId, Submitter,
    api::{Edition, Feature},
};
use jiff::{Timestamp, civil::Date};
use judge::{
    Count, Decision, Verdict,
    rules::{Basis, Level},
};
use serde::{Deserialize, Serialize};

/// What the report says it is.
pub const KIND: &str = "ConformanceReport";

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// The version of this shape: `conformance.clusterprofile/v1`.
    pub api_version: String,
    /// `ConformanceReport`.
    pub kind: String,
    /// When it was judged.
    pub date: Timestamp,
    /// The version of the suite that judged.
    pub suite_version: String,
    /// The day of the newest rule that the suite had; absent if it had only those of the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_as_of: Option<Date>,
    /// The edition of the documents that it judged by.
    pub edition: Edition,
    /// The version of the ClusterProfile API in which the profiles were read, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_profile_api_version: Option<String>,
    /// The hub's version of Kubernetes, where it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_version: Option<String>,
    /// Who made the implementation. A report that lacks it cannot be submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Implementation>,
    /// Who judged it. A report that lacks this cannot be submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<Submitter>,
    /// What was real where it was judged, and what was imitated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The decision.
    pub decision: Decision,
    /// What the implementation claims, as far as verdicts depend on it.
    pub claim: Claimed,
    /// What was looked at.
    pub scope: Covered,
    /// The file from which it can be judged again, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Kept>,
    /// The verdicts by suite, in the ledger's order.
    pub suites: Vec<SuiteResult>,
    /// The waivers, and what came of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waived>,
}

/// What the implementation claims, as far as verdicts depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claimed {
    /// Features that it claims.
    pub features: BTreeSet<Feature>,
    /// Features that it declares not to have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub no_features: BTreeSet<Feature>,
    /// Whether broken SHOULD rules count as failures.
    pub strict: bool,
    /// Consumers that are declared to need credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<String>,
    /// All users and field managers of the cluster manager.
    #[serde(default, skip_serializing_if = "Identity::is_unnamed")]
    pub cluster_manager: Identity,
    /// All users and field managers of the scheduler.
    #[serde(default, skip_serializing_if = "Identity::is_unnamed")]
    pub scheduler: Identity,
    /// Programs of the consumer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumer_agents: Vec<String>,
    /// The number of profiles that the cluster manager should publish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_profiles: Option<usize>,
    /// The tolerated difference between a profile's node count and its member's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub node_tolerance: u64,
    /// ClusterSets by the namespaces that represent them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clustersets: BTreeMap<String, String>,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Covered {
    /// The namespaces whose profiles were judged; all where there are none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// The manager whose profiles were judged; all where there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_manager: Option<String>,
    /// The scheduler whose decisions were judged; all where there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Which rules were picked; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Picked>,
    /// How many profiles were judged.
    pub profiles: usize,
    /// How many slices of placement decisions were judged.
    #[serde(default, skip_serializing_if = "is_none")]
    pub slices: usize,
    /// How many objects could not be read.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unreadable: usize,
    /// When they were looked at; absent of a dump, which does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
    /// Whether they were watched throughout the window, rather than read as a single snapshot.
    pub watched: bool,
    /// Kinds of evidence that were not requested, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_asked: BTreeMap<Kind, String>,
    /// Why the run was cut short, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// Which rules were picked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Picked {
    /// A rule's id must have one of these; empty: all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// A rule's id must have none of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<String>,
    /// Whether they are whole ids.
    pub exact: bool,
    /// The basis that a rule must have in the edition; any where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Span {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

impl Span {
    /// How long it is, in seconds.
    pub(super) fn seconds(&self) -> i64 {
        self.until.duration_since(self.from).as_secs()
    }
}

/// The file from which it can be judged again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kept {
    /// Its name, without the folder.
    pub file: String,
    /// The SHA-256 of its content before it was packed, in hexadecimal.
    pub sha256: String,
    /// How long that content is, in bytes.
    pub bytes: u64,
    /// The version of the suite that collected it.
    pub collected_by: String,
    /// The command that judges it again and compares.
    pub judge_again: String,
}

/// How the rules of one suite came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuiteResult {
    /// The suite.
    pub name: String,
    /// Its MUST rules, where the edition has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Group>,
    /// Its SHOULD and MAY rules, where the edition has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<Group>,
}

/// How some rules came out. Those that are not listed have passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Group {
    /// All of them in a word.
    pub result: Judged,
    /// All of them, counted.
    pub statistics: Count,
    /// Rules that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_rules: Vec<Entry>,
    /// Rules that are broken or in doubt where that does not count: verdicts `warn` and `waived`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_rules: Vec<Entry>,
    /// Rules that were not judged: verdicts `inconclusive`, `not-applicable` and `skipped`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_rules: Vec<Entry>,
}

/// Some rules' verdicts in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// None fails, and all that apply were judged; at least one was.
    Success,
    /// None fails, but some were not judged or are waived, or none applies.
    Partial,
    /// One fails.
    Failure,
}

/// A rule that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its id.
    pub rule: String,
    /// Its level.
    pub level: Level,
    /// The verdict.
    pub verdict: Verdict,
    /// What holds where it is kept.
    pub title: String,
    /// How many things were examined.
    #[serde(default, skip_serializing_if = "is_none")]
    pub examined: usize,
    /// How many violations were found, those that are waived aside.
    #[serde(default, skip_serializing_if = "is_none")]
    pub violations: usize,
    /// How many findings hint at a violation without proving it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hints: usize,
    /// How many findings are waived.
    #[serde(default, skip_serializing_if = "is_none")]
    pub waived: usize,
    /// Why it was not judged, or was waived. Objects are not named: the evidence tells which.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reasons: BTreeSet<String>,
    /// What sort of reason it is, where the rule was not judged: the decision depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_id: Option<ReasonId>,
}

/// A waiver, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waived {
    /// The rule's id.
    pub rule: String,
    /// The objects that it is for; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why this is accepted.
    pub reason: String,
    /// Where this is discussed or tracked.
    pub link: String,
    /// The last day on which it counts.
    pub expires: Date,
    /// How many findings it has waived.
    pub waived: usize,
    /// Whether its last day was over.
    pub expired: bool,
    /// Whether all that it is for was judged: only then is it idle where it has waived nothing.
    pub judged: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(number: &usize) -> bool {
    *number == 0
}
