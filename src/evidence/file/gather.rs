//! Gathers the records of an evidence file, in their order.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};

use super::record::{Covers, Deleted, Line, MergePatch, Patch, Record, section_of};
use crate::{
    Evidence, Gap, Header, Input, Later, Log, Member, MemberSample, ObjectKey, ObjectRef, Request, Requested,
    Tracked, Version, Window,
    api::{ClusterProfile, PlacementDecision},
    lenient,
    read::input::Counts,
};

const NO_TIME: &str =
    "no `at`: only a dump, whose header has no window, does not say when a version was received";
const CHANGE_IN_DUMP: &str = "`patch` or `deleted` in a dump: evidence of a run has a window in its header";
const NO_OBJECT: &str = "`patch` or `deleted` without a `profile` or `placementDecision` above it";
const NO_MEMBER: &str = "`memberSample` without a `member` with a sample above it";

/// No clock of a run shows a later time: 2100-01-01T00:00:00Z.
const LATEST: i64 = 4_102_444_800;

const AUDIT_LOG: &str = "what the audit log covers";
const MEMBERS_LOG: &str = "the time of the members' log";
const PLUGIN_LOG: &str = "the time of the plugin's log";

#[derive(Default)]
pub(super) struct GatheredEvidence {
    evidence: Evidence,
    later: Evidence,
    /// The profiles that the run waited for in vain when the window ended.
    missing: BTreeSet<ObjectKey>,
    section: usize,
    /// True once the mark of a whole file was read.
    is_whole: bool,
    unknown: Counts,
    /// True if the header has no window: the evidence is a dump's.
    is_dump: bool,
    /// The objects, without their resourceVersions.
    objects: HashSet<ObjectRef>,
}

impl GatheredEvidence {
    pub(super) fn unreadable(&self) -> usize {
        self.evidence.unreadable.len()
    }

    pub(super) fn take(&mut self, line: Line, number: usize) -> Result<(), String> {
        if self.is_whole {
            return Err("a record after the end: are these two files in one?".to_owned());
        }
        if matches!(line, Line::Record(Record::Header(_))) != (number == 1) {
            return Err("a second header: are these two files in one?".to_owned());
        }
        let record = match line {
            Line::Record(record) => record,
            Line::Unknown(kind) => {
                self.unknown.add(&kind);
                return Ok(());
            }
        };
        self.section = self.section.max(record.section().map_or(0, section_of));
        self.is_whole = matches!(record, Record::End {});
        let Record::AfterWindow(record) = record else {
            self.check_object(&record)?;
            return self.add(record);
        };
        std::mem::swap(&mut self.evidence, &mut self.later);
        let added = self.add(*record);
        std::mem::swap(&mut self.evidence, &mut self.later);
        added
    }

    /// Checks that each object occurs once. Two names may share a uid, in a sanitized dump.
    fn check_object(&mut self, record: &Record) -> Result<(), String> {
        let object = match record {
            Record::Profile(first) => ObjectRef::from(&*first.object),
            Record::PlacementDecision(first) => ObjectRef::from(&*first.object),
            _ => return Ok(()),
        };
        let object = ObjectRef {
            resource_version: String::new(),
            ..object
        };
        if !object.uid.is_empty() && !self.objects.insert(object) {
            return Err("a second object with the same name and uid: are these two files in one?".to_owned());
        }
        Ok(())
    }

    /// Checks that an object of a run has times. One of a dump has none.
    fn check_time(&self, record: &mut Record) -> Result<(), String> {
        let at = match record {
            Record::Profile(first) => &mut first.at,
            Record::PlacementDecision(first) => &mut first.at,
            Record::Patch(_) | Record::Deleted(_) if self.is_dump => return Err(CHANGE_IN_DUMP.to_owned()),
            _ => return Ok(()),
        };
        if self.is_dump {
            *at = None;
        } else if at.is_none() {
            return Err(NO_TIME.to_owned());
        }
        Ok(())
    }

