//! Removes evidence from a record.

use std::{collections::BTreeSet, mem, sync::Arc};

use evidence::{
    DriverAction, DriverStep, Evidence, History, Kind, Later, LoginCredential, MemberPart, ObjectKey,
    ObjectRef, Origin, Requested, Requests, Settled, StepOutcome, Tracked, Unreadable, Window,
    runs::of_other_runs,
};
use jiff::{SignedDuration, Timestamp};

use super::less;

/// The first and the last moment.
pub type Span = (Timestamp, Timestamp);

pub fn delay<T>(histories: &mut [History<T>], late: &[SignedDuration], window: Window) {
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

pub fn interrupt(record: &mut Evidence, spared: Option<Kind>, (from, until): Span) {
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
pub fn silence(record: &mut Evidence, (at, until): Span) {
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

pub fn each_log(record: &mut Evidence, change: impl Fn(&mut Requests)) {
    let logs = [&mut record.requests, &mut record.slice_requests];
    logs.into_iter().flatten().for_each(change);
}

/// The log lacks that time, and says so.
pub fn cut_log(record: &mut Evidence, (from, until): Span) {
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
pub fn mute(record: &mut Evidence, member: Option<usize>, part: Option<MemberPart>, (from, until): Span) {
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
pub fn not_driven(record: &mut Evidence) {
    if record.driver.take().is_none() {
        return;
    }
    let reason = Requested::No("no driver was given".into());
    record.header.requested.insert(Kind::Driver, reason);
    record.gaps.retain(|gap| gap.kind != Kind::Driver);
    record.header.other_runs = of_other_runs(&record.profiles, None);
}

pub fn fail(record: &mut Evidence, number: usize) {
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

pub fn lack(record: &mut Evidence, number: usize) {
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

pub fn end(record: &mut Evidence, at: Timestamp) {
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

pub fn settle(record: &mut Evidence, window: Window, at: Timestamp) {
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

pub fn narrow(record: &mut Evidence, number: usize, reads_all: bool) {
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

pub fn unread(record: &mut Evidence, number: usize) {
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

pub fn dump(record: &mut Evidence, at: Timestamp, has_writers: bool) {
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
