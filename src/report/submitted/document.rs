//! The shape of the report, and the report as a YAML file: read strictly, written deterministically, safe in editors and on
//! terminals. Fields may be added, none renamed; unknown ones are errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use evidence::{About, Claim, Kind, ReasonId, Scope, Window, api::Edition};
use jiff::{Timestamp, civil::Date};
use judge::{Count, Decision, Selection, Verdict, WaiverOutcome, rules::Level};
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::{Value, json};

use crate::{
    EditionDecision,
    formats::json::API_VERSION,
    text::{difference::within, escape},
};

/// What the report says it is.
pub const KIND: &str = "ConformanceReport";

/// Longer text is cut, so that one text cannot bury a report.
const LONGEST: usize = 2_000;
/// The length of what is left: with the note about the cut, it is at most [`LONGEST`].
const LEFT: usize = 1_900;

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConformanceReport {
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
    /// The hub's version of Kubernetes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_version: Option<String>,
    /// The implementation, who judged it, and what was real.
    #[serde(flatten)]
    pub about: About,
    /// The decision.
    pub decision: Decision,
    /// The decision by every edition of the role. Reports of earlier suites do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub editions: Vec<EditionDecision>,
    /// What the implementation claims, without its edition and the user's own words.
    #[serde(serialize_with = "write_claim")]
    pub claim: Claim,
    /// What was observed.
    pub scope: Covered,
    /// The file from which it can be judged again, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceFile>,
    /// The verdicts by suite, in the order of the rules.
    pub suites: Vec<SuiteResult>,
    /// The outcomes of the waivers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<WaiverOutcome>,
}

/// The edition is a field of the report. `features` is there even if it is empty.
fn write_claim<S: Serializer>(claim: &Claim, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(claim).map_err(S::Error::custom)?;
    if let Value::Object(fields) = &mut value {
        fields.remove("edition");
        fields.entry("features").or_insert(json!([]));
    }
    value.serialize(serializer)
}

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Covered {
    /// The namespaces, the manager, and the scheduler that were judged; all where none are named.
    #[serde(flatten)]
    pub scope: Scope,
    /// The selected rules; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// How many profiles were judged.
    pub profiles: usize,
    /// How many slices of placement decisions were judged.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub slices: usize,
    /// How many objects could not be read.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub unreadable: usize,
    /// When they were observed; absent for a dump, which does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Whether they were watched throughout the window, rather than read as a single snapshot.
    pub watched: bool,
    /// Kinds of evidence that were not requested, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_asked: BTreeMap<Kind, String>,
    /// Why the run was cut short, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// The file from which it can be judged again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceFile {
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

/// The verdicts on the rules of one suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteResult {
    /// The suite.
    pub name: String,
    /// Its MUST rules, where the edition has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<RuleGroup>,
    /// Its SHOULD and MAY rules, where the edition has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended: Option<RuleGroup>,
}

/// The verdicts on some rules. Rules that are not listed have passed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleGroup {
    /// Their result.
    pub result: GroupResult,
    /// The number of verdicts of each kind.
    pub statistics: Count,
    /// Rules that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_rules: Vec<RuleEntry>,
    /// Rules with verdict `warn` or `waived`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_rules: Vec<RuleEntry>,
    /// Rules with verdict `inconclusive`, `not-applicable` or `skipped`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_rules: Vec<RuleEntry>,
}

/// The result of some rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupResult {
    /// No rule fails, and all that apply were judged; at least one was.
    Success,
    /// No rule fails, but some were not judged or are waived, or no rule applies.
    #[default]
    Partial,
    /// A rule fails.
    Failure,
}

/// A rule that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleEntry {
    /// Its id.
    pub rule: String,
    /// Its level.
    pub level: Level,
    /// The verdict.
    pub verdict: Verdict,
    /// What it requires.
    pub title: String,
    /// How many things were examined.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub examined: usize,
    /// How many violations were found and are not waived.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub violations: usize,
    /// How many findings are warnings only.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub hints: usize,
    /// How many findings are waived.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub waived: usize,
    /// Why it was not judged, or was waived. Names of objects are only in the evidence.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reasons: BTreeSet<String>,
    /// The id of the reason if the rule was not judged: the decision depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_id: Option<ReasonId>,
}

/// Why a file cannot be used as a report, and what to do; or why two reports cannot be compared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReportError(pub(super) String);

impl ConformanceReport {
    /// Reads a report.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let input: Value = yaml(text).unwrap_or_default();
        if input["apiVersion"] != API_VERSION || input["kind"] != KIND {
            return Err(ReportError(format!(
                "it is not a report of this suite, which begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`: \
                 write one with `run --report FILE`"
            )));
        }
        let version = crate::VERSION;
        let advice = match input["suiteVersion"].as_str() {
            Some(wrote) if wrote != version => {
                format!("it is by suite {wrote}, and this is {version}: read it with that suite")
            }
            _ => "submit the report as the suite wrote it".to_owned(),
        };
        let refused = |reason: String| ReportError(format!("{reason}: {advice}"));
        let document: Self = yaml(text).map_err(|error| refused(error.to_string()))?;
        let output = serde_json::to_value(&document).unwrap_or_default();
        match unknown_field(&input, &output, "") {
            Some(path) => Err(refused(format!("unknown or empty field {}", shown(&path)))),
            None => Ok(document.public()),
        }
    }

    /// Writes it: the same report gives the same bytes. Fails only if `into` does.
    pub fn write(&self, mut into: impl io::Write) -> io::Result<()> {
        let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
        let text = serde_saphyr::to_string_with_options(self, options).map_err(io::Error::other)?;
        into.write_all(text.as_bytes())
    }

    /// The report with every text escaped and shortened. It is idempotent.
    pub(super) fn public(&self) -> Self {
        let mut value = serde_json::to_value(self).expect("the document has a shape in JSON");
        clean(&mut value);
        // No field whose form matters can hold invisible characters.
        serde_json::from_value(value).unwrap_or_else(|_| self.clone())
    }
}

fn yaml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
}

/// The path of a field that is written although a report with this content does not have it.
fn unknown_field(input: &Value, output: &Value, path: &str) -> Option<String> {
    match (input, output) {
        (Value::Object(input), Value::Object(output)) => input.iter().find_map(|(key, value)| {
            let path = within(path, key);
            match output.get(key) {
                Some(part) => unknown_field(value, part, &path),
                None => Some(path),
            }
        }),
        (Value::Array(input), Value::Array(part)) => {
            let mut items = input.iter().zip(part);
            items.find_map(|(value, part)| unknown_field(value, part, path))
        }
        _ => None,
    }
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown(text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut value)| {
                clean(&mut value);
                (shown(&key), value)
            }));
        }
        _ => {}
    }
}

/// Escapes and shortens a text.
pub(super) fn shown(text: &str) -> String {
    let line = escape::short(text, usize::MAX);
    let long = line.chars().count();
    if long <= LONGEST {
        return line.into_owned();
    }
    let start: String = line.chars().take(LEFT).collect();
    format!("{start} … {} more characters", long - LEFT)
}
