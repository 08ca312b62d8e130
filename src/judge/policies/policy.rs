//! One policy and its binding.

use evidence::{
    Scope,
    api::names::{GROUP, LABEL_MANAGER, LABEL_SECRET_PROFILE, VERSIONS},
    labels::{LABEL_NAME, LABEL_PART_OF, SUITE},
    policies::{ANNOTATION_RULES, AUDIT_KEY, LABEL_EDITION, LABEL_VERSION, NAME_PREFIX},
};
use serde_json::{Value, json};

use super::{
    Action, Options, PolicyRule, message,
    variables::{declare, of_rule},
};
use crate::rules::{Expected, Operation, PolicyFacts, Resource, Rule};

const API: &str = "admissionregistration.k8s.io/v1";
/// The value of the label [`LABEL_NAME`].
const POLICIES: &str = "clusterprofile-conformance-policies";

/// A policy of these rules, and its binding.
pub(super) fn with_binding(
    options: &Options,
    resource: Resource,
    action: Action,
    rules: &[PolicyRule],
) -> [Value; 2] {
    let suite = rules[0].0.suite();
    let name = name(suite, resource, action);
    let ids: Vec<&str> = rules.iter().map(|(rule, _)| rule.id).collect();
    let labels = json!({
        LABEL_EDITION: options.edition.name(),
        LABEL_VERSION: env!("CARGO_PKG_VERSION"),
        LABEL_NAME: POLICIES,
        LABEL_PART_OF: SUITE,
    });
    let mut policy = json!({
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": labels, "annotations": {ANNOTATION_RULES: ids.join(",")}},
        "spec": {
            // A policy that cannot be evaluated must not stop the inventory.
            "failurePolicy": "Ignore",
            "matchConstraints": constraints(resource, rules),
            "variables": variables(resource, rules),
            // The API server's own annotation keeps one failure of each write, of all policies together.
            "auditAnnotations": [{"key": AUDIT_KEY, "valueExpression": broken_rules(&ids)}],
            "validations": rules.iter().map(|(rule, facts)| validation(options, rule, facts)).collect::<Vec<_>>(),
        },
    });
    let mut conditions: Vec<Value> = options
        .scope
        .cluster_manager
        .as_deref()
        .map(|manager| json!({"name": "cluster-manager", "expression": of_manager(manager)}))
        .into_iter()
        .collect();
    if action == Action::Deny {
        // An object that breaks a rule must still lose its finalizers.
        let stays = "!has(object.metadata.deletionTimestamp)";
        conditions.push(json!({"name": "not-terminating", "expression": stays}));
    }
    if !conditions.is_empty() {
        policy["spec"]["matchConditions"] = conditions.into();
    }
    let actions: &[&str] = match action {
        Action::Warn => &["Audit", "Warn"],
        // The API server takes no warning beside a denial.
        Action::Deny => &["Audit", "Deny"],
    };
    let mut binding = json!({
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": labels},
        "spec": {"policyName": name, "validationActions": actions},
    });
    if let Some(namespaces) = within(&options.scope) {
        binding["spec"]["matchResources"] = namespaces;
    }
    [policy, binding]
}

/// Short: a warning repeats it twice, and the API server cuts warnings.
fn name(suite: &str, resource: Resource, action: Action) -> String {
    let part = match resource {
        Resource::Profiles => "-profiles",
        Resource::ProfileStatus => "-status",
        Resource::Secrets => "-secrets",
    };
    let denying = match action {
        Action::Warn => "",
        Action::Deny => "-must",
    };
    format!("{NAME_PREFIX}{suite}{part}{denying}")
}

fn constraints(resource: Resource, rules: &[PolicyRule]) -> Value {
    let (group, versions): (&str, &[&str]) = match resource {
        Resource::Profiles | Resource::ProfileStatus => (GROUP, &VERSIONS),
        Resource::Secrets => ("", &["v1"]),
    };
    let operations: Vec<&str> = resource
        .operations()
        .iter()
        .filter(|operation| rules.iter().any(|(_, facts)| judges(facts, **operation)))
        .map(|operation| operation.name())
        .collect();
    let mut constraints = json!({
        "resourceRules": [{
            "apiGroups": [group],
            "apiVersions": versions,
            "operations": operations,
            "resources": [resource.name()],
        }],
    });
    if resource == Resource::Secrets {
        constraints["objectSelector"] =
            json!({"matchExpressions": [{"key": LABEL_SECRET_PROFILE, "operator": "Exists"}]});
    }
    constraints
}

fn judges(facts: &PolicyFacts, operation: Operation) -> bool {
    facts
        .operations
        .as_ref()
        .is_none_or(|operations| operations.contains(&operation))
}

/// The faults that each rule finds, and what the rules share.
fn variables(resource: Resource, rules: &[PolicyRule]) -> Value {
    let own: Vec<(String, String)> = rules
        .iter()
        .map(|(rule, facts)| (of_rule(rule.id), guarded(resource, facts)))
        .collect();
    let expected = rules.iter().filter_map(|(_, facts)| match &facts.expected {
        Expected::Text(_) => None,
        Expected::Computed { cel } => Some(&**cel),
    });
    declare(&own, &expected.collect::<Vec<_>>())
}

/// The faults of a rule, and none in an operation that it does not judge.
fn guarded(resource: Resource, facts: &PolicyFacts) -> String {
    let wrong = format!("({}){}", facts.wrong.trim(), message::fit_to_show());
    let mut judged = resource
        .operations()
        .iter()
        .filter(|operation| judges(facts, **operation));
    match (judged.next(), judged.next()) {
        (Some(only), None) if resource.operations().len() > 1 => {
            format!("request.operation == '{}' ? {wrong} : []", only.name())
        }
        _ => wrong,
    }
}

/// CEL: the ids of the rules that a write breaks, separated by commas. The API server leaves out an empty annotation.
fn broken_rules(ids: &[&str]) -> String {
    let broken = ids
        .iter()
        .map(|id| format!("variables.{}.size() == 0 ? '' : '{id}'", of_rule(id)));
    let broken: Vec<String> = broken.collect();
    format!("[{}].filter(id, id != '').join(',')", broken.join(", "))
}

fn validation(options: &Options, rule: &Rule, facts: &PolicyFacts) -> Value {
    let level = options.level_of(rule);
    let wrong = of_rule(rule.id);
    json!({
        "expression": format!("variables.{wrong}.size() == 0"),
        "message": message::plain(rule, level),
        "messageExpression": message::expression(rule, level, facts, &wrong),
    })
}

/// CEL: the write is of this manager. The spec names the manager; a label counts only without it. A write that hands a
/// profile over is of both managers.
fn of_manager(manager: &str) -> String {
    let manager = message::literal(manager);
    let named = |object: &str| {
        format!(
            "{object}.?spec.?clusterManager.?name.orValue({object}.?metadata.?labels[?'{LABEL_MANAGER}'].orValue('')) \
             == {manager}"
        )
    };
    format!(
        "{} || (oldObject != null && {})",
        named("object"),
        named("oldObject")
    )
}

fn within(scope: &Scope) -> Option<Value> {
    let namespaces = &scope.namespaces;
    (!namespaces.is_empty()).then(|| {
        json!({"namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces},
        ]}})
    })
}
