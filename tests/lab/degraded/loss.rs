//! Losses: what a record may lack.

use std::{collections::BTreeSet, mem, sync::Arc};

use evidence::{
    DriverAction, DriverStep, Evidence, History, Kind, Later, LoginCredential, MemberPart, ObjectKey,
    ObjectRef, Origin, Requested, Requests, Settled, StepOutcome, Tracked, Unreadable, Window,
    runs::of_other_runs,
};
use jiff::{SignedDuration, Timestamp};
use proptest::{collection::vec, prelude::*, sample::select};

use self::Loss::*;
use super::less;

/// Milliseconds after the beginning of the window.
type After = i64;
/// The first and the last moment.
type Span = (Timestamp, Timestamp);

#[derive(Clone, Debug)]
pub enum Loss {
    /// Each change arrives so many milliseconds late, in turn.
    Late(Vec<i64>),
    /// A watch is interrupted for so long, and lists again; the watch of this kind is not.
    Gap(Option<Kind>, After, i64),
    /// The watch reports at the end of that time what happened in it.
    Delay(After, i64),
    /// The hub answers no more from then on.
    Silence(After),
    /// The log lacks that time.
    LogHole(After, i64),
    /// The log lacks one of so many requests, those of one user, or all bodies, and does not say so.
    LogLines(usize, usize),
    LogUser(usize),
    LogBodies,
    /// The run requested this evidence in vain, or never.
    Kind(Kind, bool),
    /// Members, or one of them, did not answer for so long, or not about this part.
    Looks(Option<usize>, Option<MemberPart>, After, i64),
    /// This run has no driver: another run did what happened.
    Driver,
    /// A step fails, and its scenario ends with what undoes it; or the driver cannot act so.
    Step(usize),
    Action(usize),
    /// The run began later, ended sooner, or ended sooner and settled.
    Begin(After),
    End(After),
    Settle(After),
    /// Only one namespace is judged, and perhaps other Secrets and namespaces may not be read. Or one profile is unreadable.
    Namespace(usize, bool),
    Profile(usize),
    /// The runner's clock is behind by so many milliseconds, which the run knows, or not.
    Clock(i64, bool),
    /// Only a dump of the last state, with managedFields or without.
    Dump(bool),
}

/// Evidence that may be forbidden to a run, or that it does not request.
const KINDS: [Kind; 10] = [
    Kind::Namespaces,
    Kind::Timeline,
    Kind::Secrets,
    Kind::UnlabelledSecrets,
    Kind::Members,
    Kind::Plugins,
    Kind::Requests,
    Kind::Probe,
    Kind::Writers,
    Kind::PlacementTimeline,
];

fn span() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![0..5_000_i64, 0..40_000_i64, 90_000..150_000_i64, 0..900_000_i64]
}

pub fn losses() -> impl Strategy<Value = Vec<Loss>> {
    let after = || -1_000..1_900_000_i64;
    let late = select(vec![0, 0, 0, 400, 2_000, 5_000, 9_900]);
    let spared = select(vec![
        None,
        None,
        Some(Kind::Timeline),
        Some(Kind::PlacementTimeline),
    ]);
    let member = prop::option::of(0..12_usize);
    let part = prop::option::of(select(&MemberPart::ALL[..]));
    let loss = prop_oneof![
        2 => vec(late, 1..6).prop_map(Late),
        6 => (spared, after(), span()).prop_map(|(spared, at, long)| Gap(spared, at, long)),
        1 => (after(), span()).prop_map(|(at, long)| Delay(at, long)),
        1 => after().prop_map(Silence),
        3 => (after(), prop_oneof![span(), Just(2_000_000)]).prop_map(|(at, long)| LogHole(at, long)),
        1 => (1..8_usize, 0..8_usize).prop_map(|(every, first)| LogLines(every, first)),
        1 => (0..6_usize).prop_map(LogUser),
        1 => Just(LogBodies),
        5 => (select(&KINDS[..]), any::<bool>()).prop_map(|(kind, asked)| Loss::Kind(kind, asked)),
        3 => (member, part, after(), prop_oneof![span(), Just(2_000_000)])
            .prop_map(|(member, part, at, long)| Looks(member, part, at, long)),
        1 => Just(Driver),
        2 => (0..60_usize).prop_map(Step),
        1 => (0..17_usize).prop_map(Action),
        2 => after().prop_map(Begin),
        2 => after().prop_map(End),
        1 => after().prop_map(Settle),
        1 => (0..6_usize, any::<bool>()).prop_map(|(number, reads_all)| Namespace(number, reads_all)),
        1 => (0..80_usize).prop_map(Profile),
        1 => (-200_000..200_000_i64, any::<bool>()).prop_map(|(by, known)| Clock(by, known)),
        1 => any::<bool>().prop_map(Dump),
    ];
    vec(loss, 1..5)
}

