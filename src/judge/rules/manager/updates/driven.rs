//! Writes after a restart and in a growing fleet (KEP-4322 › Scalability implication).

use evidence::{
    DriverAction, Evidence, ObjectRef, Origin, ProfileHistory, Request, Scenario, api::ClusterProfile,
};

use super::{log::Log, spendable::Writers};
use crate::{
    shared::{
        answer::{Span, alive, joined_profile, steps},
        bucket::{BUDGET, BURST, REFILL_SECONDS, spent},
        changed_fields::changed_fields,
        writes::{Write, status_writes, writes},
    },
    subjects::{Finding, Findings},
    time::{Event as WriteTime, Micros, SECOND, skew},
    who::{Seen, Tally},
};

/// `updates/restart-within-burst`
///
/// A restart of the manager costs each profile at most one burst of writes.
pub(in crate::rules) fn restart_within_burst(evidence: &Evidence, findings: &mut Findings) {
    let log = Log::read(evidence, Request::is_status_write);
    let who = Writers::of(evidence);
    for step in steps(evidence, findings, Scenario::Restart, DriverAction::Restart) {
        let span = Span::of(evidence, step);
        let mut found = Vec::new();
        let mut examined = 0;
        for history in evidence.histories() {
            if alive(history, span.from).is_none() {
                continue;
            }
            examined += 1;
            let accounts = accounts(evidence, log.as_ref(), history, status_writes);
            let costs = accounts.iter().map(|account| (Cost::of(account, &span), account));
            let worst = costs.max_by_key(|(cost, _)| cost.writes - cost.usual);
            if let Some((cost, account)) = worst.filter(|(cost, _)| cost.writes - cost.usual > BURST) {
                let by = tally(&who, account.within(&span), &accounts, &span);
                found.push(cost.finding(history, &span, &by));
            }
        }
        let doubt = span.cut_short().or_else(|| missed(log.as_ref(), &span));
        if examined == 0 {
            findings.cannot_tell(format!("there was no profile before {}", span.did()));
        } else if let (Some(doubt), true) = (doubt, found.is_empty()) {
            findings.cannot_tell(doubt);
        } else {
            findings.examined += examined;
        }
        found.into_iter().for_each(|finding| findings.report(finding));
    }
}

/// `updates/scale-within-budget`
///
/// When many members join, each gets a profile, and each profile stays within its budget.
pub(in crate::rules) fn scale_within_budget(evidence: &Evidence, findings: &mut Findings) {
    let log = Log::read(evidence, |_| true);
    let who = Writers::of(evidence);
    // With many members, the first doubt stands for all.
    let mut each = Findings::default();
    let joins = steps(evidence, &mut each, Scenario::Scale, DriverAction::Join);
    if !joins.is_empty() {
        each.note(format!("{} members joined", joins.len()));
    }
    for step in joins {
        let Some(profile) = joined_profile(evidence, &mut each, step) else {
            continue;
        };
        let span = Span::of(evidence, step);
        let overdrawn = evidence
            .histories_named(&profile.namespace, &profile.name)
            .find_map(|history| {
                let accounts = accounts(evidence, log.as_ref(), history, writes);
                accounts.iter().find_map(|account| {
                    let within = account.within(&span);
                    let events = within.iter().map(|(at, _)| *at).collect();
                    let found = spent(&events, BUDGET).overdraw()?;
                    let writes = &within[found.places.0..=found.places.1];
                    Some((found, tally(&who, writes.to_vec(), &accounts, &span)))
                })
            });
        if let Some((overdrawn, by)) = overdrawn {
            let histories = evidence.histories_named(&profile.namespace, &profile.name);
            let object: Option<&ClusterProfile> = histories.filter_map(ProfileHistory::current).last();
            each.report(
                Finding::on(
                    object.map_or_else(|| profile.clone(), ObjectRef::from),
                    "a profile is written more often than the budget allows while many members join",
                )
                .at("metadata.resourceVersion")
                .expected(overdrawn.expected())
                .observed(format!("{}: {by}", overdrawn.observed("writes"))),
            );
        } else if let Some(missed) = missed(log.as_ref(), &span) {
            each.cannot_tell(missed);
        }
    }
    each.shorten_doubts();
    *findings = each;
}

/// Why writes may have been missed. A complete audit log makes up for gaps in the watch.
fn missed(log: Option<&Log>, span: &Span) -> Option<String> {
    if log.is_some_and(|log| log.covers_window) {
        None
    } else {
        span.missed(None)
    }
}

/// The writes on a profile from one kind of evidence, by the runner's clock.
struct Account<'a> {
    writes: Vec<(WriteTime, Seen<'a, ClusterProfile>)>,
    /// From when on they show the usual pace.
    since: Micros,
}

