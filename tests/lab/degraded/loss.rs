//! What a record may lack of what happened.

use std::{collections::BTreeSet, mem, sync::Arc};

use evidence::{
    Asked, DriverAction, DriverStep, Evidence, Gap, History, Kind, Later, LoginWith, MemberPart, ObjectKey,
    ObjectRef, Origin, Requests, Settled, StepOutcome, Tracked, Unreadable, Window, runs::of_other_runs,
};
use jiff::{SignedDuration, Timestamp};
use proptest::{collection::vec, prelude::*, sample::select};

use super::less;

/// Milliseconds after the beginning of the window.
type After = i64;

/// One loss.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Each change is told so many milliseconds late, in turn.
    Late(Vec<i64>),
    /// A watch is interrupted for so long, and lists again.
    Gap(Watch, After, i64),
    /// The watch tells at the end of that time what happened in it.
    Delay(After, i64),
    /// The hub answers no more from then on.
    Silence(After),
    /// The log is there from then on, until then, or without so much of it.
    LogFrom(After),
    LogUntil(After),
    LogHole(After, i64),
    /// Without a word, the log lacks one of so many requests, or those of one user.
    LogLines(usize, usize),
    LogUser(usize),
    LogBodies,
    /// The run asked for this evidence in vain, or never.
    Kind(Kind, bool),
    /// Members did not answer for so long, one of them never, or none told this part.
    Looks(After, i64),
    Member(usize),
    Part(MemberPart),
    /// Nobody drove this run: what happened was done for another one.
    Driver,
    /// A step fails, and its scenario ends with what undoes it; or the driver cannot act so.
    Step(usize),
    Action(usize),
    /// The run began later, ended sooner, or ended sooner and looked on.
    Begin(After),
    End(After),
    Settle(After),
    /// Only one namespace is judged, and perhaps Secrets and namespaces of others may not be read. Or one profile cannot be read.
    Namespace(usize, bool),
    Profile(usize),
    /// The runner's clock is behind by so many milliseconds, which the run knows, or not.
    Clock(i64, bool),
    /// Only a dump of the last state, with managedFields or without.
    Dump(bool),
}

/// What is watched.
#[derive(Clone, Copy, Debug)]
pub enum Watch {
    Both,
    Profiles,
    Slices,
}

/// What may be forbidden to a run, or that nobody asks for.
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

/// Why watches are interrupted.
const CAUSES: [&str; 3] = [
    "the watch was interrupted",
    "the hub had forgotten what the watch had not yet told",
    "the last list shows what the watch did not tell",
];

fn span() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![0..5_000_i64, 0..40_000_i64, 90_000..150_000_i64, 0..900_000_i64]
}

/// All losses.
pub fn losses() -> impl Strategy<Value = Vec<Loss>> {
    let after = || -1_000..1_900_000_i64;
    let late = select(vec![0, 0, 0, 400, 2_000, 5_000, 9_900]);
    let loss = prop_oneof![
        2 => vec(late, 1..6).prop_map(Loss::Late),
        6 => (select(vec![Watch::Both, Watch::Both, Watch::Profiles, Watch::Slices]), after(), span())
            .prop_map(|(watch, at, long)| Loss::Gap(watch, at, long)),
        1 => (after(), span()).prop_map(|(at, long)| Loss::Delay(at, long)),
        1 => after().prop_map(Loss::Silence),
        1 => after().prop_map(Loss::LogFrom),
        1 => after().prop_map(Loss::LogUntil),
        1 => (after(), span()).prop_map(|(at, long)| Loss::LogHole(at, long)),
        1 => (1..8_usize, 0..8_usize).prop_map(|(every, first)| Loss::LogLines(every, first)),
        1 => (0..6_usize).prop_map(Loss::LogUser),
        1 => Just(Loss::LogBodies),
        5 => (select(&KINDS[..]), any::<bool>()).prop_map(|(kind, asked)| Loss::Kind(kind, asked)),
        1 => (after(), span()).prop_map(|(at, long)| Loss::Looks(at, long)),
        1 => (0..12_usize).prop_map(Loss::Member),
        1 => select(&MemberPart::ALL[..]).prop_map(Loss::Part),
        1 => Just(Loss::Driver),
        2 => (0..60_usize).prop_map(Loss::Step),
        1 => (0..17_usize).prop_map(Loss::Action),
        2 => after().prop_map(Loss::Begin),
        2 => after().prop_map(Loss::End),
        1 => after().prop_map(Loss::Settle),
        1 => (0..6_usize, any::<bool>()).prop_map(|(number, reads_all)| Loss::Namespace(number, reads_all)),
        1 => (0..80_usize).prop_map(Loss::Profile),
        1 => (-200_000..200_000_i64, any::<bool>()).prop_map(|(by, known)| Loss::Clock(by, known)),
        1 => any::<bool>().prop_map(Loss::Dump),
    ];
    vec(loss, 1..5)
}

