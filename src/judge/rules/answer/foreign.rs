//! What became of an object that the run created as another producer's.

use evidence::{DriverAction, DriverStep, Evidence, ObjectRef, Scenario};

use super::{
    history::{State, states, to_the_second},
    steps::steps,
    verdict::Span,
};
use crate::rules::{
    authors::{authors, by, deletion, is_by_program, writers},
    finding::{Finding, Findings},
    logged::Judged,
};

/// A kind of objects of other producers, in the steps of a run.
pub(in crate::rules) struct Foreigners<T> {
    /// The action that creates one.
    pub(in crate::rules) action: DriverAction,
    /// The object of a step.
    pub(in crate::rules) object: fn(&DriverStep) -> Option<&ObjectRef>,
    /// The part in which two versions differ.
    pub(in crate::rules) changed: fn(&T, &T) -> Option<&'static str>,
    /// The message if it was changed.
    pub(in crate::rules) message_changed: &'static str,
    /// The message if it was deleted.
    pub(in crate::rules) message_deleted: &'static str,
}

/// Judges whether objects of other producers stay as the run created them.
pub(in crate::rules) fn untouched<T: Judged>(
    evidence: &Evidence,
    findings: &mut Findings,
    foreigners: &Foreigners<T>,
) {
    for step in steps(evidence, findings, Scenario::Foreigner, foreigners.action) {
        let states = (foreigners.object)(step).map(|object| (object, states::<T>(evidence, object)));
        let (object, states) = match states {
            Some((object, states)) if !states.is_empty() => (object, states),
            Some((object, _)) => {
                findings.cannot_tell(format!("the watch never showed {object}"));
                continue;
            }
            None => {
                findings.cannot_tell("the object that the run created is unknown");
                continue;
            }
        };
        let span = Span::of(evidence, step);
        let found = touches(evidence, foreigners, &states, &span);
        match span.doubt(Some(object)) {
            Some(doubt) if found.iter().all(|finding| finding.advisory) => findings.cannot_tell(doubt),
            _ => findings.examine(),
        }
        let named = T::said(&evidence.header.claim);
        let is_partly_named = named.users.is_empty() || named.field_managers.is_empty();
        if is_partly_named && found.iter().any(|finding| finding.advisory) {
            findings.note(format!("whose write it was is unknown: {}", T::NOT_NAMED));
        }
        found.into_iter().for_each(|finding| findings.report(finding));
    }
}

/// At most one change, and the deletion, but for what a gap may have hidden: that may be the run's own.
fn touches<T: Judged>(
    evidence: &Evidence,
    foreigners: &Foreigners<T>,
    states: &[State<T>],
    span: &Span,
) -> Vec<Finding> {
    // When it stops looking, the run itself may delete the object.
    let seen = |state: &&State<T>| span.from <= state.at && state.at < span.looked;
    let states: Vec<&State<T>> = states.iter().filter(seen).collect();
    let Some(first) = states.first().and_then(|state| state.object) else {
        return Vec::new();
    };
    let (own, named) = (writers(first), T::said(&evidence.header.claim));
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
                let path = (foreigners.changed)(before, object);
                let is_seen = span.missed_before(Some(&object.object_ref()), after.at).is_none();
                if let Some(path) = path.filter(|_| is_seen && !is_own) {
                    let finding = Finding::on(object.object_ref(), foreigners.message_changed)
                        .at(path)
                        .expected(span.untouched())
                        .observed(format!("changed at {}{}", to_the_second(after.at), by(&authors)));
                    let is_proven = authors.iter().any(|author| named.has_field_manager(author));
                    // The first one, and better a proven one.
                    if change
                        .as_ref()
                        .is_none_or(|known: &Finding| known.advisory && is_proven)
                    {
                        change = Some(if is_proven { finding } else { finding.advisory() });
                    }
                }
            }
            _ if going(before) => {}
            _ => deleted = deleted.or_else(|| deletion_of(evidence, foreigners, before, after, span)),
        }
    }
    change.into_iter().chain(deleted).collect()
}

fn deletion_of<T: Judged>(
    evidence: &Evidence,
    foreigners: &Foreigners<T>,
    before: &T,
    gone: &State<T>,
    span: &Span,
) -> Option<Finding> {
    let object = before.object_ref();
    if span.missed_before(Some(&object), gone.at).is_some() {
        return None;
    }
    let request = deletion::<T>(evidence, &object, gone.at.as_microsecond());
    if request.is_some_and(|request| request.is_the_suites()) {
        return None;
    }
    let user = request.map(|request| &*request.user);
    let finding = Finding::on(object, foreigners.message_deleted)
        .at("metadata.name")
        .expected(span.untouched())
        .observed(format!(
            "deleted at {}{}",
            to_the_second(gone.at),
            by(&user.into_iter().collect())
        ));
    let named = T::said(&evidence.header.claim);
    let is_proven = request.is_some_and(|request| is_by_program(request) && named.has_user(&request.user));
    Some(if is_proven { finding } else { finding.advisory() })
}
