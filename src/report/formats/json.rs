//! The JSON report, on which other tools rely: fields may be added, none renamed.
//!
//! A replay of the same evidence gives the same bytes, but for two fields: `judgedAt` and `evidence.file`.

use std::{collections::BTreeMap, io};

use evidence::{
    Claim, Kind, ReasonId, Scope, Traffic, Unreadable, Window,
    api::{Edition, Role},
};
use jiff::Timestamp;
use judge::{
    Count, Decision, RuleVerdict, Verdict, WaiverOutcome,
    rules::{Basis, Finding, Level},
};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::{
    Coverage, Report,
    story::{Stories, Story, representatives},
    summary::{EditionDecision, Reaction, RoleDecision, decisions, reactions},
    text::escape,
};

/// The version of the report's format.
pub const API_VERSION: &str = "conformance.clusterprofile/v1";

/// The whole report.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    /// [`API_VERSION`].
    api_version: &'static str,
    /// The suite that judged.
    suite: Suite,
    /// When it judged, RFC 3339.
    judged_at: Timestamp,
    /// What it judged.
    evidence: Source<'a>,
    /// The roles that were judged.
    roles: Vec<Role>,
    /// The edition of the documents that it judged by.
    edition: Edition,
    /// The edition of a second role, if the run judged two.
    #[serde(skip_serializing_if = "Option::is_none")]
    also: Option<Edition>,
    /// What the implementation claims.
    claim: &'a Claim,
    /// Which profiles count.
    scope: &'a Scope,
    /// How many profiles in scope were seen.
    profiles: usize,
    /// When they were read; absent for a dump, which has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    /// How the run watched on after the window for violations that were open when it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<Settling>,
    /// What the run cost the hub; absent for a dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<Traffic>,
    /// How fast the implementation reacted to the driver, by action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reactions: Vec<Reaction>,
    /// Whether they were watched throughout the window, rather than read as a single snapshot.
    watched: bool,
    /// Whether the run was cut short, so that evidence may be missing.
    partial: bool,
    /// The decision.
    decision: Decision,
    /// The decision by each edition, if the run judged by two: `decision` is the worst of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<RoleDecision>,
    /// The decision by every edition of the role, from the same evidence: `decision` is that by `edition`.
    #[serde(skip_serializing_if = "<[EditionDecision]>::is_empty")]
    editions: &'a [EditionDecision],
    /// Whether each MUST rule was judged, or does not apply as the evidence shows; except for inconclusive ones.
    whole: bool,
    /// How many rules have each verdict, by level.
    tally: Levels,
    /// How many rules cannot be judged yet, whatever the evidence.
    #[serde(skip_serializing_if = "crate::is_zero")]
    unjudged: usize,
    /// Kinds of evidence that were not requested, each with the reason.
    not_asked: BTreeMap<Kind, String>,
    /// Unreadable objects, which no rule has examined.
    unreadable: &'a [Unreadable],
    /// Every rule of the edition, in the ledger's order.
    verdicts: Vec<Entry<'a>>,
    /// The outcome of each waiver, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waivers: Vec<Waiving<'a>>,
}

/// How the run watched on after the window.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Settled")]
struct Settling {
    /// Until when it watched on; the end of the window if it did not.
    until: Timestamp,
    /// The number of profiles that it waited for.
    #[serde(skip_serializing_if = "crate::is_zero")]
    profiles: usize,
    /// The number of slices of decisions that it waited for.
    #[serde(skip_serializing_if = "crate::is_zero")]
    slices: usize,
    /// True if the run was stopped meanwhile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut_short: bool,
}

/// The suite that judged.
#[derive(Debug, Serialize, JsonSchema)]
struct Suite {
    version: &'static str,
}

/// Where the evidence comes from.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    /// The hub or the dump that was read.
    source: &'a str,
    /// The version of the suite that collected it.
    collected_by: &'a str,
    /// The hub's version, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_version: Option<&'a str>,
    /// The API version that the profiles were read in.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'a str>,
    /// The file that holds the evidence; `null` where it was not kept.
    file: Option<&'a str>,
}

/// How many rules have each verdict, by level.
#[derive(Debug, Serialize, JsonSchema)]
struct Levels {
    must: Outcomes,
    should: Outcomes,
    may: Outcomes,
}

/// How many rules of one level have each verdict.
#[derive(Debug, Serialize, JsonSchema)]
struct Outcomes {
    /// Rules that passed, failed or warned.
    judged: usize,
    #[serde(flatten)]
    count: Count,
}

