//! What the page promises to whoever reads it, on what the reference worlds of the examples show.

use evidence::{Asked, Evidence, Kind, api::Edition};
use jiff::Timestamp;
use judge::{Judgement, Selection, judge, rules::example::Example};
use quick_xml::{Reader, events::Event};
use serde_json::{Value, json};

use super::*;
use crate::{Report, html::shared};

mod decisions;

/// All that breaks out of where it is put: text, attributes, a title, a script, a style, a comment.
const HOSTILE: &str = "x</title></script><script>document.title='ran'</script>\"' onload=alert(1) --><svg/onload=x>\u{202e}\u{0}";

fn world(profiles: Value, more: Value) -> Evidence {
    let mut fails = json!({"profiles": profiles});
    json_patch::merge(&mut fails, &more);
    world_of(Edition::Standard, &fails)
}

fn world_of(edition: Edition, world: &Value) -> Evidence {
    let example = json!({"name": "a world", "fails": world});
    let example = Example::parse(&example, edition).unwrap_or_else(|error| panic!("{error}"));
    example.evidence().clone()
}

fn page_of(evidence: &Evidence, judgement: &Judgement) -> String {
    let mut page = Vec::new();
    let report = Report {
        evidence,
        judgement,
        selection: &Selection::default(),
        judged_at: Timestamp::UNIX_EPOCH,
        file: None,
        advice: crate::no_advice,
    };
    write(&report, &mut page).expect("a vector takes all");
    String::from_utf8(page).expect("UTF-8")
}

fn page(evidence: &Evidence) -> String {
    let page = page_of(evidence, &judge(evidence, &Selection::default()));
    well_formed(&page);
    page
}