/// The record without all that.
pub fn without(whole: &Evidence, losses: &[Loss]) -> Evidence {
    let mut losses = losses.to_vec();
    // What one look shows counts as settled, so it is the last of a run that was not cut short.
    if losses.iter().any(Loss::is_one_look) {
        losses.retain(|loss| !loss.is_cut());
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
    /// Losses come in turn: a watch tells late what it tells at all, and a run that ends sees no more.
    fn rank(&self) -> u8 {
        match self {
            Loss::Late(_) => 0,
            Loss::Driver => 1,
            Loss::Begin(_) => 2,
            Loss::Gap(..) | Loss::Delay(..) => 3,
            Loss::Silence(_) => 4,
            Loss::End(_) => 5,
            Loss::Settle(_) => 6,
            Loss::Clock(..) => 8,
            Loss::Dump(_) => 9,
            _ => 7,
        }
    }

    fn is_one_look(&self) -> bool {
        matches!(
            self,
            Loss::Dump(_) | Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _)
        )
    }

    fn is_cut(&self) -> bool {
        matches!(self, Loss::Silence(_) | Loss::End(_) | Loss::Settle(_))
    }

    fn apply(&self, record: &mut Evidence) {
        let window = record.header.window.expect("no dump");
        let moment = |after: After| {
            (window.from + SignedDuration::from_millis(after)).clamp(window.from, window.until)
        };
        let span = |after: After, long: i64| (moment(after), moment(after.saturating_add(long.max(1))));
        match self {
            Loss::Late(late) => {
                let late: Vec<_> = late
                    .iter()
                    .map(|late| SignedDuration::from_millis(*late))
                    .collect();
                delay(&mut record.profiles, &late, window);
                delay(&mut record.slices, &late, window);
            }
            Loss::Gap(watch, at, long) => {
                interrupt(record, *watch, span(*at, *long), CAUSES[(*long % 3) as usize])
            }
            Loss::Delay(at, long) => {
                let (from, until) = span(*at, *long);
                *record = less::delayed(record, from, until);
            }
            Loss::Silence(at) => silence(record, moment(*at)),
            Loss::LogFrom(at) => cut_log(record, (window.from, moment(*at)), "the audit log begins later"),
            Loss::LogUntil(at) => cut_log(record, (moment(*at), window.until), "the audit log ends sooner"),
            Loss::LogHole(at, long) => {
                cut_log(record, span(*at, *long), "a file of the audit log is missing")
            }
            Loss::LogLines(every, first) => each_log(record, |log| {
                let mut place = *first;
                log.events.retain(|_| {
                    place += 1;
                    place % (every + 1) != 0
                });
            }),
            Loss::LogUser(number) => each_log(record, |log| {
                let users: BTreeSet<_> = log.events.iter().map(|event| Arc::clone(&event.user)).collect();
                if let Some(user) = users.iter().nth(*number) {
                    log.events.retain(|event| event.user != *user);
                }
            }),
            Loss::LogBodies => each_log(record, |log| {
                for event in &mut log.events {
                    (event.changed, event.body) = (None, None);
                }
            }),
            Loss::Kind(Kind::Timeline | Kind::PlacementTimeline, _) if record.driver.is_some() => {}
            // Without the wish to watch, all else is of one look, too.
            Loss::Kind(kind @ (Kind::Timeline | Kind::PlacementTimeline), _) => {
                *record = less::without(record, *kind, true);
            }
            Loss::Kind(kind, was_asked) => *record = less::without(record, *kind, *was_asked),
            Loss::Looks(at, long) => {
                let (from, until) = span(*at, *long);
                mute(record, &MemberPart::ALL, |at| from <= at && at <= until);
            }
            Loss::Part(part) => mute(record, &[*part], |_| true),
            Loss::Member(number) => {
                if let Some(member) = record.members.get_mut(*number) {
                    member.looks.clear();
                    record.gaps.push(Gap {
                        object: Some(member.profile.clone()),
                        ..Gap::of(Kind::Members, "connection refused")
                    });
                }
            }
            Loss::Driver => not_driven(record),
            Loss::Step(number) => fail(record, *number),
            Loss::Action(number) => lack(record, *number),
            Loss::Begin(at) => {
                not_driven(record);
                *record = less::since(record, moment(*at));
                record.logins.retain(|login| login.at >= moment(*at));
                record.endpoint_calls.retain(|call| call.at >= moment(*at));
            }
            Loss::End(at) => end(record, moment(*at)),
            Loss::Settle(at) => settle(record, moment(*at)),
            Loss::Namespace(number, reads_all) => {
                not_driven(record);
                narrow(record, *number, *reads_all);
            }
            Loss::Profile(number) => unread(record, *number),
            Loss::Clock(by, is_known) => {
                *record = less::set_back(record, SignedDuration::from_millis(*by));
                if !is_known {
                    record.header.clock_skew_ms = None;
                }
            }
            Loss::Dump(has_writers) => dump(record, window.until, *has_writers),
        }
    }
}

