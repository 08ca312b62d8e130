//! The credential plugin of the consumer: how it reaches the run, and what it answers.
//!
//! The plugin sends a line with its run to a port of this machine, and gets a line with what to do. A file that only this user may
//! read has the address, and a key: without it, the plugin gets no credentials.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use evidence::{MemberCredential, PluginAnswer};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use super::{Calls, scenarios::PluginBehavior};
use crate::{driver::replace_private_file, plugins::Protocol, random_bytes};

/// The prefix of tokens, by which they are found in texts.
pub(super) const TOKEN_PREFIX: &str = "cpt-";
pub(super) const TOKEN_LENGTH: usize = TOKEN_PREFIX.len() + 2 * RANDOM_BYTES;
const RANDOM_BYTES: usize = 24;
/// How long a credential is valid by default, in seconds.
const LIFETIME: u32 = 600;
const GARBAGE: &str = "this is not a credential";
const ADDRESS: &str = "127.0.0.1";
/// The most bytes of a message. An environment variable has fewer.
const LARGEST_MESSAGE: u64 = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(10);

/// A run of the credential plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRun {
    /// The provider, as the consumer's own file has it.
    pub provider: String,
    /// The arguments after those of that file.
    pub args: Vec<String>,
    /// Variables of its environment that published profiles ask for, as `NAME=value`.
    pub env: Vec<String>,
    /// `KUBERNETES_EXEC_INFO`.
    pub exec_info: Option<String>,
}

/// What the plugin does then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginReply {
    /// It prints this text: an ExecCredential, or invalid output.
    Print(String),
    /// It fails with this message.
    Fail(String),
    /// It does nothing for this time, and fails then.
    Hang(Duration),
}

#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// By member: what the plugin does, and how long it hangs.
    pub(super) behaviors: HashMap<String, (PluginBehavior, Duration)>,
    /// By token: the credential, and when it expires.
    issued: HashMap<String, (MemberCredential, Timestamp)>,
}

impl Credentials {
    /// What the plugin answers for a member, in that version of its protocol.
    pub(super) fn answer(
        &mut self,
        member: String,
        at: Timestamp,
        api_version: Option<&str>,
    ) -> (PluginAnswer, PluginReply) {
        let lifetime = match self.behaviors.get(&member) {
            None => LIFETIME,
            Some((PluginBehavior::Expires(seconds), _)) => *seconds,
            Some((PluginBehavior::Fails, _)) => {
                let reply = PluginReply::Fail("this failure is part of the scenario".to_owned());
                return (PluginAnswer::Failed {}, reply);
            }
            Some((PluginBehavior::PrintsGarbage, _)) => {
                return (PluginAnswer::Garbage {}, PluginReply::Print(GARBAGE.to_owned()));
            }
            Some((PluginBehavior::Hangs, hang)) => return (PluginAnswer::Hung {}, PluginReply::Hang(*hang)),
        };
        let lifetime = SignedDuration::from_secs(lifetime.into());
        let expires = at.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        let serial = self.issued.len() as u64 + 1;
        let token = format!("{TOKEN_PREFIX}{}", random_text());
        let credential = json!({
            "apiVersion": api_version.unwrap_or(Protocol::default().api_version()),
            "kind": "ExecCredential",
            "status": {
                "token": token,
                "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            },
        });
        let issued = MemberCredential::Of {
            member: member.clone(),
            serial,
        };
        self.issued.insert(token, (issued, expires));
        let answer = PluginAnswer::Credential {
            member,
            serial,
            expires: Some(expires),
        };
        (answer, PluginReply::Print(credential.to_string()))
    }

    /// The credential with that token, and whether it has expired.
    pub(super) fn identify(&self, token: Option<&str>, at: Timestamp) -> (MemberCredential, bool) {
        let Some(token) = token else {
            return (MemberCredential::None, false);
        };
        match self.issued.get(token) {
            Some((issued, expires)) => (issued.clone(), *expires <= at),
            None => (MemberCredential::Unknown, false),
        }
    }
}

fn random_text() -> String {
    let random: [u8; RANDOM_BYTES] = random_bytes();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A port where a run waits for its plugin, until this is dropped.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    listening: JoinHandle<()>,
}

#[derive(Clone, Serialize, Deserialize)]
struct RecorderFile {
    address: String,
    key: String,
}

#[derive(Serialize, Deserialize)]
struct PluginMessage {
    key: String,
    run: PluginRun,
}

impl Recorder {
    /// Listens, and writes the address to `path`. A file that a killed run left there is replaced.
    ///
    /// # Errors
    /// When another run uses the file, there is no port, or the file cannot be written.
    pub async fn listen(path: &Path, calls: Arc<Calls>) -> io::Result<Self> {
        if is_used(path).await {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another run uses it: name another file, or wait until that run has ended",
            ));
        }
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let file = RecorderFile {
            address: listener.local_addr()?.to_string(),
            key: random_text(),
        };
        replace_private_file(path, &serde_json::to_string(&file)?)?;
        Ok(Self {
            path: path.to_owned(),
            listening: tokio::spawn(serve(listener, file.key, calls)),
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.path);
    }
}