/// Checks that elements nest, and that nothing in them runs or loads but what is ours.
fn well_formed(page: &str) {
    let mut reader = Reader::from_str(page);
    let (mut scripts, mut styles) = (0, 0);
    loop {
        match reader
            .read_event()
            .unwrap_or_else(|error| panic!("{error} at {}", reader.error_position()))
        {
            Event::Start(element) | Event::Empty(element) => {
                match element.name().as_ref() {
                    "script" => scripts += 1,
                    "style" => styles += 1,
                    name => assert!(
                        !["img", "link", "iframe", "object", "base", "image", "use"].contains(&name),
                        "{name}"
                    ),
                }
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    let (key, value) = (attribute.key, attribute.value);
                    let key = key.as_ref();
                    assert!(!key.starts_with("on") && key != "style" && key != "src", "{key}");
                    assert!(
                        key != "href"
                            || value.starts_with('#')
                            || value.starts_with("https://github.com/") && value.contains("/blob/"),
                        "leads elsewhere: {value}"
                    );
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((scripts, styles), (1, 1));
}

/// Twenty writes in half a minute on a profile without the label.
fn storm() -> Evidence {
    let change = json!({"metadata": {"name": "b"}, "status": {"version": {"kubernetes": "v1.34.${n}"}}});
    world(
        json!([
            {"metadata": {"name": "a"}},
            {"metadata": {"name": "b", "labels": {"x-k8s.io/cluster-manager": "somebody"}}},
        ]),
        json!({"steps": [{"at": "10s", "every": "1s", "times": 20, "change": change}]}),
    )
}

#[test]
fn tells_the_decision_and_each_broken_rule_with_what_was_found() {
    let evidence = storm();
    let judgement = judge(&evidence, &Selection::default());
    let page = page(&evidence);
    assert!(page.contains("not conformant with edition standard"), "{page}");
    let mut broken = 0;
    for verdict in judgement
        .verdicts
        .iter()
        .filter(|verdict| !verdict.findings.is_empty())
    {
        broken += 1;
        let begin = page
            .find(&format!(r#"id="{}""#, verdict.rule.id))
            .expect("an anchor");
        let entry = &page[begin..begin + page[begin..].find("</details>\n</li>").expect("an end")];
        for finding in &verdict.findings {
            assert!(
                entry.contains(&finding.object.to_string()),
                "{}: {entry}",
                verdict.rule.id
            );
        }
        let remedy = entry.find("<strong>Remedy:</strong>").expect("a remedy");
        let finding = entry.find(r#"<article class="finding">"#).expect("a finding");
        assert!(remedy < finding, "the remedy comes first: {entry}");
    }
    assert!(broken >= 2, "{broken}");
    for verdict in &judgement.verdicts {
        let anchor = format!(r#"id="{}""#, verdict.rule.id);
        assert_eq!(page.matches(&anchor).count(), 1, "{anchor}");
    }
}

/// What would judge more rules is told once, and the page does not say elsewhere that nothing was left out.
#[test]
fn a_page_does_not_contradict_itself_about_what_was_requested() {
    let all = "All kinds of evidence that the rules use were requested.";
    let mut evidence = storm();
    assert!(!page(&evidence).contains(all));
    for asked in evidence.header.asked.values_mut() {
        *asked = Asked::Yes;
    }
    let kinds = judge::rules::all().iter().map(|rule| &rule.facts);
    let kinds = kinds.flat_map(|facts| [&facts.needs, &facts.needs_one_of, &facts.helped_by]);
    for kind in kinds.flatten() {
        evidence.header.asked.insert(*kind, Asked::Yes);
    }
    assert!(page(&evidence).contains(all));
    evidence
        .header
        .asked
        .insert(Kind::Driver, Asked::No("no driver was given".into()));
    let page = page(&evidence);
    assert!(!page.contains(all), "{page}");
    assert!(
        page.contains(r##"<a href="#locked">"##) && page.contains(r#"id="locked""#),
        "{page}"
    );
    let (_, locked) = page
        .split_once("<strong>driver</strong>: ")
        .expect("what a driver adds");
    assert!(
        locked
            .trim_start_matches(char::is_numeric)
            .starts_with(" rules more"),
        "{locked}"
    );
}

#[test]
fn marks_the_line_that_offends() {
    let page = page(&storm());
    let marked = "</span>    x-k8s.io/cluster-manager: somebody</mark>";
    assert!(page.contains(marked), "{page}");
}

#[test]
fn draws_the_writes_that_the_rule_counts() {
    let evidence = storm();
    let spendings = judge::rules::Spendings::of(&evidence);
    let spent = spendings.of_profile("default", "b");
    let overdrawn = spent[0].draws.iter().filter(|draw| draw.is_too_much()).count();
    assert!(overdrawn > 5, "{spent:?}");
    let page = page(&evidence);
    assert_eq!(page.matches(r#"class="cross""#).count(), overdrawn);
    assert!(
        page.contains(&format!("{overdrawn} writes over budget")),
        "{page}"
    );
}

#[test]
fn text_of_the_hub_stays_text() {
    let condition = json!({"type": HOSTILE, "status": HOSTILE, "reason": HOSTILE, "message": HOSTILE});
    let mut evidence = world(
        json!([{
            "metadata": {"name": "a", "labels": {"x-k8s.io/cluster-manager": HOSTILE, HOSTILE: HOSTILE}},
            "spec": {"displayName": HOSTILE},
            "status": {"conditions": [condition], "properties": [{"name": HOSTILE, "value": "y".repeat(1 << 20)}]},
        }]),
        json!({"steps": []}),
    );
    evidence.header.hub.source = HOSTILE.to_owned();
    evidence.header.cut_short = Some(HOSTILE.to_owned());
    let page = page(&evidence);
    assert!(
        !page.contains("<script>document") && !page.contains("<svg/onload"),
        "{page}"
    );
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
    assert!(page.len() < 1 << 20, "{}", page.len());
    assert!(page.contains("Partial:"));
}

#[test]
fn the_policy_knows_our_script_and_style_by_their_digests() {
    let page = page(&storm());
    let of = |text: &str| {
        let digest = <sha2::Sha256 as sha2::Digest>::digest(text);
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest)
    };
    let between = |begin: &str, end: &str| {
        page.split_once(begin)
            .and_then(|(_, rest)| rest.split_once(end))
            .expect("it")
            .0
    };
    let policy = shared::policy(&shared::style(page::STYLE), page::SCRIPT);
    assert!(policy.contains(&of(between("<script>", "</script>"))), "{policy}");
    assert!(policy.contains(&of(between("<style>", "</style>"))), "{policy}");
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
        "{policy}"
    );
    // What stands before the policy is not bound by it.
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn a_large_fleet_stays_a_few_megabytes() {
    let mut evidence = storm();
    let model = evidence.profiles[1].clone();
    evidence.profiles = (0..1_000)
        .map(|number| {
            let mut history = model.clone();
            // Those that are shown in detail have changed the most: few of all need to.
            if number >= 100 {
                history.versions.truncate(3);
            }
            for version in &mut history.versions {
                version.object.metadata.name = format!("cluster-{number}").into();
                version.object.metadata.namespace = format!("fleet-{}", number % 90).into();
                version.object.metadata.uid = format!("uid-{number}").into();
            }
            history
        })
        .collect();
    let page = page(&evidence);
    assert!(page.len() < 4 << 20, "{}", page.len());
    assert!(page.contains("1,000 profiles") && page.contains("50 more namespaces"));
    assert_eq!(page.matches(r#"id="profile-"#).count(), 50);
}
