//! Reports on a judgement with one rule of each verdict and a hostile hub.

use std::sync::LazyLock;

use anstream::adapter::strip_str;
use evidence::{
    About, Environment, Evidence, Implementation, Kind, ObjectRef, Origin, ProfileHistory, Realness,
    Requested, Submitter, Unreadable, Version, Window,
    api::{ClusterProfile, Condition, Edition, Feature},
};
use jiff::Timestamp;
use judge::{
    Decision, Judgement, RuleVerdict, Selection, Tally, Verdict, judge,
    rules::{Facts, Finding, Rule, example::Example},
};
use serde_json::{Value, json};

use super::*;
use crate::format_tests::support::written_as;

/// Everything at once: a screen cleared, a line forged, a section ended, an element opened, a text reversed.
const HOSTILE: &str = "x\u{1b}[2J\nerror: ]]> <failure> & \"\u{202e}'\u{0}";

fn rule(id: &'static str, level: &str) -> &'static Rule {
    let text = format!(
        "title: The title of {id} is kept, and is a sentence long enough to need a second line of text\n\
         level: {level}\nbasis: explicit\nsince: standard\nuntil: standard\nsource: KEP-4322 › Spec › Cluster Manager\n\
         needs: [inventory]\nhelpedBy: [requests]\nremedy: Set the label to the name in the spec.\nexamples: []\n"
    );
    let facts = Facts::parse(id, &text).expect("facts");
    Box::leak(Box::new(Rule::without_function(id, facts)))
}

fn object(name: &str) -> ObjectRef {
    ObjectRef {
        kind: "ClusterProfile".to_owned(),
        namespace: "fleet".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "7".to_owned(),
    }
}

fn verdict(id: &'static str, level: &str, verdict: Verdict, findings: Vec<Finding>) -> RuleVerdict {
    let has_reason = matches!(
        verdict,
        Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped
    );
    let reason = has_reason.then(|| format!("the reason of {}", verdict.name()).into());
    let rule = rule(id, level);
    RuleVerdict {
        rule,
        applies: rule.facts.first(),
        verdict,
        examined: if has_reason { 0 } else { 20 },
        reasons: Vec::from_iter(reason),
        findings,
        waived: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
        is_of_any_edition: false,
    }
}

fn judgement() -> Judgement {
    let absent = (0..12).map(|number| {
        Finding::on(object(&format!("cluster-{number}")), "the label is missing")
            .at("metadata.labels[x-k8s.io/cluster-manager]")
            .expected("m")
            .observed("(absent)")
    });
    let other = Finding::on(object(HOSTILE), format!("says {HOSTILE}"))
        .at("spec")
        .expected("m".repeat(100))
        .observed(HOSTILE);
    let broken = absent.chain([other.clone()]).collect();
    let not_applicable = Verdict::NotApplicable;
    let rows = [
        ("identity/kept", "MUST", Verdict::Pass, Vec::new()),
        ("identity/broken", "MUST", Verdict::Fail, broken),
        ("identity/doubtful", "MUST", Verdict::Inconclusive, Vec::new()),
        ("conditions/advised", "SHOULD", Verdict::Warn, vec![other]),
        ("conditions/elsewhere", "SHOULD", not_applicable, Vec::new()),
        ("consumers/not-wanted", "MAY", Verdict::Skipped, Vec::new()),
    ];
    let verdicts = rows.map(|(id, level, outcome, findings)| verdict(id, level, outcome, findings));
    let mut verdicts = Vec::from(verdicts);
    verdicts[0].notes.push(format!("judged from {HOSTILE}").into());
    verdicts[2].reasons = vec![format!("the watch was lost: {HOSTILE}").into()];
    let mut tally = Tally::default();
    tally.must.rules = 3;
    tally.must.passed = 1;
    tally.must.failed = 1;
    tally.must.inconclusive = 1;
    Judgement {
        edition: Edition::Standard,
        also: None,
        decision: Decision::NotConformant,
        tally,
        verdicts,
        waivers: Vec::new(),
        scope: Default::default(),
        partial: false,
    }
}

fn evidence() -> Evidence {
    let from = Timestamp::UNIX_EPOCH;
    let mut evidence = Evidence::default();
    evidence.header.hub.source = format!("context {HOSTILE}");
    evidence.header.window = Some(Window {
        from,
        until: from + jiff::SignedDuration::from_mins(30),
    });
    evidence.header.requested.insert(Kind::Inventory, Requested::Yes);
    evidence.header.requested.insert(Kind::Timeline, Requested::Yes);
    let unasked = Requested::No("give --audit-log FILE".into());
    evidence.header.requested.insert(Kind::Requests, unasked);
    let mut object = ClusterProfile::default();
    object.status.conditions = [Condition::default()].into();
    evidence.profiles.push(ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version {
            at: Some(from),
            object,
        }],
        deleted: None,
        deleted_version: None,
    });
    evidence
}