/// The writers of some of the writes in a span. What the watch saw there tells which fields an update of the log changed.
fn tally<'a>(
    who: &Writers<'a>,
    writes: Vec<(WriteTime, Seen<'a, ClusterProfile>)>,
    accounts: &[Account<'a>],
    span: &Span,
) -> Tally {
    let watched = accounts.first().map(|watched| watched.within(span));
    let of = |writes: Vec<(WriteTime, Seen<'a, ClusterProfile>)>| {
        Tally::of(who, writes.into_iter().map(|(_, write)| write), changed_fields)
    };
    of(writes).with_fields_of(&of(watched.unwrap_or_default()))
}

impl<'a> Account<'a> {
    /// The writes that certainly happened in a span.
    fn within(&self, span: &Span) -> Vec<(WriteTime, Seen<'a, ClusterProfile>)> {
        let within = |(moment, _): &&(WriteTime, Seen<'a, ClusterProfile>)| {
            moment.earliest >= span.from.as_microsecond() && moment.latest <= span.looked.as_microsecond()
        };
        self.writes.iter().filter(within).cloned().collect()
    }
}

/// The known writes on a profile. A log may omit what the watch saw, and a watch does not see writes that change
/// nothing.
fn accounts<'a>(
    evidence: &'a Evidence,
    log: Option<&Log<'a>>,
    history: &'a ProfileHistory,
    writes: impl Fn(&'a Evidence, &'a ProfileHistory) -> Vec<Write<'a>>,
) -> Vec<Account<'a>> {
    let first = history.versions[0].received();
    let window = evidence.header.window.map_or(first, |window| window.from);
    let since = match history.origin {
        Origin::Listed => window.as_microsecond(),
        Origin::Created | Origin::Relisted => first.as_microsecond().saturating_add(FILLING),
    };
    let watched = Account {
        writes: writes(evidence, history)
            .iter()
            .map(|write| (write.moment, Seen::Step(write.before, write.after)))
            .collect(),
        since,
    };
    let logged = log.zip(evidence.requests.as_ref()).map(|(log, requests)| {
        let metadata = &history.last().metadata;
        let ours = |at: Micros| at.saturating_sub(skew(evidence));
        let lives = log.lives((&metadata.namespace, &metadata.name)).iter();
        Account {
            writes: lives
                .flat_map(|life| life.writes.iter().zip(&life.requests))
                .map(|(write, request)| (write.back(skew(evidence)), Seen::Request(request)))
                .collect(),
            since: ours(requests.covers.from.as_microsecond()).max(watched.since),
        }
    });
    [watched].into_iter().chain(logged).collect()
}

/// Time after its creation in which a profile is filled, so that its pace is unusual.
const FILLING: Micros = 30 * SECOND;

/// Minimum time of observation for a profile's usual pace.
const LONG_ENOUGH: Micros = 60 * SECOND;

/// The writes on a profile since a restart.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// The writes since the restart.
    writes: i64,
    /// The expected writes in the same time without a restart: from an equally long time before or, if that is
    /// unknown, from the average budget.
    usual: i64,
}

impl Cost {
    fn of(account: &Account, span: &Span) -> Self {
        let (from, looked) = (span.from.as_microsecond(), span.looked.as_microsecond());
        let length = looked.saturating_sub(from);
        let begin = from.saturating_sub(length).max(account.since);
        let seen = from.saturating_sub(begin);
        let before = account
            .writes
            .iter()
            .filter(|(moment, _)| moment.earliest < from && moment.latest >= begin);
        let count = |writes: usize| i64::try_from(writes).unwrap_or(i64::MAX);
        Self {
            writes: count(account.within(span).len()),
            usual: if seen < LONG_ENOUGH.min(length) {
                length / (REFILL_SECONDS * SECOND)
            } else {
                rounded_up(count(before.count()).saturating_mul(length), seen)
            },
        }
    }

    fn finding(self, history: &ProfileHistory, span: &Span, by: &Tally) -> Finding {
        let seconds = span.looked.duration_since(span.from).as_secs();
        let usual = match self.usual {
            0 => String::new(),
            usual => format!(" besides its usual {usual}"),
        };
        Finding::on(
            history.last(),
            "a restart of the manager costs a profile more writes than the burst",
        )
        .at("status")
        .expected(format!(
            "at most {BURST} status writes{usual} in the {seconds} s after {}",
            span.did()
        ))
        .observed(format!("{} status writes: {by}", self.writes))
    }
}

fn rounded_up(dividend: i64, divisor: i64) -> i64 {
    match divisor {
        0 => dividend,
        divisor => dividend.saturating_add(divisor - 1) / divisor,
    }
}
