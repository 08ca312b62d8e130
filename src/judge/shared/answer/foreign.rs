//! What became of an object that the run created as another producer's.

use evidence::{DriverAction, DriverStep, Evidence, ObjectRef, Scenario};

use super::{
    history::{State, states, timeline, to_the_second},
    steps::steps,
    verdict::Span,
};
use crate::{
    shared::held_against::inferred,
    subjects::{Finding, Findings},
    text::by,
    time::Known,
    who::{
        Doing, Hand, Who,
        authors::{authors, writers},
        entries,
        logged::Judged,
    },
};

/// A kind of objects of other producers, in the steps of a run.
pub(crate) struct Foreigners<T> {
    /// The action that creates one.
    pub(crate) action: DriverAction,
    /// The object of a step.
    pub(crate) object: fn(&DriverStep) -> Option<&ObjectRef>,
    /// The part in which two versions differ, beside managedFields. A hub may rewrite an object in storage without a change.
    pub(crate) changed: fn(&T, &T) -> Option<&'static str>,
    /// The message if it was changed.
    pub(crate) message_changed: &'static str,
    /// The message if it was deleted.
    pub(crate) message_deleted: &'static str,
}

const UNKNOWN: &str = "whose doing it was is unknown";

/// What was done to an object of another producer.
struct Touch<'e> {
    finding: Finding,
    doing: Doing<'e>,
}

impl Touch<'_> {
    fn is_proven(&self) -> bool {
        self.doing.hand.is_producer() == Known::Yes
    }
}

/// Judges whether objects of other producers stay as the run created them.
pub(crate) fn untouched<T: Judged>(evidence: &Evidence, findings: &mut Findings, foreigners: &Foreigners<T>) {
    let who = Who::<T>::of(evidence);
    for step in steps(evidence, findings, Scenario::ForeignProfile, foreigners.action) {
        let seen = (foreigners.object)(step).map(|object| (object, timeline::<T>(evidence, object)));
        let (object, states) = match seen {
            Some((object, Some(timeline))) => (object, states(evidence, &timeline)),
            Some((object, None)) => {
                findings.cannot_tell(format!("the watch never showed {object}"));
                continue;
            }
            None => {
                findings.cannot_tell("the object that the run created is unknown");
                continue;
            }
        };
        let span = Span::of(evidence, step);
        let found = touches(&who, foreigners, &states, &span);
        match span.doubt(Some(object)) {
            Some(doubt) if !found.iter().any(Touch::is_proven) => findings.cannot_tell(doubt),
            _ => findings.examine(),
        }
        for touch in found {
            match touch.doing.hand {
                Hand::Unknown if who.is_wholly_claimed() => {}
                Hand::Unknown if touch.doing.are_named => {
                    findings.cannot_tell(format!(
                        "{}{}, {UNKNOWN}",
                        touch.finding.message,
                        by(&touch.doing.by)
                    ));
                }
                Hand::Unknown => findings.cannot_tell(T::NOT_NAMED.after(UNKNOWN)),
                Hand::Producer { is_inferred: true } => findings.note(inferred::<T>(&touch.doing)),
                _ => {}
            }
            let is_proven = touch.is_proven();
            findings.report(if is_proven {
                touch.finding
            } else {
                touch.finding.advisory()
            });
        }
    }
}

/// At most one change, and the deletion, but for what a gap may have hidden: that may be the run's own.
fn touches<'e, T: Judged>(
    who: &Who<'e, T>,
    foreigners: &Foreigners<T>,
    states: &[State<'e, T>],
    span: &Span,
) -> Vec<Touch<'e>> {
    // When it stops looking, the run itself may delete the object.
    let seen = |state: &&State<T>| span.from <= state.at && state.at < span.looked;
    let states: Vec<&State<T>> = states.iter().filter(seen).collect();
    let Some(first) = states.first().and_then(|state| state.object) else {
        return Vec::new();
    };
    let own = writers(first);
    let (mut change, mut deleted) = (None, None);
    for pair in states.windows(2) {
        let (Some(before), after) = (pair[0].object, pair[1]) else {
            continue;
        };
        let going = |object: &T| object.metadata().deletion_timestamp.is_some();
        match after.object {
            Some(object) if going(before) || !going(object) => {
                let authors = authors(before, object);
                let is_own = after.at <= span.done() || (!authors.is_empty() && authors.is_subset(&own));
                let path = (foreigners.changed)(before, object)
                    .or_else(|| entries(before).ne(entries(object)).then_some("metadata"));
                let is_seen = span.missed_before(Some(&object.object_ref()), after.at).is_none();
                if let Some(path) = path.filter(|_| is_seen && !is_own) {
                    let doing = who.step(before, (object, after.at));
                    if doing.hand == Hand::Run {
                        continue;
                    }
                    let by_whom = by(&doing.by);
                    let touch = Touch {
                        finding: Finding::on(object.object_ref(), foreigners.message_changed)
                            .at(path)
                            .expected(span.untouched())
                            .observed(format!("changed at {}{by_whom}", to_the_second(after.at))),
                        doing,
                    };
                    // The first one, and better a proven one.
                    if change
                        .as_ref()
                        .is_none_or(|known: &Touch| !known.is_proven() && touch.is_proven())
                    {
                        change = Some(touch);
                    }
                }
            }
            _ if going(before) => {}
            _ => deleted = deleted.or_else(|| deletion_of(who, foreigners, before, after, span)),
        }
    }
    change.into_iter().chain(deleted).collect()
}

fn deletion_of<'e, T: Judged>(
    who: &Who<'e, T>,
    foreigners: &Foreigners<T>,
    before: &T,
    gone: &State<T>,
    span: &Span,
) -> Option<Touch<'e>> {
    let object = before.object_ref();
    if span.missed_before(Some(&object), gone.at).is_some() {
        return None;
    }
    let doing = who.deletion(before, gone.at);
    if doing.hand == Hand::Run {
        return None;
    }
    let by_whom = by(&doing.by);
    let finding = Finding::on(object, foreigners.message_deleted)
        .at("metadata.name")
        .expected(span.untouched())
        .observed(format!("deleted at {}{by_whom}", to_the_second(gone.at)));
    Some(Touch { finding, doing })
}
