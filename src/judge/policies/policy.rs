//! One policy and its binding.

use evidence::{
    Scope,
    api::names::{GROUP, LABEL_MANAGER, LABEL_SECRET_PROFILE, VERSIONS},
};
use serde_json::{Value, json};

use super::{
    ANNOTATION_RULES, Action, LABEL_EDITION, LABEL_VERSION, Options, message,
    variables::{declare, of_rule},
};
use crate::rules::{Expected, Operation, PolicyFacts, Resource, Rule};

const API: &str = "admissionregistration.k8s.io/v1";
const DENY: &str = "Deny";

/// A policy of these rules, and its binding.
pub(super) fn with_binding(
    options: &Options,
    resource: Resource,
    action: Action,
    rules: &[(&Rule, &PolicyFacts)],
) -> [Value; 2] {
    let suite = rules[0].0.suite();
    let name = name(suite, resource, action);
    let ids: Vec<&str> = rules.iter().map(|(rule, _)| rule.id).collect();
    let labels = json!({
        LABEL_EDITION: options.edition.name(),
        LABEL_VERSION: env!("CARGO_PKG_VERSION"),
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
            "validations": rules.iter().map(|(rule, facts)| validation(rule, facts)).collect::<Vec<_>>(),
        },
    });
    let manager = options.scope.cluster_manager.as_deref();
    if let Some(manager) = manager.filter(|_| resource != Resource::Secrets) {
        policy["spec"]["matchConditions"] =
            json!([{"name": "cluster-manager", "expression": of_manager(manager)}]);
    }
    let actions: &[&str] = match action {
        Action::Warn => &["Audit", "Warn"],
        // The API server takes no warning beside a denial.
        Action::Deny => &["Audit", DENY],
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

/// Whether a binding denies what breaks its policy. `spec` is that of the binding.
pub fn is_denying(spec: &Value) -> bool {
    let actions = spec["validationActions"].as_array();
    actions.is_some_and(|actions| actions.iter().any(|action| action == DENY))
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
    format!("clusterprofile-{suite}{part}{denying}")
}

fn constraints(resource: Resource, rules: &[(&Rule, &PolicyFacts)]) -> Value {
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
fn variables(resource: Resource, rules: &[(&Rule, &PolicyFacts)]) -> Value {
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

fn validation(rule: &Rule, facts: &PolicyFacts) -> Value {
    let wrong = of_rule(rule.id);
    json!({
        "expression": format!("variables.{wrong}.size() == 0"),
        "message": message::plain(rule),
        "messageExpression": message::expression(rule, facts, &wrong),
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
