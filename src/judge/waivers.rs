//! Waivers: accepted violations, each with a reason and an end date. Reports show them as waived, never as passed.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{ObjectRef, Scope, api::UnknownName, user_file, user_file::UserFileError};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_saphyr::Spanned;
use url::Url;

use super::{Decision, Judgement, RuleVerdict, Tally, Verdict, decide, weigh_found};
use crate::rules::{self, Finding};

/// A file of waivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waivers {
    /// The waivers; of two that cover one violation, the first counts.
    pub waivers: Vec<Waiver>,
}

/// One waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiver {
    /// The rule's id.
    pub rule: String,
    /// The objects, as `namespace/name` or, for those of the whole cluster, `name`; `*` stands for any text. All
    /// objects where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why the violation is lived with.
    pub reason: String,
    /// Where that is discussed or tracked.
    pub link: String,
    /// The last day on which it counts, in UTC.
    #[serde(deserialize_with = "day")]
    #[schemars(with = "evidence::json_schema::Day")]
    pub expires: Date,
}

fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let day = String::deserialize(deserializer)?;
    day.parse()
        .map_err(|_| D::Error::custom("`expires` is no day: write it like 2027-03-31"))
}

/// What came of one waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaiverOutcome {
    /// The waiver.
    #[serde(flatten)]
    pub waiver: Waiver,
    /// How many violations it has waived.
    pub waived: usize,
    /// Whether its last day is over: then it waives nothing.
    pub expired: bool,
    /// Whether all that it is for was judged. Where it was not (the rule was deselected or could not be judged, other
    /// profiles were looked at, the run was cut short), it means nothing that the waiver has waived nothing.
    pub judged: bool,
}

/// Why waivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WaiversError {
    /// They are no YAML of that shape; the place comes first.
    #[error(transparent)]
    Unreadable(#[from] UserFileError),
    /// One of them says what cannot be.
    #[error("line {line}: waiver {number}: {flaw}")]
    Wrong {
        /// The line where it begins.
        line: u64,
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong, and what to do.
        flaw: WaiverFlaw,
    },
}

/// What is wrong with one waiver, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum WaiverFlaw {
    /// Its rule does not exist.
    #[error("{0}")]
    UnknownRule(#[from] UnknownName),
    /// It gives no reason.
    #[error("`reason` is empty: say why the violation is accepted")]
    EmptyReason,
    /// Its link is none that reports may show.
    #[error("`link` is not an http or https URL: say where the violation is discussed or tracked")]
    Link,
    /// Its object is not of the form `namespace/name`.
    #[error("`object` names nothing: give namespace/name, such as fleet/*, or leave it out for all")]
    Object,
    /// An earlier one has the same rule and object.
    #[error("it is for the same violations as waiver {first}: keep one of them")]
    Repeated {
        /// The earlier one, counted from 1.
        first: usize,
    },
}

/// A file of waivers, with the places of each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    waivers: Vec<Spanned<Waiver>>,
}

impl Waivers {
    /// Reads a file's text, in YAML or JSON.
    ///
    /// # Errors
    /// When it has another shape, unknown keys, rules that are none, empty reasons, links that lead nowhere, or the same
    /// waiver twice.
    pub fn parse(text: &str) -> Result<Self, WaiversError> {
        let Text { waivers } = user_file::read(text)?;
        let mut known = BTreeMap::new();
        for (
            place,
            Spanned {
                value, referenced, ..
            },
        ) in waivers.iter().enumerate()
        {
            let (number, line) = (place + 1, referenced.line());
            let wrong = |flaw| WaiversError::Wrong { line, number, flaw };
            value.check().map_err(wrong)?;
            if let Some(first) = known.insert((&value.rule, &value.object), number) {
                return Err(wrong(WaiverFlaw::Repeated { first }));
            }
        }
        Ok(Self {
            waivers: waivers.into_iter().map(|waiver| waiver.value).collect(),
        })
    }

    /// The day that waivers count on for what is judged at that time. It is the same one everywhere: whoever judges, and
    /// whoever judges it again, a waiver ends at the same time.
    pub fn day(judged_at: Timestamp) -> Date {
        judged_at.to_zoned(TimeZone::UTC).date()
    }
}

