//! How a consumer reads profiles.

use std::collections::BTreeSet;

use evidence::{Evidence, HubRead, Kind, Request, api::Metadata};
use jiff::{SignedDuration, Timestamp};

use crate::{
    reasons::CONSUMER_NOT_NAMED,
    rules::consumer::support::testbed::{Play, Subject},
    subjects::{Finding, Findings},
    text::counted,
};

/// Writes that follow each other so soon tell reads for each of them from reads now and then.
const SOON: SignedDuration = SignedDuration::from_secs(5);
/// So many writes tell a habit from chance.
const ENOUGH: usize = 10;
/// A read may come between two writes by chance: a watch ends now and then.
const BY_CHANCE: usize = 1;

/// `consumer-hub/watches`
///
/// While a profile is written again and again, the consumer learns of that by a watch: it sends no list for each write, and does not
/// get the other profiles for each. A get of the profile that was written is its own business, and so is a list now and then.
pub(in crate::rules) fn watches(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    if play.testbed.consumer.one_shot {
        findings.not_asked("the consumer does not watch: each piece of its work is a process of its own");
        return;
    }
    let requests = evidence.requests.as_ref().map_or(&[][..], |log| &log.events);
    if play.own_user(requests).is_none() {
        findings.not_asked(CONSUMER_NOT_NAMED);
        return;
    }
    let Some(reads) = &play.testbed.reads else {
        findings.cannot_tell(
            "the audit log has no get, list or watch of ClusterProfiles by the consumer's user, so it may leave them out",
        );
        return;
    };
    findings.nothing_happened("no profile was written ten times, each time soon after the other");
    let selected = play.subjects().iter();
    for subject in selected.filter(|subject| play.is_selected(subject.last)) {
        let metadata = &subject.last.metadata;
        let writes = writes(requests, metadata);
        if writes.len() < ENOUGH {
            continue;
        }
        let others = others(&play, subject, writes[0].0);
        let reads = Reads::between(reads, metadata, &writes, others);
        if reads.after + BY_CHANCE >= writes.len() {
            findings.examine();
            let message = "the consumer reads profiles for each write, and could watch them";
            findings.report(
                Finding::on(subject.last, message)
                    .at("metadata.resourceVersion")
                    .expected("a watch, and no list for each write")
                    .observed(format!(
                        "a list after {} of {}, and {} of other profiles",
                        reads.listed,
                        counted(writes.len(), "write"),
                        counted(reads.gets, "get")
                    )),
            );
        } else if let Some(why) = play.why_missed(Kind::Requests) {
            findings.cannot_tell(why);
        } else {
            findings.examine();
        }
    }
}

/// When a profile was written and soon again, by the log, and when that was.
fn writes(requests: &[Request], metadata: &Metadata) -> Vec<(Timestamp, Timestamp)> {
    let is_its = |request: &&Request| {
        request.is_write()
            && request.changed != Some(false)
            && request.name == metadata.name
            && request.namespace == metadata.namespace
    };
    let times: Vec<Timestamp> = requests.iter().filter(is_its).map(|request| request.at).collect();
    let pairs = times.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|(one, next)| next.duration_since(*one) <= SOON)
        .collect()
}

/// How many other profiles there were, that the consumer selects.
fn others(play: &Play<'_>, subject: &Subject<'_>, at: Timestamp) -> usize {
    let others = play.subjects().iter();
    let others = others.filter(|other| !std::ptr::eq(*other, subject) && play.is_selected(other.last));
    others
        .filter(|other| !other.is_to_come(at.as_microsecond()))
        .count()
}

/// What the consumer read between writes of a profile and the next.
struct Reads {
    /// After how many of them it read all: it listed the profiles of its namespace, or got half of the others. One that is got
    /// again and again may fail.
    after: usize,
    /// After how many of them it listed the profiles of its namespace.
    listed: usize,
    /// How often it got other profiles.
    gets: usize,
}

impl Reads {
    fn between(
        reads: &[HubRead],
        metadata: &Metadata,
        writes: &[(Timestamp, Timestamp)],
        others: usize,
    ) -> Self {
        let (mut after, mut listed, mut gets) = (0, 0, 0);
        for (one, next) in writes {
            let within = |read: &&HubRead| (*one..*next).contains(&read.at);
            let mut is_listed = false;
            let mut got = BTreeSet::new();
            for read in reads.iter().filter(within) {
                if read.name.is_empty() {
                    is_listed |= read.namespace.is_empty() || read.namespace == metadata.namespace;
                } else if read.name != metadata.name {
                    gets += 1;
                    got.insert((&read.namespace, &read.name));
                }
            }
            let got_most = others > 0 && got.len().saturating_mul(2) >= others;
            after += usize::from(is_listed || got_most);
            listed += usize::from(is_listed);
        }
        Self { after, listed, gets }
    }
}
