//! What the run did is taken out by time: a profile that it touched is the manager's before, and again from when what the
//! run did was undone.

use evidence::{
    DriverAction, DriverStep, Evidence, ObjectKey, Origin, ProfileHistory, Request, Requests, Version,
    api::{ClusterProfile, names},
};
use jiff::Timestamp;

use super::logged::{Key, key_of, logged_key, served_at};
use crate::{
    hash::{HashMap, HashSet},
    time::timestamp,
};

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

/// A profile that a run touched.
struct Profile<'e> {
    lives: Vec<&'e ProfileHistory>,
    /// The steps that wrote to it.
    steps: Vec<&'e DriverStep>,
    touches: Touches,
}

/// The profiles that any run touched, and when this one had its hands in them.
pub(crate) struct Touched<'e> {
    evidence: &'e Evidence,
    profiles: HashMap<Key<'e>, Profile<'e>>,
}

impl<'e> Touched<'e> {
    /// Those of a run.
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        let others = &evidence.header.other_runs;
        let touched = evidence.driver.iter().flat_map(|driver| &driver.touched);
        let untold = |key| {
            let profile = Profile {
                lives: Vec::new(),
                steps: Vec::new(),
                touches: Touches(vec![ALWAYS]),
            };
            (of_key(key), profile)
        };
        let mut profiles: HashMap<Key<'e>, Profile<'e>> = touched.chain(others).map(untold).collect();
        // Most runs touched nothing.
        let is_none = profiles.is_empty();
        for life in evidence.profiles.iter().take_while(|_| !is_none) {
            if let Some(profile) = profiles.get_mut(&key_of(life)) {
                profile.lives.push(life);
            }
        }
        for step in evidence.driver.iter().flat_map(|driver| &driver.steps) {
            let object = step.profile.as_ref().filter(|_| step.action.is_mutation());
            let key = object.map(|object| (&*object.namespace, &*object.name));
            if let Some(profile) = key.and_then(|key| profiles.get_mut(&key)) {
                profile.steps.push(step);
            }
        }
        // Another run's are its own, whatever this one did.
        let others: HashSet<Key> = others.iter().map(of_key).collect();
        for (_, profile) in profiles.iter_mut().filter(|(key, _)| !others.contains(*key)) {
            profile.touches = profile.touches();
        }
        Self { evidence, profiles }
    }

    /// Whether the run had its hands in the profile of a request when the hub served it.
    pub(crate) fn holds(&self, request: &Request) -> bool {
        let profile = self.profiles.get(&logged_key(request));
        profile.is_some_and(|profile| profile.touches.hold(timestamp(served_at(self.evidence, request))))
    }

    /// The judged profiles in which the run had no hand in a closed span.
    pub(crate) fn others_within(
        &self,
        from: Timestamp,
        until: Timestamp,
    ) -> impl Iterator<Item = &'e ProfileHistory> {
        self.evidence.profiles.iter().filter(move |life| {
            let mut versions = life.versions.iter();
            let touched = self.profiles.get(&key_of(*life));
            versions.any(|version| self.evidence.header.scope.holds(&version.object))
                && !touched.is_some_and(|profile| profile.touches.meet(from, until))
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
        let profile = &touched.profiles[&key];
        let lives = profile.lives.iter();
        profiles.extend(lives.flat_map(|life| parts(life, &profile.touches)));
    }
    if profiles.is_empty() {
        return None;
    }
    let events = evidence.requests.iter().flat_map(|requests| &requests.events);
    let of_others = events.filter(|event| {
        let is_on = touched.profiles.contains_key(&logged_key(event));
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

impl Profile<'_> {
    /// When the run had its hands in the profile. Always, if it created it, or if no step tells when.
    fn touches(&self) -> Touches {
        if self.steps.is_empty() {
            return Touches(vec![ALWAYS]);
        }
        let mut versions: Vec<_> = self.lives.iter().flat_map(|life| &life.versions).collect();
        versions.sort_by_key(|version| version.received());
        let touches = self.steps.iter().map(|step| match step.action {
            DriverAction::PutForeignProfile => ALWAYS,
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
    let later = lives
        .iter()
        .filter(|life| life.versions[0].received() > step.from);
    if step.action == DriverAction::DeleteProfile {
        return later.map(|life| life.versions[0].received()).min();
    }
    let change = step.change.as_ref()?;
    let since = versions.partition_point(|version| version.received() < step.from);
    let mut since = versions[since..].iter();
    let mut was_shown = false;
    let undone = since.find(|version| {
        let is_there =
            value(&change.path, &version.object).is_none_or(|value| value == change.after.as_deref());
        was_shown |= is_there;
        // The run's own write may come late.
        !is_there && (was_shown || version.received() >= step.looked_until)
    });
    undone.map(|version| version.received())
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
        let is_own = !touches.hold(version.received());
        match parts.last_mut().filter(|_| is_open && is_own) {
            // A touch that was undone between two versions left no trace.
            Some(part) => part.versions.push(version.clone()),
            None if is_own => parts.push(ProfileHistory {
                origin: if place == 0 { life.origin } else { Origin::Relisted },
                versions: vec![version.clone()],
                deleted: None,
                deleted_version: None,
            }),
            None => {}
        }
        is_open = is_own;
    }
    for part in &mut parts {
        let last = part.versions.last().map(|version| version.received());
        part.deleted = touches.next(last).into_iter().chain(life.deleted).min();
    }
    parts
}