    fn add(&mut self, mut record: Record) -> Result<(), String> {
        self.check_time(&mut record)?;
        let evidence = &mut self.evidence;
        // All placement decisions are after all profiles.
        let is_of_profile = evidence.slices.is_empty();
        match record {
            Record::Header(header) => {
                check_header(&header)?;
                self.is_dump = header.window.is_none();
                evidence.header = *header;
            }
            Record::Gap(gap) => evidence.gaps.push(gap.into_owned()),
            Record::Unreadable(unreadable) => evidence.unreadable.push(unreadable.into_owned()),
            Record::Namespace(namespace) => evidence.namespaces.push(namespace.into_owned()),
            Record::Secret(secret) => evidence.secrets.push(secret.into_owned()),
            Record::UnlabelledSecret(secret) => evidence.unlabelled_secrets.push(secret.into_owned()),
            Record::Probe(probe) => evidence.probes.push(probe.into_owned()),
            Record::Profile(first) => {
                let history = first.history(evidence.profiles.last());
                evidence.profiles.push(history);
            }
            Record::PlacementDecision(first) => {
                let history = first.history(evidence.slices.last());
                evidence.slices.push(history);
            }
            Record::Patch(patch) if is_of_profile => add_version::<ClusterProfile>(evidence, patch)?,
            Record::Patch(patch) => add_version::<PlacementDecision>(evidence, patch)?,
            Record::Deleted(deleted) if is_of_profile => delete::<ClusterProfile>(evidence, &deleted)?,
            Record::Deleted(deleted) => delete::<PlacementDecision>(evidence, &deleted)?,
            Record::Missing(key) => _ = self.missing.insert(key.into_owned()),
            Record::Requests(covers) => begin_log(&mut evidence.requests, &covers, AUDIT_LOG)?,
            Record::Request(request) if is_kept_apart(evidence, &request) => {
                evidence.own_requests.push(request.into_owned());
            }
            Record::Request(request) => add_event(&mut evidence.requests, request)?,
            Record::PlacementDecisionRequests(covers) => {
                begin_log(&mut evidence.slice_requests, &covers, AUDIT_LOG)?;
            }
            Record::PlacementDecisionRequest(request) if is_kept_apart(evidence, &request) => {
                evidence.own_slice_requests.push(request.into_owned());
            }
            Record::PlacementDecisionRequest(request) => add_event(&mut evidence.slice_requests, request)?,
            Record::MemberCalls(covers) => {
                begin_log(&mut evidence.member_calls, &covers, MEMBERS_LOG)?;
            }
            Record::MemberCall(call) => add_event(&mut evidence.member_calls, call)?,
            Record::PluginCalls(covers) => {
                begin_log(&mut evidence.plugin_calls, &covers, PLUGIN_LOG)?;
            }
            Record::PluginCall(call) => add_event(&mut evidence.plugin_calls, call)?,
            Record::Mentions(mentions) => evidence.mentions = Some(*mentions),
            Record::Testbed(testbed) => evidence.testbed = Some(*testbed),
            Record::Member(mut member) => {
                member.share();
                evidence.members.push(*member);
            }
            Record::MemberSample(patch) => add_sample(evidence.members.last_mut(), patch)?,
            Record::EndpointCall(call) => evidence.endpoint_calls.push(call.into_owned()),
            Record::Login(login) => evidence.logins.push(login.into_owned()),
            Record::Driver(driver) => evidence.driver = Some(*driver),
            // An `afterWindow` was unwrapped before, and is never nested.
            Record::AfterWindow(_) | Record::End {} => {}
        }
        Ok(())
    }

