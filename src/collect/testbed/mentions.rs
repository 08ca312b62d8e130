//! Reads what the consumer says of the testbed: in events, in its log, and in objects that anybody may read.
//!
//! Of each text, only the names of staged profiles and the members of staged credentials are kept.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::PathBuf,
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::{
    Mention, MentionLocation, Mentions, Reason,
    api::{ObjectKind, names},
};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{
    Calls,
    player::Player,
    plugin::{TOKEN_LENGTH, TOKEN_PREFIX},
};
use crate::{connect::call::segment, watch::list::list};

/// So many mentions are kept.
const MOST_MENTIONS: usize = 2_000;
/// So many bytes of each file of a log are read.
const LARGEST_LOG: u64 = 256 << 20;

/// The log of a consumer, as far as it was written by now.
pub trait ConsumerLog: fmt::Debug + Send + Sync {
    /// Hands each line to `each`.
    ///
    /// # Errors
    /// When it cannot be read to its end.
    fn read(&self, each: &mut dyn FnMut(&[u8])) -> io::Result<()>;
}

/// A log that is written to files.
#[derive(Clone, Debug)]
pub struct LogFiles(Vec<PathBuf>);

impl LogFiles {
    /// The log in these files; none without any.
    pub fn of(files: Vec<PathBuf>) -> Option<Arc<dyn ConsumerLog>> {
        (!files.is_empty()).then(|| Arc::new(Self(files)) as Arc<dyn ConsumerLog>)
    }
}

impl ConsumerLog for LogFiles {
    fn read(&self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        for path in &self.0 {
            let in_file =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let file = File::open(path).map_err(in_file)?;
            if file.metadata().map_err(in_file)?.len() > LARGEST_LOG {
                let reason = format!("{} has more than {} MiB", path.display(), LARGEST_LOG >> 20);
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
            }
            for line in BufReader::new(file.take(LARGEST_LOG)).split(b'\n') {
                each(&line.map_err(in_file)?);
            }
        }
        Ok(())
    }
}

/// What is looked for in a text.
struct Wanted {
    /// What all names of this run's profiles begin with.
    prefix: String,
    calls: Arc<Calls>,
}

/// What was found so far.
struct Search {
    wanted: Wanted,
    mentions: Mentions,
    /// What was found in lines and in events: each is kept once.
    known: HashSet<Mention>,
    is_full: bool,
}

/// An object, as far as it matters where something was found.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    metadata: Metadata,
    reason: String,
    r#type: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
}

/// Reads it all. Also gives why something could not be read, if so.
pub(super) async fn read_mentions(player: &Player<'_>) -> (Mentions, Option<Reason>) {
    let wanted = Wanted {
        prefix: player.name(""),
        calls: Arc::clone(&player.plan.calls),
    };
    let search = Arc::new(Mutex::new(Search::new(wanted)));
    let mut missing = None;
    for namespace in player.plan.namespaces() {
        for kind in ["Event", "ConfigMap", names::KIND] {
            let path = path(player, &namespace, kind);
            let search = Arc::clone(&search);
            let each = move |json: &[u8]| search.lock().object(kind, json);
            if let Err(failure) = list(player.context.client, &path, each).await {
                let reason = format!("the {kind}s of {namespace} could not be read: {failure}");
                missing.get_or_insert(reason);
            }
        }
    }
    if let Some(log) = player.plan.log.clone() {
        let search = Arc::clone(&search);
        let read = spawn_blocking(move || {
            let mut number = 0;
            log.read(&mut |line| {
                number += 1;
                search.lock().line(number, line);
            })
        });
        match read.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                _ = missing.get_or_insert(format!("the consumer's log could not be read: {error}"))
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    let mut search = search.lock();
    search.mentions.log = player.plan.log.is_some();
    if search.is_full {
        missing.get_or_insert(format!(
            "the consumer said more than is kept: {MOST_MENTIONS} mentions"
        ));
    }
    (std::mem::take(&mut search.mentions), missing.map(Reason::from))
}

/// The path of the objects of that kind in a namespace.
fn path(player: &Player<'_>, namespace: &str, kind: &str) -> String {
    if kind == names::KIND {
        let target = player.context.target;
        return target.collection(ObjectKind::ClusterProfile, namespace);
    }
    let plural = format!("{}s", kind.to_lowercase());
    format!("/api/v1/namespaces/{}/{plural}", segment(namespace))
}

impl Search {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            mentions: Mentions::default(),
            known: HashSet::new(),
            is_full: false,
        }
    }

    /// Looks into an object. Of one that is no Event, only credentials matter: the names of profiles stand in profiles.
    fn object(&mut self, kind: &str, json: &[u8]) {
        let (mut names, credentials) = self.wanted.find(json);
        let Ok(item) = serde_json::from_slice::<Item>(json) else {
            return;
        };
        let Metadata { name, namespace } = item.metadata;
        let place = if kind == "Event" {
            MentionLocation::Event {
                namespace,
                reason: item.reason,
                warning: item.r#type == "Warning",
            }
        } else {
            names.clear();
            MentionLocation::Object {
                kind: kind.to_owned(),
                namespace,
                name,
            }
        };
        self.keep(place, names, credentials);
    }

    /// Looks into a line of the log.
    fn line(&mut self, number: u64, line: &[u8]) {
        let (names, credentials) = self.wanted.find(line);
        self.keep(MentionLocation::Line { number }, names, credentials);
    }

    fn keep(&mut self, place: MentionLocation, names: BTreeSet<String>, credentials: BTreeSet<String>) {
        if names.is_empty() && credentials.is_empty() {
            return;
        }
        let mention = Mention {
            place,
            names,
            credentials,
        };
        // A consumer says the same in many lines.
        let mut same = mention.clone();
        if let MentionLocation::Line { number } = &mut same.place {
            *number = 0;
        }
        if !self.known.insert(same) {
            return;
        }
        if self.mentions.found.len() < MOST_MENTIONS {
            self.mentions.found.push(mention);
        } else {
            self.is_full = true;
        }
    }
}

