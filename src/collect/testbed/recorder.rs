//! The way between a run and the credential plugin that its consumer runs: a port of this machine.
//!
//! The plugin sends a line with its call, and gets one with what to do. A file that only this user may read says where, and
//! holds a key: only who knows it gets credentials.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use super::{Calls, PluginReply, PluginRun, random::random_text};
use crate::driver::replace_private_file;

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";
/// How large a call may be. An environment variable is no larger.
const LARGEST_CALL: u64 = 1 << 20;
/// How long a call may take to arrive, and an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a run waits for calls of the plugin, until this is dropped.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    listening: JoinHandle<()>,
}

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
struct Way {
    address: String,
    key: String,
}

/// A call as it is sent.
#[derive(Serialize, Deserialize)]
struct Sent {
    key: String,
    run: PluginRun,
}

/// Why the plugin cannot tell a run.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// There is no file.
    #[error("no run waits for this plugin: there is no file {}", .0.display())]
    NoRun(PathBuf),
    /// The file is none of a run.
    #[error("{} is no file of a run", .0.display())]
    NoWay(PathBuf),
    /// The run does not answer.
    #[error("the run does not answer this plugin: {0}")]
    NoAnswer(#[source] io::Error),
}

impl Recorder {
    /// Waits for calls, and writes to `path` where. A file that a killed run left there is replaced.
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
        let way = Way {
            address: listener.local_addr()?.to_string(),
            key: random_text(),
        };
        replace_private_file(path, &serde_json::to_string(&way)?)?;
        Ok(Self {
            path: path.to_owned(),
            listening: tokio::spawn(serve(listener, way.key, calls)),
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a run waits for calls at the address in a file.
async fn is_used(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else {
        return false;
    };
    let Ok(way) = serde_json::from_str::<Way>(&text) else {
        return false;
    };
    let connecting = TcpStream::connect(&way.address);
    timeout(PATIENCE, connecting)
        .await
        .is_ok_and(|stream| stream.is_ok())
}

async fn serve(listener: TcpListener, key: String, calls: Arc<Calls>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let (key, calls) = (key.clone(), Arc::clone(&calls));
                connections.spawn(timeout(PATIENCE, async move { answer(stream, &key, &calls).await }));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one call. Who does not know the key gets no answer.
async fn answer(mut stream: TcpStream, key: &str, calls: &Calls) -> io::Result<()> {
    let sent: Sent = serde_json::from_str(&line(&mut stream).await?)?;
    if sent.key != key {
        return Ok(());
    }
    let mut reply = serde_json::to_string(&calls.ran(sent.run))?;
    reply.push('\n');
    stream.write_all(reply.as_bytes()).await
}

/// Tells the run that waits there of a call, and gives what to do.
///
/// # Errors
/// When no run waits, or it does not answer.
pub async fn tell_recorder(path: &Path, run: PluginRun) -> Result<PluginReply, RecorderError> {
    let text = fs::read_to_string(path).map_err(|_| RecorderError::NoRun(path.to_owned()))?;
    let way: Way = serde_json::from_str(&text).map_err(|_| RecorderError::NoWay(path.to_owned()))?;
    let asking = async {
        let mut stream = TcpStream::connect(&way.address).await?;
        let mut sent = serde_json::to_string(&Sent { key: way.key, run })?;
        sent.push('\n');
        stream.write_all(sent.as_bytes()).await?;
        Ok(serde_json::from_str(&line(&mut stream).await?)?)
    };
    match timeout(PATIENCE, asking).await {
        Ok(answered) => answered.map_err(RecorderError::NoAnswer),
        Err(_) => Err(RecorderError::NoAnswer(io::ErrorKind::TimedOut.into())),
    }
}

async fn line(stream: &mut TcpStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LARGEST_CALL))
        .read_line(&mut line)
        .await?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let before = tell_recorder(&path, run("https://a")).await;
        assert!(matches!(before, Err(RecorderError::NoRun(_))));
        let calls = Arc::new(Calls::new(Clock::system()));
        calls.open(evidence::MemberAddress {
            url: "https://a".to_owned(),
            member: "a".to_owned(),
            ..evidence::MemberAddress::default()
        });
        let recorder = Recorder::listen(&path, Arc::clone(&calls)).await.expect("a port");
        let reply = tell_recorder(&path, run("https://a")).await.expect("an answer");
        assert!(matches!(reply, PluginReply::Credential(_)), "{reply:?}");
        let reply = tell_recorder(&path, run("https://b")).await.expect("an answer");
        assert!(matches!(reply, PluginReply::Failure(_)), "{reply:?}");
        let second = Recorder::listen(&path, Arc::clone(&calls)).await;
        assert_eq!(second.expect_err("it is used").kind(), io::ErrorKind::AddrInUse);
        // Who does not know the key.
        let text = fs::read_to_string(&path).expect("the file");
        let mut way: Way = serde_json::from_str(&text).expect("its way");
        way.key.push('0');
        let other = folder.path().join("other.json");
        fs::write(&other, serde_json::to_string(&way).expect("a way")).expect("a file");
        let refused = tell_recorder(&other, run("https://a")).await;
        assert!(matches!(refused, Err(RecorderError::NoAnswer(_))), "{refused:?}");
        drop(recorder);
        assert!(!path.exists());
    }
}
