//! What the page promises to its readers, on the reference worlds of the examples.

use evidence::{Evidence, api::Edition};
use judge::{Judgement, Selection, Verdict, judge, rules::example::Example};
use ring::digest;
use serde_json::{Value, json};

use super::*;
use crate::{format_tests::support::is_inert, tests::report_of};

fn world(edition: Edition, world: &Value) -> Evidence {
    let example = json!({"name": "a world", "fails": world});
    let example = Example::parse(&example, edition).unwrap_or_else(|error| panic!("{error}"));
    example.evidence().clone()
}

fn page_of(evidence: &Evidence, judgement: &Judgement) -> String {
    let mut page = Vec::new();
    let selection = Selection::default();
    let report = report_of(evidence, judgement, &selection);
    write(&report, &mut page).expect("a vector takes all");
    let page = String::from_utf8(page).expect("UTF-8");
    is_inert(&page);
    page
}

fn page(evidence: &Evidence) -> String {
    page_of(evidence, &judge(evidence, &Selection::default()))
}

/// The part of a page between two texts.
fn between<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
    let (_, rest) = page
        .split_once(begin)
        .unwrap_or_else(|| panic!("{begin}: {page}"));
    rest.split_once(end).expect("an end").0
}

/// The rule in full.
fn rule<'p>(page: &'p str, id: &str) -> &'p str {
    between(
        page,
        &format!(r#"<div class="body" id="{id}">"#),
        "</dl>\n</div>\n</details>\n</li>",
    )
}

/// Twenty writes in half a minute on a profile with the label of another manager, and a condition that turns.
fn storm() -> Evidence {
    let change = json!({"metadata": {"name": "b"}, "status": {"version": {"kubernetes": "v1.34.${n}"}}});
    let broken = json!({"metadata": {"name": "b"}, "status": {"conditions": [{"type": "Joined", "status": "Maybe", "reason": "Odd"}]}});
    world(
        Edition::Standard,
        &json!({
            "profiles": [
                {"metadata": {"name": "a"}},
                {"metadata": {"name": "b", "labels": {"x-k8s.io/cluster-manager": "somebody"}}},
            ],
            "steps": [{"at": "10s", "every": "1s", "times": 20, "change": change}, {"at": "40s", "change": broken}],
        }),
    )
}

#[test]
fn findings_come_first_each_with_its_remedy_and_object() {
    let evidence = storm();
    let judgement = judge(&evidence, &Selection::default());
    let page = page(&evidence);
    let failing = judgement
        .verdicts
        .iter()
        .filter(|one| one.verdict == Verdict::Fail)
        .count();
    assert!(failing >= 2);
    assert!(
        page.contains(&format!("<span>Not conformant: {failing} ")),
        "{page}"
    );
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
            assert!(
                entry.contains(&finding.object.to_string()),
                "{}: {entry}",
                verdict.rule.id
            );
            let remedy = entry.find("<strong>Remedy:</strong>");
            assert!(
                remedy.is_some() && remedy < entry.find(r#"<article class="finding">"#),
                "{entry}"
            );
        }
    }
    let label = rule(&page, "identity/manager-label-matches");
    assert!(
        label.contains("</span>    x-k8s.io/cluster-manager: somebody</mark>"),
        "{label}"
    );
    assert!(
        label.contains("<dt>expected</dt>") && label.contains("<dt>observed</dt>"),
        "{label}"
    );
    let square = between(&page, "<h3>Profiles <small>2 profiles</small></h3>", "</section>");
    assert!(
        square.contains("title=\"default/b: fail, ") && square.contains("title=\"default/a: "),
        "{square}"
    );
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
    assert!(
        writes.contains(&format!("{overdrawn} writes over budget")),
        "{writes}"
    );
    let conditions = between(&page, "<h5>Conditions over time</h5>", "</figure>");
    for part in ["Joined", "True (", "Maybe (Odd)", "▼ finding"] {
        assert!(conditions.contains(part), "{part}: {conditions}");
    }
    // The story of the finding shows what set the field, and folds the other writes.
    let story = between(
        &page[page.find("<h5>Conditions over time</h5>").unwrap_or_default()..],
        r#"<section class="story""#,
        "</section>",
    );
    assert!(
        story.contains("sets the field") && story.contains("<details><summary>"),
        "{story}"
    );
    assert!(story.contains(r#"<span class="time">+40s"#), "{story}");
}

#[test]
fn decisions_have_squares_excerpts_and_no_plots() {
    let evidence = world(
        Edition::Placement2025M09,
        &json!({
            "slices": [{"decisions": ["a", "b"]}, {"metadata": {"name": "web-1"}, "decisions": ["c"]}],
            "steps": [
                {"at": "1m", "change": {"decisions": ["a"]}},
                {"at": "62s", "change": {"metadata": {"name": "web-1"}, "decisions": ["b", "c"]}},
            ],
        }),
    );
    let page = page(&evidence);
    let torn = rule(&page, "placement-updates/no-torn-reschedule");
    assert!(
        torn.contains("kind: PlacementDecision") && !torn.contains("<figure>"),
        "{torn}"
    );
    assert!(
        between(torn, "<mark>", "</mark>").ends_with("decisions:"),
        "{torn}"
    );
    assert!(
        page.contains("<h3>Placement decisions <small>2 slices</small></h3>"),
        "{page}"
    );
}

#[test]
fn the_policy_allows_only_the_style_by_its_digest() {
    let page = page(&storm());
    let digest = digest::digest(&digest::SHA256, between(&page, "<style>", "</style>").as_bytes());
    let digest = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"/>");
    assert!(
        policy.starts_with("default-src &#39;none&#39;;") && policy.contains(&digest.replace('+', "&#43;"))
            || policy.contains(&digest),
        "{policy}"
    );
    assert!(
        !policy.contains("unsafe") && !policy.contains("script-src"),
        "{policy}"
    );
    // The policy does not apply to what is before it.
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn the_page_stays_small() {
    let mut evidence = storm();
    let model = evidence.profiles[1].clone();
    for (profiles, most) in [(20, 150 << 10), (1_000, 768 << 10)] {
        evidence.profiles = (0..profiles)
            .map(|number| {
                let mut history = model.clone();
                history.versions.truncate(if number < 2 { 30 } else { 3 });
                for version in &mut history.versions {
                    // Each profile describes a cluster of its own.
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
        let page = page(&evidence);
        assert!(page.len() < most, "{profiles} profiles: {}", page.len());
    }
    assert!(page(&evidence).contains("… and 400 more profiles"));
}
