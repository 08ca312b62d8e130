//! Tests of the rules: each rule on each example (`examples::`), on inventories of real managers (`topologies::`),
//! on examples that are only partly observed (`timelines::`), and on random histories (`courses::`).

mod conforming;
mod courses;
mod files;
#[path = "../support/mismatch.rs"]
mod mismatch;
mod timelines;
mod topologies;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use evidence::Claim;
use judge::{
    Judgement, RuleVerdict, Selection, Verdict, judge, judge_by, rules,
    rules::{
        Level, Rule,
        example::{Example, ExpectedVerdict},
    },
};

use self::mismatch::mismatch;

/// The verdicts on an example's evidence, by rule.
fn verdicts(example: &Example) -> BTreeMap<&'static str, RuleVerdict> {
    let judgement = judge(example.evidence(), &Selection::default());
    let verdicts = judgement.verdicts.into_iter();
    verdicts.map(|verdict| (verdict.rule.id, verdict)).collect()
}

/// Every rule with its examples.
static EXAMPLES: LazyLock<Vec<(&Rule, Vec<Example>)>> = LazyLock::new(|| {
    rules::all()
        .iter()
        .map(|rule| {
            let examples = Example::of(rule).unwrap_or_else(|error| panic!("{}: {error}", rule.file()));
            (rule, examples)
        })
        .collect()
});

/// Every example with its rule.
fn examples() -> impl Iterator<Item = (&'static Rule, &'static Example)> {
    EXAMPLES
        .iter()
        .flat_map(|(rule, examples)| examples.iter().map(move |example| (*rule, example)))
}

/// The MUST rules, other than the example's own, that an example breaks.
fn collateral(own: &Rule, verdicts: &BTreeMap<&str, RuleVerdict>) -> Vec<String> {
    verdicts
        .values()
        .filter(|verdict| verdict.rule.id != own.id && verdict.level() == Level::Must)
        .filter(|verdict| verdict.verdict == Verdict::Fail)
        .map(|verdict| format!("it also breaks {}: {:#?}", verdict.rule.id, verdict.findings))
        .collect()
}

/// The verdicts of all rules on an example of one of them.
struct Judged {
    rule: &'static Rule,
    example: &'static Example,
    verdicts: BTreeMap<&'static str, RuleVerdict>,
}

static JUDGED: LazyLock<Vec<Judged>> = LazyLock::new(|| {
    let judged = examples().map(|(rule, example)| Judged {
        rule,
        example,
        verdicts: verdicts(example),
    });
    judged.collect()
});

#[test]
fn every_example_is_taken_as_it_says() {
    let mut complaints = Vec::new();
    for Judged {
        rule,
        example,
        verdicts,
    } in JUDGED.iter()
    {
        let mut found: Vec<String> = mismatch(example, verdicts.get(rule.id)).into_iter().collect();
        // Where its rule has nothing to judge, an example may lack what other rules ask for.
        if matches!(
            example.expected_verdict,
            ExpectedVerdict::Passes | ExpectedVerdict::Fails { .. }
        ) {
            found.extend(collateral(rule, verdicts));
        }
        for complaint in found {
            complaints.push(format!(
                "{}, example `{}` ({}): {complaint}",
                rule.file(),
                example.name,
                example.edition
            ));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What a rule found in one edition counts in another one only if the rule finds the same there.
#[test]
fn a_judgement_serves_other_editions() {
    let mut asking = BTreeSet::new();
    for judged in JUDGED.iter() {
        let id = judged.rule.id;
        let Some(known) = judged.verdicts.get(id) else {
            continue;
        };
        if !known.is_of_any_edition {
            asking.insert(id);
        }
        let selection = Selection {
            filters: vec![id.to_owned()],
            exact: true,
            ..Selection::default()
        };
        let evidence = judged.example.evidence();
        let known = judge(evidence, &selection);
        let editions = judged.rule.role().editions();
        let claims: Vec<Claim> = editions
            .map(|edition| Claim {
                edition,
                also: None,
                ..evidence.header.claim.clone()
            })
            .collect();
        let reused = judge_by(&claims, evidence, &selection, &known);
        for (claim, reused) in claims.into_iter().zip(&reused) {
            let mut claimed = evidence.clone();
            claimed.header.claim = claim;
            assert_eq!(
                verdict_on(id, reused),
                verdict_on(id, &judge(&claimed, &selection)),
                "{id}, `{}` in {}",
                judged.example.name,
                reused.edition
            );
        }
    }
    assert!(asking.contains("access/server-is-url"), "{asking:?}");
    assert!(!asking.contains("access/tls-verified"), "{asking:?}");
}

/// All of the verdict on a rule, but not the rule with its examples, which would take long to write.
fn verdict_on(id: &str, judgement: &Judgement) -> Option<String> {
    let mut verdicts = judgement.verdicts.iter();
    let RuleVerdict {
        rule: _,
        applies,
        verdict,
        examined,
        reasons,
        findings,
        waived,
        doubts,
        notes,
        is_of_any_edition,
    } = verdicts.find(|verdict| verdict.rule.id == id)?;
    let found = (verdict, examined, findings, waived, is_of_any_edition);
    Some(format!("{applies:#?} {found:#?} {:#?}", (reasons, doubts, notes)))
}

#[test]
fn every_rule_has_examples_of_both_kinds() {
    for (rule, examples) in EXAMPLES.iter() {
        let count = |wanted: fn(&ExpectedVerdict) -> bool| {
            examples.iter().filter(|e| wanted(&e.expected_verdict)).count()
        };
        assert!(
            count(|e| matches!(e, ExpectedVerdict::Passes)) >= 2,
            "{} needs two examples that pass",
            rule.file()
        );
        assert!(
            count(|e| matches!(e, ExpectedVerdict::Fails { .. })) >= 2,
            "{} needs two examples that fail",
            rule.file()
        );
        let names: BTreeSet<&str> = examples.iter().map(|example| example.name.as_str()).collect();
        assert_eq!(names.len(), examples.len(), "{} uses a name twice", rule.file());
        for name in names {
            assert!(
                is_headline(name, char::is_uppercase),
                "{}: the name `{name}` is no lower-case line",
                rule.file()
            );
        }
    }
}

#[test]
fn findings_keep_the_convention() {
    let mut seen = BTreeMap::new();
    for judged in JUDGED.iter() {
        for (rule, verdict) in &judged.verdicts {
            for finding in &verdict.findings {
                seen.insert(&finding.message, (rule, finding));
            }
        }
    }
    assert!(!seen.is_empty());
    for (message, (rule, finding)) in seen {
        assert!(
            is_headline(message, char::is_uppercase),
            "{rule}: message `{message}`"
        );
        assert!(
            message.chars().count() <= 100,
            "{rule}: message `{message}` is long"
        );
        assert!(
            !finding.object.kind.is_empty(),
            "{rule}: a finding is on an object"
        );
        assert!(!finding.path.is_empty(), "{rule}: a finding has a path");
        assert!(
            !finding.expected.is_empty(),
            "{rule}: a finding says what was expected"
        );
        assert!(
            finding.observed.chars().count() <= 600,
            "{rule}: a finding cuts what it quotes"
        );
    }
}

/// One line without a final period whose first letter is not of the `wrong` case.
fn is_headline(text: &str, wrong: impl Fn(char) -> bool) -> bool {
    !text.is_empty()
        && !text.contains('\n')
        && text.trim() == text
        && !text.ends_with('.')
        && !text.starts_with(wrong)
}
