//! Waivers: accepted violations, each with a reason and an end date. Reports show them as waived, never as passed.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    ObjectRef, Reason, ReasonId, Scope,
    api::{Role, UnknownName},
    user_file,
    user_file::UserFileError,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_saphyr::Spanned;
use url::Url;

use crate::{
    judging::{
        judge::weigh_found,
        verdict::{Decision, Extent, Judgement, RuleVerdict, Tally, Verdict, decide},
    },
    rules,
    rules::Finding,
};

/// A file of waivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waivers {
    /// The waivers. If two cover one violation, the first counts.
    pub waivers: Vec<Waiver>,
}

/// One waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiver {
    /// The rule's id.
    pub rule: String,
    /// The objects, as `namespace/name` or, if they have no namespace, `name`; `*` matches any text. Absent: all objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why the violation is accepted.
    pub reason: String,
    /// Where the violation is discussed or tracked.
    pub link: String,
    /// The last day on which it counts, in UTC.
    #[serde(deserialize_with = "day")]
    pub expires: Date,
}

fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let day = String::deserialize(deserializer)?;
    day.parse()
        .map_err(|_| D::Error::custom("`expires` is not a day: write it like 2027-03-31"))
}

/// The outcome of one waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaiverOutcome {
    /// The waiver.
    #[serde(flatten)]
    pub waiver: Waiver,
    /// How many violations it has waived.
    pub waived: usize,
    /// Whether it has expired, so that it waives nothing.
    pub expired: bool,
    /// Whether everything that it covers was judged. Otherwise (the rule was deselected or inconclusive, the run had another
    /// scope or was cut short), an unused waiver is not reported.
    pub judged: bool,
}

/// Why waivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WaiversError {
    /// The file is not YAML of the expected shape. The message begins with the place.
    #[error(transparent)]
    Unreadable(#[from] UserFileError),
    /// A waiver is invalid.
    #[error("line {line}: waiver {number}: {problem}")]
    Wrong {
        /// The line where it begins.
        line: u64,
        /// Its position, counted from 1.
        number: usize,
        /// What is wrong, and what to do.
        problem: String,
    },
}

/// A file of waivers, with the places of each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaiverFile {
    waivers: Vec<Spanned<Waiver>>,
}

impl Waivers {
    /// Reads a file's text, in YAML or JSON.
    ///
    /// # Errors
    /// The file has another shape, unknown keys, unknown rules, empty reasons, unusable links, or the same waiver twice.
    pub fn parse(text: &str) -> Result<Self, WaiversError> {
        let WaiverFile { waivers } = user_file::read(text)?;
        let mut numbers = BTreeMap::new();
        for (place, waiver) in waivers.iter().enumerate() {
            let (number, line, waiver) = (place + 1, waiver.referenced.line(), &waiver.value);
            let wrong = |problem| WaiversError::Wrong {
                line,
                number,
                problem,
            };
            waiver.check().map_err(wrong)?;
            if let Some(first) = numbers.insert((&waiver.rule, &waiver.object), number) {
                return Err(wrong(format!(
                    "it is for the same violations as waiver {first}: keep one of them"
                )));
            }
        }
        Ok(Self {
            waivers: waivers.into_iter().map(|waiver| waiver.value).collect(),
        })
    }

    /// The day in UTC on which waivers are checked. A waiver ends at the same time in all time zones.
    pub fn day(judged_at: Timestamp) -> Date {
        judged_at.to_zoned(TimeZone::UTC).date()
    }
}

