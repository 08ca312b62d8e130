//! The rules that the hub itself enforces by the suite's admission policies.

use std::collections::BTreeSet;

use judge::rules;

use crate::Report;

/// Says which rules the hub denies or warns about, in one sentence; none if it was not asked, or has no such policy.
pub(crate) fn policed(report: &Report) -> Option<String> {
    let policies = report.evidence.header.hub.policies.as_ref()?;
    let of = |denies: bool| -> BTreeSet<&str> {
        let policies = policies.iter().filter(|policy| policy.denies == denies);
        policies
            .flat_map(|policy| policy.rules.iter().map(String::as_str))
            .collect()
    };
    let (denied, warned) = (of(true), of(false));
    let warned: BTreeSet<&str> = warned.difference(&denied).copied().collect();
    let mut parts = Vec::new();
    if !denied.is_empty() {
        parts.push(format!("denies writes that break {}", named(&denied)));
    }
    if !warned.is_empty() {
        parts.push(format!("warns about writes that break {}", named(&warned)));
    }
    (!parts.is_empty()).then(|| format!("it {}", parts.join(", and ")))
}

/// Names a few rules, and counts many.
fn named(ids: &BTreeSet<&str>) -> String {
    const FEW: usize = 5;
    let known = rules::all()
        .iter()
        .map(|rule| rule.id)
        .filter(|id| ids.contains(id));
    let known: Vec<&str> = known.collect();
    if known.len() == ids.len() && known.len() <= FEW {
        known.join(", ")
    } else {
        format!("{} rules", ids.len())
    }
}
