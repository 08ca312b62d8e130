//! What the hub's own policies found in the writes of the audit log: notes beside the verdicts.
//!
//! They are no findings: a policy judges one write and knows no grace, and the log may not hold the objects that prove it. A
//! rule that needs the log judges its writes itself.

use evidence::Evidence;

use crate::{rules::Rule, text::counted};

/// The note of a rule that policies found broken in the audit log.
pub(crate) fn note(rule: &Rule, evidence: &Evidence) -> Option<String> {
    let all = &evidence.header.hub.policy_failures;
    let found = all.iter().find(|failures| failures.rule == rule.id)?;
    let failed = match found.failed {
        0 => String::new(),
        failed => format!(", {failed} of which failed"),
    };
    Some(format!(
        "beside the verdict: policies of the hub found the rule broken by {}{failed}, to {}, as its audit log tells: first \
         ClusterProfile {}/{} at {}, last at {}",
        counted(found.writes, "write"),
        counted(found.profiles, "profile"),
        found.namespace,
        found.name,
        found.from,
        found.until,
    ))
}

#[cfg(test)]
mod tests {
    use evidence::{api::Edition, policies::PolicyFailures};
    use serde_json::json;

    use crate::{Selection, Verdict, judge, rules::example::Example};

    #[test]
    fn what_policies_found_is_a_note_and_no_verdict() {
        let example = json!({"name": "policed", "passes": [{}]});
        let example = Example::parse(&example, Edition::Standard).unwrap();
        let mut evidence = example.evidence().clone();
        let at = evidence.header.window.unwrap().from;
        evidence.header.hub.policy_failures = vec![PolicyFailures {
            rule: "version/well-formed".to_owned(),
            writes: 2,
            failed: 1,
            profiles: 1,
            namespace: "fleet".to_owned(),
            name: "a".to_owned(),
            from: at,
            until: at,
        }];
        let verdicts = judge(&evidence, &Selection::default()).verdicts;
        let noted: Vec<_> = verdicts
            .iter()
            .filter(|verdict| !verdict.notes.is_empty())
            .collect();
        let [told] = noted.as_slice() else {
            panic!("{noted:#?}");
        };
        assert_eq!(
            (told.rule.id, told.verdict),
            ("version/well-formed", Verdict::Pass)
        );
        assert_eq!(
            told.notes,
            [
                "beside the verdict: policies of the hub found the rule broken by 2 writes, 1 of which failed, to 1 profile, as \
                 its audit log tells: first ClusterProfile fleet/a at 2026-01-01T00:00:00Z, last at 2026-01-01T00:00:00Z"
            ]
        );
    }
}