/// The record without all that.
pub fn without(whole: &Evidence, losses: &[Loss]) -> Evidence {
    let mut losses = losses.to_vec();
    // What a single snapshot shows counts as settled, so it is the last of a run that was not cut short.
    let is_snapshot = |loss: &Loss| {
        matches!(
            loss,
            Dump(_) | Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _)
        )
    };
    if losses.iter().any(is_snapshot) {
        losses.retain(|loss| !matches!(loss, Silence(_) | End(_) | Settle(_)));
    }
    losses.sort_by_key(Loss::rank);
    let mut record = whole.clone();
    for loss in losses {
        // A dump has no time in which anything could be missed, and of other runs only what they left.
        if record.header.window.is_some() {
            loss.apply(&mut record);
        }
    }
    record
}

impl Loss {
    /// The order: a watch is late with what it reports at all, and a run that ends sees no more.
    fn rank(&self) -> u8 {
        match self {
            Late(_) => 0,
            Driver => 1,
            Begin(_) => 2,
            Gap(..) | Delay(..) => 3,
            Silence(_) => 4,
            End(_) => 5,
            Settle(_) => 6,
            Clock(..) => 8,
            Dump(_) => 9,
            _ => 7,
        }
    }

    fn apply(&self, record: &mut Evidence) {
        let window = record.header.window.expect("no dump");
        let moment = |after: After| {
            (window.from + SignedDuration::from_millis(after)).clamp(window.from, window.until)
        };
        let span = |after: After, long: i64| (moment(after), moment(after.saturating_add(long.max(1))));
        match self {
            Late(late) => {
                let late: Vec<_> = late.iter().copied().map(SignedDuration::from_millis).collect();
                delay(&mut record.profiles, &late, window);
                delay(&mut record.slices, &late, window);
            }
            Gap(spared, at, long) => interrupt(record, *spared, span(*at, *long)),
            Delay(at, long) => {
                let (from, until) = span(*at, *long);
                *record = less::delayed(record, from, until);
            }
            Silence(at) => silence(record, (moment(*at), window.until)),
            LogHole(at, long) => cut_log(record, span(*at, *long)),
            LogLines(every, first) => each_log(record, |log| {
                let mut place = *first;
                log.events.retain(|_| {
                    place += 1;
                    place % (every + 1) != 0
                });
            }),
            LogUser(number) => each_log(record, |log| {
                let users: BTreeSet<_> = log.events.iter().map(|event| Arc::clone(&event.user)).collect();
                let user = users.iter().nth(*number);
                log.events.retain(|event| Some(&event.user) != user);
            }),
            LogBodies => each_log(record, |log| {
                for event in &mut log.events {
                    (event.changed, event.body) = (None, None);
                }
            }),
            Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _) if record.driver.is_some() => {}
            // Without a watch, all other evidence is of a single snapshot, too.
            Loss::Kind(kind @ (Kind::Timeline | Kind::PlacementTimeline), _) => {
                *record = less::without(record, *kind, true);
            }
            Loss::Kind(kind, was_asked) => *record = less::without(record, *kind, *was_asked),
            Looks(member, part, at, long) => mute(record, *member, *part, span(*at, *long)),
            Driver => not_driven(record),
            Step(number) => fail(record, *number),
            Action(number) => lack(record, *number),
            Begin(at) => {
                not_driven(record);
                *record = less::since(record, moment(*at));
                record.logins.retain(|login| login.at >= moment(*at));
                record.endpoint_calls.retain(|call| call.at >= moment(*at));
            }
            End(at) => end(record, moment(*at)),
            Settle(at) => settle(record, window, moment(*at)),
            Namespace(number, reads_all) => {
                not_driven(record);
                narrow(record, *number, *reads_all);
            }
            Profile(number) => unread(record, *number),
            Clock(by, is_known) => {
                *record = less::set_back(record, SignedDuration::from_millis(*by));
                if !is_known {
                    record.header.clock_skew_ms = None;
                }
            }
            Dump(has_writers) => dump(record, window.until, *has_writers),
        }
    }
}

