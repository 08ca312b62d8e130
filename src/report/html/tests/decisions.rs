//! What the page shows of a scheduler's decisions.

use evidence::{Gap, Reason};
use jiff::SignedDuration;

use super::*;

/// A decision of two slices: `b` is in neither for two seconds, then in the other one.
fn torn() -> Evidence {
    decided(&json!({
        "slices": [{"decisions": ["a", "b"]}, {"metadata": {"name": "web-1"}, "decisions": ["c"]}],
        "steps": [
            {"at": "1m", "change": {"decisions": ["a"]}},
            {"at": "62s", "change": {"metadata": {"name": "web-1"}, "decisions": ["b", "c"]}},
        ],
    }))
}

fn decided(world: &Value) -> Evidence {
    world_of(Edition::Placement2025M09, world)
}

/// The part of a page between two texts.
fn between<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
    let (_, rest) = page
        .split_once(begin)
        .unwrap_or_else(|| panic!("{begin}: {page}"));
    rest.split_once(end).expect("an end").0
}

#[test]
fn a_decision_shows_its_slices_and_clusters_over_time() {
    let page = page(&torn());
    let entry = between(&page, r#"id="decision-0""#, "</details>");
    assert!(entry.contains("placement-updates/no-torn-reschedule"), "{entry}");
    for told in [
        "<li>web-0: there throughout, 1 change; at the end 1 cluster</li>",
        "<li>web-1: there throughout, 1 change; at the end 2 clusters</li>",
        "<li>a: chosen throughout (in web-0)</li>",
        "not chosen for 2 s; at the end in web-1</li>",
        "<li>c: chosen throughout (in web-1)</li>",
    ] {
        assert!(entry.contains(told), "{told}: {entry}");
    }
    assert!(
        entry.contains("<title>chosen (in web-0) from 00:00:00 UTC (+0 s) for 1 min</title>"),
        "{entry}"
    );
    assert!(page.contains("<h1>") && page.contains("1 decision<"), "{page}");
}

#[test]
fn a_finding_leads_to_the_decision_and_shows_its_slice() {
    let page = page(&torn());
    let rule = between(
        &page,
        r#"id="placement-updates/no-torn-reschedule""#,
        "</details>\n</li>",
    );
    assert!(
        rule.contains(r##"<a href="#decision-0">show this decision</a>"##),
        "{rule}"
    );
    assert!(rule.contains("kind: PlacementDecision"), "{rule}");
    let marked = between(rule, "<mark>", "</mark>");
    assert!(marked.ends_with("decisions:"), "{marked}");
}

#[test]
fn each_role_has_its_sections() {
    let mut both = torn();
    let scheduler = page(&both);
    assert!(scheduler.contains(r#"<section id="placements""#), "{scheduler}");
    assert!(!scheduler.contains(r#"<section id="fleet""#) && !scheduler.contains(r#"id="profile-"#));
    both.header.claim.also = Some(Edition::Standard);
    let page = page(&both);
    for section in ["placements", "decisions", "fleet", "profiles"] {
        let begin = format!(r#"<section id="{section}""#);
        assert_eq!(page.matches(&begin).count(), 1, "{section}");
        assert!(
            page.contains(&format!(r##"<li><a href="#{section}">"##)),
            "{section}"
        );
    }
    let manager = super::page(&storm());
    assert!(!manager.contains("decision-0") && !manager.contains(r#"id="placements""#));
}

#[test]
fn what_the_watch_of_slices_missed_is_drawn_and_that_of_profiles_is_not() {
    let mut evidence = torn();
    let window = evidence.header.window.expect("it was watched");
    let gap = |kind, reason: &'static str| Gap {
        kind,
        object: None,
        from: Some(window.from + SignedDuration::from_secs(20)),
        until: Some(window.from + SignedDuration::from_secs(30)),
        reason: Reason::from(reason),
    };
    evidence
        .gaps
        .push(gap(Kind::PlacementTimeline, "slices were lost"));
    evidence.gaps.push(gap(Kind::Timeline, "profiles were lost"));
    let page = page(&evidence);
    let entry = between(&page, r#"id="decision-0""#, "</details>");
    assert!(
        entry.contains("<title>not observed, from 00:00:20 UTC (+20 s): slices were lost</title>"),
        "{entry}"
    );
    assert!(!entry.contains("profiles were lost"), "{entry}");
}

#[test]
fn text_of_slices_stays_text() {
    let mut evidence = torn();
    for version in evidence
        .slices
        .iter_mut()
        .flat_map(|history| &mut history.versions)
    {
        let slice = &mut version.object;
        slice.scheduler_name = Some(HOSTILE.into());
        slice.metadata.common.name = format!("{}{HOSTILE}", slice.metadata.name).into();
        slice.metadata.common.labels = Default::default();
        let mut clusters = slice.clusters().to_vec();
        for cluster in &mut clusters {
            cluster.reason = Some(HOSTILE.into());
            if let Some(to) = &mut cluster.cluster_profile_ref {
                to.name = format!("{}{HOSTILE}", to.name).into();
            }
        }
        slice.decisions = Some(clusters.into());
    }
    let page = page(&evidence);
    assert!(
        !page.contains("<script>document") && !page.contains("<svg/onload"),
        "{page}"
    );
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
}

#[test]
fn many_decisions_stay_a_few_megabytes() {
    let clusters: Vec<String> = (0..20).map(|number| format!("cluster-{number}")).collect();
    let mut evidence = decided(&json!({
        "slices": [{"decisions": clusters}],
        "steps": [{"at": "10s", "every": "2s", "times": 5, "change": {"decisions": [{"clusterProfileRef": {"name": "c-${n}"}}]}}],
    }));
    let model = evidence.slices[0].clone();
    evidence.slices = (0..1_000)
        .map(|number| {
            let mut history = model.clone();
            for version in &mut history.versions {
                version.object.metadata.owner_references.clear();
                let metadata = &mut version.object.metadata.common;
                metadata.name = format!("web-{number}").into();
                metadata.labels = Default::default();
                metadata.namespace = format!("apps-{}", number % 90).into();
                metadata.uid = format!("uid-{number}").into();
            }
            history
        })
        .collect();
    // What is found of them takes longer to judge than the page to write.
    let page = page_of(&evidence, &judge(&torn(), &Selection::default()));
    assert!(page.len() < 4 << 20, "{}", page.len());
    assert!(page.contains("50 more namespaces"));
    assert_eq!(page.matches(r#"id="decision-"#).count(), 50);
}
