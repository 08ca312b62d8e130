//! The manager label and the name that it repeats.

use std::collections::HashMap;

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Origin, ProfileHistory, Request, RequestBody, Requests,
    api::{ClusterProfile, names, syntax::is_label_value},
    parse_time,
};
use jiff::Timestamp;

use crate::{
    shared::{
        held_against::is_held_against,
        state::{State, each_state, same_labels},
    },
    subjects::{Finding, Findings, Name, Profiles, name},
    text::{ABSENT, redacted, redacted_or_absent},
    time::{Micros, SECOND},
    who::{
        Doing, Touched, Who, entries,
        logged::{is_creation, logged_key},
    },
};

const LABEL_PATH: &str = "metadata.labels[x-k8s.io/cluster-manager]";
const NAME_PATH: &str = "spec.clusterManager.name";

const OF_LABELS: State = State {
    same: Some(same_labels),
    called_by: &[],
    filled_later: false,
};

/// `identity/manager-label-present`
///
/// Every profile has the manager label.
pub(in crate::rules) fn manager_label_present(profiles: &Profiles, findings: &mut Findings) {
    each_state(profiles, findings, OF_LABELS, |profile| {
        let is_missing = profile.label(names::LABEL_MANAGER).is_none();
        let missing = is_missing.then(|| {
            Finding::on(profile, "profile lacks the manager label")
                .at(LABEL_PATH)
                .expected(expected_value(profile.manager()))
                .observed(ABSENT)
                .into()
        });
        Some(missing.into_iter().collect())
    });
}

/// `identity/manager-label-matches`
///
/// The value of the manager label equals `spec.clusterManager.name`.
///
/// Other rules report a missing label, and a name that no label can hold.
pub(in crate::rules) fn manager_label_matches(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(
        "no profile has both the manager label and a manager name that is a valid label value",
    );
    each_state(profiles, findings, OF_LABELS, |profile| {
        let manager = profile.manager();
        let label = profile
            .label(names::LABEL_MANAGER)
            .filter(|_| is_usable(manager))?;
        let differs = (label != manager).then(|| {
            Finding::on(profile, "manager label differs from the manager's name")
                .at(LABEL_PATH)
                .expected(manager)
                .observed(redacted(label))
                .into()
        });
        Some(differs.into_iter().collect())
    });
}

/// `identity/manager-name-usable`
///
/// The manager's name is a valid label value, so that the manager label can hold it.
pub(in crate::rules) fn manager_name_usable(profiles: &Profiles, findings: &mut Findings) {
    each_state(profiles, findings, OF_LABELS, |profile| {
        let manager = profile.manager();
        if is_usable(manager) {
            return Some(Vec::new());
        }
        let message = if manager.is_empty() {
            "profile names no manager"
        } else {
            "manager's name is not a valid label value"
        };
        let name = profile
            .spec
            .cluster_manager
            .as_ref()
            .map(|manager| &*manager.name);
        let unusable = Finding::on(profile, message)
            .at(NAME_PATH)
            .expected("1 to 63 letters, digits, `-`, `_` or `.`, a letter or digit at both ends")
            .observed(redacted_or_absent(name));
        Some(vec![unusable.into()])
    });
}

/// `identity/manager-label-from-creation`
///
/// The first version of a profile already has the manager label.
///
/// What others create is not held against the manager: a person, or a tool that restores a backup.
///
/// The watch shows first versions as stored. The audit log shows requests, which a webhook may have completed, so it
/// is used only for profiles whose creation the watch did not see.
pub(in crate::rules) fn manager_label_from_creation(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.nothing_happened("no profile was created in the window");
    let watched = matches!(evidence.asked(Kind::Timeline), Asked::Yes);
    let created = || {
        let histories = profiles.histories().filter(|_| watched);
        histories.filter(|history| history.origin == Origin::Created)
    };
    let seen = Seen::of(created().map(ProfileHistory::first));
    let who = Who::of(evidence);
    for history in created() {
        let first = history.first();
        if first.label(names::LABEL_MANAGER).is_some() {
            findings.examine();
        } else {
            hold_against(
                &who.created(history),
                unlabelled(first, first.manager()),
                findings,
            );
        }
    }
    if let Some(requests) = &evidence.requests {
        judge_creations(evidence, requests, &seen, &who, findings);
    }
}

/// Judges a creation without the label, if it is the manager's.
pub(super) fn hold_against(doing: &Doing, finding: Finding, findings: &mut Findings) {
    if is_held_against::<ClusterProfile>(doing, &finding, true, findings) {
        findings.examine();
        findings.report(finding);
    }
}