fn delay<T>(histories: &mut [History<T>], late: &[SignedDuration], window: Window) {
    let mut arrivals: Vec<&mut Timestamp> = Vec::new();
    for history in histories {
        let listed = usize::from(history.origin == Origin::Listed);
        let versions = history.versions.iter_mut().skip(listed);
        arrivals.extend(versions.filter_map(|version| version.at.as_mut()));
        arrivals.extend(&mut history.deleted);
    }
    arrivals.sort();
    let mut last = window.from;
    for (at, late) in arrivals.into_iter().zip(late.iter().cycle()) {
        *at = (*at + *late).max(last).min(window.until);
        last = *at;
    }
}

fn interrupt(record: &mut Evidence, spared: Option<Kind>, (from, until): Span) {
    let mut lossy = less::interrupted(record, from, until);
    match spared {
        Some(Kind::Timeline) => lossy.profiles = mem::take(&mut record.profiles),
        Some(_) => lossy.slices = mem::take(&mut record.slices),
        None => {}
    }
    lossy
        .gaps
        .retain(|gap| Some(gap.kind) != spared || record.gaps.contains(gap));
    *record = lossy;
}

/// Nothing of the hub is seen after that moment, though the run goes on.
fn silence(record: &mut Evidence, (at, until): Span) {
    stop(&mut record.profiles, at);
    stop(&mut record.slices, at);
    record.later = Later::default();
    record.header.settled = None;
    for kind in [Kind::Timeline, Kind::PlacementTimeline] {
        record.gaps.push(gap_of(kind, (at, until), "connection refused"));
    }
    forget_what_is_read_last(record, "connection refused");
}

fn gap_of(kind: Kind, (from, until): Span, reason: &'static str) -> evidence::Gap {
    evidence::Gap {
        from: Some(from),
        until: Some(until),
        ..evidence::Gap::of(kind, reason)
    }
}

fn stop<T>(histories: &mut Vec<History<T>>, at: Timestamp) {
    for history in &mut *histories {
        history.versions.retain(|version| version.received() <= at);
        history.deleted = history.deleted.filter(|deleted| *deleted <= at);
    }
    histories.retain(|history| !history.versions.is_empty());
}

/// What is read when the window is over.
fn forget_what_is_read_last(record: &mut Evidence, reason: &'static str) {
    for kind in [Kind::Secrets, Kind::UnlabelledSecrets, Kind::Probe] {
        if matches!(record.requested(kind), Requested::Yes) {
            *record = less::without(record, kind, true);
            if let Some(gap) = record.gaps.last_mut() {
                gap.reason = reason.into();
            }
        }
    }
    record.endpoint_calls.clear();
}

fn each_log(record: &mut Evidence, change: impl Fn(&mut Requests)) {
    let logs = [&mut record.requests, &mut record.slice_requests];
    logs.into_iter().flatten().for_each(change);
}

/// The log lacks that time, and says so.
fn cut_log(record: &mut Evidence, (from, until): Span) {
    if record.requests.is_none() && record.slice_requests.is_none() {
        return;
    }
    let skew = SignedDuration::from_millis(record.header.clock_skew_ms.unwrap_or_default());
    let (from, until) = (from + skew, until + skew);
    each_log(record, |log| {
        log.events.retain(|event| !(from..=until).contains(&event.at));
        if from <= log.covers.from {
            log.covers.from = log.covers.until.min(until);
        }
        if log.covers.until <= until {
            log.covers.until = log.covers.from.max(from);
        }
    });
    record.gaps.push(gap_of(
        Kind::Requests,
        (from, until),
        "a file of the log is missing",
    ));
}

