//! The commands of the README work when copied: each of its shell blocks runs, on a hub of the lab with kubectl.
//!
//! Two words of a block are others here: a window of minutes is one of seconds, and `cargo run --` calls the binary that
//! the tests were built with.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use libtest_mimic::{Completion, Failed, Trial};
use tempfile::TempDir;

use crate::trials::assets_or_reason;

const SUITE: &str = env!("CARGO_BIN_EXE_clusterprofile-conformance");

pub fn trials() -> Vec<Trial> {
    let trials = (1..).zip(blocks()).map(|(number, block)| {
        let first_line = block.lines().next().unwrap_or_default();
        let name = format!("real::readme::block_{number}: {first_line}");
        Trial::ignorable_test(name, move || works(&block))
    });
    trials.collect()
}

fn blocks() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("it is there");
    let blocks = readme.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let blocks: Vec<String> = blocks.map(str::to_owned).collect();
    assert!(blocks.len() >= 4, "{blocks:?}");
    blocks
}

fn works(block: &str) -> Result<Completion, Failed> {
    let place = Place::new()?;
    let _hub = if block.contains("my-hub") || block.contains("kubectl") {
        match assets_or_reason() {
            Ok(assets) => {
                let kubectl = assets.kubectl().ok_or("there is no kubectl")?;
                symlink(kubectl, place.bin().join("kubectl"))?;
            }
            Err(reason) => return Ok(Completion::ignored_with(reason)),
        }
        Some(Served::start(&place)?)
    } else {
        None
    };
    let script = block.replace("--observe 10m", "--observe 2s");
    let mut shell = Command::new("bash");
    shell
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(place.0.path())
        .env("PATH", place.path())
        .env("KUBECONFIG", place.kubeconfig())
        .env("HOME", place.0.path())
        .env_remove("KUBERNETES_SERVICE_HOST")
        .stdin(Stdio::null());
    let done = shell.output()?;
    let printed = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    // A window of seconds decides little, and one block shows a violation: the commands have to be valid.
    let is_error = |line: &str| line.starts_with("error:") || line.contains("command not found");
    match done.status.code() {
        Some(0 | 1 | 3) if !printed.lines().any(is_error) => Ok(Completion::Completed),
        code => Err(format!("{script}\nended with {code:?}:\n{printed}").into()),
    }
}

/// A folder to run in, with the commands that people have.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Self, Failed> {
        let place = Self(TempDir::new()?);
        fs::create_dir(place.bin())?;
        symlink(SUITE, place.bin().join("clusterprofile-conformance"))?;
        let cargo = place.bin().join("cargo");
        let script = "[ \"$1 $2\" = 'run --' ] && shift 2 && exec clusterprofile-conformance \"$@\"";
        fs::write(&cargo, format!("#!/usr/bin/env bash\n{script}\n"))?;
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))?;
        Ok(place)
    }

    fn bin(&self) -> PathBuf {
        self.0.path().join("bin")
    }

    fn path(&self) -> String {
        let rest = std::env::var("PATH").unwrap_or_default();
        format!("{}:{rest}", self.bin().display())
    }

    fn kubeconfig(&self) -> PathBuf {
        self.0.path().join("kubeconfig")
    }
}

/// A hub with a manager, known as the context `my-hub`.
struct Served(Child);

impl Served {
    fn start(place: &Place) -> Result<Self, Failed> {
        let mut hub = Command::new(SUITE)
            .args(["hub", "--manager", "reference", "--kubeconfig-out"])
            .arg(place.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = hub.stdout.take().ok_or("no output")?;
        let served = Self(hub);
        BufReader::new(out).read_line(&mut String::new())?;
        let renamed = Command::new(place.bin().join("kubectl"))
            .args(["config", "rename-context", "lab", "my-hub", "--kubeconfig"])
            .arg(place.kubeconfig())
            .output()?;
        if !renamed.status.success() {
            return Err(String::from_utf8_lossy(&renamed.stderr).into_owned().into());
        }
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
