//! What the rules on the form of one property's value have in common.

use evidence::{Evidence, api::ClusterProfile};

use crate::rules::{
    finding::{Finding, Findings},
    text::{redacted_address, redacted_part},
};

/// At most so many faults of one value are told one by one: a value may hold a hundred thousand entries.
const MOST: usize = 20;

/// What is wrong with one value.
pub(super) struct Faults<'f> {
    findings: &'f mut Findings,
    profile: &'f ClusterProfile,
    name: &'f str,
    value: &'f str,
    expected: &'f str,
    count: usize,
}

/// Looks at the value of a property in each profile that has it. `expected` says what its form is.
pub(super) fn each_value(
    evidence: &Evidence,
    findings: &mut Findings,
    name: &str,
    expected: &str,
    judge: impl Fn(&str, &mut Faults),
) {
    findings.not_applicable(format!("no profile has the property {name}"));
    // Often the next profile has the same value.
    let mut good: Option<&str> = None;
    for profile in evidence.inventory() {
        let Some(property) = profile.property(name) else {
            continue;
        };
        findings.examine();
        if good == Some(&property.value) {
            continue;
        }
        let mut faults = Faults {
            findings,
            profile,
            name,
            value: &property.value,
            expected,
            count: 0,
        };
        judge(&property.value, &mut faults);
        if faults.count == 0 {
            good = Some(&property.value);
        }
    }
}

impl Faults<'_> {
    /// Adds one: the whole value or one entry of it, as `observed`.
    pub(super) fn add(&mut self, message: &str, observed: &str) {
        let (message, observed) = match self.count {
            count if count < MOST => (message, redacted_part(observed, self.value)),
            MOST => ("there are more such entries", "…".to_owned()),
            _ => return,
        };
        self.count += 1;
        self.findings.report(
            Finding::on(self.profile, message)
                .at(format!("status.properties[{}].value", self.name))
                .expected(self.expected)
                .observed(observed),
        );
    }

    /// Adds one that concerns an endpoint. What stands before an `@` is a credential, with or without a scheme
    /// before it.
    pub(super) fn add_endpoint(&mut self, message: &str, endpoint: &str) {
        self.add(message, &redacted_address(endpoint));
    }
}
