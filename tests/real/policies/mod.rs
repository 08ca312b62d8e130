//! The admission policies agree with their rules: each example that objects decide is written under them, and
//! what they say is compared with what every rule says of it.

mod hub;
mod play;

use std::collections::{BTreeMap, BTreeSet};

use evidence::api::{Edition, Role};
use judge::{Selection, Verdict, judge, rules};
use kube_cel::cel::{IdedExpr, ParseErrors, parser::Parser};
use libtest_mimic::Trial;
use play::{LeftOut, Play};
use serde_json::Value;

use crate::trials::{assets_or_reason, trial, trial_with};

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "policies::every_policy_compiles_and_is_small",
            every_policy_compiles_and_is_small,
        ),
        trial_with(
            "policies::an_api_server_takes_the_policies_and_agrees",
            assets_or_reason,
            |assets| {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(hub::an_api_server_agrees(&assets));
            },
        ),
    ]
}

/// The objects that the command prints for an edition.
fn printed(edition: Edition) -> Vec<Value> {
    printed_with(&["--edition", edition.name(), "--feature", "consumer-secrets"])
}

fn printed_with(arguments: &[&str]) -> Vec<Value> {
    let command = hub::suite(&[&["policies"], arguments].concat());
    let told = String::from_utf8_lossy(&command.stderr);
    assert!(command.status.success(), "{told}");
    let text = String::from_utf8(command.stdout).unwrap();
    let documents = text.split("---\n").skip(1);
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// What a kind of object among the printed ones looks like.
fn of_kind<'a>(objects: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

const POLICY: &str = "ValidatingAdmissionPolicy";
const BINDING: &str = "ValidatingAdmissionPolicyBinding";

/// Every example that can be played, of every rule, by its edition.
fn plays() -> (Vec<Play>, BTreeMap<LeftOut, usize>) {
    let mut plays = Vec::new();
    let mut left_out = BTreeMap::new();
    for rule in rules::all().iter().filter(|rule| rule.role() == Role::Manager) {
        for example in rules::example::Example::of(rule).unwrap() {
            match Play::of(rule, &example) {
                Ok(play) => plays.push(play),
                Err(reason) => *left_out.entry(reason).or_default() += 1,
            }
        }
    }
    (plays, left_out)
}

/// How the policies agree with the rules.
#[derive(Default)]
struct Agreement {
    examples: usize,
    left_out: BTreeMap<LeftOut, usize>,
    /// Pairs of an example and a rule, in which the rule is kept and the policy silent.
    silent: usize,
    /// Those in which the rule is broken and the policy warns.
    warned: usize,
    /// Those in which the policy warns of a fault that the rule sees, and excuses as younger than its grace.
    excused: usize,
    /// Those in which a policy that says part of its rule is silent, by rule.
    missed: BTreeMap<&'static str, usize>,
    disagreements: Vec<String>,
    /// Rules whose policy warned in an example that breaks the rule.
    ever: BTreeSet<&'static str>,
}

impl Agreement {
    /// Adds what the policies said of a play: the rules that warned at each of its writes, in order.
    fn add(&mut self, play: &Play, warned: &[BTreeSet<String>]) {
        self.examples += 1;
        let judgement = judge(play.example.evidence(), &Selection::default());
        for verdict in judgement.verdicts {
            let rule = verdict.rule;
            let Some(policy) = rule
                .facts
                .policy
                .as_ref()
                .filter(|policy| policy.is_of(play.example.edition))
            else {
                continue;
            };
            let ever = warned.iter().any(|rules| rules.contains(rule.id));
            let mut steps = play.steps.iter().zip(warned);
            let last = steps.any(|(step, rules)| step.settles && rules.contains(rule.id));
            let told = format!("{} ({}) in {}: ", rule.id, play.example.edition, play.name());
            match verdict.verdict {
                // A policy knows no time, and warns of what the rule sees as well and excuses for its youth.
                Verdict::Pass if last && verdict.notes.iter().any(|note| note.contains(GRACE)) => {
                    self.excused += 1
                }
                // An earlier version may have been wrong for a moment.
                Verdict::Pass if last => self
                    .disagreements
                    .push(format!("{told}the policy warns of what the rule passes")),
                Verdict::Pass => self.silent += 1,
                Verdict::Fail | Verdict::Warn if ever => {
                    self.warned += 1;
                    self.ever.insert(rule.id);
                }
                Verdict::Fail | Verdict::Warn if policy.is_whole() => self.disagreements.push(format!(
                    "{told}the policy says the whole rule, and is silent where it finds {:?}",
                    verdict.findings
                )),
                Verdict::Fail | Verdict::Warn => *self.missed.entry(rule.id).or_default() += 1,
                _ => {}
            }
        }
    }
}

/// What a rule notes of a fault that it excuses.
const GRACE: &str = "within the grace of 2 min";

/// Prints the figures, and fails if a policy disagrees with its rule.
fn report(agreement: &Agreement) {
    let policies = rules::all().iter().filter_map(|rule| rule.facts.policy.as_ref());
    let (whole, part): (Vec<_>, Vec<_>) = policies.partition(|policy| policy.is_whole());
    println!(
        "{} rules with policies: {} whole, {} in part",
        whole.len() + part.len(),
        whole.len(),
        part.len()
    );
    println!(
        "{} examples played: {} warnings that their rules share, {} times silent on what is kept, {} disagreements",
        agreement.examples,
        agreement.warned,
        agreement.silent,
        agreement.disagreements.len()
    );
    println!("{} faults that the rule excuses as young", agreement.excused);
    println!("left out: {:?}", agreement.left_out);
    println!("beyond what a part says: {:?}", agreement.missed);
    assert!(
        agreement.disagreements.is_empty(),
        "{}",
        agreement.disagreements.join("\n")
    );
    assert!(agreement.examples > 300, "too few examples were played");
    // Its examples are lines of an audit log; a test of its own writes the same status twice.
    let by_requests = "updates/no-empty-writes";
    let never: Vec<&str> = rules::all()
        .iter()
        .filter(|rule| rule.facts.policy.is_some() && rule.id != by_requests)
        .map(|rule| rule.id)
        .filter(|id| !agreement.ever.contains(id))
        .collect();
    assert!(
        never.is_empty(),
        "no example shows these policies at work: {never:?}"
    );
}

/// The most characters of one expression: the API server has no bound of its own but that of the whole object.
const LONGEST: usize = 4096;
/// The most bytes of one policy: etcd takes 1.5 MiB.
const LARGEST: usize = 64 * 1024;

fn every_policy_compiles_and_is_small() {
    for edition in Role::Manager.editions() {
        let objects = printed(edition);
        for policy in of_kind(&objects, POLICY) {
            let name = &policy["metadata"]["name"];
            assert!(policy.to_string().len() < LARGEST, "{name} is large");
            let spec = &policy["spec"];
            assert_eq!(spec["failurePolicy"], "Ignore");
            for (expression, place) in expressions(spec) {
                assert!(
                    expression.len() < LONGEST,
                    "{name}: {place} is long: {}",
                    expression.len()
                );
                if let Err(error) = compile(expression) {
                    panic!("{name}: {place}: {error}\n{expression}");
                }
            }
        }
        let names = |kind| -> Vec<&Value> {
            of_kind(&objects, kind)
                .map(|object| &object["metadata"]["name"])
                .collect()
        };
        assert_eq!(names(POLICY), names(BINDING));
        assert!(
            of_kind(&objects, BINDING)
                .all(|binding| binding["spec"]["validationActions"] == serde_json::json!(["Audit", "Warn"]))
        );
    }
}

/// The expressions of a policy, each with its place.
fn expressions(spec: &Value) -> Vec<(&str, String)> {
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

/// Compiles an expression with the syntax of optional values, which Kubernetes has.
fn compile(text: &str) -> Result<IdedExpr, ParseErrors> {
    Parser::default().enable_optional_syntax(true).parse(text)
}
