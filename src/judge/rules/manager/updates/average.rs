//! How often an object is written on average (KEP-4322 › Scalability implication).

use evidence::{Evidence, Origin, ProfileHistory, api::ClusterProfile};

use super::{
    budget::was_watched,
    log::{Life, Log, Names},
    publishers::{Counted, Users, counted, sure_if},
    spans::{steps_of, tally},
    spendable::Writers,
};
use crate::{
    shared::{
        bucket::{BUDGET, BURST, REFILL_SECONDS},
        changed_fields::changed_fields,
        writes::writes,
    },
    subjects::{Finding, Findings, Profiles},
    time::{Micros, SECOND},
    who::{Seen, Tally},
};

/// Minimum time for a meaningful mean, in seconds (the ledger's 10 min).
const LONG_ENOUGH: i64 = 600;

/// `updates/average-rate`
///
/// The mean interval between the writes on a profile is at least 30 s.
pub(in crate::rules) fn average_rate(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile was observed for 10 min, which an average needs");
    let watched = was_watched(evidence);
    let users = Users::of(evidence);
    let who = Writers::of(evidence);
    let Some(log) = Log::read(evidence, |request| users.count(request)) else {
        findings.note("judged from the watch, where the manager's writes that change a profile count");
        if watched {
            for history in profiles.histories() {
                let mean = Mean::watched(evidence, history);
                let finding = || Finding::on(history.last(), ON_AVERAGE);
                judge_means(&who, &[mean], Tally::default, finding, findings);
            }
        }
        return;
    };
    findings.note("judged from the audit log, where all writes of the manager on a profile count");
    let names = Names::of(evidence);
    for key in names.judged(&log) {
        let is_sure = users.are_known(key, findings);
        let lives = log.lives(key).iter();
        let mut means: Vec<Mean> = lives.map(|life| Mean::logged(life, is_sure)).collect();
        if means.is_empty() {
            means.push(Mean {
                count: 0,
                writes: Vec::new(),
                span: log.seconds.saturating_mul(SECOND),
                is_sure: true,
            });
        }
        if watched {
            let histories = names.histories(key).iter();
            means.extend(histories.map(|history| Mean::watched(evidence, history)));
        }
        let seen = || tally(&who, &steps_of(&names, key, |history| writes(evidence, history)));
        let finding = || Finding::on(names.reference(key), ON_AVERAGE);
        judge_means(&who, &means, seen, finding, findings);
    }
}

const ON_AVERAGE: &str = "on average, the profile is written more often than every 30 s";

/// Writes in a time.
struct Mean<'a> {
    count: usize,
    /// The writes, if they are too many.
    writes: Vec<Seen<'a, ClusterProfile>>,
    span: Micros,
    /// Whether it is known that those who publish profiles wrote.
    is_sure: bool,
}

impl<'a> Mean<'a> {
    /// The mean of one life in the log.
    fn logged(life: &Life<'a>, is_sure: bool) -> Self {
        let mut mean = Self {
            count: life.requests.len(),
            writes: Vec::new(),
            span: life.until - life.from,
            is_sure,
        };
        if mean.is_too_much() {
            mean.writes = life.requests.iter().copied().map(Seen::Request).collect();
        }
        mean
    }

    /// The mean of what the watch saw of a profile, over the time for which it existed in the window.
    fn watched(evidence: &'a Evidence, history: &'a ProfileHistory) -> Self {
        let first = history.versions[0].received();
        let window = evidence.header.window;
        let from = match history.origin {
            Origin::Created | Origin::Relisted => first,
            Origin::Listed => window.map_or(first, |window| window.from),
        };
        let until = history.deleted.or(window.map(|window| window.until));
        let mut mean = Self {
            count: history.versions.len() - 1,
            writes: Vec::new(),
            span: until.unwrap_or(from).as_microsecond() - from.as_microsecond(),
            is_sure: true,
        };
        // Whose writes they are matters only if all together are too many.
        if mean.is_long_enough() && mean.is_too_much() {
            let Counted { writes, is_sure } = counted(evidence, history);
            let steps = writes.iter().map(|write| Seen::Step(write.before, write.after));
            (mean.count, mean.is_sure) = (writes.len(), is_sure);
            mean.writes = steps.collect();
        }
        mean
    }

    fn is_long_enough(&self) -> bool {
        self.span >= LONG_ENOUGH * SECOND
    }

    /// The allowed writes, plus the burst and one second: the ends of the span are no more exact.
    fn allowed(&self) -> i64 {
        BUDGET.allowed(self.span.saturating_add(SECOND))
    }

    fn is_too_much(&self) -> bool {
        i64::try_from(self.count).is_ok_and(|writes| writes > self.allowed())
    }
}

/// Judges one profile: reports the first mean that is too high, and better a sure one.
///
/// `seen` are the steps that the watch saw on the profile. They tell which fields an update of the log changed.
fn judge_means<'a>(
    who: &Writers<'a>,
    means: &[Mean<'a>],
    seen: impl FnOnce() -> Tally,
    finding: impl FnOnce() -> Finding,
    findings: &mut Findings,
) {
    let means: Vec<&Mean> = means.iter().filter(|mean| mean.is_long_enough()).collect();
    if means.is_empty() {
        return;
    }
    findings.examine();
    let too_much = || means.iter().filter(|mean| mean.is_too_much());
    let Some(mean) = too_much().find(|mean| mean.is_sure).or_else(|| too_much().next()) else {
        return;
    };
    let (allowed, seconds) = (mean.allowed(), mean.span / SECOND);
    let by = Tally::of(who, mean.writes.iter().cloned(), changed_fields).with_fields_of(&seen());
    let finding = finding()
        .at("metadata.resourceVersion")
        .expected(format!(
            "at most {allowed} writes in {seconds} s ({BURST} and one every {REFILL_SECONDS} s)"
        ))
        .observed(format!("{} writes in {seconds} s: {by}", mean.count));
    findings.report(sure_if(mean.is_sure, finding));
}
