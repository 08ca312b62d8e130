//! The commands of the README work when copied: each of its shell blocks runs, on a hub of the lab with kubectl.
//!
//! Two things differ: a window of minutes is one of seconds, and `cargo run --` calls the binary under test.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Child, Command, Stdio},
};

use libtest_mimic::{Completion, Failed, Trial};

use crate::{
    command::{BINARY, Folder},
    trials::assets_or_reason,
};

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
    let folder = folder_with_commands()?;
    let _hub = if block.contains("my-hub") || block.contains("kubectl") {
        match assets_or_reason() {
            Ok(assets) => {
                let kubectl = assets.kubectl().ok_or("there is no kubectl")?;
                symlink(kubectl, folder.path("bin/kubectl"))?;
            }
            Err(reason) => return Ok(Completion::ignored_with(reason)),
        }
        Some(Served::start(&folder)?)
    } else {
        None
    };
    let script = block.replace("--observe 10m", "--observe 2s");
    let path = env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(folder.path(""))
        .env("PATH", format!("{}:{path}", folder.flag("bin")))
        .env("KUBECONFIG", folder.path("kubeconfig"))
        .env("HOME", folder.path(""))
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

/// A folder to run in, with the commands of a user in `bin`.
fn folder_with_commands() -> Result<Folder, Failed> {
    let folder = Folder::new();
    fs::create_dir(folder.path("bin"))?;
    symlink(BINARY, folder.path("bin/clusterprofile-conformance"))?;
    let script = "[ \"$1 $2\" = 'run --' ] && shift 2 && exec clusterprofile-conformance \"$@\"";
    let cargo = folder.write("bin/cargo", format!("#!/usr/bin/env bash\n{script}\n"));
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// A hub with a manager, known as the context `my-hub`.
struct Served(Child);

impl Served {
    fn start(folder: &Folder) -> Result<Self, Failed> {
        let mut hub = Command::new(BINARY)
            .args(["hub", "--manager", "reference", "--kubeconfig-out"])
            .arg(folder.path("kubeconfig"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = hub.stdout.take().ok_or("no output")?;
        let served = Self(hub);
        BufReader::new(out).read_line(&mut String::new())?;
        let renamed = Command::new(folder.path("bin/kubectl"))
            .args(["config", "rename-context", "lab", "my-hub", "--kubeconfig"])
            .arg(folder.path("kubeconfig"))
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
