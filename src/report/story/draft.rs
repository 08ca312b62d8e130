//! Gathers what happened to an object, before it is chosen from.

use std::collections::BTreeSet;

use evidence::{
    DriverStep, Gap, History, Look, Member, MemberCall, ObjectRef, Origin, PluginCall, StepOutcome, Version,
    api::names,
};
use jiff::Timestamp;
use judge::rules::Finding;
use serde_json::Value;

use super::{
    compare::{changed, is_of, value, value_of},
    difference::{Seen, find},
    event::{Changed, Event, What, kept},
    look::lasting,
    object::StoryObject,
    stories::{Lives, Stories},
    testbed::{call_in_words, run_in_words},
};

/// How many versions around the finding's own are looked at.
const VERSIONS: usize = 400;
/// How many of them are later.
const LATER: usize = 100;

/// An event that may be told.
pub(super) struct Draft<'e, T> {
    pub(super) at: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) by: BTreeSet<&'e str>,
    pub(super) source: Source<'e, T>,
    /// How many writes or calls it stands for.
    pub(super) count: usize,
    /// Whether it set the finding's field.
    pub(super) sets_field: bool,
    /// Whether it left all but times as they were.
    pub(super) is_noise: bool,
    /// Whether it is the finding's version, or the call that the finding tells of.
    pub(super) is_finding_s: bool,
}

