//! The messages of policies, which a client shows as a warning and the audit log keeps.
//!
//! The API server drops a message with a line break or a control character, and cuts long warnings after 256 characters:
//! so the rule comes first and the remedy last.

use crate::rules::{Expected, Level, PolicyFacts, Rule};

/// The most characters of what was observed.
const LONGEST: usize = 100;

/// CEL: the message of a broken rule. `wrong` names the variable with the observed faults.
pub(super) fn expression(rule: &Rule, level: Level, policy: &PolicyFacts, wrong: &str) -> String {
    let id = format!("{} ({level}): expected ", rule.id);
    let expected = match &policy.expected {
        Expected::Text(text) => literal(&format!("{id}{text}, observed ")),
        Expected::Computed { cel } => {
            format!("{} + [{cel}]{}[0] + ', observed '", literal(&id), fit_to_show())
        }
    };
    format!(
        "{expected} + variables.{wrong}[0] + (variables.{wrong}.size() > 1 ? ' and ' + \
         string(variables.{wrong}.size() - 1) + ' more' : '') + {}",
        literal(&format!("; {}", rule.facts.remedy)),
    )
}

/// The message where the expression fails: it says what it can without looking at the object.
pub(super) fn plain(rule: &Rule, level: Level) -> String {
    let facts = &rule.facts;
    format!("{} ({level}): {}; {}", rule.id, facts.title, facts.remedy)
}

/// CEL, to be appended to a list of strings: makes each fit to be shown.
///
/// What may be a credential, or would make the API server drop the message, is not repeated: the audit log may keep
/// messages where it keeps no objects.
pub(super) fn fit_to_show() -> String {
    format!(
        ".map(t, t.matches('[[:cntrl:]]|@|eyJ|-----') ? '(not shown)' \
         : t.size() > {LONGEST} ? t.substring(0, {LONGEST}) + '...' : t)"
    )
}

/// A text as a string of CEL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