impl Waiver {
    fn check(&self) -> Result<(), WaiverFlaw> {
        if rules::find(&self.rule).is_none() {
            let known = rules::all().iter().map(|rule| rule.id);
            return Err(UnknownName::among("rule", &self.rule, known).into());
        }
        if self.reason.trim().is_empty() {
            return Err(WaiverFlaw::EmptyReason);
        }
        // Reports make a link of it, which must not run anything.
        let leads_somewhere =
            Url::parse(&self.link).is_ok_and(|link| matches!(link.scheme(), "http" | "https"));
        if !leads_somewhere {
            return Err(WaiverFlaw::Link);
        }
        match &self.object {
            Some(object) if object.trim().is_empty() || object.matches('/').count() > 1 => {
                Err(WaiverFlaw::Object)
            }
            _ => Ok(()),
        }
    }

    /// Whether a run of that scope covers everything that the waiver is for.
    fn is_within(&self, scope: &Scope) -> bool {
        let namespace = self
            .object
            .as_deref()
            .and_then(|object| Some(object.split_once('/')?.0));
        scope.cluster_manager.is_none()
            && (scope.namespaces.is_empty()
                || namespace.is_some_and(|namespace| scope.namespaces.iter().any(|own| own == namespace)))
    }

    fn covers(&self, rule: &str, finding: &Finding) -> bool {
        self.rule == rule
            && self
                .object
                .as_deref()
                .is_none_or(|pattern| matches(pattern, &finding.object))
    }
}

