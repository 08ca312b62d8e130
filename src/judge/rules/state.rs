//! State over time: how long a profile had each fault in the versions that the watch saw.
//!
//! A fault counts if it lasted for longer than the grace, mended or not. Only confirmed time counts: from the first
//! version that has the fault to the version that mends it, the end of the window, or a gap in the timeline.

pub(super) mod segments;

use std::{collections::BTreeMap, sync::Arc};

use evidence::{Asked, Evidence, Kind, Origin, ProfileHistory, Version, api::ClusterProfile};
use segments::{Segment, gaps_of, segments};

use super::{
    clocks::{Age, CLOCKS_UNKNOWN, GRACE, age, age_of_transitions},
    finding::{Finding, Findings, Length},
    write_time::{LATE, Micros, end_of, timestamp},
};

/// The reason for no verdict if all profiles are new.
pub(super) const TOO_EARLY: &str =
    "too early to tell: no profile has been there for longer than the grace of 2 min";

/// A fault of one version. Faults of the same path are one fault that lasts.
pub(super) struct Fault {
    /// What is wrong.
    finding: Finding,
    /// When it ceases to be a fault without a change; none if never.
    passes: Option<Micros>,
    /// Why it may be no fault, if so.
    doubt: Option<&'static str>,
}

/// How a rule judges a profile's state.
#[derive(Clone, Copy, Default)]
pub(super) struct State<'r> {
    /// Whether the rule sees the same in two versions, so that it need not judge the later one.
    pub(super) same: Option<fn(&ClusterProfile, &ClusterProfile) -> bool>,
    /// The conditions whose last transition calls for an answer.
    pub(super) called_by: &'r [&'r str],
    /// Whether managers fill the field after the creation, so that a new profile deserves no remark.
    pub(super) filled_later: bool,
}

/// The profiles' faults, judged by how long they lasted.
struct Walk<'e, 'r, 'f> {
    evidence: &'e Evidence,
    state: State<'r>,
    findings: &'f mut Findings,
}

/// A fault that lasts.
struct Stretch {
    /// When it was first seen.
    from: Micros,
    /// Whether it began with the version that was first seen then, or may be older.
    begins: bool,
    /// Whether no version was seen without it.
    ever_since_listed: bool,
    /// Whether it exists since the creation of the profile, which the watch saw.
    since_creation: bool,
    /// The findings of its last version.
    findings: Vec<Finding>,
    /// Why it may be no fault, if so.
    doubt: Option<&'static str>,
    /// When the version without a fault, or what else ended it, came.
    stop: Micros,
}

/// How a stretch ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Mended,
    /// The time that was in the future has come.
    Passed,
    Deleted,
    Gap,
    WindowEnd,
}