/// The verdict on one rule.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    /// The rule's id.
    rule: &'a str,
    /// Its headline.
    title: &'a str,
    /// Its level.
    level: Level,
    /// Whether the edition's documents state it, or it follows from them.
    basis: Basis,
    /// Document and section.
    source: &'a str,
    verdict: Verdict,
    /// How many things were examined.
    examined: usize,
    /// Why it neither passed nor failed nor warned.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What sort of reason it is, where there is one: a stable id.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_id: Option<ReasonId>,
    /// The violations, all but those that are waived.
    findings: Vec<Found<'a>>,
    /// The violations that are waived.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waived: Vec<Waived<'a>>,
    /// Notes, for example which evidence was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The remedy, if something was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

/// A violation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
struct Found<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    /// How its object came to it, where the evidence shows it: of the first violations of a rule that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<Box<Story>>,
}

/// A violation that is waived.
#[derive(Debug, Serialize, JsonSchema)]
struct Waived<'a> {
    #[serde(flatten)]
    found: Found<'a>,
    /// The place of its waiver in `waivers`, counted from 0.
    waiver: usize,
}

/// The outcome of a waiver.
#[derive(Debug, Serialize, JsonSchema)]
struct Waiving<'a> {
    #[serde(flatten)]
    outcome: &'a WaiverOutcome,
    /// What is wrong with the waiver itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint: Option<String>,
}

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let header = &report.evidence.header;
    let coverage = Coverage::of(report);
    let stories = Stories::of(report.evidence);
    let tally = &report.judgement.tally;
    let document = Document {
        api_version: API_VERSION,
        suite: Suite {
            version: crate::VERSION,
        },
        judged_at: report.judged_at,
        evidence: Source {
            source: &header.hub.source,
            collected_by: &header.suite_version,
            server_version: header.hub.server_version.as_deref(),
            api_version: header.hub.api_version.as_deref(),
            file: report.file,
        },
        roles: report.judgement.roles().collect(),
        edition: report.judgement.edition,
        also: report.judgement.also,
        claim: &header.claim,
        scope: &header.scope,
        profiles: coverage.profiles,
        window: header.window,
        settled: coverage.settled.and(header.settled).map(|settled| Settling {
            until: settled.until,
            profiles: settled.profiles,
            slices: settled.slices,
            cut_short: settled.cut_short,
        }),
        traffic: header.traffic,
        reactions: reactions(report),
        watched: coverage.watched.is_some(),
        partial: report.judgement.partial,
        decision: report.judgement.decision,
        decisions: decisions(report.judgement),
        editions: report.editions,
        whole: report.judgement.is_whole(),
        tally: Levels {
            must: Outcomes::of(tally.must),
            should: Outcomes::of(tally.should),
            may: Outcomes::of(tally.may),
        },
        unjudged: report.judgement.unjudged(),
        not_asked: coverage
            .not_asked
            .iter()
            .map(|(kind, why)| (*kind, report.with_advice(why, None)))
            .collect(),
        unreadable: &report.evidence.unreadable,
        verdicts: report
            .judgement
            .verdicts
            .iter()
            .map(|verdict| Entry::of(report, verdict, &stories))
            .collect(),
        waivers: report
            .judgement
            .waivers
            .iter()
            .map(|outcome| Waiving {
                outcome,
                complaint: outcome.complaint(),
            })
            .collect(),
    };
    let json = serde_json::to_string_pretty(&document)?;
    writeln!(into, "{}", escape::json(&json))
}

/// The JSON Schema of the report.
pub fn schema() -> Schema {
    evidence::json_schema::of_output::<Document>()
}

impl<'a> Entry<'a> {
    fn of(report: &Report, verdict: &'a RuleVerdict, stories: &Stories) -> Self {
        let facts = &verdict.rule.facts;
        let with_story = representatives(verdict);
        let view = |finding: &'a Finding| Found {
            finding,
            story: with_story
                .iter()
                .any(|one| std::ptr::eq(*one, finding))
                .then(|| stories.of_finding(finding))
                .flatten()
                .map(Box::new),
        };
        Self {
            rule: verdict.rule.id,
            title: &facts.title,
            level: verdict.level(),
            basis: verdict.basis(),
            source: &verdict.applies.source,
            verdict: verdict.verdict,
            examined: verdict.examined,
            reason: report.reason(verdict),
            reason_id: verdict.reason_id(),
            findings: verdict.findings.iter().map(view).collect(),
            waived: verdict
                .waived
                .iter()
                .map(|(finding, waiver)| Waived {
                    found: view(finding),
                    waiver: *waiver,
                })
                .collect(),
            notes: verdict
                .notes
                .iter()
                .map(|note| report.with_advice(note, Some(verdict.rule)))
                .collect(),
            remedy: (!verdict.findings.is_empty() || !verdict.waived.is_empty()).then_some(&facts.remedy),
        }
    }
}

impl Outcomes {
    fn of(count: Count) -> Self {
        Self {
            judged: count.judged(),
            count,
        }
    }
}