/// What an event is read from.
pub(super) enum Source<'e, T> {
    First(Origin, &'e T),
    Change {
        before: &'e T,
        after: &'e T,
    },
    Deleted,
    Look {
        before: Option<&'e Look>,
        after: &'e Look,
        member: &'e Member,
    },
    Step(&'e DriverStep),
    Gap(&'e Gap),
    /// What the run staged for a consumer.
    Staged(String),
    /// The consumer called the member.
    Called(&'e MemberCall),
    /// The consumer ran the credential plugin for it.
    Plugin(&'e PluginCall),
}

/// All events of an object that were looked at.
pub(super) struct Drafts<'e, T> {
    /// In the order of time.
    pub(super) all: Vec<Draft<'e, T>>,
    /// How many versions before and after them were not looked at.
    pub(super) unread: [usize; 2],
    /// The finding's field, as far as versions name it.
    pub(super) field: String,
}

impl<'e, T: StoryObject> Drafts<'e, T> {
    /// Gathers what happened to the object of a finding; none if it was not seen.
    pub(super) fn gather(stories: &Stories<'e>, lives: &Lives<'e, T>, finding: &Finding) -> Option<Self> {
        let object = &finding.object;
        let name = (&*object.namespace, &*object.name);
        let watched = lives.watched.get(&name)?;
        let later = lives.later.get(&name).map_or(&[][..], Vec::as_slice);
        let mut drafts = Self {
            all: Vec::new(),
            unread: [0; 2],
            field: field(&finding.path),
        };
        drafts.versions_of(stories, watched, later, object);
        let members = stories.members(object).iter().copied();
        for member in members.filter(|_| T::KIND == names::KIND) {
            drafts.answers_of(member);
        }
        let last = watched.last()?.last();
        let driver = stories.evidence.driver.iter();
        let steps = driver.flat_map(|driver| &driver.steps);
        for step in steps.filter(|step| concerns(step, last)) {
            drafts.all.push(Draft {
                until: (step.until > step.from).then_some(step.until),
                ..Draft::new(Some(step.from), Source::Step(step))
            });
        }
        for gap in stories.evidence.gaps.concerning(T::WATCHED, name.0, name.1) {
            let window = stories.evidence.header.window;
            drafts.all.push(Draft {
                until: gap.until.or(window.map(|window| window.until)),
                ..Draft::new(gap.from.or(window.map(|window| window.from)), Source::Gap(gap))
            });
        }
        drafts.staged(stories.evidence, watched, &finding.observed);
        // What a step brings about comes after it, even at one time.
        drafts.all.sort_by_key(|draft| {
            let rank = match draft.source {
                Source::Gap(_) | Source::Step(_) | Source::Staged(_) => 0,
                Source::First(..) | Source::Change { .. } | Source::Deleted => 1,
                Source::Look { .. } | Source::Called(_) | Source::Plugin(_) => 2,
            };
            (draft.at, rank)
        });
        Some(drafts)
    }

    /// How many versions are known.
    pub(super) fn versions(&self) -> usize {
        let is_version =
            |draft: &&Draft<T>| matches!(draft.source, Source::First(..) | Source::Change { .. });
        self.all.iter().filter(is_version).count() + self.unread.iter().sum::<usize>()
    }

    /// Adds the versions around the finding's own.
    fn versions_of(
        &mut self,
        stories: &Stories<'e>,
        watched: &[&'e History<T>],
        later: &[&'e History<T>],
        object: &ObjectRef,
    ) {
        let mut lives: Vec<&History<T>> = watched.to_vec();
        lives.sort_by_key(|history| history.versions.first().map(Version::received));
        let all = lives.iter().map(|history| (*history, 0));
        // The first version after the window is the last one in it, but for an object that was made later.
        let after = later.iter().map(|history| {
            let is_known = lives
                .iter()
                .any(|own| own.last().metadata().uid == history.last().metadata().uid);
            (*history, usize::from(is_known))
        });
        let versions: Vec<(&History<T>, usize)> = all
            .chain(after)
            .flat_map(|(history, first)| (first..history.versions.len()).map(move |place| (history, place)))
            .collect();
        let is_meant = |(history, place): &(&History<T>, usize)| {
            let metadata = history.versions[*place].object.metadata();
            *metadata.uid == *object.uid && metadata.resource_version == object.resource_version
        };
        let is_of_life = |(history, _): &(&History<T>, usize)| *history.last().metadata().uid == *object.uid;
        let own = versions.iter().rposition(is_meant);
        let own = own.or_else(|| versions.iter().rposition(is_of_life));
        let own = own.unwrap_or(versions.len().saturating_sub(1));
        let until = versions.len().min(own + LATER);
        let from = until.saturating_sub(VERSIONS).min(own);
        self.unread = [from, versions.len() - until];
        for (place, (history, version)) in versions.iter().enumerate().take(until).skip(from) {
            let mut draft = self.version(stories, *history, *version);
            draft.is_finding_s = place == own;
            self.all.push(draft);
        }
        let lives = lives.iter().chain(later).copied();
        for history in lives.filter(|history| history.deleted.is_some()) {
            self.all.push(Draft {
                by: stories.authors.of_deletion(history),
                ..Draft::new(history.deleted, Source::Deleted)
            });
        }
    }

    fn version(&self, stories: &Stories<'e>, history: &'e History<T>, place: usize) -> Draft<'e, T> {
        let Version { at, object } = &history.versions[place];
        let Some(before) = history.before(place) else {
            let value = value(object);
            let seen = Seen {
                value: &value,
                shown: &value,
            };
            let sets_field = !self.field.is_empty() && find(seen, &self.field).is_some();
            let by = match history.origin {
                Origin::Created => stories.authors.of_version(history, &history.versions[place]),
                Origin::Listed | Origin::Relisted if sets_field => owners(object, &self.field),
                Origin::Listed | Origin::Relisted => BTreeSet::new(),
            };
            return Draft {
                by,
                sets_field,
                ..Draft::new(*at, Source::First(history.origin, object))
            };
        };
        let paths = changed(&value(before), &value(object));
        let sets_field = !self.field.is_empty() && paths.iter().any(|path| is_of(path, &self.field));
        let is_noise = paths.iter().all(|path| path.ends_with("Time"));
        Draft {
            by: stories.authors.of_version(history, &history.versions[place]),
            // A finding on all of the status is not about each time in it.
            sets_field: sets_field && (!is_noise || self.field.contains('[')),
            is_noise,
            ..Draft::new(
                *at,
                Source::Change {
                    before,
                    after: object,
                },
            )
        }
    }

    /// Adds the answers of a member that differ from those before.
    fn answers_of(&mut self, member: &'e Member) {
        let mut before: Option<(&Look, Value)> = None;
        for look in &member.looks {
            let value = lasting(look);
            let earlier = before.as_ref().map(|(look, _)| *look);
            if before.as_ref().is_none_or(|(_, before)| *before != value) {
                let source = Source::Look {
                    before: earlier,
                    after: look,
                    member,
                };
                self.all.push(Draft::new(Some(look.until), source));
            }
            before = Some((look, value));
        }
    }
}

impl<'e, T: StoryObject> Draft<'e, T> {
    pub(super) fn new(at: Option<Timestamp>, source: Source<'e, T>) -> Self {
        Self {
            at,
            until: None,
            by: BTreeSet::new(),
            source,
            count: 1,
            sets_field: false,
            is_noise: false,
            is_finding_s: false,
        }
    }

    /// Tells it, without credentials and shortened.
    pub(super) fn describe(&self, field: &str) -> Event {
        let mut event = Event {
            at: self.at,
            until: self.until,
            by: self.by.iter().map(|name| kept(name)).collect(),
            count: self.count.max(1),
            sets_field: self.sets_field,
            ..Event::of(What::Changed)
        };
        match &self.source {
            Source::First(origin, object) => {
                event.what = match origin {
                    Origin::Listed => What::Listed,
                    Origin::Created => What::Created,
                    Origin::Relisted => What::Relisted,
                };
                event.resource_version = kept(&object.metadata().resource_version);
                if self.sets_field {
                    event.changed.extend(value_of(*object, field));
                }
            }
            Source::Change { before, after } => {
                event.resource_version = kept(&after.metadata().resource_version);
                event.compare(Some(value(*before)), value(*after), field);
            }
            Source::Deleted => event.what = What::Deleted,
            Source::Look {
                before,
                after,
                member,
            } => {
                event.what = What::Member;
                event.detail = kept(&member.way);
                event.compare(before.map(lasting), lasting(after), field);
            }
            Source::Step(step) => {
                event.what = What::Step;
                event.detail = kept(&in_words(step));
                event.changed.extend(step.change.iter().map(|change| Changed {
                    path: kept(&change.path),
                    before: change.before.as_deref().map(kept),
                    after: change.after.as_deref().map(kept),
                }));
            }
            Source::Gap(gap) => {
                event.what = What::Unwatched;
                event.detail = kept(&gap.reason.to_string());
            }
            Source::Staged(what) => {
                event.what = What::Staged;
                event.detail = kept(what);
            }
            Source::Called(call) => {
                event.what = What::Called;
                event.detail = kept(&call_in_words(call));
            }
            Source::Plugin(run) => {
                event.what = What::Plugin;
                event.detail = kept(&run_in_words(run));
            }
        }
        event
    }
}

/// The finding's field, as far as versions name it: a decision's place is no name.
fn field(path: &str) -> String {
    match path.split_once('[') {
        Some(("decisions", _)) => "decisions".to_owned(),
        _ => path.to_owned(),
    }
}

/// The field managers that own a field of an object.
fn owners<'o>(object: &'o impl StoryObject, field: &str) -> BTreeSet<&'o str> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    let own = writers
        .iter()
        .filter(|writer| writer.owns.iter().any(|part| is_of(part, field)));
    own.map(|writer| &*writer.manager).collect()
}

/// Whether a step is about an object, or about the whole implementation.
fn concerns<T: StoryObject>(step: &DriverStep, object: &T) -> bool {
    let metadata = object.metadata();
    let is_it = |other: &ObjectRef| {
        *other.namespace == *metadata.namespace && *other.name == *metadata.name && other.kind == T::KIND
    };
    let is_of_all = step.member.is_empty() && step.profile.is_none() && !step.action.is_on_placements();
    is_of_all
        || step.profile.as_ref().is_some_and(is_it)
        || step.slice.as_ref().is_some_and(is_it)
        || object.is_placed_by(step)
}

/// What a step did.
fn in_words(step: &DriverStep) -> String {
    let what = format!("{} ({})", step.action.name(), step.scenario.name());
    match &step.outcome {
        StepOutcome::Done => what,
        StepOutcome::Failed { reason } => format!("{what} failed: {reason}"),
    }
}
