//! Gathers what happened to an object, before the events of its story are chosen.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    DriverStep, Evidence, History, Member, MemberSample, ObjectRef, Origin, StepOutcome, Tracked, Version,
    api::{PlacementDecision, names},
    runs::names_placement,
};
use judge::{HistoryWriters, WriterNames, rules::Finding};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Changed, Event, What, choose::first_value, clean};
use crate::text::difference::{Masked, differences, leads};

/// How many versions around the finding's own version are compared.
const VERSIONS: usize = 400;
/// How many of them are later.
const LATER: usize = 100;

/// An event that may be part of the story.
pub(super) struct Draft {
    /// The event, without the fields that `values` changed.
    pub(super) event: Event,
    /// The values before and after it, to be compared.
    pub(super) values: Option<(Option<Value>, Value)>,
    /// Successive events with the same key become one.
    pub(super) fold_key: Option<String>,
    /// Whether it is the finding's version, or a call that the finding quotes.
    pub(super) is_finding: bool,
}

impl From<Event> for Draft {
    fn from(event: Event) -> Self {
        Self {
            event,
            values: None,
            fold_key: None,
            is_finding: false,
        }
    }
}

/// What happened to an object.
pub(super) struct Gathered {
    /// In the order of time.
    pub(super) drafts: Vec<Draft>,
    /// How many versions before and after them were not compared.
    pub(super) unread: [usize; 2],
    /// The finding's field, as versions name it.
    pub(super) field: String,
}

