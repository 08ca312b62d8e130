//! Gathers the records of an evidence file, in their order.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    FileError, LineError,
    change::{Change, Changing},
    line::{Line, UnreadableRecord},
    record::{Covers, Record},
    section::Section,
    window,
};
use crate::{
    Asked, Evidence, FORMAT, Gap, Header, History, Input, Later, Log, ObjectKey, ObjectRef, Tracked,
    Unreadable, Version,
    api::{ClusterProfile, PlacementDecision, names},
};

/// How many unknown kinds of records are told apart.
const UNKNOWN_KINDS: usize = 20;
/// The most characters of the name of one.
const LONGEST_KIND: usize = 100;

/// The records so far.
#[derive(Default)]
pub(super) struct Gathered {
    evidence: Evidence,
    /// What was seen after the window.
    later: Evidence,
    /// The profiles that the run waited for in vain when the window ended.
    missing: BTreeSet<ObjectKey>,
    section: Section,
    /// Skipped records of unknown kinds, counted by kind.
    unknown: BTreeMap<String, usize>,
    /// The records of further unknown kinds.
    unknown_others: usize,
    /// True if the profile above is unreadable, so that its changes are skipped.
    skips: bool,
    /// True if the header has no window: the evidence is a dump's.
    is_dump: bool,
}

impl Gathered {
    /// How many objects could not be read.
    pub(super) fn unreadable(&self) -> usize {
        self.evidence.unreadable.len() + self.later.unreadable.len()
    }

    /// Takes what a line says.
    pub(super) fn take(&mut self, content: Line, line: usize) -> Result<(), FileError> {
        if self.section == Section::End {
            return Err(broken(line, LineError::AfterEnd));
        }
        if matches!(content, Line::Record(Record::Header(_))) != (line == 1) {
            return Err(broken(line, LineError::SecondHeader));
        }
        match content {
            Line::Record(Record::Later(record)) => {
                self.in_later(|gathered| gathered.add(*record, line))?;
                self.section = self.section.max(Section::Later);
            }
            Line::Record(record) => self.add(record, line)?,
            Line::Unreadable(record) if record.is_later => {
                self.in_later(|gathered| gathered.give_up(record, line));
                self.section = self.section.max(Section::Later);
            }
            Line::Unreadable(record) => self.give_up(record, line),
            Line::Unknown(kind) => self.skip(&kind),
        }
        Ok(())
    }

