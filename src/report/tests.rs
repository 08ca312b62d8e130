//! What the reports promise, on a judgement with one rule of each verdict and a hub that means harm.

use anstream::adapter::strip_str;
use evidence::{
    About, Asked, Environment, Evidence, Implementation, Kind, ObjectRef, Origin, ProfileHistory, Realness,
    Submitter, Unreadable, Version, Window,
    api::{ClusterProfile, Condition, Edition, Feature},
};
use jiff::Timestamp;
use judge::{
    Decision, Judgement, RuleVerdict, Selection, Tally, Verdict, judge,
    rules::{Facts, Finding, Rule, example::Example},
};
use serde_json::{Value, json};

use super::*;

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
    let tells_why = matches!(
        verdict,
        Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped
    );
    let rule = rule(id, level);
    RuleVerdict {
        rule,
        applies: rule.facts.first(),
        verdict,
        examined: if tells_why { 0 } else { 20 },
        reasons: tells_why
            .then(|| format!("the reason of {}", verdict.name()).into())
            .into_iter()
            .collect(),
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
    let mut noted = verdict("identity/kept", "MUST", Verdict::Pass, Vec::new());
    noted.notes.push(format!("judged from {HOSTILE}").into());
    let mut verdicts = vec![
        noted,
        verdict(
            "identity/broken",
            "MUST",
            Verdict::Fail,
            absent.chain([other.clone()]).collect(),
        ),
        verdict("identity/doubtful", "MUST", Verdict::Inconclusive, Vec::new()),
        verdict("conditions/advised", "SHOULD", Verdict::Warn, vec![other]),
        verdict(
            "conditions/elsewhere",
            "SHOULD",
            Verdict::NotApplicable,
            Vec::new(),
        ),
        verdict("consumers/not-wanted", "MAY", Verdict::Skipped, Vec::new()),
    ];
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
    evidence.header.asked.insert(Kind::Inventory, Asked::Yes);
    evidence.header.asked.insert(Kind::Timeline, Asked::Yes);
    let unasked = Asked::No("give --audit-log FILE".into());
    evidence.header.asked.insert(Kind::Requests, unasked);
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

/// A report at the beginning of time on an evidence file.
pub(crate) fn report_of<'a>(
    evidence: &'a Evidence,
    judgement: &'a Judgement,
    selection: &'a Selection,
) -> Report<'a> {
    Report {
        file: Some("folder/evidence.jsonl.zst"),
        is_whole_file: true,
        ..Report::new(evidence, judgement, selection, Timestamp::UNIX_EPOCH)
    }
}

fn with_report<T>(use_report: impl FnOnce(&Report) -> T) -> T {
    let (evidence, judgement) = (evidence(), judgement());
    use_report(&report_of(&evidence, &judgement, &Selection::default()))
}

#[test]
fn terminal_shows_everything_in_80_columns_without_harm() {
    let output =
        with_report(|report| terminal::list(report) + &terminal::verdicts(report, COMMAND, Some(80), true));
    let plain = strip_str(&output).to_string();
    for line in plain.lines() {
        let is_whole_word = line.ends_with(&format!("  {}", "m".repeat(100)));
        assert!(line.chars().count() <= 80 || is_whole_word, "too wide: {line}");
        let is_harmful = line.chars().any(|char| char.is_control() || char == '\u{202e}');
        assert!(!is_harmful, "harmful: {line:?}");
        assert!(!line.starts_with("error:"), "forged: {line}");
    }
    // The colours are ours, and only ours.
    assert!(!output.contains("\u{1b}[2J"));
    insta::assert_snapshot!(plain);
}