/// Judges every version of each profile. `faults` returns the faults of one version, or none if the rule does not apply
/// to it.
pub(super) fn each_state<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    state: State,
    mut faults: impl FnMut(&'e ClusterProfile) -> Option<Vec<Fault>>,
) {
    let mut walk = Walk {
        evidence,
        state,
        findings,
    };
    for history in evidence.histories() {
        walk.history(history, &mut faults);
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

impl Fault {
    /// A fault that ceases at a time.
    pub(super) fn until(finding: Finding, passes: Micros) -> Self {
        Self {
            finding,
            passes: Some(passes),
            doubt: None,
        }
    }

    /// Makes it one of which the evidence does not tell whether it is a fault.
    pub(super) fn doubtful(self, reason: Option<&'static str>) -> Self {
        Self {
            doubt: reason,
            ..self
        }
    }
}

impl<'e> Walk<'e, '_, '_> {
    fn history(
        &mut self,
        history: &'e ProfileHistory,
        faults: &mut impl FnMut(&'e ClusterProfile) -> Option<Vec<Fault>>,
    ) {
        // Nearly all profiles have no fault that nearly any rule looks for.
        let mut story: Option<Story> = None;
        let (mut applies, mut clean) = (false, false);
        let mut known: Option<Vec<Fault>> = None;
        let mut gaps: Option<Vec<(Micros, Micros)>> = None;
        for (index, version) in history.versions.iter().enumerate() {
            let before = history.before(index);
            let is_same = self.state.same.zip(before);
            if !is_same.is_some_and(|(same, before)| same(before, &version.object)) {
                known = faults(&version.object);
            }
            applies |= known.is_some();
            let faults = known.as_deref().unwrap_or_default();
            if faults.is_empty() && story.as_ref().is_none_or(|story| story.open.is_empty()) {
                clean = true;
                continue;
            }
            let story = story.get_or_insert_default();
            story.clean |= clean;
            let by_path = by_path(faults);
            let gaps = gaps.get_or_insert_with(|| gaps_of(self.evidence, &version.object));
            for segment in segments(gaps, version.at.as_microsecond(), self.stop(history, index)) {
                story.segment(version, &by_path, segment, history.origin == Origin::Created);
            }
        }
        let Some(mut story) = story else {
            if applies {
                self.findings.examine();
            }
            return;
        };
        let ending = match history.deleted {
            Some(_) => Ending::Deleted,
            None => Ending::WindowEnd,
        };
        let open = std::mem::take(&mut story.open);
        let mut is_excused = false;
        for (path, stretch) in open {
            if ending == Ending::WindowEnd && stretch.length() < GRACE {
                match self.age(history, &stretch) {
                    Age::Settled => story.violations.push((path, stretch, Ending::WindowEnd)),
                    Age::Unsure => {
                        self.findings.cannot_tell(CLOCKS_UNKNOWN);
                        is_excused = self.state.filled_later;
                    }
                    Age::New => {
                        is_excused = self.state.filled_later;
                        story.short.push(stretch);
                    }
                }
            } else if ending == Ending::WindowEnd {
                story.violations.push((path, stretch, ending));
            } else {
                story.close(path, stretch, ending);
            }
        }
        self.settle(story, applies, is_excused);
    }

    /// When the next version replaced one.
    fn stop(&self, history: &ProfileHistory, index: usize) -> Micros {
        let next = history.versions.get(index + 1).map(|next| next.at);
        let at = history.versions[index].at.as_microsecond();
        next.or(history.deleted)
            .map(|stop| stop.as_microsecond())
            .or_else(|| end_of(self.evidence, history.last()))
            .unwrap_or(at)
            .max(at)
    }

    /// How long a fault has lasted at the end of the window that the watch has not seen for longer than the grace. One
    /// that was there from the first list on is as old as the profile, or as the transition that called for an answer.
    fn age(&self, history: &ProfileHistory, stretch: &Stretch) -> Age {
        if !stretch.ever_since_listed {
            return Age::New;
        }
        // A single look cannot wait for a fault to pass, and must not pass it.
        let is_awaited = self.state.filled_later || !self.state.called_by.is_empty();
        if !is_awaited && !matches!(self.evidence.asked(Kind::Timeline), Asked::Yes) {
            return Age::Settled;
        }
        let first = &history.versions[0].object;
        age(self.evidence, history).max(age_of_transitions(self.evidence, first, self.state.called_by))
    }

    /// Reports what one profile's versions showed. `applies` tells whether the rule applied to any of them.
    fn settle(&mut self, story: Story, applies: bool, is_excused: bool) {
        for stretch in &story.short {
            let is_filled = stretch.since_creation && self.state.filled_later;
            if is_filled || stretch.doubt.is_some() {
                continue;
            }
            self.findings.note_short(&stretch.findings[0], stretch.length());
        }
        let is_excused = is_excused && story.violations.is_empty();
        if is_excused {
            self.findings.cannot_tell_unless_examined(TOO_EARLY);
        }
        if applies && !is_excused {
            self.findings.examine();
        }
        // Of a fault that came again, the last stretch tells the most.
        let mut latest: BTreeMap<String, (Stretch, Ending, usize)> = BTreeMap::new();
        for (path, stretch, ending) in story.violations {
            let times = latest.remove(&path).map_or(1, |(.., times)| times + 1);
            latest.insert(path, (stretch, ending, times));
        }
        for (mut stretch, ending, times) in latest.into_values() {
            if let Some(doubt) = stretch.doubt {
                self.findings.cannot_tell(doubt);
                continue;
            }
            let span = stretch.describe(ending, times, self.evidence.header.window.is_some());
            for finding in stretch.findings.drain(..) {
                let observed = match &span {
                    Some(span) => format!("{}; {span}", finding.observed),
                    None => finding.observed.clone(),
                };
                self.findings.report(finding.observed(observed));
            }
        }
    }
}

/// What the versions of one profile showed.
#[derive(Default)]
struct Story {
    /// Whether a version without any fault was seen.
    clean: bool,
    /// The faults that the present version has.
    open: BTreeMap<String, Stretch>,
    /// The faults that lasted for longer than the grace.
    violations: Vec<(String, Stretch, Ending)>,
    /// Those that did not.
    short: Vec<Stretch>,
    /// The number of segments so far.
    segments: usize,
}

impl Story {
    /// Continues with a segment of a version and its faults.
    fn segment(
        &mut self,
        version: &Version,
        faults: &BTreeMap<&str, Vec<&Fault>>,
        segment: Segment,
        is_created: bool,
    ) {
        let is_first = self.segments == 0 && !self.clean;
        self.segments += 1;
        let mut open = std::mem::take(&mut self.open);
        for (path, faults) in faults {
            // A time that has come is no fault any more.
            let passes = faults
                .iter()
                .map(|fault| fault.passes.unwrap_or(Micros::MAX))
                .max();
            let passes = passes.unwrap_or(Micros::MAX);
            if passes <= segment.from {
                continue;
            }
            let before = open.remove(*path);
            let stop = segment.until.min(passes);
            let doubt = faults.iter().find_map(|fault| fault.doubt);
            let findings = faults.iter().map(|fault| fault.finding.clone()).collect();
            let stretch = match before {
                Some(before) if !segment.after_gap => Stretch {
                    findings,
                    doubt,
                    stop,
                    ..before
                },
                before => {
                    let ever_since_listed = before
                        .as_ref()
                        .map_or(is_first && !is_created, |before| before.ever_since_listed);
                    if let Some(before) = before {
                        self.close((*path).to_owned(), before, Ending::Gap);
                    }
                    Stretch {
                        from: segment.from,
                        begins: !segment.after_gap && (!is_first || is_created),
                        ever_since_listed,
                        since_creation: is_first && is_created,
                        findings,
                        doubt,
                        stop,
                    }
                }
            };
            if passes <= segment.until {
                self.close((*path).to_owned(), stretch, Ending::Passed);
            } else {
                self.open.insert((*path).to_owned(), stretch);
            }
        }
        for (path, stretch) in open {
            let ending = if segment.after_gap {
                Ending::Gap
            } else if version.object.metadata.deletion_timestamp.is_some() {
                Ending::Deleted
            } else {
                Ending::Mended
            };
            self.close(path, stretch, ending);
        }
        self.clean |= self.open.is_empty();
    }

    fn close(&mut self, path: String, stretch: Stretch, ending: Ending) {
        if stretch.is_long() {
            self.violations.push((path, stretch, ending));
        } else {
            self.short.push(stretch);
        }
    }
}

impl Stretch {
    fn length(&self) -> Micros {
        self.stop.saturating_sub(self.from)
    }

    fn is_long(&self) -> bool {
        // The version that mended it may have arrived late.
        self.length() > GRACE + LATE
    }

    /// Says from when till when it lasted. Nothing if it is the state that the first list showed.
    fn describe(&self, ending: Ending, times: usize, has_window: bool) -> Option<String> {
        if !has_window || (ending == Ending::WindowEnd && self.ever_since_listed) {
            return None;
        }
        let (from, until) = (timestamp(self.from), timestamp(self.stop));
        let least = if self.begins { "" } else { "at least " };
        let ending = match ending {
            Ending::Mended => ", then mended",
            Ending::Passed => ", when that time came",
            Ending::Deleted => ", when the profile was deleted",
            Ending::Gap => ", when the watch was interrupted",
            Ending::WindowEnd => ", when the window ended",
        };
        let times = match times {
            1 => String::new(),
            times => format!(", the last of {times} times"),
        };
        let length = Length(self.length());
        Some(format!(
            "wrong for {least}{length}, from {from} until {until}{ending}{times}"
        ))
    }
}

/// The faults of one version by their path.
fn by_path(faults: &[Fault]) -> BTreeMap<&str, Vec<&Fault>> {
    let mut by_path: BTreeMap<&str, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        by_path.entry(&fault.finding.path).or_default().push(fault);
    }
    by_path
}

/// Whether two versions have the same labels and spec.
pub(super) fn same_labels(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels) && Arc::ptr_eq(&one.spec, &other.spec)
}

/// Whether two versions have the same properties.
pub(super) fn same_properties(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.properties, &other.status.properties)
}

/// Whether two versions have the same conditions and generation.
pub(super) fn same_conditions(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.conditions, &other.status.conditions)
        && one.metadata.generation == other.metadata.generation
}

/// Whether two versions have the same access providers.
pub(super) fn same_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.access_providers, &other.status.access_providers)
        && Arc::ptr_eq(
            &one.status.credential_providers,
            &other.status.credential_providers,
        )
}