    /// Does something with the evidence of the time after the window.
    fn in_later<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.evidence, &mut self.later);
        let done = act(self);
        std::mem::swap(&mut self.evidence, &mut self.later);
        done
    }

    /// Checks that an object of a run has times, and sees that one of a dump has none: the suites before wrote the Unix epoch.
    fn check_time(&self, record: &mut Record) -> Result<(), LineError> {
        let at = match record {
            Record::Profile(first) => &mut first.at,
            Record::Slice(first) => &mut first.at,
            Record::Change(_) | Record::SliceVersion(_) | Record::Gone(_) if self.is_dump => {
                return Err(LineError::ChangeInDump);
            }
            _ => return Ok(()),
        };
        if self.is_dump {
            *at = None;
        }
        if !self.is_dump && at.is_none() {
            return Err(LineError::NoTime);
        }
        Ok(())
    }

    fn add(&mut self, mut record: Record, line: usize) -> Result<(), FileError> {
        self.check_time(&mut record).map_err(|flaw| broken(line, flaw))?;
        if self.skips
            && matches!(
                record,
                Record::Change(_) | Record::SliceVersion(_) | Record::Gone(_)
            )
        {
            return Ok(());
        }
        self.skips &= !matches!(record, Record::Profile(_) | Record::Slice(_));
        let evidence = &mut self.evidence;
        let section = match record {
            Record::Header(header) => {
                window::check_header(&header).map_err(|flaw| broken(line, flaw))?;
                // What a newer suite wrote besides is skipped, so this is the present format.
                self.is_dump = header.window.is_none();
                evidence.header = Header {
                    format: FORMAT.to_owned(),
                    ..*header
                };
                Section::Losses
            }
            Record::Gap(gap) => {
                evidence.gaps.push(gap.into_owned());
                Section::Losses
            }
            Record::Unreadable(unreadable) => {
                evidence.unreadable.push(unreadable.into_owned());
                Section::Losses
            }
            Record::Namespace(namespace) => {
                evidence.namespaces.push(namespace.into_owned());
                Section::Namespaces
            }
            Record::Secret(secret) => {
                evidence.secrets.push(secret.into_owned());
                Section::Secrets
            }
            Record::UnlabelledSecret(secret) => {
                evidence.unlabelled_secrets.push(secret.into_owned());
                Section::UnlabelledSecrets
            }
            Record::Probe(probe) => {
                evidence.probes.push(probe.into_owned());
                Section::Probes
            }
            Record::Profile(first) => {
                let history = first.history(evidence.profiles.last());
                evidence.profiles.push(history);
                Section::Profiles
            }
            // All slices stand after all profiles.
            Record::Change(change) if evidence.slices.is_empty() => {
                add_change::<ClusterProfile>(evidence, *change, line)?;
                Section::Profiles
            }
            Record::Change(change) => {
                add_change::<PlacementDecision>(evidence, *change, line)?;
                Section::Slices
            }
            Record::Slice(first) => {
                let history = first.history(evidence.slices.last());
                evidence.slices.push(history);
                Section::Slices
            }
            Record::SliceVersion(version) => {
                let history = last_history::<PlacementDecision>(evidence, line)?;
                let (at, mut object) = (Some(version.at), version.slice.into_owned());
                object.share_with(history.last());
                history.versions.push(Version { at, object });
                Section::Slices
            }
            Record::Gone(gone) if evidence.slices.is_empty() => {
                last_history::<ClusterProfile>(evidence, line)?.deleted = Some(gone.at);
                Section::Profiles
            }
            Record::Gone(gone) => {
                last_history::<PlacementDecision>(evidence, line)?.deleted = Some(gone.at);
                Section::Slices
            }
            Record::Missing(key) => {
                self.missing.insert(key.into_owned());
                Section::Losses
            }
            Record::Workload(workload) => {
                evidence.workloads.push(workload.into_owned());
                Section::Workloads
            }
            Record::ConsumerAccess(access) => {
                evidence.consumer_access.push(access.into_owned());
                Section::ConsumerAccess
            }
            Record::Requests(covers) => {
                begin_log(&mut evidence.requests, &covers, "what the audit log covers", line)?;
                Section::Requests
            }
            Record::Request(request) => {
                add_event(&mut evidence.requests, request, line)?;
                Section::Requests
            }
            Record::SliceRequests(covers) => {
                begin_log(
                    &mut evidence.slice_requests,
                    &covers,
                    "what the audit log covers",
                    line,
                )?;
                Section::SliceRequests
            }
            Record::SliceRequest(request) => {
                add_event(&mut evidence.slice_requests, request, line)?;
                Section::SliceRequests
            }
            Record::MemberCalls(covers) => {
                begin_log(
                    &mut evidence.member_calls,
                    &covers,
                    "the time of the members' log",
                    line,
                )?;
                Section::MemberCalls
            }
            Record::MemberCall(call) => {
                add_event(&mut evidence.member_calls, call, line)?;
                Section::MemberCalls
            }
            Record::PluginCalls(covers) => {
                begin_log(
                    &mut evidence.plugin_calls,
                    &covers,
                    "the time of the plugin's log",
                    line,
                )?;
                Section::PluginCalls
            }
            Record::PluginCall(call) => {
                add_event(&mut evidence.plugin_calls, call, line)?;
                Section::PluginCalls
            }
            Record::Notices(notices) => {
                evidence.notices = Some(*notices);
                Section::Notices
            }
            Record::Stage(stage) => {
                evidence.stage = Some(*stage);
                Section::Driver
            }
            Record::Member(mut member) => {
                member.share();
                evidence.members.push(*member);
                Section::Members
            }
            Record::Look(look) => {
                let member = evidence.members.last_mut();
                member
                    .and_then(|member| look.add_to(member))
                    .ok_or_else(|| broken(line, LineError::NoMember))?;
                Section::Members
            }
            Record::EndpointCall(call) => {
                evidence.endpoint_calls.push(call.into_owned());
                Section::Members
            }
            Record::Login(login) => {
                evidence.logins.push(login.into_owned());
                Section::Logins
            }
            Record::Driver(driver) => {
                evidence.driver = Some(*driver);
                Section::Driver
            }
            // Taken apart before: no such record holds another one.
            Record::Later(_) => Section::Later,
            Record::End {} => Section::End,
        };
        self.section = self.section.max(section);
        Ok(())
    }

    /// Counts a record of an unknown kind.
    fn skip(&mut self, kind: &str) {
        let kind: String = kind.chars().take(LONGEST_KIND).collect();
        if self.unknown.len() < UNKNOWN_KINDS || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind).or_default() += 1;
        } else {
            self.unknown_others += 1;
        }
    }

    /// Records an unreadable object. A profile with one unreadable version is dropped: its other versions might be
    /// judged wrongly.
    fn give_up(&mut self, unreadable: UnreadableRecord, line: usize) {
        let mut object = unreadable.object;
        if unreadable.is_change {
            if self.skips {
                return;
            }
            // All slices stand after all profiles.
            let slice = self.evidence.slices.pop();
            let slice = slice.map(|history| ObjectRef::from(history.last()));
            let known = slice.or_else(|| {
                let profile = self.evidence.profiles.pop();
                profile.map(|history| ObjectRef::from(history.last()))
            });
            object = known.unwrap_or_default();
        }
        self.skips |= unreadable.is_change || matches!(&*object.kind, names::KIND | names::PLACEMENT_KIND);
        self.evidence.unreadable.push(Unreadable {
            object,
            message: format!("line {line} of the evidence file: {}", unreadable.message),
        });
    }

    /// What was gathered from so many lines, with a gap for each kind of evidence that a cut lost.
    pub(super) fn finish(self, lines: usize) -> Input {
        let Self {
            mut evidence,
            later,
            missing,
            section,
            unknown,
            unknown_others,
            skips: _,
            is_dump: _,
        } = self;
        // What became of an object may be behind the cut.
        if section > Section::Later {
            evidence.later = whole(later, missing, &mut evidence.unreadable);
        }
        if section != Section::End {
            let lost = evidence.header.asked.iter().filter(|(kind, asked)| {
                // The section of the cut may lack records; later sections lack all.
                **asked == Asked::Yes && Section::of(**kind) >= section
            });
            let gaps: Vec<Gap> = lost
                .map(|(kind, _)| Gap {
                    kind: *kind,
                    from: None,
                    until: None,
                    object: None,
                    reason: format!("the evidence file is cut short after line {lines}: record it again")
                        .into(),
                })
                .collect();
            evidence.gaps.extend(gaps);
        }
        let mut notes: Vec<String> = unknown
            .iter()
            .map(|(kind, count)| format!("{count} records of the unknown kind `{kind}` were skipped"))
            .collect();
        if unknown_others > 0 {
            notes.push(format!(
                "{unknown_others} records of further unknown kinds were skipped"
            ));
        }
        Input { evidence, notes }
    }
}

