//! The cluster, by way of kubectl.

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::trials::assets_or_reason;

/// The variable that names the kubeconfig of the cluster.
const VARIABLE: &str = "CLUSTER_KUBECONFIG";

/// A cluster that the trials may change.
pub struct Cluster {
    pub kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Cluster {
    /// Finds the cluster, or says why the trials have to be ignored. No other kubeconfig will do: they change the cluster.
    pub fn find() -> Result<Self, String> {
        let kubeconfig = env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let kubeconfig = kubeconfig.ok_or(format!(
            "there is no cluster: set {VARIABLE} to the kubeconfig of `ci/cluster up`, and load the image of `ci/image`"
        ))?;
        let assets = assets_or_reason()?;
        Ok(Self {
            kubeconfig: PathBuf::from(kubeconfig),
            kubectl: assets.kubectl().ok_or("there is no kubectl")?,
        })
    }

    /// Runs kubectl.
    pub fn output(&self, line: impl AsRef<str>) -> Output {
        run_kubectl(&self.kubectl, &self.kubeconfig, line, "")
    }

    /// Runs kubectl, which has to succeed.
    #[track_caller]
    pub fn kubectl(&self, line: impl AsRef<str>) -> String {
        self.kubectl_with(line, "")
    }

    /// Runs kubectl with text on its standard input. It has to succeed.
    #[track_caller]
    pub fn kubectl_with(&self, line: impl AsRef<str>, input: &str) -> String {
        let output = run_kubectl(&self.kubectl, &self.kubeconfig, &line, input);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {}: {err}", line.as_ref());
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Gets objects.
    #[track_caller]
    pub fn get(&self, line: impl AsRef<str>) -> Value {
        let json = self.kubectl(format!("get --output json {}", line.as_ref()));
        serde_json::from_str(&json).expect("JSON")
    }
}

/// Runs kubectl on the cluster of a kubeconfig, with text on its standard input. The words of the line are separated by
/// spaces.
pub fn run_kubectl(program: &Path, kubeconfig: &Path, line: impl AsRef<str>, input: &str) -> Output {
    let mut kubectl = Command::new(program)
        .args(line.as_ref().split_whitespace())
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    let mut stdin = kubectl.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("kubectl reads");
    drop(stdin);
    kubectl.wait_with_output().expect("kubectl ends")
}
