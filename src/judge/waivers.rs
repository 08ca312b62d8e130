//! Waivers: violations that are known, argued and dated. What is waived is told as waived, never as passed.

use std::collections::BTreeSet;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Decision, Judgement, RuleVerdict, Tally, Verdict, decide};
use crate::{
    api::UnknownName,
    evidence::ObjectRef,
    rules::{self, Finding, Level},
};

/// A file of waivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waivers {
    /// The waivers; of two that cover one violation, the first counts.
    pub waivers: Vec<Waiver>,
}

/// One waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The last day on which it counts.
    pub expires: Date,
}

/// What came of one waiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaiverOutcome {
    /// The waiver.
    #[serde(flatten)]
    pub waiver: Waiver,
    /// How many violations it has waived.
    pub waived: usize,
    /// Whether its last day is over: then it waives nothing.
    pub expired: bool,
}

/// Why waivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WaiversError {
    /// They are no YAML of that shape.
    #[error("failed to read the waivers: {0}")]
    Unreadable(String),
    /// A rule that is none.
    #[error("waiver {number}: {cause}")]
    Rule {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong.
        cause: UnknownName,
    },
    /// A part that says nothing.
    #[error("waiver {number} ({rule}): `{part}` is empty; say {wanted}")]
    Empty {
        /// Which one, counted from 1.
        number: usize,
        /// Its rule.
        rule: String,
        /// The part.
        part: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
}

impl Waivers {
    /// Reads a file's text, in YAML or JSON.
    ///
    /// # Errors
    /// When it has another shape, unknown keys, rules that are none, or empty reasons or links.
    pub fn parse(text: &str) -> Result<Self, WaiversError> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let waivers: Self = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| WaiversError::Unreadable(error.to_string()))?;
        for (place, waiver) in waivers.waivers.iter().enumerate() {
            waiver.check(place + 1)?;
        }
        Ok(waivers)
    }
}

impl Waiver {
    fn check(&self, number: usize) -> Result<(), WaiversError> {
        if rules::find(&self.rule).is_none() {
            let known = rules::all().iter().map(|rule| rule.id);
            let cause = UnknownName::among("rule", &self.rule, known);
            return Err(WaiversError::Rule { number, cause });
        }
        let empty = |part, wanted| {
            Err(WaiversError::Empty {
                number,
                rule: self.rule.clone(),
                part,
                wanted,
            })
        };
        if self.reason.trim().is_empty() {
            return empty("reason", "why the violation is lived with");
        }
        if self.link.trim().is_empty() {
            return empty("link", "where it is discussed or tracked");
        }
        if self
            .object
            .as_ref()
            .is_some_and(|object| object.trim().is_empty())
        {
            return empty(
                "object",
                "which objects, such as fleet/*, or leave it out for all",
            );
        }
        Ok(())
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
    /// What is wrong with the waiver itself, if anything: a waiver that does nothing hides that the world has changed.
    pub fn complaint(&self) -> Option<String> {
        let waiver = &self.waiver;
        if self.expired {
            Some(format!(
                "the waiver of {} has expired on {}: mend the violation, or argue and date it anew",
                waiver.rule, waiver.expires
            ))
        } else if self.waived == 0 {
            Some(format!(
                "the waiver of {} waives nothing: remove it, or correct its object",
                waiver.rule
            ))
        } else {
            None
        }
    }
}

impl Judgement {
    /// Takes out the violations that are waived on that day. Warnings are waived too, so that they do not count under
    /// `--strict`. With `strict`, a waiver that has expired or waives nothing is itself a failure.
    pub fn waive(&mut self, waivers: &Waivers, on: Date, strict: bool) {
        let mut outcomes: Vec<WaiverOutcome> = waivers
            .waivers
            .iter()
            .map(|waiver| WaiverOutcome {
                waiver: waiver.clone(),
                waived: 0,
                expired: waiver.expires < on,
            })
            .collect();
        for verdict in &mut self.verdicts {
            waive(verdict, &mut outcomes, strict);
        }
        self.tally = Tally::of(&self.verdicts);
        self.decision = decide_with(&self.tally, self.partial, &outcomes, strict);
        self.waivers = outcomes;
    }
}

/// The decision where waivers were given.
pub(crate) fn decide_with(
    tally: &Tally,
    partial: bool,
    outcomes: &[WaiverOutcome],
    strict: bool,
) -> Decision {
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
    let counts = match rule.facts.level {
        Level::Must => true,
        Level::Should => strict,
        Level::May => false,
    };
    let broken = verdict.findings.iter().any(|finding| !finding.advisory);
    verdict.verdict = match (verdict.findings.is_empty(), broken && counts) {
        (true, _) => Verdict::Waived,
        (false, true) => Verdict::Fail,
        (false, false) => Verdict::Warn,
    };
    if verdict.verdict == Verdict::Waived {
        verdict.reason = Some(grounds(verdict, outcomes));
    }
}

/// Why a rule counts as waived: the words of the waivers that cover it.
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

/// Whether an object's path has the form of the pattern.
fn matches(pattern: &str, object: &ObjectRef) -> bool {
    match (pattern.split_once('/'), object.namespace.as_str()) {
        (None, "") => glob(pattern, &object.name),
        (Some((namespace, name)), own) => glob(namespace, own) && glob(name, &object.name),
        (None, _) => pattern == "*",
    }
}

/// Whether a text has the form of a pattern in which `*` stands for any text.
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
    use super::*;
    use crate::{
        api::Edition,
        evidence::Evidence,
        judge::{Selection, judge},
        rules::example::Example,
    };
    use serde_json::json;

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

    #[test]
    fn what_does_not_say_everything_is_refused() {
        for (yaml, wanted) in [
            ("waivers: [{rule: x}]", "reason"),
            (&*waiver("expires: 2026-01-01, until: 2027-01-01"), "until"),
            (&*waiver("expires: soon"), "soon"),
            (
                &*waiver("expires: 2026-01-01").replace("label-present", "label-presnt"),
                "did you mean `identity/manager-label-present`?",
            ),
            (
                &*waiver("expires: 2026-01-01").replace("legacy", "' '"),
                "`reason` is empty",
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
