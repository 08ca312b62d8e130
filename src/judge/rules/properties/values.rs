//! Shared code of the rules on the format of one property.

use evidence::{Evidence, api::ClusterProfile};

use crate::rules::{
    finding::{Finding, Findings},
    text::{redacted_address, redacted_part},
};

/// Maximum number of faults that are reported for one value, which may have a hundred thousand entries.
const MOST: usize = 20;

/// The faults of one value.
pub(super) struct Faults<'f> {
    findings: &'f mut Findings,
    profile: &'f ClusterProfile,
    name: &'f str,
    value: &'f str,
    expected: &'f str,
    count: usize,
}

/// Examines the value of a property in each profile that has it. `expected` describes its format.
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
    /// Adds a fault of the whole value or of one entry, which is `observed`.
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

    /// Adds a fault of an endpoint. Text before an `@` is a credential, even without a scheme.
    pub(super) fn add_endpoint(&mut self, message: &str, endpoint: &str) {
        self.add(message, &redacted_address(endpoint));
    }
}
