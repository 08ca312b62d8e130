//! The budget of all writes on an object (KEP-4322 › Scalability implication).

use evidence::{Evidence, ProfileHistory, Request};

use super::{
    budget::{is_told_by, may_overdraw, moments, seen_to_spend, was_watched},
    log::{Log, Names},
    publishers::{Counted, Users, counted, doubt_unclaimed, sure_if},
    spans::{Span, shown, steps_of},
    spendable::Writers,
};
use crate::{
    shared::{
        bucket::{BUDGET, Spent, TOO_CLOSE, spent},
        writes::writes,
    },
    subjects::{Finding, Findings, Profiles},
};

/// `updates/writes-within-burst`
///
/// All writes that change a profile stay within its token bucket, those of labels and spec included.
///
/// A profile whose status writes alone exceed the budget is the matter of `updates/status-writes-within-budget`. Writes
/// of people and controllers that own neither spec nor status are not held against the manager.
pub(in crate::rules) fn writes_within_burst(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("the status writes alone exceed the budget of every profile");
    let watched = was_watched(evidence);
    let who = Writers::of(evidence);
    let log = ChangeLog::read(evidence).filter(|log| log.tells_changes || !watched);
    let Some(log) = log else {
        if watched {
            for history in profiles.histories() {
                let found = found_by_watch(evidence, &who, history);
                if found.all == Spent::Kept && !found.status {
                    doubt_unclaimed(evidence, history, findings);
                }
                judge(found, || Finding::on(history.last(), TOO_OFTEN), findings);
            }
        }
        return;
    };
    if !log.tells_changes {
        findings.note(
            "the audit log does not show which writes changed a profile, so all of them count: log them at level \
             RequestResponse",
        );
    }
    let names = Names::of(evidence);
    for key in names.judged(&log.all) {
        let are_known = log.users.are_known(key, findings);
        let mut found = Found {
            status: log.status.spent(key).overdraw().is_some(),
            all: log.all.spent(key),
            spans: Vec::new(),
            is_sure: log.tells_changes && are_known,
        };
        if found.all.overdraw().is_some() {
            let steps = steps_of(&names, key, |history| writes(evidence, history));
            found.spans = Span::of_log(evidence, &who, (&log.all, key), &steps);
        }
        let histories = names.histories(key);
        let seen = |history: &&ProfileHistory| counted(evidence, history).writes.len();
        if watched && !is_told_by(&log.all, key, histories.iter().map(seen).sum()) {
            let watched = histories
                .iter()
                .map(|history| found_by_watch(evidence, &who, history));
            found = watched.fold(found, Found::or);
        }
        judge(found, || Finding::on(names.reference(key), TOO_OFTEN), findings);
    }
}

const TOO_OFTEN: &str = "the profile is written more often than the budget allows";

/// What the audit log tells of writes that changed a profile.
struct ChangeLog<'a> {
    /// The writes of those who publish profiles, but those that changed nothing.
    all: Log<'a>,
    /// The status writes among them.
    status: Log<'a>,
    /// Whether it says of each write if it changed anything.
    tells_changes: bool,
    /// The users whose writes they are, where they are known.
    users: Users<'a>,
}

impl<'a> ChangeLog<'a> {
    fn read(evidence: &'a Evidence) -> Option<Self> {
        let users = Users::of(evidence);
        let counts = |request: &'a Request| request.changed != Some(false) && users.count(request);
        let writes = evidence.requests.iter().flat_map(|requests| &requests.events);
        let mut writes = writes.filter(|request| {
            request.is_write() && matches!(&*request.verb, "update" | "patch") && !request.is_the_suites()
        });
        Some(Self {
            all: Log::read(evidence, counts)?,
            status: Log::read(evidence, |request| counts(request) && request.is_status_write())?,
            tells_changes: writes.all(|request| request.changed.is_some()),
            users,
        })
    }
}

/// What overdraws a profile's bucket.
struct Found {
    /// Whether the status writes alone do.
    status: bool,
    /// Whether all writes do.
    all: Spent,
    /// Whether it is known of these that they are changes, and by those who publish profiles.
    is_sure: bool,
    /// The worst spans of the writes that overdraw it.
    spans: Vec<Span>,
}

impl Found {
    /// Both, of which the sure one counts.
    fn or(self, other: Self) -> Self {
        let status = self.status || other.status;
        let weight = |found: &Self| {
            (
                found.all.overdraw().is_some(),
                found.all != Spent::Kept,
                found.is_sure,
            )
        };
        let found = if weight(&other) > weight(&self) {
            other
        } else {
            self
        };
        Self { status, ..found }
    }
}

fn judge(found: Found, finding: impl FnOnce() -> Finding, findings: &mut Findings) {
    if found.status {
        return;
    }
    findings.examine();
    if found.all == Spent::Doubtful && found.is_sure {
        findings.cannot_tell(TOO_CLOSE);
    }
    if let Some(overdraw) = found.all.overdraw() {
        let (expected, observed) = shown(&found.spans, &overdraw, "writes of any kind");
        let finding = finding().at("metadata.resourceVersion");
        let finding = finding.expected(expected).observed(observed);
        findings.report(sure_if(found.is_sure, finding));
    }
}

fn found_by_watch<'e>(evidence: &'e Evidence, who: &Writers<'e>, history: &'e ProfileHistory) -> Found {
    if !may_overdraw(history) {
        return Found {
            status: false,
            all: Spent::Kept,
            is_sure: true,
            spans: Vec::new(),
        };
    }
    let Counted { writes, is_sure } = counted(evidence, history);
    let all = spent(&moments(&writes), BUDGET);
    let is_overdrawn = all.overdraw().is_some();
    Found {
        status: seen_to_spend(evidence, who, history).own.overdraw().is_some(),
        all,
        is_sure,
        spans: if is_overdrawn {
            Span::of_steps(who, &writes, BUDGET)
        } else {
            Vec::new()
        },
    }
}
