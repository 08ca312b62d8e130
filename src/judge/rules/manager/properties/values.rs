//! Shared code of the rules on the format of one property.

use evidence::api::ClusterProfile;

use crate::{
    shared::state::{Fault, State, each_state, same_properties},
    subjects::{Finding, Findings, Profiles},
    text::{redacted_address, redacted_part},
};

/// Maximum number of faults that are reported for one value, which may have a hundred thousand entries.
const MOST: usize = 20;

/// The faults of one value.
pub(super) struct Faults<'f> {
    list: Vec<Fault>,
    profile: &'f ClusterProfile,
    name: &'f str,
    value: &'f str,
    expected: &'f str,
}

/// Examines the value of a property in each profile that has it. `expected` describes its format.
pub(super) fn each_value(
    profiles: &Profiles,
    findings: &mut Findings,
    name: &str,
    expected: &str,
    judge: impl Fn(&str, &mut Faults),
) {
    findings.not_applicable(format!("no profile has the property {name}"));
    // Often the next profile has the same value.
    let mut good: Option<&str> = None;
    let state = State {
        same: Some(same_properties),
        ..State::default()
    };
    each_state(profiles, findings, state, |profile| {
        let property = profile.property(name)?;
        if good == Some(&property.value) {
            return Some(Vec::new());
        }
        let mut faults = Faults {
            list: Vec::new(),
            profile,
            name,
            value: &property.value,
            expected,
        };
        judge(&property.value, &mut faults);
        if faults.list.is_empty() {
            good = Some(&property.value);
        }
        Some(faults.list)
    });
}

impl Faults<'_> {
    /// Adds a fault of the whole value or of one entry, which is `observed`.
    pub(super) fn add(&mut self, message: &str, observed: &str) {
        let (message, observed) = match self.list.len() {
            count if count < MOST => (message, redacted_part(observed, self.value)),
            MOST => ("there are more such entries", "…".to_owned()),
            _ => return,
        };
        let finding = Finding::on(self.profile, message)
            .at(format!("status.properties[{}].value", self.name))
            .expected(self.expected)
            .observed(observed);
        self.list.push(finding.into());
    }

    /// Adds a fault of an endpoint. Text before an `@` is a credential, even without a scheme.
    pub(super) fn add_endpoint(&mut self, message: &str, endpoint: &str) {
        self.add(message, &redacted_address(endpoint));
    }
}