impl Gathered {
    /// Gathers what happened to the object of a finding; `None` if the run did not see it.
    pub(super) fn of<'e, T: Tracked + Serialize>(
        evidence: &'e Evidence,
        authors: &WriterNames<'e>,
        finding: &Finding,
    ) -> Option<Self> {
        let object = &finding.object;
        let mut watched = named(T::histories(evidence), object);
        watched.sort_by_key(|history| history.versions.first().map(Version::received));
        if watched.is_empty() {
            return None;
        }
        let mut gathered = Self {
            drafts: Vec::new(),
            unread: [0; 2],
            field: field(&finding.path),
        };
        gathered.add_versions(
            authors,
            &watched,
            &named(T::later(&evidence.later), object),
            object,
        );
        let is_of_object = |member: &&Member| {
            let profile = &member.profile;
            T::KIND == names::KIND && (&profile.namespace, &profile.name) == (&object.namespace, &object.name)
        };
        for member in evidence.members.iter().filter(is_of_object) {
            gathered.add_answers(member);
        }
        let steps = evidence.driver.iter().flat_map(|driver| &driver.steps);
        let slice = named(&evidence.slices, object).pop();
        let slice = slice.filter(|_| T::KIND == names::PLACEMENT_KIND);
        let is_placed = |step: &DriverStep| slice.is_some_and(|slice| is_placed_by(slice.last(), step));
        for step in steps.filter(|step| concerns(step, object) || is_placed(step)) {
            gathered.drafts.push(Draft::from(step_event(step)));
        }
        let window = evidence.header.window;
        for gap in evidence
            .gaps
            .concerning(T::WATCHED, &object.namespace, &object.name)
        {
            gathered.drafts.push(Draft::from(Event {
                at: gap.from.or(window.map(|window| window.from)),
                until: gap.until.or(window.map(|window| window.until)),
                detail: clean(&gap.reason),
                ..Event::of(What::Unwatched)
            }));
        }
        gathered.add_testbed(evidence, finding);
        // The effect of a step comes after it, even at the same time.
        gathered.drafts.sort_by_key(|Draft { event, .. }| {
            let rank = match event.what {
                What::Unwatched | What::Step | What::Staged => 0,
                What::Member | What::Called | What::Plugin => 2,
                _ => 1,
            };
            (event.at, rank)
        });
        Some(gathered)
    }

    /// Whether only one version of the object is known.
    pub(super) fn is_one_version(&self) -> bool {
        let is_version = |what| {
            matches!(
                what,
                What::Listed | What::Created | What::Relisted | What::Changed
            )
        };
        self.unread == [0; 2] && matches!(&self.drafts[..], [only] if is_version(only.event.what))
    }

    /// Adds the versions around the finding's own version.
    fn add_versions<'e, T: Tracked + Serialize>(
        &mut self,
        authors: &WriterNames<'e>,
        watched: &[&'e History<T>],
        later: &[&'e History<T>],
        object: &ObjectRef,
    ) {
        let uid = |history: &History<T>| history.last().metadata().uid.clone();
        let uids: BTreeSet<_> = watched.iter().map(|history| uid(history)).collect();
        // The first version after the window is the last one in it, except for an object that was created later.
        let after = later
            .iter()
            .map(|history| (*history, usize::from(uids.contains(&uid(history)))));
        let versions: Vec<(&'e History<T>, usize)> = watched
            .iter()
            .map(|history| (*history, 0))
            .chain(after)
            .flat_map(|(history, first)| (first..history.versions.len()).map(move |place| (history, place)))
            .collect();
        // Of versions that are as near to the finding's own, this is the last.
        let own = versions.iter().enumerate().max_by_key(|(_, (history, place))| {
            let metadata = history.versions[*place].object.metadata();
            let is_of_object = *metadata.uid == *object.uid;
            (
                is_of_object,
                is_of_object && metadata.resource_version == object.resource_version,
            )
        });
        let own = own.map_or(0, |(place, _)| place);
        let until = versions.len().min(own + LATER);
        let from = until.saturating_sub(VERSIONS).min(own);
        self.unread = [from, versions.len() - until];
        let mut place = from;
        for versions in versions[from..until].chunk_by(|(one, _), (next, _)| std::ptr::eq(*one, *next)) {
            let writers = authors.of_history(versions[0].0);
            for (history, version) in versions {
                let mut draft = version_draft(&writers, &self.field, history, *version);
                draft.is_finding = place == own;
                self.drafts.push(draft);
                place += 1;
            }
        }
        for history in watched
            .iter()
            .chain(later)
            .filter(|history| history.deleted.is_some())
        {
            self.drafts.push(Draft::from(Event {
                at: history.deleted,
                by: clean_names(authors.of_history(history).of_deletion()),
                ..Event::of(What::Deleted)
            }));
        }
    }

    /// Adds the answers of a member that differ from those before.
    fn add_answers(&mut self, member: &Member) {
        let mut before: Option<Value> = None;
        for sample in &member.samples {
            let answer = lasting(sample);
            if before.as_ref() == Some(&answer) {
                continue;
            }
            self.drafts.push(Draft {
                values: Some((before.replace(answer.clone()), answer)),
                ..Draft::from(Event {
                    at: Some(sample.until),
                    detail: clean(&member.access),
                    ..Event::of(What::Member)
                })
            });
        }
    }
}

/// The objects of a finding's name, one after the other.
pub(crate) fn named<'e, T: Tracked>(histories: &'e [History<T>], object: &ObjectRef) -> Vec<&'e History<T>> {
    let is_named = |history: &&History<T>| {
        let metadata = history.last().metadata();
        *metadata.namespace == *object.namespace && *metadata.name == *object.name
    };
    histories.iter().filter(is_named).collect()
}

fn version_draft<'e, T: Tracked + Serialize>(
    writers: &HistoryWriters<'_, 'e, T>,
    field: &str,
    history: &'e History<T>,
    place: usize,
) -> Draft {
    let Version { at, object } = &history.versions[place];
    let after = value(object);
    let mut event = Event {
        at: *at,
        resource_version: clean(&object.metadata().resource_version),
        ..Event::of(What::Changed)
    };
    let Some(before) = history.before(place) else {
        event.what = match history.origin {
            Origin::Listed => What::Listed,
            Origin::Created => What::Created,
            Origin::Relisted => What::Relisted,
        };
        if !field.is_empty() {
            event.changed.extend(first_value(&after, field));
        }
        event.sets_field = !event.changed.is_empty();
        event.by = match history.origin {
            Origin::Created => clean_names(writers.of_version(&history.versions[place])),
            _ if event.sets_field => clean_names(owners(object, field)),
            _ => Vec::new(),
        };
        return Draft::from(event);
    };
    let before = value(before);
    let changed = differences(Some(Masked::plain(&before)), Masked::plain(&after));
    let changes_times_only = changed.iter().all(|one| one.at.ends_with("Time"));
    // A finding on the whole status is not about each time in it.
    event.sets_field = !field.is_empty()
        && changed.iter().any(|one| is_of(&one.at, field))
        && (!changes_times_only || field.contains('['));
    event.by = clean_names(writers.of_version(&history.versions[place]));
    Draft {
        fold_key: (changes_times_only && !event.sets_field).then(|| format!("times {}", event.by.join(", "))),
        values: Some((Some(before), after)),
        ..Draft::from(event)
    }
}

