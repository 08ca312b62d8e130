//! The board: one HTML page that compares implementations by their submitted reports: for each role its versions, its
//! rules, and their findings.
//!
//! Reports and evidence come from other people. The page escapes and shortens their text, runs no script, and shows
//! verdicts on rules only of evidence that was judged again: in green only if that reproduced the report.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, io};

use askama::Template;
use evidence::api::{Edition, Role};
use jiff::{Timestamp, civil::Date};
use judge::{
    Decision, RuleVerdict, Verdict, WaiverOutcome,
    rules::{self, Finding, Level, Rule},
};
use semver::Version as Semver;

use crate::{
    EditionDecision, Report,
    html::display::{Sign, brief, page_style, shown},
    submitted::{Check, ConformanceReport, Fitness, UnreadableFolder, trend},
    summary::{decision, findings::alike, rank, shown_verdict},
};

const STYLE: &str = include_str!("../templates/board.css");

/// A pass in a report that its evidence does not reproduce.
const UNPROVEN_PASS: Sign = Sign::new("none", "○", "pass, not verified");

/// How many differences from its evidence the board shows for a report, and how many characters of each side.
const SHOWN_DIFFERENCES: usize = 3;
const LONGEST_DIFFERENCE: usize = 60;

/// How many kinds of findings the board shows for a rule.
const SHOWN_FINDINGS: usize = 5;

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage<'a> {
    style: String,
    sections: Vec<BoardSection<'a>>,
    unreadable: &'a [UnreadableFolder],
}

/// A submitted report, checked, and its verdicts.
#[derive(Debug)]
pub struct BoardEntry {
    /// The folder, relative to the folder of all reports, with `/` between its parts.
    pub folder: String,
    /// The report.
    pub document: ConformanceReport,
    /// The result of checking it.
    pub check: Check,
    /// Its verdicts by the edition of the report, then by other editions of the same role, from the same evidence.
    pub editions: Vec<EditionResult>,
}

/// The verdicts of one report by one edition.
#[derive(Debug)]
pub struct EditionResult {
    decision: EditionDecision,
    rules: BTreeMap<&'static str, RuleResult>,
}

#[derive(Debug)]
struct RuleResult {
    verdict: Verdict,
    reason: Option<String>,
    /// The first finding of each kind, and how many more objects have the same.
    findings: Vec<(Finding, usize)>,
    /// How many findings are not in `findings`.
    hidden: usize,
}

/// All that the page shows of a role.
struct BoardSection<'a> {
    role: Role,
    editions: Vec<Edition>,
    versions: Vec<BoardVersion<'a>>,
    /// The rules that fail, then those that differ between versions.
    leading: Vec<&'static Rule>,
    rest: Vec<&'static Rule>,
}

struct BoardVersion<'a> {
    entry: &'a BoardEntry,
    /// The report on the previous version.
    previous: Option<&'a BoardEntry>,
}

/// A verdict on a rule, and the editions that share it.
struct VerdictMark {
    sign: Sign,
    /// `better` or `worse` than in the previous version; else empty.
    trend: &'static str,
    editions: String,
}

/// Writes the page. The same reports in any order give the same bytes.
pub fn write(
    entries: &[BoardEntry],
    unreadable: &[UnreadableFolder],
    mut into: impl io::Write,
) -> io::Result<()> {
    let sections = Role::ALL.into_iter().map(|role| BoardSection::new(role, entries));
    let page = BoardPage {
        style: page_style(STYLE),
        sections: sections.filter(|section| !section.versions.is_empty()).collect(),
        unreadable,
    };
    page.write_into(&mut into)
}

impl EditionResult {
    /// The verdicts and findings of evidence that was judged again, decided by the rules until that day.
    /// `waivers` are those whose lack of effect counts: none for another edition than the report's own.
    pub fn judged(report: &Report, waivers: &[WaiverOutcome], rules_as_of: Option<Date>) -> Self {
        let strict = report.evidence.header.claim.strict;
        let verdicts = report.judgement.verdicts.iter();
        Self {
            decision: EditionDecision::of(report.judgement, waivers, strict, rules_as_of),
            rules: verdicts
                .map(|verdict| (verdict.rule.id, RuleResult::judged(report, verdict)))
                .collect(),
        }
    }

    /// The decision that a report without readable evidence claims.
    pub fn claimed(document: &ConformanceReport) -> Self {
        Self {
            decision: EditionDecision {
                edition: document.edition,
                decision: Some(document.decision),
                decision_explicit: None,
            },
            rules: BTreeMap::new(),
        }
    }

    /// The decision by explicit rules alone; empty if it is not known.
    fn explicit(&self) -> String {
        let decision = self.decision.decision_explicit;
        decision.map_or_else(String::new, |decision| {
            Sign::of_decision(decision).word.to_owned()
        })
    }
}