impl WaiverOutcome {
    /// Returns what is wrong with the waiver itself, if anything: an unused waiver may hide a later violation.
    pub fn complaint(&self) -> Option<String> {
        let waiver = &self.waiver;
        if self.expired {
            Some(format!(
                "the waiver of {} has expired on {}: mend the violation, or argue and date it anew",
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

impl Judgement {
    /// Takes out the violations that are waived on that day. Warnings are waived too, so that they do not count under
    /// `--strict`. A rule of which not all could be seen is inconclusive then, as it would be without the violation. With
    /// `strict`, nothing is conformant while a waiver has expired or waives nothing.
    pub fn waive(&mut self, waivers: &Waivers, on: Date, strict: bool) {
        let mut outcomes: Vec<WaiverOutcome> = waivers
            .waivers
            .iter()
            .map(|waiver| WaiverOutcome {
                waiver: waiver.clone(),
                waived: 0,
                expired: waiver.expires < on,
                judged: self.has_judged(waiver),
            })
            .collect();
        for verdict in &mut self.verdicts {
            waive(verdict, &mut outcomes, strict);
        }
        self.tally = Tally::of(&self.verdicts);
        self.decision = decide_with(&self.tally, self.partial, &outcomes, strict);
        self.waivers = outcomes;
    }

    /// Whether all that a waiver is for was judged.
    fn has_judged(&self, waiver: &Waiver) -> bool {
        let verdict = self
            .verdicts
            .iter()
            .find(|verdict| verdict.rule.id == waiver.rule);
        let is_judged =
            |verdict: &RuleVerdict| matches!(verdict.verdict, Verdict::Pass | Verdict::Fail | Verdict::Warn);
        !self.partial && waiver.is_within(&self.scope) && verdict.is_some_and(is_judged)
    }
}

/// The decision where waivers were given.
pub fn decide_with(tally: &Tally, partial: bool, outcomes: &[WaiverOutcome], strict: bool) -> Decision {
    match decide(tally, partial) {
        Decision::Conformant if strict && outcomes.iter().any(|o| o.complaint().is_some()) => {
            Decision::NotConformant
        }
        decision => decision,
    }
}

/// Moves what is waived out of a verdict's findings.
fn waive(verdict: &mut RuleVerdict, outcomes: &mut [WaiverOutcome], strict: bool) {
    let rule = verdict.rule;
    for finding in std::mem::take(&mut verdict.findings) {
        let place = outcomes
            .iter()
            .position(|outcome| !outcome.expired && outcome.waiver.covers(rule.id, &finding));
        match place {
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
    (verdict.verdict, verdict.reason) = weigh_found(rule, &verdict.findings, &verdict.doubts, strict)
        .unwrap_or_else(|| (Verdict::Waived, Some(grounds(verdict, outcomes))));
}

/// Returns why a rule counts as waived: the reasons of the waivers that cover it.
fn grounds(verdict: &RuleVerdict, outcomes: &[WaiverOutcome]) -> String {
    let places: BTreeSet<usize> = verdict.waived.iter().map(|(_, place)| *place).collect();
    let told = places.into_iter().map(|place| {
        let waiver = &outcomes[place].waiver;
        format!(
            "waived until {}: {} ({})",
            waiver.expires, waiver.reason, waiver.link
        )
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Whether an object's path matches the pattern.
fn matches(pattern: &str, object: &ObjectRef) -> bool {
    match (pattern.split_once('/'), object.namespace.as_str()) {
        (None, "") => glob(pattern, &object.name),
        (Some((namespace, name)), own) => glob(namespace, own) && glob(name, &object.name),
        (None, _) => pattern == "*",
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let (middle, last) = tail.rsplit_once('*').unwrap_or(("", tail));
    let rest = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(last));
    // What stands between stars comes in its order, each part as early as can be.
    rest.is_some_and(|rest| {
        middle
            .split('*')
            .try_fold(rest, |rest, part| {
                rest.find(part).map(|place| &rest[place + part.len()..])
            })
            .is_some()
    })
}

#[cfg(test)]
mod tests {
    use evidence::{Evidence, api::Edition};
    use serde_json::json;

    use super::*;
    use crate::{Selection, judge, rules::example::Example};

    const RULE: &str = "identity/manager-label-present";

    /// Two profiles without the label, in two namespaces.
    fn evidence() -> Evidence {
        let without = |name: &str, namespace: &str| json!({"metadata": {"name": name, "namespace": namespace, "labels": {"x-k8s.io/cluster-manager": null}}});
        let example = json!({"name": "two", "fails": [without("a", "fleet"), without("b", "edge")]});
        Example::parse(&example, Edition::Standard)
            .expect("an example")
            .evidence()
            .clone()
    }

    fn waived(yaml: &str, strict: bool) -> Judgement {
        let waivers = Waivers::parse(yaml).expect("waivers");
        let mut judgement = judge(&evidence(), &Selection::default());
        assert_eq!(judgement.decision, Decision::NotConformant);
        judgement.waive(&waivers, "2026-06-01".parse().expect("a day"), strict);
        judgement
    }

    fn waiver(rest: &str) -> String {
        format!("waivers:\n- {{rule: {RULE}, reason: legacy, link: 'https://issues.example/1', {rest}}}\n")
    }

    fn verdict(judgement: &Judgement) -> &RuleVerdict {
        let found = judgement.verdicts.iter().find(|verdict| verdict.rule.id == RULE);
        found.expect("the rule is judged")
    }

    #[test]
    fn what_is_waived_is_told_as_waived() {
        let judgement = waived(&waiver("expires: 2026-06-01"), false);
        let verdict = verdict(&judgement);
        assert_eq!(
            (verdict.verdict, verdict.findings.len(), verdict.waived.len()),
            (Verdict::Waived, 0, 2)
        );
        assert_eq!(judgement.decision, Decision::Conformant);
        assert_eq!((judgement.tally.must.failed, judgement.tally.must.waived), (0, 1));
        assert_eq!(judgement.waivers[0].waived, 2);
        assert_eq!(judgement.waivers[0].complaint(), None);
    }

    #[test]
    fn a_selector_waives_its_objects_only() {
        let judgement = waived(&waiver("object: 'fl*/*', expires: 2027-01-01"), false);
        let verdict = verdict(&judgement);
        assert_eq!(verdict.verdict, Verdict::Fail);
        assert_eq!(verdict.findings[0].object.path(), "edge/b");
        assert_eq!(verdict.waived[0].0.object.path(), "fleet/a");
        assert_eq!(judgement.decision, Decision::NotConformant);
    }

    #[test]
    fn an_expired_or_idle_waiver_is_complained_of() {
        let judgement = waived(&waiver("expires: 2026-05-31"), false);
        assert_eq!(judgement.decision, Decision::NotConformant);
        let complaint = judgement.waivers[0].complaint().expect("a complaint");
        assert!(complaint.contains("expired on 2026-05-31"), "{complaint}");

        let both = waiver("expires: 2027-01-01") + &waiver("object: elsewhere/*, expires: 2027-01-01")[9..];
        let judgement = waived(&both, false);
        assert_eq!(judgement.decision, Decision::Conformant);
        assert!(judgement.waivers[1].complaint().is_some());
        assert_eq!(waived(&both, true).decision, Decision::NotConformant);
    }

    /// Waives the rule of a judgement that something was done to first.
    fn waived_of(change: impl FnOnce(&mut Judgement), rest: &str) -> Judgement {
        let mut judgement = judge(&evidence(), &Selection::default());
        change(&mut judgement);
        let waivers = Waivers::parse(&waiver(rest)).expect("waivers");
        judgement.waive(&waivers, "2026-06-01".parse().expect("a day"), true);
        judgement
    }

    #[test]
    fn what_was_not_seen_is_not_waived_with_what_was() {
        let doubt = |judgement: &mut Judgement| {
            let mut verdicts = judgement.verdicts.iter_mut();
            let verdict = verdicts.find(|verdict| verdict.rule.id == RULE).expect("judged");
            verdict.doubts.push("the list broke off".to_owned());
        };
        let judgement = waived_of(doubt, "expires: 2027-01-01");
        let verdict = verdict(&judgement);
        assert_eq!(
            (verdict.verdict, verdict.waived.len()),
            (Verdict::Inconclusive, 2)
        );
        assert_eq!(verdict.reason.as_deref(), Some("the list broke off"));
        assert_eq!(judgement.decision, Decision::Inconclusive);
    }

    #[test]
    fn a_waiver_is_idle_only_where_its_rule_was_judged_on_all_that_it_is_for() {
        let elsewhere = "object: elsewhere/*, expires: 2027-01-01";
        let complaint = |judgement: Judgement| judgement.waivers[0].complaint();
        assert!(complaint(waived_of(|_| {}, elsewhere)).is_some_and(|told| told.contains("elsewhere/*")));
        assert_eq!(complaint(waived_of(|j| j.partial = true, elsewhere)), None);
        let within = |namespace: &str| vec![namespace.to_owned()];
        let complaint_in =
            |namespace: &str| complaint(waived_of(|j| j.scope.namespaces = within(namespace), elsewhere));
        assert_eq!(complaint_in("fleet"), None);
        let skipped = |judgement: &mut Judgement| {
            for verdict in &mut judgement.verdicts {
                verdict.verdict = Verdict::Skipped;
                verdict.findings.clear();
            }
        };
        assert_eq!(complaint(waived_of(skipped, elsewhere)), None);
        // Its day is over, whatever was judged.
        assert!(complaint(waived_of(skipped, "expires: 2026-05-31")).is_some());
    }

    #[test]
    fn what_does_not_say_everything_is_refused() {
        for (yaml, wanted) in [
            ("waivers: [{rule: x}]", "reason"),
            (&*waiver("expires: 2026-01-01, until: 2027-01-01"), "until"),
            (&*waiver("expires: soon"), "write it like 2027-03-31"),
            (
                &*waiver("expires: 2026-01-01").replace("label-present", "label-presnt"),
                "did you mean `identity/manager-label-present`?",
            ),
            (
                &*waiver("expires: 2026-01-01").replace("legacy", "' '"),
                "line 2: waiver 1: `reason` is empty",
            ),
            (
                &*waiver("expires: 2026-01-01").replace("https:", "javascript:"),
                "not an http or https URL",
            ),
            (
                &*waiver("object: fleet/a/b, expires: 2026-01-01"),
                "`object` names nothing",
            ),
            (
                &*(waiver("expires: 2026-01-01") + &waiver("expires: 2027-01-01")[9..]),
                "line 3: waiver 2: it is for the same violations as waiver 1",
            ),
        ] {
            let error = Waivers::parse(yaml).expect_err("it is refused").to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("a", "ab", false),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxyyc", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
