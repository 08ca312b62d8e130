//! The printed policies, evaluated in this process: what the API server does with them, without one.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use evidence::api::Edition;
use kube_cel::{
    KubeCelExt as _,
    cel::{Context, IdedExpr, ParseErrors, Value as Cel, parser::Parser, to_value},
};
use serde_json::{Value, json};

use super::{
    POLICY, of_kind,
    play::{Play, Write},
    printed,
};

/// The expressions of a policy, each with its place.
pub fn expressions(spec: &Value) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    for (list, fields) in [
        ("matchConditions", &["expression"][..]),
        ("variables", &["expression"]),
        ("validations", &["expression", "messageExpression"]),
    ] {
        for (index, item) in spec[list].as_array().into_iter().flatten().enumerate() {
            for field in fields {
                all.push((item[field].as_str().unwrap(), format!("{list}[{index}].{field}")));
            }
        }
    }
    all
}

thread_local! {
    static POLICIES: RefCell<BTreeMap<Edition, Rc<Vec<Policy>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Compiles an expression with the syntax of optional values, which Kubernetes has.
pub fn compile(text: &str) -> Result<IdedExpr, ParseErrors> {
    Parser::default().enable_optional_syntax(true).parse(text)
}

/// A policy, compiled.
struct Policy {
    resource: String,
    operations: Vec<String>,
    variables: Vec<(String, IdedExpr)>,
    validations: Vec<(IdedExpr, IdedExpr)>,
}

impl Policy {
    fn of(policy: &Value) -> Self {
        let spec = &policy["spec"];
        let rule = &spec["matchConstraints"]["resourceRules"][0];
        let compile = |text: &Value| compile(text.as_str().unwrap()).unwrap();
        let list = |name: &str| spec[name].as_array().unwrap().iter();
        Self {
            resource: rule["resources"][0].as_str().unwrap().to_owned(),
            operations: serde_json::from_value(rule["operations"].clone()).unwrap(),
            variables: list("variables")
                .map(|variable| {
                    (
                        variable["name"].as_str().unwrap().to_owned(),
                        compile(&variable["expression"]),
                    )
                })
                .collect(),
            validations: list("validations")
                .map(|validation| {
                    (
                        compile(&validation["expression"]),
                        compile(&validation["messageExpression"]),
                    )
                })
                .collect(),
        }
    }

    /// The messages of the validations that a write breaks. What fails to evaluate passes, as on a hub.
    fn messages(&self, context: &mut Context<'_>) -> Vec<String> {
        let mut variables: BTreeMap<String, Cel> = BTreeMap::new();
        for (name, program) in &self.variables {
            context.add_variable_from_value(
                "variables",
                Cel::from(
                    variables
                        .clone()
                        .into_iter()
                        .collect::<std::collections::HashMap<_, _>>(),
                ),
            );
            if let Ok(value) = Cel::resolve(program, context) {
                variables.insert(name.clone(), value);
            }
        }
        context.add_variable_from_value(
            "variables",
            Cel::from(variables.into_iter().collect::<std::collections::HashMap<_, _>>()),
        );
        let broken = self
            .validations
            .iter()
            .filter(|(expression, _)| matches!(Cel::resolve(expression, context), Ok(Cel::Bool(false))));
        broken
            .map(|(_, message)| match Cel::resolve(message, context) {
                Ok(Cel::String(text)) => text.to_string(),
                other => panic!("no message: {other:?}"),
            })
            .collect()
    }
}

/// The ids of the rules that warn at each write.
pub fn warnings(play: &Play) -> Vec<BTreeSet<String>> {
    let edition = play.example.edition;
    let policies = POLICIES.with(|all| {
        let mut all = all.borrow_mut();
        let compiled = all
            .entry(edition)
            .or_insert_with(|| Rc::new(of_kind(&printed(edition), POLICY).map(Policy::of).collect()));
        Rc::clone(compiled)
    });
    let none = Value::Null;
    let judged = play.steps.iter().map(|step| match &step.write {
        Write::Create { object } => (object, &none, "CREATE", ""),
        Write::Update { old, object } => (object, old, "UPDATE", ""),
        Write::Status { old, object } => (object, old, "UPDATE", "/status"),
        Write::Delete { object } => (object, &none, "DELETE", ""),
    });
    judged
        .map(|(object, old, operation, subresource)| {
            let kind = object["kind"].as_str().unwrap().to_lowercase();
            let resource = format!("{kind}s{subresource}");
            let namespace = object["metadata"]["namespace"].as_str().unwrap();
            let namespace = json!({"metadata": {"name": namespace, "labels": play.namespaces[namespace]}});
            let mut context = Context::default().with_all();
            for (name, value) in [
                ("object", object),
                ("oldObject", old),
                ("namespaceObject", &namespace),
            ] {
                context.add_variable_from_value(name, to_value(value).unwrap());
            }
            context.add_variable_from_value("request", to_value(json!({"operation": operation})).unwrap());
            let policies = policies.iter().filter(|policy| {
                policy.resource == resource && policy.operations.iter().any(|each| each == operation)
            });
            policies
                .flat_map(|policy| policy.messages(&mut context))
                .map(|message| message.split(' ').next().unwrap().to_owned())
                .collect()
        })
        .collect()
}