#[track_caller]
pub(crate) fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// The implementation that a submitted report is about, and who submits it.
pub(crate) fn about(project: &str, version: &str) -> About {
    About {
        implementation: Some(Implementation {
            organization: "Example".to_owned(),
            project: project.to_owned(),
            url: "https://fleet.example".to_owned(),
            version: version.to_owned(),
            contact: vec!["@someone".to_owned()],
        }),
        submitted_by: Some(Submitter {
            organization: "Example".to_owned(),
            url: "https://fleet.example/conformance".to_owned(),
        }),
        environment: Some(Environment {
            hub: Some(Realness::Real),
            members: Some(Realness::Imitated("API servers without nodes".to_owned())),
            agents: Some(Realness::Real),
            no_audit_log: Some("the provider keeps it".to_owned()),
        }),
    }
}

/// The evidence of an example's world.
pub(crate) fn world(edition: Edition, world: &Value) -> Evidence {
    let example = json!({"name": "a world", "fails": world});
    let example = Example::parse(&example, edition).unwrap_or_else(|error| panic!("{error}"));
    example.evidence().clone()
}

static ALL_RULES: LazyLock<Selection> = LazyLock::new(Selection::default);

/// A report at the beginning of time on an evidence file.
pub(crate) fn report_of<'a>(evidence: &'a Evidence, judgement: &'a Judgement) -> Report<'a> {
    Report {
        file: Some("folder/evidence.jsonl.zst"),
        is_whole_file: true,
        ..Report::new(evidence, judgement, &ALL_RULES, Timestamp::UNIX_EPOCH)
    }
}

/// The verdicts of a report as a terminal shows them, without colors.
fn on_a_terminal(report: &Report, command: &str) -> String {
    strip_str(&terminal::verdicts(report, command, Some(80), false)).to_string()
}

#[test]
fn terminal_shows_everything_in_80_columns_without_harm() {
    let (evidence, judgement) = (evidence(), judgement());
    let report = report_of(&evidence, &judgement);
    let output = terminal::list(&report) + &terminal::verdicts(&report, COMMAND, Some(80), true);
    let plain = strip_str(&output).to_string();
    for line in plain.lines() {
        let is_whole_word = line.ends_with(&format!("  {}", "m".repeat(100)));
        assert!(line.chars().count() <= 80 || is_whole_word, "too wide: {line}");
        let is_harmful = line.chars().any(|char| char.is_control() || char == '\u{202e}');
        assert!(!is_harmful, "harmful: {line:?}");
        assert!(!line.starts_with("error:"), "forged: {line}");
    }
    // The suite's own colors are the only ones.
    assert!(!output.contains("\u{1b}[2J"));
    insta::assert_snapshot!(plain);
}