impl Waiver {
    /// Checks the fields.
    ///
    /// # Errors
    /// What is wrong, and what to do.
    fn check(&self) -> Result<(), String> {
        if rules::find(&self.rule).is_none() {
            let ids = rules::all().iter().map(|rule| rule.id);
            return Err(UnknownName::among("rule", &self.rule, ids).to_string());
        }
        if self.reason.trim().is_empty() {
            return Err("`reason` is empty: say why the violation is accepted".to_owned());
        }
        // Reports turn it into a link, which must not run a script.
        if web_page(&self.link).is_none() {
            let link = "`link` is not an http or https URL: say where the violation is discussed or tracked";
            return Err(link.to_owned());
        }
        match &self.object {
            Some(object) if object.trim().is_empty() || object.matches('/').count() > 1 => Err(
                "`object` names nothing: give namespace/name, for example fleet/*, or leave it out for all"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Whether a run with that scope judges all objects of the waiver.
    fn is_within(&self, scope: &Scope, role: Role) -> bool {
        let object = self.object.as_deref().unwrap_or_default();
        let is_in_scope = |(namespace, _): (&str, &str)| scope.namespaces.iter().any(|ns| ns == namespace);
        let is_by_default = role == Role::Manager && scope.manager_by_default;
        let is_of_all = scope.publisher(role).is_none() || is_by_default;
        is_of_all && (scope.namespaces.is_empty() || object.split_once('/').is_some_and(is_in_scope))
    }

    fn covers(&self, rule: &str, finding: &Finding) -> bool {
        let object = self.object.as_deref();
        self.rule == rule && object.is_none_or(|pattern| matches(pattern, &finding.object))
    }
}

impl WaiverOutcome {
    /// What is wrong with the waiver, if anything. An unused waiver may hide a later violation.
    pub fn complaint(&self) -> Option<String> {
        let waiver = &self.waiver;
        if self.expired {
            Some(format!(
                "the waiver of {} has expired on {}: fix the violation, or renew the waiver",
                waiver.rule, waiver.expires
            ))
        } else if self.waived == 0 && self.judged {
            let advice = match &waiver.object {
                Some(object) => format!("remove it, or correct its object `{object}` (namespace/name)"),
                None => "remove it".to_owned(),
            };
            Some(format!("the waiver of {} waives nothing: {advice}", waiver.rule))
        } else {
            None
        }
    }
}

fn matches(pattern: &str, object: &ObjectRef) -> bool {
    match (pattern.split_once('/'), object.namespace.as_str()) {
        (None, "") => glob(pattern, &object.name),
        (Some((namespace, name)), own) => glob(namespace, own) && glob(name, &object.name),
        (None, _) => pattern == "*",
    }
}

/// Whether a text matches a pattern. `*` matches any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let (middle, last) = tail.rsplit_once('*').unwrap_or(("", tail));
    let rest = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(last));
    // The parts between stars must occur in order; matching each as early as possible is enough.
    rest.is_some_and(|rest| {
        middle
            .split('*')
            .try_fold(rest, |rest, part| {
                rest.find(part).map(|place| &rest[place + part.len()..])
            })
            .is_some()
    })
}

impl Judgement {
    /// Waives violations and warnings on a day. A rule with insufficient evidence is inconclusive then. In strict runs, an
    /// expired or unused waiver makes the decision `NotConformant`.
    pub fn waive(&mut self, waivers: &Waivers, on: Date, strict: bool) {
        let outcomes = waivers.waivers.iter().map(|waiver| WaiverOutcome {
            waiver: waiver.clone(),
            waived: 0,
            expired: waiver.expires < on,
            judged: self.has_judged(waiver),
        });
        let mut outcomes: Vec<WaiverOutcome> = outcomes.collect();
        for verdict in &mut self.verdicts {
            waive(verdict, &mut outcomes, strict);
        }
        self.tally = self.verdicts.iter().map(RuleVerdict::outcome).collect();
        self.decision = with_waivers(self.worst(), &outcomes, strict);
        self.waivers = outcomes;
    }

    /// Whether everything that a waiver covers was judged.
    fn has_judged(&self, waiver: &Waiver) -> bool {
        let mut verdicts = self.verdicts.iter();
        let is_judged = |verdict: &RuleVerdict| {
            matches!(verdict.verdict, Verdict::Pass | Verdict::Fail | Verdict::Warn)
                && verdict.rule.id == waiver.rule
                && waiver.is_within(&self.scope, verdict.rule.role())
        };
        !self.partial && verdicts.any(is_judged)
    }
}

/// The decision by one edition, given the outcomes of waivers.
pub fn decide_with(tally: &Tally, extent: Extent, outcomes: &[WaiverOutcome], strict: bool) -> Decision {
    with_waivers(decide(tally, extent), outcomes, strict)
}

fn with_waivers(decision: Decision, outcomes: &[WaiverOutcome], strict: bool) -> Decision {
    match decision {
        Decision::Conformant | Decision::NoViolation
            if strict && outcomes.iter().any(|o| o.complaint().is_some()) =>
        {
            Decision::NotConformant
        }
        decision => decision,
    }
}

/// Moves the waived findings of a verdict.
fn waive(verdict: &mut RuleVerdict, outcomes: &mut [WaiverOutcome], strict: bool) {
    let rule = verdict.rule;
    for finding in std::mem::take(&mut verdict.findings) {
        let is_covered =
            |outcome: &WaiverOutcome| !outcome.expired && outcome.waiver.covers(rule.id, &finding);
        match outcomes.iter().position(is_covered) {
            Some(place) => {
                outcomes[place].waived += 1;
                verdict.waived.push((finding, place));
            }
            None => verdict.findings.push(finding),
        }
    }
    if verdict.waived.is_empty() {
        return;
    }
    let weighed = weigh_found(verdict.applies, &verdict.findings, &verdict.doubts, strict);
    (verdict.verdict, verdict.reasons) =
        weighed.unwrap_or_else(|| (Verdict::Waived, grounds(verdict, outcomes)));
}

/// The reasons of the waivers that cover a rule's violations.
fn grounds(verdict: &RuleVerdict, outcomes: &[WaiverOutcome]) -> Vec<Reason> {
    let places: BTreeSet<usize> = verdict.waived.iter().map(|(_, place)| *place).collect();
    let reasons = places.into_iter().map(|place| {
        let Waiver {
            expires,
            reason,
            link,
            ..
        } = &outcomes[place].waiver;
        Reason::of(
            ReasonId::Waived,
            format!("waived until {expires}: {reason} ({link})"),
        )
    });
    reasons.collect()
}

/// The URL of a web page; none for other schemes, for example `javascript:`.
pub fn web_page(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

#[cfg(test)]
mod tests;
