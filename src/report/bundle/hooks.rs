//! What the driver's hooks printed.

use std::fmt::Write as _;

use evidence::{Evidence, redact::without_credentials};

use crate::text::escape;

/// What hooks printed, call by call; none if the evidence has nothing of it.
pub(super) fn printed(evidence: &Evidence) -> Option<String> {
    let mut text = String::new();
    for step in evidence.driver.iter().flat_map(|driver| &driver.steps) {
        let (scenario, member) = (step.scenario.name(), escape::line(&step.member));
        let heading = format!(
            "{} ({scenario}) {member} from {} to {}",
            step.action, step.from, step.until
        );
        add(&mut text, &heading, &step.output);
    }
    for call in evidence.stage.iter().flat_map(|stage| &stage.hook_calls) {
        let heading = format!("{} from {} to {}", call.action, call.from, call.until);
        add(&mut text, &heading, &call.output);
    }
    (!text.is_empty()).then_some(text)
}

fn add(text: &mut String, heading: &str, output: &str) {
    if output.is_empty() {
        return;
    }
    let _ = writeln!(text, "# {heading}");
    for line in without_credentials(output).lines() {
        let _ = writeln!(text, "{}", escape::line(line));
    }
    text.push('\n');
}