/// The creations that the watch saw: the first versions by name, each with its stamp, in the order of the stamps. One name
/// may have several lives.
struct Seen<'e>(HashMap<Name<'e>, Vec<(Option<Micros>, &'e ClusterProfile)>>);

impl<'e> Seen<'e> {
    /// The hub stamps creations in whole seconds.
    const APART: Micros = 2 * SECOND;

    fn of(firsts: impl Iterator<Item = &'e ClusterProfile>) -> Self {
        let mut seen: HashMap<_, Vec<_>> = HashMap::new();
        for first in firsts {
            let stamp = first.metadata.creation_timestamp.as_deref().and_then(parse_time);
            let stamp = stamp.map(Timestamp::as_microsecond);
            seen.entry(name(first)).or_default().push((stamp, first));
        }
        seen.values_mut()
            .for_each(|lives| lives.sort_by_key(|(stamp, _)| *stamp));
        Self(seen)
    }

    /// The first version of what a request created. One without a stamp may be of any.
    fn created_by(&self, event: &Request) -> Option<&'e ClusterProfile> {
        let lives = self.0.get(&logged_key(event))?;
        let at = event.at.as_microsecond();
        let first = lives.partition_point(|(stamp, _)| *stamp < Some(at - Self::APART));
        let stamped = lives
            .get(first)
            .filter(|(stamp, _)| *stamp <= Some(at + Self::APART));
        let any = lives.first().filter(|(stamp, _)| stamp.is_none());
        stamped.or(any).map(|(_, profile)| *profile)
    }
}

/// The requests of a log that change profiles, by name, each oldest first.
struct Log<'e> {
    creations: HashMap<Name<'e>, Vec<Timestamp>>,
    /// Updates and patches, but not of the status.
    changes: HashMap<Name<'e>, Vec<&'e Request>>,
}

impl<'e> Log<'e> {
    fn of(requests: &'e Requests) -> Self {
        let mut log = Self {
            creations: HashMap::new(),
            changes: HashMap::new(),
        };
        for event in &requests.events {
            if is_creation(event) {
                log.creations.entry(logged_key(event)).or_default().push(event.at);
            } else if event.is_write()
                && matches!(&*event.verb, "update" | "patch")
                && event.subresource.is_empty()
                && event.changed != Some(false)
            {
                let key = (&*event.namespace, &*event.name);
                log.changes.entry(key).or_default().push(event);
            }
        }
        log.creations.values_mut().for_each(|times| times.sort_unstable());
        log.changes
            .values_mut()
            .for_each(|changes| changes.sort_by_key(|change| change.at));
        log
    }

    /// Whether it has one creation of that name, and no change.
    fn has_creation_alone(&self, key: Name) -> bool {
        !self.changes.contains_key(&key) && self.creations.get(&key).is_some_and(|times| times.len() == 1)
    }

    /// When the name was created again after a creation. A name may have several lives.
    fn next(&self, key: Name, created: Timestamp) -> Option<Timestamp> {
        let times = self.creations.get(&key)?;
        times.get(times.partition_point(|at| *at <= created)).copied()
    }

    /// Whether a change after a creation, and before the next one, set the label.
    fn labelling(&self, key: Name, created: Timestamp) -> Labelling {
        let changes = self.changes.get(&key).map_or(&[][..], Vec::as_slice);
        let first = changes.partition_point(|change| change.at < created);
        let next = self.next(key, created);
        let changes = changes[first..].iter();
        let of_life = changes.take_while(|change| next.is_none_or(|next| change.at < next));
        of_life
            .map(|change| labelling(change))
            .max()
            .unwrap_or(Labelling::No)
    }
}

