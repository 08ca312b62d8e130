//! Reads what the consumer reports of the testbed: in events, in its log, and in objects that other users may read.
//!
//! Of each text, only the names of published profiles and the members of issued credentials are kept.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evidence::{
    Mention, MentionLocation, Mentions,
    api::{ObjectKind, names},
};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::{
    Calls,
    player::Player,
    plugin::{TOKEN_LENGTH, TOKEN_PREFIX},
};
use crate::{connect::segment, watch::list};

const MOST_MENTIONS: usize = 2_000;
const LARGEST_LOG: u64 = 256 << 20;

/// Reads the log of a consumer as it is now, and passes each line on.
pub type ConsumerLog = Arc<dyn Fn(&mut dyn FnMut(&[u8])) -> io::Result<()> + Send + Sync>;

/// The log in these files; none without any.
pub fn log_files(files: Vec<PathBuf>) -> Option<ConsumerLog> {
    if files.is_empty() {
        return None;
    }
    Some(Arc::new(move |each| {
        files.iter().try_for_each(|path| read_lines(path, each))
    }))
}

fn read_lines(path: &Path, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let in_file = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(in_file)?;
    if file.metadata().map_err(in_file)?.len() > LARGEST_LOG {
        let reason = format!("{} has more than {} MiB", path.display(), LARGEST_LOG >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    for line in BufReader::new(file.take(LARGEST_LOG)).split(b'\n') {
        each(&line.map_err(in_file)?);
    }
    Ok(())
}

struct MentionSearch {
    /// The prefix of the names of this run's profiles.
    prefix: String,
    calls: Arc<Calls>,
    mentions: Mentions,
    /// The mentions without the numbers of lines: each is kept once.
    unique: HashSet<Mention>,
}

/// Reads events, objects, and the log. Also returns why something could not be read.
pub(super) async fn read_mentions(player: &Player<'_>) -> (Mentions, Option<String>) {
    let mut search = MentionSearch::new(player.name(""), Arc::clone(&player.plan.calls));
    let mut unread = None;
    for namespace in player.plan.namespaces() {
        let objects = |plural: &str| format!("/api/v1/namespaces/{}/{plural}", segment(&namespace));
        let target = &player.context.target;
        for (kind, path) in [
            ("Event", objects("events")),
            ("ConfigMap", objects("configmaps")),
            (
                names::KIND,
                target.collection(ObjectKind::ClusterProfile, &namespace),
            ),
        ] {
            let each = |json: &[u8]| search.object(kind, json);
            if let Err(failure) = list(&player.context.client, &path, each).await {
                let reason = format!("the {kind}s of {namespace} could not be read: {failure}");
                unread.get_or_insert(reason);
            }
        }
    }
    if let Some(log) = player.plan.log.clone() {
        search.mentions.log = true;
        let reading = spawn_blocking(move || {
            let mut number = 0;
            let read = log(&mut |line| {
                number += 1;
                search.line(number, line);
            });
            (search, read)
        });
        let read;
        (search, read) = reading
            .await
            .unwrap_or_else(|error| resume_unwind(error.into_panic()));
        if let Err(error) = read {
            unread.get_or_insert(format!("the consumer's log could not be read: {error}"));
        }
    }
    if search.unique.len() > MOST_MENTIONS {
        unread.get_or_insert(format!("only {MOST_MENTIONS} mentions by the consumer were kept"));
    }
    (search.mentions, unread)
}

impl MentionSearch {
    fn new(prefix: String, calls: Arc<Calls>) -> Self {
        Self {
            prefix,
            calls,
            mentions: Mentions::default(),
            unique: HashSet::new(),
        }
    }

    /// Searches an object. Outside of Events, only credentials matter: profiles have their own names.
    fn object(&mut self, kind: &str, json: &[u8]) {
        let Ok(item) = serde_json::from_slice::<Value>(json) else {
            return;
        };
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let namespace = text(&item["metadata"]["namespace"]);
        let place = if kind == "Event" {
            MentionLocation::Event {
                namespace,
                reason: text(&item["reason"]),
                warning: item["type"] == "Warning",
            }
        } else {
            MentionLocation::Object {
                kind: kind.to_owned(),
                namespace,
                name: text(&item["metadata"]["name"]),
            }
        };
        self.search(place, json);
    }

    fn line(&mut self, number: u64, line: &[u8]) {
        self.search(MentionLocation::Line { number }, line);
    }

    fn search(&mut self, place: MentionLocation, text: &[u8]) {
        let (mut names, credentials) = self.find(text);
        if matches!(place, MentionLocation::Object { .. }) {
            names.clear();
        }
        if names.is_empty() && credentials.is_empty() {
            return;
        }
        let mention = Mention {
            place,
            names,
            credentials,
        };
        // A consumer repeats many lines.
        let mut first = mention.clone();
        if let MentionLocation::Line { number } = &mut first.place {
            *number = 0;
        }
        if self.unique.insert(first) && self.mentions.items.len() < MOST_MENTIONS {
            self.mentions.items.push(mention);
        }
    }

    /// The profiles that a text names, and the members whose credentials are in it, also in base64.
    fn find(&self, text: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
        let (names, mut credentials) = self.find_plain(text);
        let runs = text.split(|byte| !byte.is_ascii_alphanumeric() && !b"+/=".contains(byte));
        for run in runs.filter(|run| run.len() > TOKEN_LENGTH) {
            // In JSON, the run may begin with the letter of an escaped line break.
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
        let names = text.match_indices(&*self.prefix).map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            rest[..end].trim_end_matches('-').to_owned()
        });
        let tokens = text.match_indices(TOKEN_PREFIX);
        let tokens = tokens.filter_map(|(at, _)| text.get(at..at + TOKEN_LENGTH));
        let members = tokens.filter_map(|token| self.calls.member_of_token(token));
        (names.collect(), members.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Clock,
        testbed::{PluginReply, PluginRun},
    };

    fn search() -> (MentionSearch, String) {
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
        let PluginReply::Print(credential) = calls.ran(run) else {
            panic!("a credential");
        };
        let credential: Value = serde_json::from_str(&credential).expect("JSON");
        let token = credential["status"]["token"]
            .as_str()
            .expect("a token")
            .to_owned();
        (MentionSearch::new("conformance-r-".to_owned(), calls), token)
    }

    fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
        names.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_mentions_the_profiles_that_it_names() {
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
        let found = search.mentions.items.into_iter().map(|mention| {
            let MentionLocation::Line { number } = mention.place else {
                panic!("a line")
            };
            (number, mention.names)
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
        let found = &search.mentions.items;
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|mention| mention.names.is_empty()));
        assert!(
            found
                .iter()
                .all(|mention| mention.credentials == names(["conformance-r-a"]))
        );
        assert!(!serde_json::to_string(found).expect("JSON").contains(&token));
    }

    #[test]
    fn an_event_has_its_type() {
        let (mut search, _) = search();
        let event = |kind: &str| {
            format!(
                r#"{{"metadata":{{"name":"e","namespace":"n"}},"involvedObject":{{"name":"conformance-r-a"}},"reason":"Duplicate","type":"{kind}"}}"#
            )
        };
        search.object("Event", event("Normal").as_bytes());
        search.object("Event", event("Warning").as_bytes());
        let warns = search.mentions.items.iter().map(|mention| match &mention.place {
            MentionLocation::Event { warning, .. } => *warning,
            other => panic!("{other:?}"),
        });
        assert_eq!(warns.collect::<Vec<_>>(), [false, true]);
    }
}