async fn is_used(path: &Path) -> bool {
    match read_file(path) {
        Ok(file) => matches!(
            timeout(TIMEOUT, TcpStream::connect(&file.address)).await,
            Ok(Ok(_))
        ),
        Err(_) => false,
    }
}

fn read_file(path: &Path) -> io::Result<RecorderFile> {
    let about = |error: io::Error| {
        let message = format!(
            "no run waits for this plugin: cannot read {}: {error}",
            path.display()
        );
        io::Error::new(error.kind(), message)
    };
    let text = fs::read_to_string(path).map_err(about)?;
    serde_json::from_str(&text).map_err(|error| about(error.into()))
}

async fn serve(listener: TcpListener, key: String, calls: Arc<Calls>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let (key, calls) = (key.clone(), Arc::clone(&calls));
                connections.spawn(timeout(TIMEOUT, async move { answer(stream, &key, &calls).await }));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one message. A client without the key gets no answer.
async fn answer(mut stream: TcpStream, key: &str, calls: &Calls) -> io::Result<()> {
    let message: PluginMessage = serde_json::from_str(&read_line(&mut stream).await?)?;
    if message.key != key {
        return Ok(());
    }
    write_line(&mut stream, &calls.ran(message.run)).await
}

/// Reports a run of the plugin to the run of the suite that waits for it. Returns what the plugin does.
///
/// # Errors
/// When no run waits, or it does not answer.
pub async fn report_plugin_run(path: &Path, run: PluginRun) -> io::Result<PluginReply> {
    let RecorderFile { address, key } = read_file(path)?;
    let reporting = async {
        let mut stream = TcpStream::connect(&address).await?;
        write_line(&mut stream, &PluginMessage { key, run }).await?;
        Ok(serde_json::from_str(&read_line(&mut stream).await?)?)
    };
    let reply = timeout(TIMEOUT, reporting)
        .await
        .unwrap_or_else(|late| Err(late.into()));
    reply.map_err(|error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("the run does not answer this plugin: {error}"),
        )
    })
}

async fn read_line(stream: &mut TcpStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LARGEST_MESSAGE))
        .read_line(&mut line)
        .await?;
    Ok(line)
}

async fn write_line(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(message)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn run(server: &str) -> PluginRun {
        PluginRun {
            provider: "recorder".to_owned(),
            exec_info: Some(json!({"spec": {"cluster": {"server": server}}}).to_string()),
            ..PluginRun::default()
        }
    }

    #[tokio::test]
    async fn the_plugin_reaches_the_run_that_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recorder.json");
        let before = report_plugin_run(&path, run("https://a")).await;
        assert_eq!(before.expect_err("no run").kind(), io::ErrorKind::NotFound);
        let calls = Arc::new(Calls::new(Clock::system()));
        calls.open(evidence::MemberAddress {
            url: "https://a".to_owned(),
            member: "a".to_owned(),
            ..evidence::MemberAddress::default()
        });
        let recorder = Recorder::listen(&path, Arc::clone(&calls)).await.expect("a port");
        let reply = report_plugin_run(&path, run("https://a"))
            .await
            .expect("an answer");
        assert!(matches!(reply, PluginReply::Print(_)), "{reply:?}");
        let reply = report_plugin_run(&path, run("https://b"))
            .await
            .expect("an answer");
        assert!(matches!(reply, PluginReply::Fail(_)), "{reply:?}");
        let second = Recorder::listen(&path, Arc::clone(&calls)).await;
        assert_eq!(second.expect_err("it is used").kind(), io::ErrorKind::AddrInUse);
        // A client without the key.
        let text = fs::read_to_string(&path).expect("the file");
        let mut file: RecorderFile = serde_json::from_str(&text).expect("its content");
        file.key.push('0');
        let other = folder.path().join("other.json");
        fs::write(&other, serde_json::to_string(&file).expect("JSON")).expect("a file");
        let refused = report_plugin_run(&other, run("https://a")).await;
        refused.expect_err("no answer");
        drop(recorder);
        assert!(!path.exists());
    }
}
