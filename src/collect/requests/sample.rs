//! Samples an audit log before a run: whether it is one, how much it records of profiles, and how fresh it is.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use evidence::{Request, api::ObjectKind};
use jiff::Timestamp;
use tokio::time::Instant;

use super::{
    error::RequestsError,
    event::{Event, is_foreign},
    events::Events,
    files::{LogFile, find},
    lines::{Line, Lines},
};

/// How many lines a file may begin with that are no events, as when a log is read.
const LEAD: usize = 100;
/// After how many lines the time is looked at.
const LINES: usize = 1000;

/// What a part of an audit log shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditSample {
    /// How many files belong to the log.
    pub files: usize,
    /// How many events were read.
    pub events: usize,
    /// Whether any of them is about ClusterProfiles.
    pub knows_profiles: bool,
    /// The writes on ClusterProfiles, by the level that the audit policy gives them, such as `Metadata`.
    pub writes: BTreeMap<String, usize>,
    /// The writes on ClusterProfiles.
    pub requests: Vec<Request>,
    /// The writes on PlacementDecisions.
    pub slice_requests: Vec<Request>,
    /// When the last event was logged, by the hub's clock.
    pub last: Option<Timestamp>,
    /// Whether all of the log was read.
    pub is_whole: bool,
}

/// Reads the log at these paths, for at most `limit`. Blocks.
///
/// # Errors
/// When a path leads to nothing that can be read, or to something else than an audit log, or there is no event.
pub fn sample_audit_log(paths: &[PathBuf], limit: Duration) -> Result<AuditSample, RequestsError> {
    let began = Instant::now();
    let (files, _) = find(paths)?;
    let mut sample = AuditSample {
        files: files.len(),
        is_whole: true,
        ..AuditSample::default()
    };
    let mut writes = Events::default();
    for file in &files {
        sample.read(file, &mut writes, began, limit)?;
    }
    (sample.requests, sample.slice_requests) = writes.into_requests();
    if sample.events > 0 {
        return Ok(sample);
    }
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Err(RequestsError::Empty {
        path: paths.join(", "),
    })
}

impl AuditSample {
    fn read(
        &mut self,
        file: &LogFile,
        writes: &mut Events,
        began: Instant,
        limit: Duration,
    ) -> Result<(), RequestsError> {
        let path = || file.path.display().to_string();
        let unread = |cause| RequestsError::Read { path: path(), cause };
        let before = self.events;
        let mut lines = match Lines::open(&file.path) {
            Ok(lines) => lines,
            // What was only found may be packed or thrown away meanwhile.
            Err(_) if !file.is_named => return Ok(()),
            Err(cause) => return Err(unread(cause)),
        };
        let mut flaw = None;
        for number in 1.. {
            if number % LINES == 0 && began.elapsed() > limit {
                self.is_whole = false;
                break;
            }
            let line = match lines.next().map_err(unread)? {
                Some(Line::Whole(line) | Line::Unended(line)) => line,
                Some(Line::TooLong) => continue,
                Some(Line::Broken(_)) | None => break,
            };
            if !self.take(line, writes) {
                flaw.get_or_insert("its lines are no audit events in JSON");
                if self.events == before && number >= LEAD {
                    break;
                }
            }
        }
        match flaw.filter(|_| file.is_named && self.events == before) {
            Some(message) => Err(RequestsError::NoLog {
                path: path(),
                message: message.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Takes a line; `false` if it is no event.
    fn take(&mut self, line: &[u8], writes: &mut Events) -> bool {
        let Ok(event) = serde_json::from_slice::<Event<'_>>(line) else {
            return false;
        };
        if event.is_audit() {
            self.note(&event);
            if event.is_write() && event.kind().is_some() {
                writes.take(line);
            }
            return true;
        }
        if !event.is_list() {
            return !is_foreign(line);
        }
        for item in event.items.iter().flatten() {
            if let Ok(event) = serde_json::from_str::<Event<'_>>(item.get()) {
                self.note(&event);
            }
        }
        true
    }

    fn note(&mut self, event: &Event<'_>) {
        self.events += 1;
        let logged = event.stage_timestamp.or(event.request_received_timestamp);
        self.last = self.last.max(logged);
        if event.kind() != Some(ObjectKind::ClusterProfile) {
            return;
        }
        self.knows_profiles = true;
        // A level of the policy, which is none of the caller's own words.
        let levels = ["Metadata", "Request", "RequestResponse"];
        let level = levels.iter().find(|level| event.level.as_deref() == Some(level));
        if event.is_write()
            && event.stage.as_deref() == Some("ResponseComplete")
            && let Some(level) = level
        {
            *self.writes.entry((*level).to_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn event(level: &str, verb: &str, resource: &str, second: u8) -> String {
        format!(
            "{{\"kind\": \"Event\", \"apiVersion\": \"audit.k8s.io/v1\", \"level\": \"{level}\", \"stage\": \
             \"ResponseComplete\", \"verb\": \"{verb}\", \"objectRef\": {{\"apiGroup\": \"multicluster.x-k8s.io\", \
             \"resource\": \"{resource}\"}}, \"stageTimestamp\": \"2026-11-20T10:00:0{second}Z\"}}\n"
        )
    }

    fn sample(text: &str, limit: Duration) -> Result<AuditSample, RequestsError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        fs::write(&path, text).expect("written");
        sample_audit_log(&[path], limit)
    }

    #[test]
    fn counts_writes_on_profiles_by_their_level() {
        let text = [
            event("Metadata", "list", "clusterprofiles", 1),
            event("Request", "update", "clusterprofiles", 2),
            event("Metadata", "patch", "clusterprofiles", 4),
            event("Request", "patch", "clusterprofiles", 3),
            event("RequestResponse", "create", "placements", 1),
        ];
        let found = sample(&text.concat(), Duration::MAX).expect("a log");
        assert_eq!(
            (found.events, found.knows_profiles, found.is_whole),
            (5, true, true)
        );
        let levels: Vec<(&str, usize)> = found
            .writes
            .iter()
            .map(|(level, count)| (&**level, *count))
            .collect();
        assert_eq!(levels, [("Metadata", 1), ("Request", 2)]);
        assert_eq!(found.last.expect("a time").to_string(), "2026-11-20T10:00:04Z");
    }

    #[test]
    fn tells_a_log_from_other_files() {
        let error = |text: &str| sample(text, Duration::MAX).expect_err("no log").to_string();
        assert!(error("").contains("holds no event"));
        assert!(error("kind: Policy\nrules: []\n").contains("is no audit log"));
    }

    #[test]
    fn ends_when_its_time_is_over() {
        let text = event("Metadata", "list", "nodes", 1).repeat(3 * LINES);
        let found = sample(&text, Duration::ZERO).expect("a log");
        assert!(!found.is_whole && found.events == LINES - 1, "{found:?}");
    }
}