/// What each format says about the same judgement. Suite versions are left out.
#[test]
fn every_format_has_the_verdicts_levels_and_findings() {
    let mut judgement = judgement();
    judgement.verdicts[1].findings.drain(3..12);
    let evidence = evidence();
    let report = report_of(&evidence, &judgement);
    for name in ["json", "markdown", "junit", "badge", "annotations"] {
        let text = written_as(name, &report);
        insta::assert_snapshot!(name, text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}

#[test]
fn reports_list_unreadable_objects() {
    let (mut evidence, judgement) = (evidence(), judgement());
    let odd = |number| Unreadable {
        object: object(&format!("odd-{number}")),
        message: format!("status is {HOSTILE}"),
    };
    evidence.unreadable = (0..30).map(odd).collect();
    evidence.unreadable[1].object = ObjectRef::default();
    let report = report_of(&evidence, &judgement);
    let unnamed = "an object could not be read: status is";
    let parts = [
        "fleet/odd-0 could not be read: status is",
        unnamed,
        "… and 25 more objects",
    ];
    assert_contains(&on_a_terminal(&report, COMMAND), &parts);
    let xml = written_as("junit", &report);
    assert_contains(&xml, &["fleet/odd-19 could not be read"]);
    assert!(!xml.contains("odd-20"), "{xml}");
}

/// A report whose rule `identity/broken` has these findings, as a terminal shows it.
fn findings_on_a_terminal(findings: Vec<Finding>) -> String {
    let (evidence, mut judgement) = (evidence(), judgement());
    judgement.verdicts[1].findings = findings;
    on_a_terminal(&report_of(&evidence, &judgement), COMMAND)
}

#[test]
fn terminal_names_the_command_that_the_user_calls() {
    let (evidence, mut judgement) = (evidence(), judgement());
    judgement.verdicts[2].reasons = vec![format!("may not watch (`{COMMAND} rbac` prints the role)").into()];
    let output = on_a_terminal(&report_of(&evidence, &judgement), "kubectl judge");
    let parts = ["kubectl judge explain identity/broken", "`kubectl judge rbac`"];
    assert_contains(&output, &parts);
    assert!(!output.contains(COMMAND), "{output}");
}

#[test]
fn terminal_shows_the_first_of_ten_thousand_objects() {
    let missing = |number| Finding::on(object(&format!("cluster-{number}")), "the label is missing");
    let alike = findings_on_a_terminal((0..10_000).map(|number| missing(number).expected("m")).collect());
    let more = "… and 9,997 more objects\n    expected  m\n";
    let parts = ["cluster-2", more, "JSON and JUnit reports list all findings"];
    assert_contains(&alike, &parts);
    assert!(!alike.contains("cluster-3"), "{alike}");

    let observed = |number: u32| missing(number).expected("m").observed(number.to_string());
    let differing = findings_on_a_terminal((0..10_000).map(observed).collect());
    for once in ["the label is missing", "expected  m\n"] {
        assert_eq!(differing.matches(once).count(), 1, "{differing}");
    }
    let second = "    object    ClusterProfile fleet/cluster-2\n    observed  2\n";
    assert_contains(&differing, &[second, "… and 9,997 more findings"]);
}

#[test]
fn annotations_stay_within_the_limits_of_github() {
    let (evidence, mut judgement) = (evidence(), judgement());
    let hostile =
        Finding::on(object(HOSTILE), "100% wrong: a, b\r\n::error::forged").observed("x".repeat(1000));
    judgement.verdicts[1].findings = vec![hostile; 5];
    let broken = judgement.verdicts[1].clone();
    judgement.verdicts.extend(vec![broken; 11]);
    let output = written_as("annotations", &report_of(&evidence, &judgement));
    let count = |command: &str| output.lines().filter(|line| line.starts_with(command)).count();
    let counts = ["::error ", "::warning ", "::notice "].map(count);
    assert_eq!(counts, [10, 1, 1], "{output}");
    let first = output.lines().next().expect("a line");
    let start = "::error title=identity/broken [MUST explicit]::The title of identity/broken";
    assert!(first.starts_with(start), "{first}");
    let parts = [
        "%0AClusterProfile fleet/",
        r"100%25 wrong: a, b\r\n::error",
        "more characters%0A",
        "%0A… and 2 more findings%0Aremedy: ",
    ];
    assert_contains(first, &parts);
    assert!(!output.contains('\r') && !output.contains('\u{1b}'), "{output}");
    assert_contains(&output, &["3 more rules: see the log"]);
}

#[test]
fn incomplete_run_finds_no_violation_and_names_the_missing_evidence() {
    let mut evidence = world(Edition::Standard, &json!([{}]));
    let unasked = Requested::No("no member was contacted".into());
    evidence.header.requested.insert(Kind::Members, unasked);
    let output = |evidence: &Evidence, selection: Selection| {
        let judgement = judge(evidence, &selection);
        let report = Report {
            selection: &selection,
            ..report_of(evidence, &judgement)
        };
        let must = judgement.tally.must;
        let (judged, rules) = (must.judged(), must.rules);
        let expected = format!("no violation found: {judged} of {rules} MUST rules judged, edition standard");
        assert_eq!(headline(&report), expected);
        scope(&report)
    };
    let whole = output(&evidence, Selection::default());
    let (_, needs) = whole.split_once("; to check the rest, add ").expect("it says so");
    assert_contains(needs, &["members"]);
    assert!(!needs.contains("all rules"), "{needs}");
    let selection = Selection {
        filters: vec!["identity/".to_owned()],
        ..Selection::default()
    };
    let narrowed = output(&evidence, selection);
    assert!(narrowed.ends_with("all rules"), "{narrowed}");
    evidence.header.claim.no_features.insert(Feature::ConsumerSecrets);
    let scope = output(&evidence, Selection::default());
    assert_contains(&scope, &["consumer-secrets, which was declared absent"]);
}

#[test]
fn profiles_without_a_status_are_in_the_headline() {
    let mut evidence = world(
        Edition::Standard,
        &json!([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]),
    );
    let headline_of = |evidence: &Evidence| {
        let judgement = judge(evidence, &ALL_RULES);
        headline(&report_of(evidence, &judgement))
    };
    assert!(!headline_of(&evidence).contains("status"));
    for (number, has_line) in [(0, false), (1, true)] {
        evidence.profiles[number].versions[0].object.status = Default::default();
        let line = "; none of 2 profiles has a status: fix that first";
        assert_eq!(headline_of(&evidence).ends_with(line), has_line);
    }
}

#[test]
fn rules_that_cannot_be_judged_yet_are_counted() {
    let mut unjudged = Rule::clone(rule("identity/unjudged", "MUST"));
    unjudged.facts.unjudged = Some("no evidence distinguishes it yet".to_owned());
    let mut judgement = judgement();
    judgement.verdicts[5].rule = Box::leak(Box::new(unjudged));
    let evidence = evidence();
    let report = report_of(&evidence, &judgement);
    assert!(scope(&report).ends_with("; 1 rule cannot be judged yet"));
    let json: Value = serde_json::from_str(&written_as("json", &report)).expect("JSON");
    assert_eq!(json["unjudged"], 1);
}
