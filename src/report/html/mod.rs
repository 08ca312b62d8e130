//! The report as one HTML file for people. It needs no network and runs no script.
//!
//! Hub text is only in text and in titles of drawings, shortened and escaped by [`display::shown`]; ids and links
//! consist of rule names. The templates are in `templates/`.

pub(crate) mod display;
mod excerpt;
pub(crate) mod findings;
mod plot;
#[cfg(test)]
mod tests;

use std::io;

use askama::Template;
use evidence::api::Role;
use judge::{Decision, Judgement, RuleVerdict, Verdict, WaiverOutcome, rules::Spendings};

use self::{
    display::{page_style, shown, utc},
    excerpt::ExcerptLine,
    findings::RuleView,
};
use crate::{
    Coverage, Report,
    story::Stories,
    summary::{self, decision, rank, shown_verdict},
    text::{count, thousands},
};

/// The style of the page, after the base.
const STYLE: &str = include_str!("../templates/report/style.css");

const LISTED: usize = 10;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    report: &'a Report<'a>,
    style: String,
    sections: Vec<ReportSection<'a>>,
}

struct ReportSection<'a> {
    id: &'static str,
    heading: &'static str,
    rules: Vec<RuleView<'a>>,
}

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let page = ReportPage {
        report,
        style: page_style(STYLE),
        sections: sections(report),
    };
    page.write_into(&mut into)
}

fn title(judgement: &Judgement) -> String {
    let fails = |number: usize, what: &str| {
        let verb = if number == 1 { "fails" } else { "fail" };
        format!("Not conformant: {} {verb}", count(number, what))
    };
    let tally = &judgement.tally;
    match (judgement.decision, tally.must.failed, tally.should.failed) {
        (Decision::NotConformant, 0, 0) => "Not conformant: a waiver is not in order (strict)".to_owned(),
        (Decision::NotConformant, 0, should) => fails(should, "recommended rule"),
        (Decision::NotConformant, must, _) => fails(must, "required rule"),
        (Decision::Conformant, ..) => "Conformant".to_owned(),
        (Decision::NoViolation, ..) => {
            "No violation found, but not every required rule was judged".to_owned()
        }
        (Decision::Inconclusive, ..) => "Inconclusive".to_owned(),
    }
}

/// All rules: those that fail, those that warn, and the others, the worst first.
fn sections<'a>(report: &Report<'a>) -> Vec<ReportSection<'a>> {
    let stories = Stories::of(report.evidence);
    let spendings = Spendings::of(report.evidence);
    let mut verdicts: Vec<&RuleVerdict> = report.judgement.verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| (rank(shown_verdict(verdict)), verdict.level(), verdict.basis()));
    let section = |id, heading, is_own: fn(Verdict) -> bool| ReportSection {
        id,
        heading,
        rules: verdicts
            .iter()
            .filter(|verdict| is_own(verdict.verdict))
            .map(|verdict| RuleView::of(report, verdict, &stories, &spendings))
            .collect(),
    };
    vec![
        section("failures", "Fix in this order", |verdict| {
            verdict == Verdict::Fail
        }),
        section("warnings", "Warnings", |verdict| verdict == Verdict::Warn),
        section("rules", "Other rules", |verdict| {
            !matches!(verdict, Verdict::Fail | Verdict::Warn)
        }),
    ]
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let header = &report.evidence.header;
    let claim = &header.claim;
    let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(", "));
    let coverage = Coverage::of(report);
    let window = header.window.map(|window| match coverage.watched {
        Some(_) => format!(
            "{} to {}{}",
            utc(window.from),
            window.until.strftime("%H:%M:%S"),
            decision::more(&coverage)
        ),
        None => format!("single snapshot at {}", utc(window.from)),
    });
    let strict = "a violated SHOULD rule counts as a failure".to_owned();
    let facts = [
        ("Implementation", implementation(report)),
        ("Hub", Some(header.hub.source.clone())),
        ("Hub version", header.hub.server_version.clone()),
        ("API version", header.hub.api_version.clone()),
        ("Role", Some(Role::names(claim.roles()).replace(',', ", "))),
        (
            "Edition",
            list(claim.editions().map(|edition| edition.to_string()).collect()),
        ),
        ("Observed", window),
        ("Cost to the hub", summary::cost(report)),
        ("Slowest reactions", summary::slowest_reactions(report)),
        ("Namespaces", list(header.scope.namespaces.clone())),
        ("Cluster manager", header.scope.cluster_manager.clone()),
        ("Scheduler", header.scope.scheduler.clone()),
        (
            "Features claimed",
            list(claim.features.iter().map(ToString::to_string).collect()),
        ),
        (
            "Features declared absent",
            list(claim.no_features.iter().map(ToString::to_string).collect()),
        ),
        ("Consumers", list(claim.consumers.clone())),
        ("Strict", claim.strict.then_some(strict)),
        ("Evidence", report.file.map(str::to_owned)),
        ("Collected by", Some(format!("suite {}", header.suite_version))),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, shown(&value?))))
        .collect()
}

fn implementation(report: &Report) -> Option<String> {
    let about = report.evidence.header.claim.about.implementation.as_ref()?;
    let mut parts = vec![&*about.organization, &about.project, &about.version, &about.url];
    let contact = format!("contact: {}", about.contact.join(", "));
    parts.extend((!about.contact.is_empty()).then_some(&*contact));
    parts.retain(|part| !part.is_empty());
    Some(parts.join(" · "))
}

/// What limits the verdicts, by heading. Headings without a line are omitted.
fn limits(report: &Report) -> Vec<(&'static str, Vec<String>)> {
    let evidence = report.evidence;
    let waivers = &report.judgement.waivers;
    let gaps = evidence.gaps.iter().map(|gap| {
        let object = gap
            .object
            .as_ref()
            .map_or(String::new(), |object| format!(" of {object}"));
        format!("{}{object}: {}", gap.kind, report.with_advice(&gap.reason, None))
    });
    let locked = judge::locked(report.judgement, evidence);
    let not_asked = Coverage::of(report).not_asked.into_iter();
    let not_asked = not_asked.map(|(kind, reason)| {
        let waiting = locked.get(&kind).map_or(0, Vec::len);
        let waiting = if waiting > 0 {
            format!(" ({} not judged without it)", count(waiting, "rule"))
        } else {
            String::new()
        };
        format!("{kind}: {}{waiting}", report.with_advice(&reason, None))
    });
    let limits = [
        ("Requested but unavailable", listed(gaps)),
        (
            "Objects that could not be read",
            listed(evidence.unreadable.iter().map(ToString::to_string)),
        ),
        ("Evidence that was not requested", listed(not_asked)),
        ("Waivers", listed(waivers.iter().map(waiver))),
    ];
    limits
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}

fn waiver(outcome: &WaiverOutcome) -> String {
    let waiver = &outcome.waiver;
    let effect = match outcome.complaint() {
        Some(complaint) => complaint,
        None => format!("waives {}", count(outcome.waived, "finding")),
    };
    format!(
        "{} on {}: {effect}; valid until {}; {} ({})",
        waiver.rule,
        waiver.object.as_deref().unwrap_or("all objects"),
        waiver.expires,
        waiver.reason,
        waiver.link
    )
}

/// The first lines, each once, and the number of the others.
fn listed(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let (mut first, mut more): (Vec<String>, usize) = (Vec::new(), 0);
    for line in lines {
        let line = shown(&line);
        if first.len() >= LISTED {
            more += 1;
        } else if !first.contains(&line) {
            first.push(line);
        }
    }
    if more > 0 {
        first.push(format!("… and {} more", thousands(more)));
    }
    first
}