fn delay<T>(histories: &mut [History<T>], late: &[SignedDuration], window: Window) {
    let listed = |history: &History<T>| usize::from(history.origin == Origin::Listed);
    let mut arrivals: Vec<&mut Timestamp> = histories
        .iter_mut()
        .flat_map(|history| {
            let listed = listed(history);
            let versions = history
                .versions
                .iter_mut()
                .skip(listed)
                .filter_map(|version| version.at.as_mut());
            versions.chain(&mut history.deleted)
        })
        .collect();
    arrivals.sort();
    let mut last = window.from;
    for (at, late) in arrivals.into_iter().zip(late.iter().cycle()) {
        *at = (*at + *late).max(last).min(window.until);
        last = *at;
    }
}

fn interrupt(
    record: &mut Evidence,
    watch: Watch,
    (from, until): (Timestamp, Timestamp),
    cause: &'static str,
) {
    let mut lossy = less::interrupted(record, from, until);
    let spared = match watch {
        Watch::Both => None,
        Watch::Profiles => {
            lossy.slices = mem::take(&mut record.slices);
            Some(Kind::PlacementTimeline)
        }
        Watch::Slices => {
            lossy.profiles = mem::take(&mut record.profiles);
            Some(Kind::Timeline)
        }
    };
    let is_new = |gap: &Gap| gap.from == Some(from) && gap.until == Some(until);
    lossy
        .gaps
        .retain(|gap| !(is_new(gap) && Some(gap.kind) == spared));
    for gap in lossy.gaps.iter_mut().filter(|gap| is_new(gap)) {
        gap.reason = cause.into();
    }
    *record = lossy;
}

