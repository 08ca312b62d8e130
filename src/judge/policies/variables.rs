//! The variables that a policy declares: those that its rules share, and for each rule the faults that it finds.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// An expression with a name, by which others use it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    cel: String,
}

static SHARED: LazyLock<Vec<Variable>> = LazyLock::new(|| {
    // The file is compiled in, and a test makes every policy.
    serde_saphyr::from_str(include_str!("variables.yaml"))
        .unwrap_or_else(|error| panic!("failed to read the shared variables: {error}"))
});

/// The variables of a policy whose rules have these `own` variables, a name and an expression each: what they and the
/// `other` expressions use of the shared ones stands before them.
pub(super) fn declare(own: &[(String, String)], other: &[&str]) -> Value {
    let mut used = vec![false; SHARED.len()];
    let mut texts: Vec<&str> = own
        .iter()
        .map(|(_, cel)| &**cel)
        .chain(other.iter().copied())
        .collect();
    while let Some(text) = texts.pop() {
        for (place, variable) in SHARED.iter().enumerate() {
            if !used[place] && uses(text, &variable.name) {
                used[place] = true;
                texts.push(&variable.cel);
            }
        }
    }
    let shared = SHARED.iter().zip(used).filter(|(_, used)| *used);
    let shared = shared.map(|(variable, _)| (&*variable.name, &*variable.cel));
    let own = own.iter().map(|(name, cel)| (&**name, &**cel));
    shared
        .chain(own)
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .collect()
}

/// Whether an expression uses a variable.
fn uses(cel: &str, name: &str) -> bool {
    cel.split("variables.").skip(1).any(|after| {
        after
            .strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

/// The name of the variable with the faults of a rule: the rule's own name, as CEL writes names.
pub(super) fn of_rule(id: &str) -> String {
    let name = id.rsplit('/').next().unwrap_or(id);
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut text, word| {
        let mut letters = word.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn no_rule_has_the_name_of_a_shared_variable_or_of_another_rule_of_its_suite() {
        let mut names: Vec<(&str, String)> = Vec::new();
        for rule in rules::all().iter().filter(|rule| rule.facts.policy.is_some()) {
            let name = of_rule(rule.id);
            assert!(SHARED.iter().all(|shared| shared.name != name), "{}", rule.id);
            assert!(!names.contains(&(rule.suite(), name.clone())), "{}", rule.id);
            names.push((rule.suite(), name));
        }
    }

    #[test]
    fn a_policy_declares_what_it_uses_in_an_order_in_which_it_can_be_evaluated() {
        let own = [(
            "mine".to_owned(),
            "variables.endpoint == 'variables.labelsOfOthers'".to_owned(),
        )];
        let declared = declare(&own, &[]);
        let names: Vec<&str> = declared
            .as_array()
            .unwrap()
            .iter()
            .map(|variable| variable["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "ipv4",
                "hostName",
                "host",
                "port",
                "afterScheme",
                "endpoint",
                "mine"
            ]
        );
    }

    #[test]
    fn no_shared_variable_is_left_over() {
        let texts: Vec<&str> = rules::all()
            .iter()
            .filter_map(|rule| rule.facts.policy.as_ref())
            .flat_map(|policy| match &policy.expected {
                rules::Expected::Computed { cel } => vec![&*policy.wrong, &**cel],
                rules::Expected::Text(_) => vec![&*policy.wrong],
            })
            .chain(SHARED.iter().map(|variable| &*variable.cel))
            .collect();
        for variable in SHARED.iter() {
            assert!(
                texts.iter().any(|text| uses(text, &variable.name)),
                "{} is used nowhere",
                variable.name
            );
        }
    }
}
