//! What the run did is taken out by time: a profile that it touched is the manager's before, and again from when what the
//! run did was undone.

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectKey, Origin, ProfileHistory, Request, Requests, Version,
    api::{ClusterProfile, names},
};
use jiff::Timestamp;

use super::logged::{Key, key_of, logged_key, served_at};
use crate::{hash::HashMap, time::timestamp};

/// A time in which a profile was not the manager's alone: from the run's write to the version that undid it.
#[derive(Clone, Copy)]
struct Touch {
    from: Timestamp,
    until: Timestamp,
}

const ALWAYS: Touch = Touch {
    from: Timestamp::MIN,
    until: Timestamp::MAX,
};

/// The times in which a profile was not the manager's alone, in order and apart from each other.
struct Touches(Vec<Touch>);

impl Touches {
    fn of(mut touches: Vec<Touch>) -> Self {
        touches.sort_unstable_by_key(|touch| (touch.from, touch.until));
        let mut apart: Vec<Touch> = Vec::with_capacity(touches.len());
        for touch in touches {
            match apart.last_mut() {
                Some(last) if touch.from <= last.until => last.until = last.until.max(touch.until),
                _ => apart.push(touch),
            }
        }
        Self(apart)
    }

    /// Whether a moment is in one of them.
    fn hold(&self, at: Timestamp) -> bool {
        let first = self.0.partition_point(|touch| touch.until <= at);
        self.0.get(first).is_some_and(|touch| touch.from <= at)
    }

    /// Whether a closed span has a moment in one of them.
    fn meet(&self, from: Timestamp, until: Timestamp) -> bool {
        let first = self.0.partition_point(|touch| touch.until <= from);
        self.0.get(first).is_some_and(|touch| touch.from <= until)
    }

    /// The first beginning after a moment.
    fn next(&self, after: Option<Timestamp>) -> Option<Timestamp> {
        let first = self.0.partition_point(|touch| Some(touch.from) <= after);
        self.0.get(first).map(|touch| touch.from)
    }
}

/// What was seen of a profile that a run touched.
#[derive(Default)]
struct Seen<'e> {
    lives: Vec<&'e ProfileHistory>,
    steps: Vec<&'e DriverStep>,
}

/// The profiles that any run touched, and when this one had its hands in them.
pub(crate) struct Touched<'e> {
    evidence: &'e Evidence,
    lives: HashMap<Key<'e>, Vec<&'e ProfileHistory>>,
    touches: HashMap<Key<'e>, Touches>,
}

impl<'e> Touched<'e> {
    /// Those of a run.
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        let others = &evidence.header.other_runs;
        let touched = evidence.driver.iter().flat_map(|driver| &driver.touched);
        let keys = touched.chain(others).map(of_key);
        let mut seen: HashMap<Key<'e>, Seen<'e>> = keys.map(|key| (key, Seen::default())).collect();
        // Most runs touched nothing.
        let profiles = evidence.profiles.iter().take_while(|_| !seen.is_empty());
        let mut lives: HashMap<Key<'e>, Vec<&'e ProfileHistory>> = HashMap::default();
        for life in profiles.filter(|life| seen.contains_key(&key_of(*life))) {
            lives.entry(key_of(life)).or_default().push(life);
        }
        for (key, lives) in &lives {
            if let Some(seen) = seen.get_mut(key) {
                seen.lives.clone_from(lives);
            }
        }
        for step in evidence.driver.iter().flat_map(|driver| &driver.steps) {
            let profile = step.profile.as_ref().filter(|_| step.action.is_mutation());
            let key = profile.map(|profile| (&*profile.namespace, &*profile.name));
            if let Some(seen) = key.and_then(|key| seen.get_mut(&key)) {
                seen.steps.push(step);
            }
        }
        let mut touches: HashMap<Key<'e>, Touches> = seen
            .into_iter()
            .map(|(key, seen)| (key, seen.touches()))
            .collect();
        touches.extend(others.iter().map(|key| (of_key(key), Touches(vec![ALWAYS]))));
        Self {
            evidence,
            lives,
            touches,
        }
    }

    /// Whether the run had its hands in the profile of a request when the hub served it.
    pub(crate) fn holds(&self, request: &Request) -> bool {
        let touches = self.touches.get(&logged_key(request));
        touches.is_some_and(|touches| touches.hold(timestamp(served_at(self.evidence, request))))
    }

    /// The judged profiles in which the run had no hand in a closed span.
    pub(crate) fn others_within(
        &self,
        from: Timestamp,
        until: Timestamp,
    ) -> impl Iterator<Item = &'e ProfileHistory> {
        self.evidence.profiles.iter().filter(move |life| {
            let mut versions = life.versions.iter();
            let touches = self.touches.get(&key_of(*life));
            versions.any(|version| self.evidence.header.scope.holds(&version.object))
                && !touches.is_some_and(|touches| touches.meet(from, until))
        })
    }
}