/// What was seen after the window. If a part of it cannot be read, nothing is known of that time.
fn whole(later: Evidence, missing: BTreeSet<ObjectKey>, unreadable: &mut Vec<Unreadable>) -> Later {
    if !later.unreadable.is_empty() {
        unreadable.extend(later.unreadable);
        return Later::default();
    }
    let mut whole = Later {
        profiles: later.profiles,
        slices: later.slices,
        missing,
        gaps: later.gaps,
    };
    whole.sort();
    whole
}

/// Adds a version to the last history.
fn add_change<T: Changing>(evidence: &mut Evidence, change: Change, line: usize) -> Result<(), FileError> {
    let at = Some(change.at);
    let history = last_history::<T>(evidence, line)?;
    let object = history
        .last()
        .changed(change)
        .map_err(|flaw| broken(line, flaw))?;
    history.versions.push(Version { at, object });
    Ok(())
}

fn last_history<T: Tracked>(evidence: &mut Evidence, line: usize) -> Result<&mut History<T>, FileError> {
    T::histories_mut(evidence)
        .last_mut()
        .ok_or_else(|| broken(line, LineError::NoObject))
}

/// Begins a log of the span that it covers.
fn begin_log<T>(
    log: &mut Option<Log<T>>,
    covers: &Covers,
    what: &'static str,
    line: usize,
) -> Result<(), FileError> {
    window::check(&covers.covers, what).map_err(|flaw| broken(line, flaw))?;
    *log = Some(Log {
        covers: covers.covers,
        events: Vec::new(),
    });
    Ok(())
}

/// Adds an event to a log that has begun.
fn add_event<T: Clone>(log: &mut Option<Log<T>>, event: Cow<'_, T>, line: usize) -> Result<(), FileError> {
    let log = log.as_mut().ok_or_else(|| broken(line, LineError::NoLog))?;
    log.events.push(event.into_owned());
    Ok(())
}

fn broken(line: usize, flaw: LineError) -> FileError {
    FileError::Line { line, flaw }
}
