//! State over time: how long a profile had each fault.
//!
//! A fault counts if it lasted for longer than the grace, mended or not ([`While::lasting`]). One object is one namespace
//! and name: a profile that is deleted and made again takes its faults along.

mod course;

use std::rc::Rc;

use course::Course;
use evidence::{Evidence, ProfileHistory, api::ClusterProfile};

use crate::{
    hash::HashMap,
    shared::{
        clocks::{Age, GRACE, age_at, age_of_transitions_at},
        lasted::{Lasted, STILL_OPEN, lasted, looked_on},
    },
    subjects::{Finding, Findings, Name, Profiles, by_name, name},
    time::{Known, Micros, While, end},
};

/// The reason for no verdict if all profiles are new.
pub(crate) const TOO_EARLY: &str =
    "too early to tell: no profile has been there for longer than the grace of 2 min";

/// A fault of one version. Faults of the same path are one fault that lasts.
#[derive(Clone)]
pub(crate) struct Fault {
    /// What is wrong.
    finding: Finding,
    /// When it ceases to be a fault without a change; none if never.
    passes: Option<Micros>,
    /// Why it may be no fault, if so.
    doubt: Option<&'static str>,
}

/// How a rule judges a profile's state.
#[derive(Clone, Copy, Default)]
pub(crate) struct State<'r> {
    /// Whether the rule sees the same in two versions, so that it need not judge the later one.
    pub(crate) same: Option<fn(&ClusterProfile, &ClusterProfile) -> bool>,
    /// The conditions whose last transition calls for an answer.
    pub(crate) called_by: &'r [&'r str],
    /// Whether managers fill the field after the creation, so that a new profile deserves no remark.
    pub(crate) filled_later: bool,
}

/// A life of a profile in which a fault was seen.
pub(crate) struct Life<'e> {
    history: &'e ProfileHistory,
    /// Whether the rule applies to any of its versions.
    applies: bool,
    /// The faults of each version. Versions in which the rule sees the same share them.
    faults: Vec<Rc<[Fault]>>,
}

/// Judges every version of each profile. `faults` returns the faults of one version, or none if the rule does not apply
/// to it.
pub(crate) fn each_state<'e>(
    profiles: &Profiles<'e>,
    findings: &mut Findings,
    state: State,
    mut faults: impl FnMut(&'e ClusterProfile) -> Option<Vec<Fault>>,
) {
    let mut faulty: HashMap<Name, Vec<Life>> = HashMap::default();
    let evidence = profiles.evidence();
    for history in profiles.histories() {
        let life = Life::of(history, state, &mut faults);
        // Nearly all profiles have no fault that nearly any rule looks for.
        if life.faults.is_empty() {
            if life.applies {
                findings.examine();
            }
        } else {
            faulty.entry(name(history.last())).or_default().push(life);
        }
    }
    if faulty.is_empty() {
        return;
    }
    let histories = profiles
        .histories()
        .filter(|history| faulty.contains_key(&name(history.last())));
    for profile in by_name(evidence, histories) {
        let (namespace, called) = name(profile.last_life().last());
        let lives = &faulty[&(namespace, called)];
        let later = evidence.later_of(namespace, called).iter();
        let later: Vec<Life> = later.map(|life| Life::of(life, state, &mut faults)).collect();
        Judging {
            evidence,
            state,
            course: Course::of(evidence, &profile, lives.iter().chain(&later)),
        }
        .judge(lives, findings);
    }
}

impl From<Finding> for Fault {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            passes: None,
            doubt: None,
        }
    }
}

impl Fault {}

impl<'e> Life<'e> {
    fn of(
        history: &'e ProfileHistory,
        state: State,
        faults: &mut impl FnMut(&'e ClusterProfile) -> Option<Vec<Fault>>,
    ) -> Self {
        let mut life = Self {
            history,
            applies: false,
            faults: Vec::new(),
        };
        let mut known: Option<Rc<[Fault]>> = None;
        for (place, version) in history.versions.iter().enumerate() {
            let is_same = state.same.zip(history.before(place));
            if !is_same.is_some_and(|(same, before)| same(before, &version.object)) {
                known = faults(&version.object).map(Rc::from);
            }
            life.applies |= known.is_some();
            if let Some(faults) = known.as_ref().filter(|faults| !faults.is_empty()) {
                life.faults.resize_with(place, Rc::default);
                life.faults.push(Rc::clone(faults));
            }
        }
        life
    }
}

/// The judging of one profile in which faults were seen.
struct Judging<'e, 'r, 'p> {
    evidence: &'e Evidence,
    state: State<'r>,
    course: Course<'e, 'p>,
}

impl Judging<'_, '_, '_> {
    fn judge(&self, lives: &[Life<'_>], findings: &mut Findings) {
        let (mut is_new, mut is_found) = (false, false);
        for path in self.course.paths() {
            let found = self.course.lasts(path, |fault| fault.doubt.is_none());
            let doubt = self.course.doubt(path);
            let doubt = doubt.filter(|_| self.course.lasts(path, |_| true).lasting(GRACE) != Known::No);
            match (self.lasted(path, &found), doubt) {
                (Lasted::Long, _) => {
                    is_found = true;
                    let found = self.course.findings(path, &found).into_iter();
                    found.for_each(|finding| findings.report(finding));
                }
                (_, Some(doubt)) => findings.cannot_tell(doubt),
                (Lasted::New | Lasted::Untold(_), None) if self.is_open(&found) => {
                    is_new = true;
                    findings.wait_for(self.course.last_life().last(), STILL_OPEN);
                }
                (Lasted::Untold(reason), None) => {
                    findings.cannot_tell(reason);
                    is_new |= found.is_open();
                }
                (Lasted::New | Lasted::Short, None) => {
                    is_new |= found.is_open();
                    self.course.note_short(path, &found, self.state, findings);
                }
            }
        }
        let is_excused = is_new && !is_found && self.state.filled_later;
        if is_excused {
            findings.cannot_tell_unless_examined(TOO_EARLY);
        }
        let applying = lives.iter().filter(|life| life.applies);
        applying
            .skip(usize::from(is_excused))
            .for_each(|_| findings.examine());
    }

    /// Whether a fault that did not last was open at the end, and the run looked on for such faults, or could not look.
    fn is_open(&self, found: &While) -> bool {
        let is_held_against = looked_on(self.evidence) || self.course.ends_unseen();
        self.course.is_watched() && found.is_open() && is_held_against
    }

    fn lasted(&self, path: &str, found: &While) -> Lasted {
        // A single look cannot wait for a fault to pass, and must not pass it.
        let is_awaited = self.state.filled_later || !self.state.called_by.is_empty();
        match lasted(found, || self.age(path, found)) {
            Lasted::Long if is_awaited && !self.course.is_watched() => self.age(path, found).into(),
            other => other,
        }
    }

    /// How long a fault had lasted when it was last seen, if the watch has not seen it for longer than the grace. One
    /// that was there from the first list on is as old as the profile, or as the transition that called for an answer.
    fn age(&self, path: &str, found: &While) -> Age {
        match self.course.listed_with(path, found) {
            None => Age::New,
            Some(history) => {
                let end = || end(self.evidence);
                let watched = found.last_told().filter(|_| self.course.is_watched());
                let Some(at) = watched.or_else(end) else {
                    return Age::Settled;
                };
                let conditions = self.state.called_by;
                let called = age_of_transitions_at(self.evidence, history.first(), conditions, at);
                age_at(self.evidence, history, at).max(called)
            }
        }
    }
}