/// Members, or one of them, did not answer within that time, or not about that part.
fn mute(record: &mut Evidence, member: Option<usize>, part: Option<MemberPart>, (from, until): Span) {
    let members = record.members.iter_mut().enumerate();
    for (_, member) in members.filter(|(number, _)| member.is_none_or(|only| only == *number)) {
        let is_mute = |sample: &&mut evidence::MemberSample| from <= sample.until && sample.until <= until;
        for sample in member.samples.iter_mut().filter(is_mute) {
            for part in MemberPart::ALL
                .iter()
                .filter(|each| part.is_none_or(|part| part == **each))
            {
                match part {
                    MemberPart::Version => sample.version = None,
                    MemberPart::Readyz => sample.readyz = None,
                    MemberPart::Leases => sample.leases = None,
                    MemberPart::Nodes => sample.nodes = None,
                    MemberPart::CustomResourceGroups => sample.custom_resource_groups = None,
                    MemberPart::ClusterProperties => sample.cluster_properties = None,
                }
                Arc::make_mut(&mut sample.missing).insert(*part, "no answer".into());
            }
        }
        let has_any = |sample: &evidence::MemberSample| MemberPart::ALL.iter().any(|part| sample.has(*part));
        if !member.samples.is_empty() && !member.samples.iter().any(has_any) {
            member.samples.clear();
            record.gaps.push(evidence::Gap {
                object: Some(member.profile.clone()),
                ..evidence::Gap::of(Kind::Members, "no answer")
            });
        }
    }
}

/// What the run had done was done for another run.
fn not_driven(record: &mut Evidence) {
    if record.driver.take().is_none() {
        return;
    }
    let reason = Requested::No("no driver was given".into());
    record.header.requested.insert(Kind::Driver, reason);
    record.gaps.retain(|gap| gap.kind != Kind::Driver);
    record.header.other_runs = of_other_runs(&record.profiles, None);
}

fn fail(record: &mut Evidence, number: usize) {
    let steps = record.driver.as_mut().map(|driver| &mut driver.steps);
    let Some(steps) = steps.filter(|steps| number < steps.len()) else {
        return;
    };
    steps[number].outcome = StepOutcome::Failed {
        reason: "the hook ended with exit code 1".to_owned(),
    };
    let scenario = steps[number].scenario;
    let mut places = 0..;
    // The driver has its members leave and takes its placements back, whatever failed.
    let undoes = |step: &DriverStep| matches!(step.action, DriverAction::Leave | DriverAction::Unplace);
    steps.retain(|step| places.next() <= Some(number) || step.scenario != scenario || undoes(step));
}

fn lack(record: &mut Evidence, number: usize) {
    let Some(driver) = &mut record.driver else {
        return;
    };
    let Some(action) = driver.available_actions.iter().nth(number).copied() else {
        return;
    };
    driver.available_actions.remove(&action);
    let reason = "the driver file has no such hook".into();
    driver.unavailable_actions.insert(action, reason);
    let lacks: BTreeSet<_> = driver.steps_of(action).map(|step| step.scenario).collect();
    driver.steps.retain(|step| !lacks.contains(&step.scenario));
}

fn end(record: &mut Evidence, at: Timestamp) {
    *record = less::as_of(record, at);
    record.header.cut_short = Some("it was stopped".to_owned());
    record.logins.retain(|login| login.at <= at);
    record.endpoint_calls.retain(|call| call.at <= at);
    forget_what_is_read_last(record, "the run was stopped");
    if let Some(driver) = &mut record.driver {
        driver.steps.retain(|step| step.from <= at);
        for step in &mut driver.steps {
            if step.until > at {
                step.until = at;
                step.outcome = StepOutcome::Failed {
                    reason: "the run was stopped".to_owned(),
                };
            }
            step.observed_until = step.observed_until.min(at);
        }
    }
}

