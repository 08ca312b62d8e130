//! What the driver's hooks printed.

use std::fmt::Write as _;

use evidence::{Evidence, redact::without_credentials};

use crate::text::escape;

/// What hooks printed, step by step; none if the evidence has nothing of it.
pub(super) fn printed(evidence: &Evidence) -> Option<String> {
    let mut text = String::new();
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    for step in steps.filter(|step| !step.output.is_empty()) {
        let _ = writeln!(
            text,
            "# {} ({}) {} from {} to {}",
            step.action,
            step.scenario.name(),
            escape::line(&step.member),
            step.from,
            step.until
        );
        for line in without_credentials(&step.output).lines() {
            let _ = writeln!(text, "{}", escape::line(line));
        }
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}