impl Wanted {
    /// The profiles that a text names, and the members whose credentials are in it, also where base64 hides them.
    fn find(&self, text: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
        let (names, mut credentials) = self.find_plain(text);
        let runs = text.split(|byte| !byte.is_ascii_alphanumeric() && !b"+/=".contains(byte));
        // A shorter one holds no credential.
        for run in runs.filter(|run| run.len() > TOKEN_LENGTH) {
            // In JSON, a line before it may end in `\\n`, of which the letter seems to belong to it.
            let decoded = [run, &run[1..]].map(|run| BASE64_STANDARD.decode(run));
            for plain in decoded.into_iter().flatten() {
                credentials.extend(self.find_plain(&plain).1);
            }
        }
        (names, credentials)
    }

    fn find_plain(&self, text: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
        let text = String::from_utf8_lossy(text);
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let named = text.match_indices(&*self.prefix).map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            rest[..end].trim_end_matches('-').to_owned()
        });
        let tokens = text.match_indices(TOKEN_PREFIX);
        let tokens = tokens.filter_map(|(at, _)| text.get(at..at + TOKEN_LENGTH));
        (
            named.collect(),
            tokens.filter_map(|token| self.calls.member_of(token)).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Clock,
        testbed::{PluginReply, PluginRun},
    };

    fn search() -> (Search, String) {
        let calls = Arc::new(Calls::new(Clock::system()));
        calls.open(evidence::MemberAddress {
            url: "https://a:6443".to_owned(),
            member: "conformance-r-a".to_owned(),
            ..evidence::MemberAddress::default()
        });
        let info = r#"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{"server":"https://a:6443"}}}"#;
        let run = PluginRun {
            exec_info: Some(info.to_owned()),
            ..PluginRun::default()
        };
        let PluginReply::Credential(credential) = calls.ran(run) else {
            panic!("a credential");
        };
        let token = credential["status"]["token"]
            .as_str()
            .expect("a token")
            .to_owned();
        let wanted = Wanted {
            prefix: "conformance-r-".to_owned(),
            calls,
        };
        (Search::new(wanted), token)
    }

    fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
        names.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_tells_the_profiles_that_it_names() {
        let (mut search, _) = search();
        search.line(1, b"nothing of this run");
        search.line(
            2,
            br#"{"msg":"skip ns/conformance-r-b, as \nconformance-r-a is older","x":"conformance-r-b"}"#,
        );
        search.line(3, b"conformance-r-a and conformance-r-b");
        search.line(4, b"conformance-r-a.");
        let lines = [
            (2, names(["conformance-r-a", "conformance-r-b"])),
            (4, names(["conformance-r-a"])),
        ];
        let found = search.mentions.found.into_iter().map(|notice| {
            let MentionLocation::Line { number } = notice.place else {
                panic!("a line")
            };
            (number, notice.names)
        });
        assert_eq!(found.collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_credential_is_found_and_not_kept() {
        let (mut search, token) = search();
        let object = format!(
            r#"{{"metadata":{{"name":"copy","namespace":"n"}},"data":{{"kubeconfig":"token: {token}\nuser: conformance-r-a"}}}}"#
        );
        search.object("ConfigMap", object.as_bytes());
        search.line(1, format!("Authorization: Bearer {token}").as_bytes());
        search.line(2, format!("{}{token}", "ab").as_bytes());
        let packed = BASE64_STANDARD.encode(format!("user: a\ntoken: {token}\n"));
        let object = format!(
            r#"{{"metadata":{{"name":"packed","namespace":"n"}},"binaryData":{{"kubeconfig":"{packed}"}},"data":{{"a":"x\n{packed}"}}}}"#
        );
        search.object("ConfigMap", object.as_bytes());
        let object =
            format!(r#"{{"metadata":{{"name":"line","namespace":"n"}},"data":{{"a":"x\n{token}"}}}}"#);
        search.object("ConfigMap", object.as_bytes());
        let found = &search.mentions.found;
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|notice| notice.names.is_empty()));
        assert!(
            found
                .iter()
                .all(|notice| notice.credentials == names(["conformance-r-a"]))
        );
        assert!(!serde_json::to_string(found).expect("JSON").contains(&token));
    }

    #[test]
    fn an_event_tells_whether_it_warns() {
        let (mut search, _) = search();
        let event = |kind: &str| {
            format!(
                r#"{{"metadata":{{"name":"e","namespace":"n"}},"involvedObject":{{"name":"conformance-r-a"}},"reason":"Duplicate","type":"{kind}"}}"#
            )
        };
        search.object("Event", event("Normal").as_bytes());
        search.object("Event", event("Warning").as_bytes());
        let warns = search.mentions.found.iter().map(|notice| match &notice.place {
            MentionLocation::Event { warning, .. } => *warning,
            other => panic!("{other:?}"),
        });
        assert_eq!(warns.collect::<Vec<_>>(), [false, true]);
    }
}