fn clean_names(names: BTreeSet<&str>) -> Vec<String> {
    names.into_iter().map(clean).collect()
}

/// An object as the hub has it, without what changes with each write.
fn value(object: &(impl Tracked + Serialize)) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("writers");
    }
    value
}

/// A member's answers without what differs each time: when they came, and how old a lease is.
fn lasting(sample: &MemberSample) -> Value {
    let mut value = serde_json::to_value(sample).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("from");
        fields.remove("until");
        if let Some(leases) = &sample.leases {
            let state = |is_held| if is_held { "held" } else { "expired" };
            let leases = leases
                .iter()
                .map(|lease| (&*lease.name, state(lease.age_seconds <= lease.duration_seconds)));
            fields.insert("leases".to_owned(), json!(leases.collect::<BTreeMap<_, _>>()));
        }
    }
    value
}

/// The finding's field, as versions name it: a decision's place is not a name.
fn field(path: &str) -> String {
    match path.split_once('[') {
        Some(("decisions", _)) => "decisions".to_owned(),
        _ => path.to_owned(),
    }
}

/// Whether one of two fields contains the other.
pub(super) fn is_of(path: &str, field: &str) -> bool {
    leads(path, field) || leads(field, path)
}

/// The field managers that own a field of an object.
fn owners<'o>(object: &'o impl Tracked, field: &str) -> BTreeSet<&'o str> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    let own = writers
        .iter()
        .filter(|writer| writer.owns.iter().any(|part| is_of(part, field)));
    own.map(|writer| &*writer.manager).collect()
}

/// Whether a step is about an object, or about the whole implementation.
fn concerns(step: &DriverStep, object: &ObjectRef) -> bool {
    let is_same = |other: &ObjectRef| {
        (&other.kind, &other.namespace, &other.name) == (&object.kind, &object.namespace, &object.name)
    };
    let is_of_all = step.member.is_empty() && step.profile.is_none() && !step.action.is_on_placements();
    is_of_all || step.profile.as_ref().is_some_and(is_same) || step.slice.as_ref().is_some_and(is_same)
}

/// Whether a slice belongs to the placement of a step.
fn is_placed_by(slice: &PlacementDecision, step: &DriverStep) -> bool {
    step.placement.as_ref().is_some_and(|placement| {
        let is_decision = placement.decision.as_ref().is_some_and(|decision| {
            *decision.namespace == *slice.metadata.namespace
                && slice.label(names::LABEL_DECISION_KEY) == Some(&decision.name)
        });
        is_decision || names_placement(slice, &placement.name)
    })
}

fn step_event(step: &DriverStep) -> Event {
    let failure = match &step.outcome {
        StepOutcome::Done => String::new(),
        StepOutcome::Failed { reason } => format!(" failed: {reason}"),
    };
    Event {
        at: Some(step.from),
        until: (step.until > step.from).then_some(step.until),
        detail: clean(&format!(
            "{} ({}){failure}",
            step.action.name(),
            step.scenario.name()
        )),
        changed: Vec::from_iter(step.change.iter().map(|change| Changed {
            path: clean(&change.path),
            before: change.before.as_deref().map(clean),
            after: change.after.as_deref().map(clean),
        })),
        ..Event::of(What::Step)
    }
}