impl RuleResult {
    fn judged(report: &Report, verdict: &RuleVerdict) -> Self {
        let waived = verdict.waived.iter().map(|(finding, _)| finding);
        let groups = alike(verdict.findings.iter().chain(waived));
        let hidden = groups.iter().skip(SHOWN_FINDINGS);
        let hidden: usize = hidden.map(|group| group.findings.len()).sum();
        let shown_groups = groups.iter().take(SHOWN_FINDINGS);
        let findings = shown_groups.map(|group| (group.first().clone(), group.findings.len() - 1));
        Self {
            verdict: shown_verdict(verdict),
            reason: report.reason(verdict).map(|reason| shown(&reason)),
            findings: findings.collect(),
            hidden,
        }
    }
}

impl<'a> BoardSection<'a> {
    fn new(role: Role, entries: &'a [BoardEntry]) -> Self {
        let versions = versions(
            entries
                .iter()
                .filter(|entry| entry.document.edition.role() == role),
        );
        let is_judged = |edition: &Edition| {
            versions
                .iter()
                .any(|version| version.entry.result(edition).is_some())
        };
        let editions = role.editions().filter(is_judged).collect();
        let has_verdict = |rule: &&Rule| versions.iter().any(|version| !version.marks(rule).is_empty());
        let rules = rules::all().iter().filter(has_verdict);
        let (mut leading, passing): (Vec<_>, Vec<_>) = rules.partition(|rule| fails(&versions, rule));
        let (differing, rest): (Vec<_>, Vec<_>) =
            passing.into_iter().partition(|rule| differs(&versions, rule));
        leading.extend(differing);
        Self {
            role,
            editions,
            versions,
            leading,
            rest,
        }
    }

    /// The level of a rule; if the editions differ, all of its levels.
    fn level(&self, rule: &Rule) -> String {
        let editions = self.editions.iter();
        let levels = editions.filter_map(|edition| Some(rule.facts.in_edition(*edition)?.level.name()));
        let mut levels: Vec<&str> = levels.collect();
        levels.dedup();
        levels.join(" or ")
    }
}

fn fails(versions: &[BoardVersion], rule: &Rule) -> bool {
    let results = versions.iter().flat_map(|version| version.entry.results(rule));
    results
        .into_iter()
        .any(|(_, result)| result.verdict == Verdict::Fail)
}

fn differs(versions: &[BoardVersion], rule: &Rule) -> bool {
    let words =
        |version: &BoardVersion| Vec::from_iter(version.marks(rule).iter().map(|mark| mark.sign.word));
    let words = versions.iter().map(words).filter(|words| !words.is_empty());
    Vec::from_iter(words).windows(2).any(|pair| pair[0] != pair[1])
}

/// Sorts reports by implementation and version, and gives each the report on the previous version.
fn versions<'a>(entries: impl Iterator<Item = &'a BoardEntry>) -> Vec<BoardVersion<'a>> {
    let mut entries: Vec<&BoardEntry> = entries.collect();
    entries.sort_by_cached_key(|entry| (entry.implementation(), entry.version_order()));
    let mut previous: Option<&BoardEntry> = None;
    let versions = entries.into_iter().map(|entry| BoardVersion {
        entry,
        previous: previous
            .replace(entry)
            .filter(|earlier| earlier.implementation() == entry.implementation()),
    });
    versions.collect()
}

impl BoardEntry {
    fn holds(&self) -> bool {
        self.check.fitness == Fitness::Holds
    }

    fn result(&self, edition: &Edition) -> Option<&EditionResult> {
        let mut results = self.editions.iter();
        results.find(|result| result.decision.edition == *edition)
    }

    fn results(&self, rule: &Rule) -> Vec<(Edition, &RuleResult)> {
        let editions = self.editions.iter();
        let results = editions.filter_map(|of| Some((of.decision.edition, of.rules.get(rule.id)?)));
        results.collect()
    }

    /// Identifies the implementation: its name in lower case to sort by, name, organization, and parent folder. The
    /// folder prevents that a report elsewhere becomes a version of this implementation.
    fn implementation(&self) -> [String; 4] {
        let folder = &self.folder;
        let parent = folder.rsplit_once('/').map_or(&**folder, |(parent, _)| parent);
        let about = self.document.about.implementation.as_ref();
        let project = about.map_or("", |about| about.project.trim());
        let project = shown(if project.is_empty() { parent } else { project });
        let organization = about.map_or_else(String::new, |about| shown(about.organization.trim()));
        [project.to_lowercase(), project, organization, parent.to_owned()]
    }

    fn version(&self) -> &str {
        let about = self.document.about.implementation.as_ref();
        about.map_or("", |about| about.version.trim())
    }