/// Nothing of the hub is seen after that moment, though the run goes on.
fn silence(record: &mut Evidence, at: Timestamp) {
    let Some(window) = record.header.window else {
        return;
    };
    stop(&mut record.profiles, at);
    stop(&mut record.slices, at);
    record.later = Later::default();
    record.header.settled = None;
    for kind in [Kind::Timeline, Kind::PlacementTimeline] {
        record.gaps.push(Gap {
            from: Some(at),
            until: Some(window.until),
            ..Gap::of(kind, "connection refused")
        });
    }
    forget_what_is_read_last(record, "connection refused");
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
    let kinds = [Kind::Secrets, Kind::UnlabelledSecrets, Kind::Probe];
    for kind in kinds {
        if matches!(record.asked(kind), Asked::Yes) {
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
fn cut_log(record: &mut Evidence, (from, until): (Timestamp, Timestamp), reason: &'static str) {
    if record.requests.is_none() && record.slice_requests.is_none() {
        return;
    }
    let skew = SignedDuration::from_millis(record.header.clock_skew_ms.unwrap_or_default());
    let (from, until) = (from + skew, until + skew);
    each_log(record, |log| {
        log.events
            .retain(|event| !(from <= event.at && event.at <= until));
        if from <= log.covers.from {
            log.covers.from = log.covers.until.min(until);
        }
        if log.covers.until <= until {
            log.covers.until = log.covers.from.max(from);
        }
    });
    record.gaps.push(Gap {
        from: Some(from),
        until: Some(until),
        ..Gap::of(Kind::Requests, reason)
    });
}

/// Members did not tell these parts at some moments.
fn mute(record: &mut Evidence, parts: &[MemberPart], is_mute: impl Fn(Timestamp) -> bool) {
    let looks = record.members.iter_mut().flat_map(|member| &mut member.looks);
    for look in looks.filter(|look| is_mute(look.until)) {
        for part in parts {
            match part {
                MemberPart::Version => look.version = None,
                MemberPart::Readyz => look.readyz = None,
                MemberPart::Leases => look.leases = None,
                MemberPart::Nodes => look.nodes = None,
                MemberPart::CustomResourceGroups => look.custom_resource_groups = None,
                MemberPart::ClusterProperties => look.cluster_properties = None,
            }
            let mut missing = (*look.missing).clone();
            missing.insert(*part, "no answer".into());
            look.missing = Arc::new(missing);
        }
    }
    let has_any = |member: &evidence::Member| {
        let mut looks = member.looks.iter();
        looks.any(|look| MemberPart::ALL.iter().any(|part| look.has(*part)))
    };
    for member in &mut record.members {
        if !member.looks.is_empty() && !has_any(member) {
            member.looks.clear();
            record.gaps.push(Gap {
                object: Some(member.profile.clone()),
                ..Gap::of(Kind::Members, "no answer")
            });
        }
    }
}

/// What the run had done was done for another run.
fn not_driven(record: &mut Evidence) {
    if record.driver.take().is_none() {
        return;
    }
    record
        .header
        .asked
        .insert(Kind::Driver, Asked::No("no driver was given".into()));
    record.gaps.retain(|gap| gap.kind != Kind::Driver);
    record.header.other_runs = of_other_runs(&record.profiles, None);
}

fn fail(record: &mut Evidence, number: usize) {
    let Some(driver) = &mut record.driver else {
        return;
    };
    let Some(failed) = driver.steps.get_mut(number) else {
        return;
    };
    failed.outcome = StepOutcome::Failed {
        reason: "the hook ended with exit code 1".to_owned(),
    };
    let scenario = failed.scenario;
    let mut place = 0..;
    let is_before = |place: Option<usize>| place.is_some_and(|place| place <= number);
    // The driver has its members leave and takes its placements back, whatever failed.
    let undoes = |step: &DriverStep| matches!(step.action, DriverAction::Leave | DriverAction::Unplace);
    driver
        .steps
        .retain(|step| is_before(place.next()) || step.scenario != scenario || undoes(step));
}

fn lack(record: &mut Evidence, number: usize) {
    let Some(driver) = &mut record.driver else {
        return;
    };
    let Some(action) = driver.able.iter().nth(number).copied() else {
        return;
    };
    driver.able.remove(&action);
    driver
        .lacking
        .insert(action, "the driver file has no such hook".into());
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
            step.looked_until = step.looked_until.min(at);
        }
    }
}

fn settle(record: &mut Evidence, at: Timestamp) {
    let Some(window) = record.header.window else {
        return;
    };
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

/// Judges one namespace alone.
fn narrow(record: &mut Evidence, number: usize, reads_all: bool) {
    let profiles = record.profiles.iter().map(namespace_of);
    let namespaces: BTreeSet<String> = profiles.chain(record.slices.iter().map(namespace_of)).collect();
    let Some(only) = namespaces.iter().nth(number) else {
        return;
    };
    record.header.scope.namespaces = vec![only.clone()];
    let is_in = |object: &ObjectRef| object.namespace == *only;
    record.profiles.retain(|history| namespace_of(history) == *only);
    record.slices.retain(|history| namespace_of(history) == *only);
    record
        .later
        .profiles
        .retain(|history| namespace_of(history) == *only);
    record
        .later
        .slices
        .retain(|history| namespace_of(history) == *only);
    record.probes.retain(|probe| is_in(&probe.object));
    if !reads_all {
        confine(record, only);
    }
    record.members.retain(|member| is_in(&member.profile));
    record.endpoint_calls.retain(|call| is_in(&call.profile));
    record.logins.retain(|login| match &login.with {
        LoginWith::Secret(secret) => is_in(&login.profile) && (reads_all || is_in(secret)),
        LoginWith::Plugin(_) => is_in(&login.profile),
    });
    each_log(record, |log| {
        log.events.retain(|event| *event.namespace == **only)
    });
}

/// What a runner sees that may read nothing outside of one namespace.
fn confine(record: &mut Evidence, only: &str) {
    record.namespaces.retain(|namespace| namespace.name == only);
    record.secrets.retain(|secret| secret.namespace == only);
    record
        .unlabelled_secrets
        .retain(|secret| secret.namespace == only);
    let permissions = record.header.permissions.iter_mut();
    let of_the_hub = permissions.filter(|permission| permission.namespace.is_empty());
    of_the_hub
        .filter(|permission| matches!(&*permission.resource, "secrets" | "namespaces"))
        .for_each(|permission| permission.allowed = false);
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
    for (kind, asked) in &mut record.header.asked {
        if !held.contains(kind) {
            *asked = Asked::No("a dump has none".into());
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
