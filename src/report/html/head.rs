//! The decision and its basis.

use evidence::api::Role;
use judge::{Count, rules::Level};

use super::{
    axis::{machine, span, utc},
    sign::{self, Sign},
    text::shown,
};
use crate::{
    Coverage, Report,
    said::{cost::cost, decision, reactions},
};

/// The top of the page.
pub(super) struct Head {
    pub(super) sign: Sign,
    pub(super) subject: String,
    pub(super) headline: String,
    pub(super) scope: String,
    pub(super) facts: Vec<Fact>,
    pub(super) levels: Vec<LevelRow>,
    pub(super) judged_at: String,
    pub(super) judged_at_machine: String,
    pub(super) version: &'static str,
}

/// Something to know, by name.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The verdicts on the rules of one level, counted.
pub(super) struct LevelRow {
    pub(super) level: Level,
    pub(super) rules: usize,
    /// Each verdict that there may be, and how many there are.
    pub(super) counts: Vec<(Sign, usize)>,
}

impl Head {
    /// Reads it off the report.
    pub(super) fn of(report: &Report) -> Self {
        let tally = &report.judgement.tally;
        Self {
            sign: sign::of_decision(report.judgement.decision),
            subject: report.judgement.subject(),
            headline: shown(&decision::headline(report)),
            scope: shown(&decision::scope(report)),
            facts: facts(report),
            levels: [Level::Must, Level::Should, Level::May]
                .map(|level| LevelRow::of(level, tally.level(level)))
                .into(),
            judged_at: utc(report.judged_at),
            judged_at_machine: machine(report.judged_at),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl LevelRow {
    fn of(level: Level, count: &Count) -> Self {
        use judge::Verdict::{Fail, Inconclusive, NotApplicable, Pass, Skipped, Waived, Warn};
        let counts = [
            (Fail, count.failed),
            (Inconclusive, count.inconclusive),
            (Warn, count.warned),
            (Waived, count.waived),
            (Pass, count.passed),
            (NotApplicable, count.not_applicable),
            (Skipped, count.skipped),
        ];
        Self {
            level,
            rules: count.rules,
            counts: counts.map(|(verdict, number)| (sign::of(verdict), number)).into(),
        }
    }
}

/// What was judged, and by what.
fn facts(report: &Report) -> Vec<Fact> {
    let header = &report.evidence.header;
    let claim = &header.claim;
    let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(", "));
    let names = |features: &std::collections::BTreeSet<evidence::api::Feature>| {
        list(features.iter().map(ToString::to_string).collect())
    };
    let coverage = Coverage::of(report);
    let window = match (coverage.watched, header.window) {
        (Some(window), _) => Some(
            format!(
                "{} to {} ({})",
                utc(window.from),
                window.until.strftime("%H:%M:%S"),
                span(window.seconds())
            ) + &decision::more(&coverage),
        ),
        (None, Some(window)) => Some(format!("single snapshot at {}", utc(window.from))),
        (None, None) => None,
    };
    let editions: Vec<String> = claim.editions().map(|edition| edition.to_string()).collect();
    let facts = [
        ("Implementation", implementation(report)),
        ("Hub", Some(header.hub.source.clone())),
        ("Hub version", header.hub.server_version.clone()),
        ("API version", header.hub.api_version.clone()),
        ("Role", Some(Role::names(claim.roles()).replace(',', ", "))),
        ("Edition", Some(editions.join(", "))),
        ("Observed", window),
        ("Cost to the hub", cost(report)),
        ("Slowest reactions", reactions::in_words(report)),
        ("Namespaces", list(header.scope.namespaces.clone())),
        ("Cluster manager", header.scope.cluster_manager.clone()),
        ("Scheduler", header.scope.scheduler.clone()),
        ("Features claimed", names(&claim.features)),
        ("Features declared absent", names(&claim.no_features)),
        ("Consumers", list(claim.consumers.clone())),
        (
            "Strict",
            claim
                .strict
                .then(|| "a broken SHOULD rule counts as a failure".to_owned()),
        ),
        ("Evidence", report.file.map(str::to_owned)),
        ("Collected by", Some(format!("suite {}", header.suite_version))),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| {
            let value = shown(&value?);
            Some(Fact { name, value })
        })
        .collect()
}

fn implementation(report: &Report) -> Option<String> {
    let made = report.evidence.header.claim.about.implementation.as_ref()?;
    let by = [&made.organization, &made.project, &made.version, &made.url];
    let told = by.into_iter().filter(|part| !part.is_empty());
    let mut told = told.map(String::as_str).collect::<Vec<_>>().join(" · ");
    if !made.contact.is_empty() {
        told += &format!(" (contact: {})", made.contact.join(", "));
    }
    Some(told)
}
