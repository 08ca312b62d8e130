//! Profiles that wait for a consumer when they are deleted.

use evidence::{DriverAction, Evidence, HookCall, Kind, Reason, Request, api::ClusterProfile};

use crate::{
    reasons::CONSUMER_NOT_NAMED,
    rules::consumer::support::{
        testbed::{Play, Subject},
        time::{Known, Micros, Set, While},
        who::{
            Entry, Sender,
            authors::is_by_program,
            entries,
            logged::{Key, logged_key},
        },
        writes::writes_in_words,
    },
    subjects::{Finding, Findings},
    text::redacted,
};

const FINALIZERS: &str = "metadata.finalizers";

/// `consumer-hub/deletion-not-blocked`
///
/// A profile that is deleted goes: a consumer that is uninstalled leaves no finalizer on it. While the consumer runs, its finalizer
/// may hold a profile for as long as it takes to follow a change; longer is a hint, as it may have much to clean up. While it is
/// stopped, nothing is asked: it comes back.
pub(in crate::rules) fn deletion_not_blocked(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was deleted");
    let calls = &play.testbed.hook_calls;
    let uninstall = calls.iter().find(|call| call.action == DriverAction::Uninstall);
    let present = times_of_presence(&play, uninstall);
    let mut may_hold = false;
    for subject in play.subjects() {
        let is_going = |profile: &ClusterProfile| profile.metadata.deletion_timestamp.is_some();
        let going = subject.timeline.while_(is_going);
        let after = uninstall.map(|call| after(call, &going));
        let left = after
            .as_ref()
            .map_or(Known::No, |after| after.lasting(play.settle));
        let is_left = left == Known::Yes;
        let is_slow = play.chance(&going.without(&present.not())).is_some();
        let holder = Holder::of(&play, subject);
        may_hold |= match &holder {
            Holder::Consumer(_) => true,
            Holder::Others => false,
            Holder::Unknown(_) => !going.told().is_empty(),
        };
        if let (Known::Unknown(_), false) = (&left, is_slow) {
            findings.cannot_tell(
                "the watch did not show whether a profile went once the consumer was uninstalled",
            );
            continue;
        }
        // A run that ends early takes the finalizers away itself.
        if let (Some(after), Some(why)) = (&after, play.why_missed(Kind::Testbed))
            && !is_left
            && !after.told().is_empty()
        {
            findings.cannot_tell(why);
            continue;
        }
        if !is_left && !is_slow {
            if !going.told().is_empty() || !subject.timeline.absent().told().is_empty() {
                findings.examine();
            }
            continue;
        }
        let writes = match holder {
            Holder::Consumer(writes) => writes,
            Holder::Others => continue,
            Holder::Unknown(why) => {
                findings.cannot_tell(why);
                continue;
            }
        };
        findings.examine();
        let finding = |message: &str| {
            Finding::on(subject.last, message)
                .at(FINALIZERS)
                .expected("none of the consumer's, so that the profile goes")
                .observed(writes_in_words(Sender::of(writes[0]).name, &writes))
        };
        // A person may borrow the consumer's user.
        let is_sure = writes.iter().all(|write| is_by_program(write));
        findings.report(match (is_left, is_sure) {
            (true, true) => finding("the consumer's finalizer holds a profile after it was uninstalled"),
            (true, false) => {
                finding("the consumer's finalizer holds a profile after it was uninstalled").advisory()
            }
            (false, _) => finding("the consumer's finalizer holds a profile for long").advisory(),
        });
    }
    let doubt = match uninstall.map(|call| call.failure.as_deref()) {
        Some(None) => return,
        Some(Some(failure)) => format!("the hook `uninstall` failed: {}", redacted(failure)),
        None => "profiles had finalizers, and the run has no hook that uninstalls the consumer".to_owned(),
    };
    if may_hold {
        findings.cannot_tell_unless_found(doubt);
    }
}

/// When the consumer was there and ran, as far as hooks say.
fn times_of_presence(play: &Play<'_>, uninstall: Option<&HookCall>) -> Set {
    let gone = uninstall.map(|call| (call.from.as_microsecond(), Micros::MAX));
    Set::of(play.times_away().chain(gone)).not()
}

/// While a profile was about to go, and nobody was left who would let it.
fn after(uninstall: &HookCall, going: &While) -> While {
    let until = match uninstall.failure {
        None => uninstall.until.as_microsecond(),
        Some(_) => Micros::MAX,
    };
    going.without(&Set::of([(Micros::MIN, until)]))
}

/// Who set finalizers on a profile.
enum Holder<'e> {
    /// The consumer, by these writes, and nobody else.
    Consumer(Vec<&'e Request>),
    /// Others alone, or nobody.
    Others,
    /// The log does not tell.
    Unknown(Reason),
}

impl<'e> Holder<'e> {
    fn of(play: &Play<'e>, subject: &Subject<'e>) -> Self {
        if let Some(why) = play.why_missed(Kind::Requests) {
            return Self::Unknown(why);
        }
        if !subject.is_seen_from_its_creation() {
            return Self::Unknown("others may have set finalizers on a profile before the run looked".into());
        }
        let requests = play.evidence.requests.as_ref().map_or(&[][..], |log| &log.events);
        if play.own_user(requests).is_none() {
            return Self::Unknown(CONSUMER_NOT_NAMED);
        }
        let metadata = &subject.last.metadata;
        let key: Key<'_> = (&metadata.namespace, &metadata.name);
        let counts = |request: &&Request| {
            logged_key(request) == key
                && request.is_write()
                && request.subresource.is_empty()
                && request.changed != Some(false)
                && matches!(&*request.verb, "create" | "update" | "patch")
                && !request.is_the_suites()
        };
        let writes: Vec<&Request> = requests.iter().filter(counts).collect();
        if writes.iter().any(|write| write.body.is_none()) {
            return Self::Unknown("the audit log has no bodies, which tell who sets finalizers".into());
        }
        if is_held_by_others(play, subject) {
            return Self::Others;
        }
        let sets = |write: &&Request| {
            let parts = write.body.iter().flat_map(|body| &body.parts);
            parts.into_iter().any(|part| part == FINALIZERS)
        };
        let setters = writes.into_iter().filter(sets);
        let (own, others): (Vec<_>, Vec<_>) = setters.partition(|write| play.is_consumers(write));
        match (own.is_empty(), others.is_empty()) {
            (true, _) => Self::Others,
            (false, true) => Self::Consumer(own),
            (false, false) => Self::Unknown(
                "others than the consumer set finalizers, too: nobody knows whose is left".into(),
            ),
        }
    }
}

/// Whether all finalizers that held a profile came with writes of the run's, by its field managers: a webhook adds its own to
/// what others write. Who writes a whole profile writes those, too.
fn is_held_by_others(play: &Play<'_>, subject: &Subject<'_>) -> bool {
    let deleted = play
        .versions_of(subject)
        .filter(|profile| profile.metadata.deletion_timestamp.is_some());
    let owners = deleted.map(|profile| {
        let owners = entries(profile).filter(|entry| entry.owned(|part| part == FINALIZERS).is_some());
        owners.collect::<Vec<_>>()
    });
    let last = owners.filter(|owners| !owners.is_empty()).last();
    last.is_some_and(|owners| owners.into_iter().all(Entry::is_the_suites))
}
