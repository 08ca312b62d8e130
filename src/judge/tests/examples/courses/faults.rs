//! Violations that a manager may publish for some time: the first failing examples of rules on published objects.

use std::sync::LazyLock;

use evidence::api::Role;
use jiff::Timestamp;
use judge::rules::{self, example::Violation};

/// Rules whose first failing example is not wrong at any time of a history: the time in it comes, or the member has left.
const NOT_ALWAYS: [&str; 4] = [
    "conditions/well-formed",
    "properties/observed-time-sane",
    "conditions/status-follows-joined",
    "version/reported",
];

/// The rules whose first failing example is one profile with other labels, annotations, or status.
pub static VIOLATED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let rules = rules::all().iter().filter(|rule| rule.role() == Role::Manager);
    rules
        .filter(|rule| !NOT_ALWAYS.contains(&rule.id))
        .filter(|rule| {
            Violation::of(rule, Timestamp::UNIX_EPOCH).is_some_and(|violation| is_usable(&violation))
        })
        .map(|rule| rule.id)
        .collect()
});

fn is_usable(violation: &Violation) -> bool {
    let [profile] = &violation.profiles[..] else {
        return false;
    };
    let changes_name = profile.patch.pointer("/metadata/generateName").is_some();
    let changes_spec = profile.patch.get("spec").is_some();
    violation.changes.is_empty() && violation.namespaces.is_empty() && !changes_name && !changes_spec
}

/// The violation of such a rule that begins now.
pub fn violation(rule: &str, now: Timestamp) -> Violation {
    let violation = rules::find(rule).and_then(|rule| Violation::of(rule, now));
    violation.expect("the rule has such an example")
}
