//! The HTML page, on evidence in the format of the rules' examples.

use evidence::{Evidence, api::Edition};
use judge::{Selection, Verdict, judge};
use ring::digest;
use serde_json::json;

use crate::{
    Report,
    format_tests::support::{world::World, written_as},
    tests::{assert_contains, world},
};

fn page(evidence: &Evidence) -> String {
    let file = Some("folder/evidence.jsonl.zst");
    World::of(evidence.clone()).report(|report| written_as("html", &Report { file, ..*report }))
}

fn between<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
    let parts = page.split_once(begin);
    let (_, rest) = parts.unwrap_or_else(|| panic!("{begin}: {page}"));
    rest.split_once(end).expect("an end").0
}

fn rule<'p>(page: &'p str, id: &str) -> &'p str {
    let begin = format!(r#"<div class="body" id="{id}">"#);
    between(page, &begin, "</dl>\n</div>\n</details>\n</li>")
}

/// Twenty writes in half a minute on a profile with the label of another manager, and a condition that turns.
fn storm() -> Evidence {
    let change = json!({"metadata": {"name": "b"}, "status": {"version": {"kubernetes": "v1.34.${n}"}}});
    let condition = json!({"type": "Joined", "status": "Maybe", "reason": "Odd"});
    let broken = json!({"metadata": {"name": "b"}, "status": {"conditions": [condition]}});
    let profiles = json!({
        "profiles": [
            {"metadata": {"name": "a"}},
            {"metadata": {"name": "b", "labels": {"x-k8s.io/cluster-manager": "other"}}},
        ],
        "steps": [{"at": "10s", "every": "1s", "times": 20, "change": change}, {"at": "40s", "change": broken}],
    });
    world(Edition::Standard, &profiles)
}

#[test]
fn failures_come_first_with_remedy_and_object() {
    let evidence = storm();
    let judgement = judge(&evidence, &Selection::default());
    let page = page(&evidence);
    let verdicts = judgement.verdicts.iter();
    let failing = verdicts.filter(|one| one.verdict == Verdict::Fail).count();
    assert!(failing >= 2);
    let decision = format!("<span>Not conformant: {failing} ");
    let file = "<dt>Evidence</dt><dd>folder/evidence.jsonl.zst</dd>";
    assert_contains(&page, &[&decision, file]);
    let failures = page.find(r#"<section id="failures""#);
    assert!(failures.is_some() && failures < page.find(r#"<section id="objects""#));
    for verdict in &judgement.verdicts {
        let anchor = format!(r#"id="{}""#, verdict.rule.id);
        assert_eq!(page.matches(&anchor).count(), 1, "{anchor}");
        if verdict.findings.is_empty() {
            continue;
        }
        let entry = rule(&page, verdict.rule.id);
        for finding in &verdict.findings {
            assert_contains(entry, &[&finding.object.to_string()]);
        }
        let remedy = entry.find("<strong>Remedy:</strong>");
        let first = entry.find(r#"<article class="finding">"#);
        assert!(remedy.is_some() && remedy < first, "{entry}");
    }
    let mark = "</span>    x-k8s.io/cluster-manager: other</mark>";
    let parts = [mark, "<dt>expected</dt>", "<dt>observed</dt>"];
    assert_contains(rule(&page, "identity/manager-label-matches"), &parts);
    let squares = between(&page, "<h3>Profiles <small>2 profiles</small></h3>", "</section>");
    let parts = ["title=\"default/b: fail, ", "title=\"default/a: "];
    assert_contains(squares, &parts);
}

#[test]
fn plots_show_writes_over_the_budget_and_conditions() {
    let evidence = storm();
    let spendings = judge::rules::Spendings::of(&evidence);
    let draws = &spendings.of_profile("default", "b")[0].draws;
    let overdrawn = draws.iter().filter(|draw| draw.is_too_much()).count();
    assert!(overdrawn > 5, "{draws:?}");
    let page = page(&evidence);
    let writes = between(&page, "<h5>Status writes against the budget</h5>", "</figure>");
    assert_eq!(writes.matches(r#"class="cross""#).count(), overdrawn);
    assert_contains(writes, &[&format!("{overdrawn} writes over budget")]);
    let conditions = between(&page, "<h5>Conditions over time</h5>", "</figure>");
    let parts = ["Joined", "True (", "Maybe (Odd)", "▼ finding"];
    assert_contains(conditions, &parts);
    // The story of the finding shows what set the field, and folds the other writes.
    let (_, rest) = page.split_once(conditions).expect("the plot");
    let story = between(rest, r#"<section class="story""#, "</section>");
    let time = r#"<span class="time">+40s"#;
    assert_contains(story, &["sets the field", "<details><summary>", time]);
}

#[test]
fn decisions_have_squares_excerpts_and_no_plots() {
    let slices = json!({
        "slices": [{"decisions": ["a", "b"]}, {"metadata": {"name": "web-1"}, "decisions": ["c"]}],
        "steps": [
            {"at": "1m", "change": {"decisions": ["a"]}},
            {"at": "62s", "change": {"metadata": {"name": "web-1"}, "decisions": ["b", "c"]}},
        ],
    });
    let page = page(&world(Edition::Placement2025M09, &slices));
    let torn = rule(&page, "placement-updates/no-torn-reschedule");
    assert_contains(torn, &["kind: PlacementDecision"]);
    assert!(!torn.contains("<figure>"), "{torn}");
    let mark = between(torn, "<mark>", "</mark>");
    assert!(mark.ends_with("decisions:"), "{torn}");
    assert_contains(&page, &["<h3>Placement decisions <small>2 slices</small></h3>"]);
}

#[test]
fn the_policy_allows_only_the_style_by_its_digest() {
    let page = page(&storm());
    let digest = digest::digest(&digest::SHA256, between(&page, "<style>", "</style>").as_bytes());
    let digest = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"/>");
    assert!(policy.starts_with("default-src &#39;none&#39;;"), "{policy}");
    assert_contains(&policy.replace("&#43;", "+"), &[&digest]);
    let is_strict = !policy.contains("unsafe") && !policy.contains("script-src");
    assert!(is_strict, "{policy}");
    // The policy does not apply to what is before it.
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn the_page_stays_small() {
    let mut evidence = storm();
    let model = evidence.profiles[1].clone();
    let mut page = String::new();
    for (profiles, most) in [(20, 150 << 10), (1_000, 768 << 10)] {
        evidence.profiles = (0..profiles)
            .map(|number| {
                let mut history = model.clone();
                history.versions.truncate(if number < 2 { 30 } else { 3 });
                for version in &mut history.versions {
                    let text = serde_json::to_string(&version.object).expect("JSON");
                    let text = text.replace("b.default", &format!("cluster-{number}.default"));
                    version.object = serde_json::from_str(&text).expect("a profile");
                    version.object.metadata.name = format!("cluster-{number}").into();
                    version.object.metadata.namespace = format!("fleet-{}", number % 9).into();
                    version.object.metadata.uid = format!("uid-{number}").into();
                }
                history
            })
            .collect();
        page = self::page(&evidence);
        assert!(page.len() < most, "{profiles} profiles: {}", page.len());
    }
    assert!(page.contains("… and 400 more profiles"));
}