/// The profiles that the run touched, as far as they were the manager's, with the requests on them; none if there are none.
/// Each such time is a life of its own.
pub(crate) fn before_and_after(evidence: &Evidence) -> Option<Evidence> {
    let driver = evidence
        .driver
        .as_ref()
        .filter(|driver| !driver.touched.is_empty())?;
    let touched = Touched::of(evidence);
    let own = driver.touched.difference(&evidence.header.other_runs);
    let mut profiles = Vec::new();
    for key in own.map(of_key) {
        let lives = touched.lives.get(&key).into_iter().flatten();
        profiles.extend(lives.flat_map(|life| parts(life, &touched.touches[&key])));
    }
    if profiles.is_empty() {
        return None;
    }
    let events = evidence.requests.iter().flat_map(|requests| &requests.events);
    let of_others = events.filter(|event| {
        let is_on = touched.touches.contains_key(&logged_key(event));
        is_on && !event.is_the_suites() && !touched.holds(event)
    });
    let mut events: Vec<Request> = of_others.cloned().collect();
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

fn of_key(key: &ObjectKey) -> Key<'_> {
    (&key.namespace, &key.name)
}

impl Seen<'_> {
    /// When the run had its hands in the profile. Always, if it created it, or if no step tells when.
    fn touches(&self) -> Touches {
        if self.steps.is_empty() {
            return Touches(vec![ALWAYS]);
        }
        let mut versions: Vec<_> = self.lives.iter().flat_map(|life| &life.versions).collect();
        versions.sort_by_key(|version| version.at);
        let touches = self.steps.iter().map(|step| match step.action {
            DriverAction::PutForeigner => ALWAYS,
            _ => Touch {
                from: step.from,
                until: undone(step, &self.lives, &versions).unwrap_or(Timestamp::MAX),
            },
        });
        Touches::of(touches.collect())
    }
}

/// When the watch showed that what a step did was undone: by the value from before, or by another one. A write that the
/// watch has not shown was undone when the run no longer looked for it.
/// `versions` has those of all lives, in order.
fn undone(step: &DriverStep, lives: &[&ProfileHistory], versions: &[&Version]) -> Option<Timestamp> {
    let later = lives.iter().filter(|life| life.versions[0].at > step.from);
    if step.action == DriverAction::DeleteProfile {
        return later.map(|life| life.versions[0].at).min();
    }
    let change = step.change.as_ref()?;
    let since = versions.partition_point(|version| version.at < step.from);
    let mut since = versions[since..].iter();
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
fn parts(life: &ProfileHistory, touches: &Touches) -> Vec<ProfileHistory> {
    let mut parts: Vec<ProfileHistory> = Vec::new();
    let mut is_open = false;
    for (place, version) in life.versions.iter().enumerate() {
        let is_own = !touches.hold(version.at);
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
        part.deleted = touches.next(last).into_iter().chain(life.deleted).min();
    }
    parts
}