    /// What was gathered from so many lines, with a gap for each kind of evidence that a cut lost.
    pub(super) fn finish(self, lines: usize) -> Input {
        let mut evidence = self.evidence;
        // What became of an object may be behind the cut.
        if self.is_whole {
            evidence.later = Later {
                profiles: self.later.profiles,
                slices: self.later.slices,
                missing: self.missing,
                gaps: self.later.gaps,
            };
            evidence.later.sort();
        }
        if !self.is_whole {
            let kinds = evidence.header.requested.iter().filter(|(kind, requested)| {
                // The section of the cut may lack records; later sections lack all.
                **requested == Requested::Yes && section_of(**kind) >= self.section
            });
            let reason = format!("the evidence file is cut short after line {lines}: record it again");
            let gaps: Vec<Gap> = kinds.map(|(kind, _)| Gap::of(*kind, reason.clone())).collect();
            evidence.gaps.extend(gaps);
        }
        let notes = (!self.unknown.is_empty())
            .then(|| format!("skipped records of unknown kinds: {}", self.unknown.summary()));
        Input {
            evidence,
            notes: notes.into_iter().collect(),
        }
    }
}

fn add_version<T: Tracked + Serialize>(evidence: &mut Evidence, patch: Patch<'_>) -> Result<(), String> {
    let history = T::histories_mut(evidence).last_mut().ok_or(NO_OBJECT)?;
    let mut object: T = patched(history.last(), patch.object.into_owned())?;
    object.share_with(history.last());
    let at = Some(patch.at);
    history.versions.push(Version { at, object });
    Ok(())
}

fn add_sample(member: Option<&mut Member>, patch: MergePatch) -> Result<(), String> {
    let samples = &mut member.ok_or(NO_MEMBER)?.samples;
    let last = samples.last().ok_or(NO_MEMBER)?;
    let mut next: MemberSample = patched(last, patch)?;
    next.share_with(samples);
    samples.push(next);
    Ok(())
}

/// The next version of an object; the error says what in it does not fit its type.
fn patched<T: Serialize + DeserializeOwned>(before: &T, patch: MergePatch) -> Result<T, String> {
    let mut value = serde_json::to_value(before).map_err(|error| error.to_string())?;
    patch.apply(&mut value);
    lenient::read_value(&value)
}

fn delete<T: Tracked>(evidence: &mut Evidence, deleted: &Deleted) -> Result<(), String> {
    let history = T::histories_mut(evidence).last_mut().ok_or(NO_OBJECT)?;
    history.deleted = Some(deleted.at);
    history.deleted_version.clone_from(&deleted.resource_version);
    Ok(())
}

/// Whether a request is the suite's own. On a testbed the run acts as the manager: its requests count as those of a manager.
fn is_kept_apart(evidence: &Evidence, request: &Request) -> bool {
    evidence.testbed.is_none() && request.is_the_suites()
}

fn begin_log<T>(log: &mut Option<Log<T>>, covers: &Covers, what: &str) -> Result<(), String> {
    check_window(&covers.covers, what)?;
    *log = Some(Log {
        covers: covers.covers,
        events: Vec::new(),
    });
    Ok(())
}

fn add_event<T: Clone>(log: &mut Option<Log<T>>, event: Cow<'_, T>) -> Result<(), String> {
    let log = log
        .as_mut()
        .ok_or("a request or a call, and no record above it that says what its log covers")?;
    log.events.push(event.into_owned());
    Ok(())
}

fn check_header(header: &Header) -> Result<(), String> {
    let Some(window) = header.window else {
        return Ok(());
    };
    check_window(&window, "the window")?;
    let Some(settled) = header.settled else {
        return Ok(());
    };
    let until = settled.until;
    check_window(
        &Window { until, ..window },
        "the time until which the run watched on",
    )
}

/// Refuses a span of time that no run has: rules would take its length for what was observed. `what` begins the message.
fn check_window(window: &Window, what: &str) -> Result<(), String> {
    let Window { from, until } = *window;
    if until < from {
        return Err(format!(
            "{what} ends before it begins: it is from {from} until {until}"
        ));
    }
    if until > Timestamp::from_second(LATEST).unwrap_or(Timestamp::MAX) {
        return Err(format!(
            "{what} ends in another age, at {until}: no run has seen that time"
        ));
    }
    Ok(())
}