/// What each format says about the same judgement. Suite versions are left out.
#[test]
fn every_format_has_the_verdicts_levels_and_findings() {
    let mut judgement = judgement();
    judgement.verdicts[1].findings.drain(3..12);
    let evidence = evidence();
    let selection = Selection::default();
    let report = report_of(&evidence, &judgement, &selection);
    type Write = fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>;
    let formats: [(&str, Write); 5] = [
        ("json", |report, into| json::write(report, into)),
        ("markdown", |report, into| markdown::write(report, into)),
        ("junit", |report, into| junit::write(report, into)),
        ("badge", |report, into| badge::write(report, into)),
        ("annotations", |report, into| {
            into.write_all(github::annotations(report).as_bytes())
        }),
    ];
    for (name, write) in formats {
        let mut bytes = Vec::new();
        write(&report, &mut bytes).expect("a vector takes all");
        let text = String::from_utf8(bytes).expect("UTF-8");
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
    let selection = Selection::default();
    let report = report_of(&evidence, &judgement, &selection);
    let output = strip_str(&terminal::verdicts(&report, COMMAND, Some(80), false)).to_string();
    let parts = [
        "ClusterProfile fleet/odd-0 could not be read: status is",
        "an object could not be read: status is",
        "… and 25 more objects: a JSON report has them all",
    ];
    assert_contains(&output, &parts);
    let mut xml = Vec::new();
    junit::write(&report, &mut xml).expect("writes");
    let xml = String::from_utf8(xml).expect("UTF-8");
    assert!(
        xml.contains("fleet/odd-19 could not be read") && !xml.contains("odd-20"),
        "{xml}"
    );
}

/// A report whose rule `identity/broken` has these findings, as a terminal shows it.
fn on_a_terminal(findings: Vec<Finding>) -> String {
    let (evidence, mut judgement) = (evidence(), judgement());
    judgement.verdicts[1].findings = findings;
    let selection = Selection::default();
    let report = report_of(&evidence, &judgement, &selection);
    strip_str(&terminal::verdicts(&report, COMMAND, Some(80), false)).to_string()
}

#[test]
fn a_terminal_says_what_the_reader_types() {
    let mut judgement = judgement();
    judgement.verdicts[2].reasons = vec![format!("may not watch (`{COMMAND} rbac` prints the role)").into()];
    let output = with_report(|report| {
        let report = Report {
            judgement: &judgement,
            ..*report
        };
        terminal::verdicts(&report, "kubectl judge", Some(80), false)
    });
    let output = strip_str(&output).to_string();
    assert_contains(&output, &["  explain   kubectl judge explain identity/broken"]);
    assert_contains(&output, &["`kubectl judge rbac`"]);
    assert!(!output.contains(COMMAND), "{output}");
}

#[test]
fn a_terminal_shows_the_first_of_ten_thousand_objects() {
    let missing = |number| Finding::on(object(&format!("cluster-{number}")), "the label is missing");
    let alike = on_a_terminal((0..10_000).map(|number| missing(number).expected("m")).collect());
    assert!(
        alike.contains("cluster-2") && !alike.contains("cluster-3"),
        "{alike}"
    );
    assert_contains(&alike, &["… and 9,997 more objects\n    expected  m\n"]);
    assert_contains(&alike, &["JSON and JUnit reports list all findings"]);

    let observed = |number: u32| missing(number).expected("m").observed(number.to_string());
    let differing = on_a_terminal((0..10_000).map(observed).collect());
    for once in ["the label is missing", "expected  m\n"] {
        assert_eq!(differing.matches(once).count(), 1, "{differing}");
    }
    let second = "    object    ClusterProfile fleet/cluster-2\n    observed  2\n";
    assert_contains(&differing, &[second, "… and 9,997 more findings"]);
}

#[test]
fn annotations_keep_within_what_github_takes() {
    let (evidence, mut judgement) = (evidence(), judgement());
    let hostile =
        Finding::on(object(HOSTILE), "100% wrong: a, b\r\n::error::forged").observed("x".repeat(1000));
    judgement.verdicts[1].findings = vec![hostile; 5];
    let broken = judgement.verdicts[1].clone();
    judgement.verdicts.extend(vec![broken; 11]);
    let selection = Selection::default();
    let report = report_of(&evidence, &judgement, &selection);
    let output = github::annotations(&report);
    let of = |command: &str| output.lines().filter(|line| line.starts_with(command)).count();
    let counts = [of("::error "), of("::warning "), of("::notice ")];
    assert_eq!(counts, [10, 1, 1], "{output}");
    assert_eq!(output.lines().count(), 12);
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
fn a_run_that_left_out_must_rules_finds_no_violation_and_says_what_the_rest_needs() {
    let mut evidence = world(Edition::Standard, &json!([{}]));
    let unasked = Asked::No("no member was contacted".into());
    evidence.header.asked.insert(Kind::Members, unasked);
    let output = |evidence: &Evidence, selection: Selection| {
        let judgement = judge(evidence, &selection);
        let report = report_of(evidence, &judgement, &selection);
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
    let without = output(&evidence, Selection::default());
    let feature = "the feature consumer-secrets, which was declared absent";
    assert_contains(&without, &[feature]);
}

#[test]
fn profiles_without_a_status_are_in_the_headline() {
    let mut evidence = world(
        Edition::Standard,
        &json!([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]),
    );
    let headline_of = |evidence: &Evidence| {
        let selection = Selection::default();
        headline(&report_of(evidence, &judge(evidence, &selection), &selection))
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
    unjudged.facts.unjudged = Some("nothing tells it apart yet".to_owned());
    let mut judgement = judgement();
    judgement.verdicts[5].rule = Box::leak(Box::new(unjudged));
    let (evidence, selection) = (evidence(), Selection::default());
    let report = report_of(&evidence, &judgement, &selection);
    assert!(scope(&report).ends_with("; 1 rule cannot be judged yet"));
    let mut json = Vec::new();
    json::write(&report, &mut json).expect("writes");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["unjudged"], 1);
}
