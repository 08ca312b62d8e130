//! What the run did is taken out by time: a profile that it touched is the manager's before, and again from when what the
//! run did was undone.

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectKey, Origin, ProfileHistory, Request, Requests,
    api::{ClusterProfile, names},
};
use jiff::Timestamp;

use super::logged::{Key, key_of, logged_key, served_at};
use crate::time::timestamp;

/// A time in which a profile was not the manager's alone: from the run's write to the version that undid it.
struct Touch {
    from: Timestamp,
    until: Timestamp,
}

impl Touch {
    fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.until
    }
}

/// The profiles that the run touched, as far as they were the manager's, with the requests on them; none if there are none.
/// Each such time is a life of its own.
pub(crate) fn before_and_after(evidence: &Evidence) -> Option<Evidence> {
    let driver = evidence
        .driver
        .as_ref()
        .filter(|driver| !driver.touched.is_empty())?;
    let mut profiles = Vec::new();
    let mut events: Vec<Request> = Vec::new();
    for key in &driver.touched {
        if evidence.header.other_runs.contains(key) {
            continue;
        }
        let lives: Vec<&ProfileHistory> = evidence.histories_named(&key.namespace, &key.name).collect();
        let touches = touches(evidence, key, &lives);
        profiles.extend(lives.into_iter().flat_map(|life| parts(life, &touches)));
        events.extend(requests(evidence, key, &touches).cloned());
    }
    if profiles.is_empty() {
        return None;
    }
    events.sort_by_key(|event| event.at);
    let covers = evidence.requests.as_ref().map(|requests| requests.covers);
    Some(Evidence {
        header: evidence.header.clone(),
        gaps: evidence.gaps.clone(),
        unreadable: evidence.unreadable.clone(),
        namespaces: evidence.namespaces.clone(),
        profiles,
        requests: covers.map(|covers| Requests { covers, events }),
        ..Evidence::default()
    })
}

/// The judged profiles in which the run had no hand in a closed span.
pub(crate) fn untouched_within(
    evidence: &Evidence,
    from: Timestamp,
    until: Timestamp,
) -> impl Iterator<Item = &ProfileHistory> {
    evidence.profiles.iter().filter(move |life| {
        let mut versions = life.versions.iter();
        versions.any(|version| evidence.header.scope.holds(&version.object))
            && !was_touched(evidence, key_of(*life), |touch| {
                touch.from <= until && from < touch.until
            })
    })
}

/// Whether the run had its hands in the profile of a request when the hub served it.
pub(crate) fn is_touched(evidence: &Evidence, request: &Request) -> bool {
    let at = timestamp(served_at(evidence, request));
    was_touched(evidence, logged_key(request), |touch| touch.holds(at))
}

/// Whether a profile is another run's, or this run had its hands in it at such a time.
fn was_touched(evidence: &Evidence, (namespace, name): Key, when: impl Fn(&Touch) -> bool) -> bool {
    if !evidence.is_touched(namespace, name) {
        return false;
    }
    let key = ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let lives: Vec<&ProfileHistory> = evidence.histories_named(namespace, name).collect();
    evidence.header.other_runs.contains(&key) || touches(evidence, &key, &lives).iter().any(when)
}

/// When the run had its hands in a profile. Always, if it created it, or if no step tells when.
fn touches(evidence: &Evidence, key: &ObjectKey, lives: &[&ProfileHistory]) -> Vec<Touch> {
    let is_on = |step: &&DriverStep| {
        let profile = step.profile.as_ref();
        step.action.is_mutation() && profile.is_some_and(|profile| ObjectKey::from(profile) == *key)
    };
    let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
    let mut touches: Vec<Touch> = steps
        .filter(is_on)
        .map(|step| match step.action {
            DriverAction::PutForeigner => Touch {
                from: Timestamp::MIN,
                until: Timestamp::MAX,
            },
            _ => Touch {
                from: step.from,
                until: undone(step, lives).unwrap_or(Timestamp::MAX),
            },
        })
        .collect();
    if touches.is_empty() {
        touches.push(Touch {
            from: Timestamp::MIN,
            until: Timestamp::MAX,
        });
    }
    touches
}

/// When the watch showed that what a step did was undone: by the value from before, or by another one. A write that the
/// watch has not shown was undone when the run no longer looked for it.
fn undone(step: &DriverStep, lives: &[&ProfileHistory]) -> Option<Timestamp> {
    let later = lives.iter().filter(|life| life.versions[0].at > step.from);
    if step.action == DriverAction::DeleteProfile {
        return later.map(|life| life.versions[0].at).min();
    }
    let change = step.change.as_ref()?;
    let mut versions: Vec<_> = lives.iter().flat_map(|life| &life.versions).collect();
    versions.sort_by_key(|version| version.at);
    let mut since = versions.into_iter().skip_while(|version| version.at < step.from);
    let mut was_shown = false;
    let undone = since.find(|version| {
        let is_there =
            value(&change.path, &version.object).is_none_or(|value| value == change.after.as_deref());
        was_shown |= is_there;
        // The run's own write may come late.
        !is_there && (was_shown || version.at >= step.looked_until)
    });
    undone.map(|version| version.at)
}

/// The value of a field that a run may change; none for any other path.
fn value<'a>(path: &str, profile: &'a ClusterProfile) -> Option<Option<&'a str>> {
    match path {
        "spec.displayName" => Some(profile.spec.display_name.as_deref()),
        "status.version.kubernetes" => Some(profile.status.version.kubernetes.as_deref()),
        path if path == format!("metadata.labels[{}]", names::LABEL_MANAGER) => {
            Some(profile.label(names::LABEL_MANAGER))
        }
        _ => None,
    }
}

/// The parts of a life in which nobody else touched it.
fn parts(life: &ProfileHistory, touches: &[Touch]) -> Vec<ProfileHistory> {
    let touch_of = |at: Timestamp| touches.iter().find(|touch| touch.holds(at));
    let mut parts: Vec<ProfileHistory> = Vec::new();
    let mut is_open = false;
    for (place, version) in life.versions.iter().enumerate() {
        let is_own = touch_of(version.at).is_none();
        match parts.last_mut().filter(|_| is_open && is_own) {
            // A touch that was undone between two versions left no trace.
            Some(part) => part.versions.push(version.clone()),
            None if is_own => parts.push(ProfileHistory {
                origin: if place == 0 { life.origin } else { Origin::Relisted },
                versions: vec![version.clone()],
                deleted: None,
            }),
            None => {}
        }
        is_open = is_own;
    }
    for part in &mut parts {
        let last = part.versions.last().map(|version| version.at);
        let next = touches
            .iter()
            .map(|touch| touch.from)
            .filter(|from| Some(*from) > last);
        part.deleted = next.chain(life.deleted).min();
    }
    parts
}

/// The requests of others on a profile while it was the manager's.
fn requests<'e>(
    evidence: &'e Evidence,
    key: &ObjectKey,
    touches: &[Touch],
) -> impl Iterator<Item = &'e Request> {
    let events = evidence.requests.iter().flat_map(|requests| &requests.events);
    events.filter(move |event| {
        let at = timestamp(served_at(evidence, event));
        let is_on = logged_key(event) == (key.namespace.as_str(), key.name.as_str());
        is_on && !event.is_the_suites() && !touches.iter().any(|touch| touch.holds(at))
    })
}