/// Judges the creations in the audit log, except those in `seen`.
fn judge_creations<'e>(
    evidence: &'e Evidence,
    requests: &'e Requests,
    seen: &Seen,
    who: &Who<'e, ClusterProfile>,
    findings: &mut Findings,
) {
    let log = Log::of(requests);
    let stored: HashMap<Name, _> = evidence
        .everyone()
        .map(|profile| (name(profile), profile))
        .collect();
    // Whether a webhook completes what is sent: some profile has the label that its creation lacked.
    let are_completed = requests
        .events
        .iter()
        .filter(|event| is_creation(event))
        .any(|event| {
            let key = logged_key(event);
            let is_sent = event
                .body
                .as_ref()
                .is_none_or(|body| body.manager_label.is_some());
            let left = stored.get(&key).copied().filter(|_| log.has_creation_alone(key));
            let created = seen.created_by(event).or(left).filter(|_| !is_sent);
            created.is_some_and(|profile| profile.label(names::LABEL_MANAGER).is_some())
        });
    let mut untold = 0;
    let touched = Touched::of(evidence);
    for event in requests.events.iter().filter(|event| is_creation(event)) {
        let key = logged_key(event);
        if seen.created_by(event).is_some() || touched.holds(event) {
            continue;
        }
        let labelling = log.labelling(key, event.at);
        let stored = stored
            .get(&key)
            .copied()
            .filter(|_| log.next(key, event.at).is_none());
        // A profile without later writes is as its creation left it, except for its status.
        let left = stored.filter(|_| labelling == Labelling::No);
        if !in_scope(evidence, event, left) {
            continue;
        }
        let labelled = labelled_at_creation(event.body.as_ref(), stored, labelling);
        // A life that nobody saw may have been completed, too.
        let labelled = labelled.filter(|labelled| *labelled || stored.is_some() || !are_completed);
        let Some(labelled) = labelled else {
            untold += 1;
            continue;
        };
        if labelled {
            findings.examine();
        } else {
            let manager = event.body.as_ref().and_then(|body| body.manager.as_deref());
            let object = ObjectRef {
                kind: names::KIND.to_owned(),
                namespace: event.namespace.to_string(),
                name: key.1.to_owned(),
                ..ObjectRef::default()
            };
            let finding = unlabelled(object, manager.unwrap_or_default());
            hold_against(&who.creator(event), finding, findings);
        }
    }
    match (untold, findings.examined) {
        (0, _) => {}
        _ if matches!(evidence.asked(Kind::Timeline), Asked::Yes) => {
            findings.cannot_tell(
                "the audit log does not show whether the creations that the watch missed set the label",
            );
        }
        (_, 0) => {
            findings.not_asked(
                "the audit log does not show whether creations set the label: log their bodies at level Request",
            );
        }
        (_, _) => findings.note(format!(
            "{untold} creations are not judged: the audit log does not show whether they set the label"
        )),
    }
}

/// Whether a later write has set the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Labelling {
    No,
    /// The log does not tell what was sent, or it was the whole profile, which repeats a label that is there: an update, or
    /// an apply patch, which names the object.
    Perhaps,
    Yes,
}

fn labelling(write: &Request) -> Labelling {
    match &write.body {
        Some(body) if body.manager_label.is_none() => Labelling::No,
        Some(body) if &*write.verb == "patch" && body.name.is_none() => Labelling::Yes,
        _ => Labelling::Perhaps,
    }
}

/// Whether a profile had the label at its creation, if the request's body or the profile as it is stored shows it: a
/// webhook may have added it.
fn labelled_at_creation(
    body: Option<&RequestBody>,
    stored: Option<&ClusterProfile>,
    later: Labelling,
) -> Option<bool> {
    let has_label = stored.is_some_and(|profile| profile.label(names::LABEL_MANAGER).is_some());
    match (body, later) {
        (Some(body), _) if body.manager_label.is_some() => Some(true),
        (Some(_), Labelling::No) => Some(has_label),
        (Some(_), Labelling::Perhaps) if has_label => None,
        (Some(_), _) => Some(false),
        (None, Labelling::No) => (has_label && stored.is_some_and(label_is_as_old)).then_some(true),
        (None, _) => None,
    }
}

/// Whether the `managedFields` entry that owns the label is as old as the profile.
fn label_is_as_old(profile: &ClusterProfile) -> bool {
    let created = profile.metadata.creation_timestamp.as_deref();
    let is_label = |part: &str| part == LABEL_PATH;
    created.is_some()
        && entries(profile).any(|entry| entry.stamp() == created && entry.owned(is_label).is_some())
}

fn unlabelled(object: impl Into<ObjectRef>, manager: &str) -> Finding {
    Finding::on(object, "profile was created without the manager label")
        .at(LABEL_PATH)
        .expected(expected_value(manager))
        .observed(ABSENT)
}

/// Whether the created profile is judged, if the request's body or the profile that it `left` shows it.
fn in_scope(evidence: &Evidence, event: &Request, left: Option<&ClusterProfile>) -> bool {
    let scope = &evidence.header.scope;
    let by_body = event.body.as_ref().is_some_and(|body| {
        let manager = body.manager.as_deref().unwrap_or_default();
        scope.holds_manager(manager, body.manager_label.as_deref())
    });
    let is_any = scope.cluster_manager.is_none();
    scope.holds_namespace(&event.namespace)
        && (is_any || by_body || left.is_some_and(|profile| scope.holds(profile)))
}

fn expected_value(manager: &str) -> String {
    match manager {
        "" => "the name of the cluster manager".to_owned(),
        manager => redacted(manager),
    }
}

/// Whether a manager's name is non-empty and a valid label value.
fn is_usable(manager: &str) -> bool {
    !manager.is_empty() && is_label_value(manager)
}