fn settle(record: &mut Evidence, window: Window, at: Timestamp) {
    not_driven(record);
    let mut cut = less::as_of(record, at);
    mem::swap(&mut cut.profiles, &mut record.profiles);
    mem::swap(&mut cut.slices, &mut record.slices);
    mem::swap(&mut cut.gaps, &mut record.gaps);
    cut.header.window = Some(window);
    cut.header.settled = Some(Settled::at_once(window));
    cut.settled_after(at);
    cut.logins.retain(|login| login.at <= at);
    forget_what_is_read_last(&mut cut, "connection refused");
    *record = cut;
}

fn narrow(record: &mut Evidence, number: usize, reads_all: bool) {
    let profiles = record.profiles.iter().map(namespace_of);
    let namespaces: BTreeSet<String> = profiles.chain(record.slices.iter().map(namespace_of)).collect();
    let Some(only) = namespaces.iter().nth(number) else {
        return;
    };
    record.header.scope.namespaces = vec![only.clone()];
    for profiles in [&mut record.profiles, &mut record.later.profiles] {
        profiles.retain(|history| namespace_of(history) == *only);
    }
    for slices in [&mut record.slices, &mut record.later.slices] {
        slices.retain(|history| namespace_of(history) == *only);
    }
    let is_in = |object: &ObjectRef| object.namespace == *only;
    record.probes.retain(|probe| is_in(&probe.object));
    record.members.retain(|member| is_in(&member.profile));
    record.endpoint_calls.retain(|call| is_in(&call.profile));
    record.logins.retain(|login| match &login.credential {
        LoginCredential::Secret(secret) => is_in(&login.profile) && (reads_all || is_in(secret)),
        LoginCredential::Plugin(_) => is_in(&login.profile),
    });
    each_log(record, |log| {
        log.events.retain(|event| *event.namespace == **only)
    });
    if !reads_all {
        record.namespaces.retain(|namespace| namespace.name == *only);
        record.secrets.retain(|secret| secret.namespace == *only);
        record
            .unlabelled_secrets
            .retain(|secret| secret.namespace == *only);
        for permission in &mut record.header.permissions {
            if permission.namespace.is_empty() && ["secrets", "namespaces"].contains(&&*permission.resource) {
                permission.allowed = false;
            }
        }
    }
}

fn namespace_of<T: Tracked>(history: &History<T>) -> String {
    history.last().metadata().namespace.to_string()
}

fn unread(record: &mut Evidence, number: usize) {
    let Some(history) = record.profiles.get(number) else {
        return;
    };
    let object = ObjectRef::from(history.last());
    let key = ObjectKey::from(&object);
    let is_it = |history: &evidence::ProfileHistory| ObjectKey::of(history.last()) == key;
    record.profiles.retain(|history| !is_it(history));
    record.later.profiles.retain(|history| !is_it(history));
    record.unreadable.push(Unreadable {
        object,
        message: "invalid type: string, expected a map".to_owned(),
    });
}

fn dump(record: &mut Evidence, at: Timestamp, has_writers: bool) {
    not_driven(record);
    let held = [
        Kind::Inventory,
        Kind::PlacementDecisions,
        Kind::Namespaces,
        Kind::Secrets,
        Kind::UnlabelledSecrets,
        Kind::Writers,
    ];
    for (kind, asked) in &mut record.header.requested {
        if !held.contains(kind) {
            *asked = Requested::No("a dump has none".into());
        }
    }
    if !has_writers {
        *record = less::without(record, Kind::Writers, false);
    }
    last_state(&mut record.profiles);
    last_state(&mut record.slices);
    record.gaps.retain(|gap| held.contains(&gap.kind));
    record.later = Later::default();
    (record.requests, record.slice_requests) = (None, None);
    record.probes.clear();
    record.members.clear();
    record.logins.clear();
    record.endpoint_calls.clear();
    let header = &mut record.header;
    header.read_at = Some(at);
    (header.window, header.settled, header.clock_skew_ms) = (None, None, None);
}

fn last_state<T>(histories: &mut Vec<History<T>>) {
    histories.retain(|history| history.deleted.is_none());
    for history in histories {
        history.versions.drain(..history.versions.len() - 1);
        history.versions[0].at = None;
        history.origin = Origin::Listed;
    }
}