    /// Sorts by semantic version; versions that are not semantic come first, by date.
    fn version_order(&self) -> (Option<Semver>, Timestamp, String) {
        let version = self.version();
        let semantic = Semver::parse(version.strip_prefix('v').unwrap_or(version)).ok();
        (semantic, self.document.date, self.folder.clone())
    }
}

impl BoardVersion<'_> {
    fn name(&self) -> String {
        let [_, project, ..] = self.entry.implementation();
        format!("{project} {}", shown(self.entry.version()))
    }

    /// Encodes the folder in letters, digits, `.`, `-`, `/`, and `_`.
    fn anchor(&self) -> String {
        let encode = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'/' => char::from(byte).to_string(),
            _ => format!("_{byte:02x}"),
        };
        self.entry.folder.bytes().map(encode).collect()
    }

    fn submitter(&self) -> String {
        let by = self.entry.document.about.submitted_by.as_ref();
        by.map_or("not stated".to_owned(), |by| shown(by.organization.trim()))
    }

    /// What was real of the hub, the members, and the agents.
    fn environment(&self) -> [String; 3] {
        let environment = self.entry.document.about.environment.clone();
        environment
            .unwrap_or_default()
            .parts()
            .map(|(part, statement)| match statement {
                Some(statement) => format!("{part}: {}", shown(&statement.to_string())),
                None => format!("{part}: not stated"),
            })
    }

    fn verification(&self) -> Sign {
        match self.entry.check.fitness {
            Fitness::Holds => Sign::new("pass", "✓", "verified"),
            Fitness::NotVerified => Sign::new("doubt", "?", "not verified"),
            Fitness::DoesNotHold => Sign::new("fail", "✕", "does not hold"),
        }
    }

    /// The first differences between the report and its evidence.
    fn differences(&self) -> Vec<String> {
        let differences = self.entry.check.differences.iter();
        let quoted = differences.take(SHOWN_DIFFERENCES).map(|change| {
            let [old, new] =
                [change.old_text(), change.new_text()].map(|side| brief(&side, LONGEST_DIFFERENCE));
            format!("{}: the report says {old}, the evidence {new}", shown(&change.at))
        });
        quoted.collect()
    }

    fn decision(&self, result: &EditionResult) -> Sign {
        let decision = result.decision.decision.unwrap_or(Decision::Inconclusive);
        let decision = Sign::of_decision(decision);
        match self.entry.check.fitness {
            Fitness::Holds => decision,
            Fitness::NotVerified => Sign::new("none", "○", decision.word),
            Fitness::DoesNotHold => self.verification(),
        }
    }

    fn marks(&self, rule: &Rule) -> Vec<VerdictMark> {
        let mut marks: Vec<VerdictMark> = Vec::new();
        for (edition, result) in self.entry.results(rule) {
            let sign = match result.verdict {
                Verdict::Pass if !self.entry.holds() => UNPROVEN_PASS,
                verdict => Sign::of(verdict),
            };
            let trend = self.trend(rule, edition, result.verdict);
            match marks
                .iter_mut()
                .find(|mark| (mark.sign, mark.trend) == (sign, trend))
            {
                Some(mark) => mark.editions += &format!(", {edition}"),
                None => marks.push(VerdictMark {
                    sign,
                    trend,
                    editions: edition.to_string(),
                }),
            }
        }
        marks
    }

    /// Compares with the previous version, if both reports are verified.
    fn trend(&self, rule: &Rule, edition: Edition, verdict: Verdict) -> &'static str {
        let previous = self
            .previous
            .filter(|previous| previous.holds() && self.entry.holds());
        let result = previous.and_then(|previous| previous.result(&edition)?.rules.get(rule.id));
        result.map_or("", |result| trend(result.verdict, verdict))
    }

    /// The different reasons and findings of a rule by all editions; empty if it passed or was not judged.
    fn open_results(&self, rule: &Rule) -> Vec<&RuleResult> {
        let mut open: Vec<&RuleResult> = Vec::new();
        for (_, result) in self.entry.results(rule) {
            let is_open = rank(result.verdict) < rank(Verdict::Pass);
            let content = (&result.findings, &result.reason);
            if is_open && !open.iter().any(|one| (&one.findings, &one.reason) == content) {
                open.push(result);
            }
        }
        open
    }
}

impl EditionResult {
    /// The verdicts on MUST rules, or on all others: `16 pass, 1 fails`.
    fn counts(&self, is_must: bool) -> String {
        let is_counted = |id: &str| {
            let applies = rules::find(id).and_then(|rule| rule.facts.in_edition(self.decision.edition));
            applies.is_some_and(|applies| (applies.level == Level::Must) == is_must)
        };
        let results = self.rules.iter().filter(|(id, _)| is_counted(id));
        decision::verdicts_in_words(results.map(|(_, result)| (result.verdict, false)))
    }
}
