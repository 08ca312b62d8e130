//! The whole command, with real hooks, on a manager that queries its members over the network.

mod implementation;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use apiserver::{ApiServer, AuditLevel, Loopback};
use collect::clock::Clock;
use envtest::Assets;
use evidence::{Digester, DriverAction, Evidence, Kind, StepOutcome, api::Role, read_input};
use http::Method;
use implementation::{Implementation, PROFILES};
use kube::Client;
use lab::hub::{Hub, envtest_options};
use libtest_mimic::Trial;
use serde_json::Value;
use tokio::time::sleep;

use super::envtest::events_of_runner;
use crate::{
    command::{Folder, assert_contains, command, done, profile, signal},
    send::send,
    trials::{assets_or_reason, trial, trial_with},
};

pub fn trials() -> Vec<Trial> {
    vec![
        on_lab("an_implementation_is_driven_by_commands", driven_by_commands),
        on_envtest("an_implementation_is_driven_by_commands", driven_by_commands),
        on_lab("what_a_hook_prints_shows_no_credential", no_credential_is_shown),
        on_lab("a_signal_has_everything_undone", a_signal_has_everything_undone),
        on_lab(
            "a_killed_run_is_cleaned_up_after",
            a_killed_run_is_cleaned_up_after,
        ),
    ]
}

fn on_lab(name: &str, test: fn(World)) -> Trial {
    trial(format!("real::driver::{name}::lab"), move || {
        test(World::new(|| async {
            let hub = Hub::lab(Clock::system()).await.expect("a hub");
            let server = hub.as_lab().expect("the lab").clone();
            server.set_audit_level(AuditLevel::Request);
            let loopback = Loopback::bind("lab", 0).await.expect("a port");
            let kubeconfig = loopback.endpoint().kubeconfig_as("conformance");
            tokio::spawn(loopback.serve(server));
            (hub, kubeconfig)
        }));
    })
}

fn on_envtest(name: &str, test: fn(World)) -> Trial {
    let test = move |assets: Assets| {
        test(World::new(|| async move {
            let hub = Hub::envtest(&assets, envtest_options()).await.expect("a hub");
            let kubeconfig = hub.as_envtest().expect("envtest").kubeconfig("conformance");
            (hub, kubeconfig)
        }));
    };
    trial_with(format!("real::driver::{name}::envtest"), assets_or_reason, test)
}

/// A hub with an implementation on it, and a folder with a driver file for it.
struct World {
    runtime: tokio::runtime::Runtime,
    hub: Option<Hub>,
    admin: Client,
    folder: Folder,
}

const JOIN: &str = r#"cp "$CONFORMANCE_MEMBER_KUBECONFIG" copy."$CONFORMANCE_MEMBER"
mv copy."$CONFORMANCE_MEMBER" members/"$CONFORMANCE_MEMBER""#;
const LEAVE: &str = r#"rm -f members/"$CONFORMANCE_MEMBER""#;
/// With short patience for actions that this manager does not react to.
const FILE: &str = "\
hooks: {join: [sh, join.sh], leave: [sh, leave.sh], restart: [sh, -c, 'echo restarted']}
patience: 30s
patienceFor: {set-display-name: 500ms, restart: 500ms, put-foreign-profile: 500ms,
  change-foreign-profile: 500ms, recreate-foreign-profile: 500ms}
scale: {members: 0}
";

impl World {
    fn new<F: Future<Output = (Hub, String)>>(hub: impl FnOnce() -> F) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (hub, kubeconfig) = runtime.block_on(hub());
        let within = runtime.enter();
        let folder = Folder::new();
        fs::create_dir(folder.path("members")).expect("a folder");
        let [admin, manager] =
            ["admin", "reference-manager"].map(|user| hub.client_as(user, "test").expect("a user"));
        let implementation = Implementation::new(manager, folder.path("members"));
        runtime.spawn(implementation.live());
        drop(within);
        for (name, text) in [
            ("hub", &*kubeconfig),
            ("driver.yaml", FILE),
            ("join.sh", JOIN),
            ("leave.sh", LEAVE),
        ] {
            folder.write(name, text);
        }
        Self {
            runtime,
            hub: Some(hub),
            admin,
            folder,
        }
    }

    fn send(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let sent = self.runtime.block_on(send(&self.admin, method, path, body));
        sent.expect("the hub takes it")
    }

    fn profiles(&self) -> Vec<Value> {
        let list = self.send(Method::GET, PROFILES, None);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    fn joined(&self) -> usize {
        fs::read_dir(self.folder.path("members"))
            .expect("a folder")
            .count()
    }

    fn journals(&self) -> usize {
        let folder = self.folder.path("state/clusterprofile-conformance/runs");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    fn run(&self, flags: &str) -> Command {
        let mut command = command(format!("run --kubeconfig hub {flags}"));
        command
            .current_dir(self.folder.path(""))
            .env("XDG_STATE_HOME", self.folder.path("state"));
        command
    }

    fn drive(&self) -> Command {
        let files = "--driver driver.yaml --record evidence.jsonl --json report.json --junit report.xml";
        self.run(&format!("--allow-mutations --observe 1s --settle 0s {files}"))
    }

    /// Drives to the end, and returns the evidence and what was printed.
    fn driven(&self) -> (Evidence, String) {
        let output = printed(&self.drive().output().expect("it runs"));
        (self.evidence(&output), output)
    }

    fn evidence(&self, printed: &str) -> Evidence {
        match read_input(&self.folder.path("evidence.jsonl"), &Digester::new([7; 32])) {
            Ok(input) => input.evidence,
            Err(error) => panic!("{error}\n{printed}"),
        }
    }

    fn until(&self, what: &str, is_met: impl Fn(&World) -> bool) {
        for _ in 0..400 {
            if is_met(self) {
                return;
            }
            self.runtime
                .block_on(async { sleep(Duration::from_millis(50)).await });
        }
        panic!("not in time: {what}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.take() {
            let _ = self.runtime.block_on(hub.stop());
        }
    }
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

/// A driven run observes all actions, and writes only to its own profiles.
fn driven_by_commands(world: World) {
    use DriverAction::*;
    for name in ["a", "b"] {
        world.send(Method::POST, PROFILES, Some(profile("default", name, "m")));
    }
    let before = world.profiles();
    let (evidence, printed) = world.driven();
    let driver = evidence.driver.as_ref().expect("a driver");
    let lacking = [Disconnect, Reconnect, DeleteNamespace, CreateNamespace];
    let is_lacking = driver.unavailable_actions.keys().eq(&lacking);
    assert!(is_lacking, "{:?}\n{printed}", driver.unavailable_actions);
    let unanswered = [
        SetDisplayName,
        Restart,
        PutForeignProfile,
        ChangeForeignProfile,
        RecreateForeignProfile,
    ];
    for step in &driver.steps {
        assert_eq!(step.outcome, StepOutcome::Done, "{step:?}\n{printed}");
        // The run waits for a missing reaction until its patience ends.
        let waited = step.observed_until.duration_since(step.until);
        let is_unanswered = unanswered.contains(&step.action);
        assert!(is_unanswered || waited.as_secs() < 30, "{step:?}");
    }
    let actions: BTreeSet<DriverAction> = driver.steps.iter().map(|step| step.action).collect();
    let available = DriverAction::of(Role::Manager).filter(|action| !lacking.contains(action));
    assert_eq!(actions, available.collect());
    assert!(evidence.gaps(Kind::Driver).next().is_none());

    assert_eq!((world.joined(), world.journals()), (0, 0));
    world.until("the implementation has let its members go", |world| {
        world.profiles().len() == before.len()
    });
    assert_eq!(world.profiles(), before);
    let touched = driver.written_profiles.iter();
    let touched: BTreeSet<String> = touched.map(|key| key.name.to_string()).collect();
    assert_eq!(touched.len(), 5, "{touched:?}");
    assert_eq!(written(&world), touched);
}

/// The names of the profiles to which the runner has written, by the hub's audit log.
fn written(world: &World) -> BTreeSet<String> {
    let hub = world.hub.as_ref().expect("a hub");
    let log = match (hub.as_lab(), hub.as_envtest()) {
        (Some(lab), _) => lab.audit_log(),
        (_, Some(envtest)) => fs::read_to_string(envtest.audit_log()).expect("a log"),
        _ => String::new(),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ours = events_of_runner(&log).into_iter().filter(|event| {
        let verb = event["verb"].as_str().unwrap_or_default();
        let is_write = !matches!(verb, "get" | "list" | "watch" | "");
        let is_dry_run = text(&event["requestURI"]).contains("dryRun=All");
        let is_review = event["objectRef"]["resource"] == "selfsubjectaccessreviews";
        is_write && !is_dry_run && !is_review && event["stage"] == "ResponseComplete"
    });
    ours.map(|event| {
        assert_eq!(event["objectRef"]["resource"], "clusterprofiles", "{event}");
        match text(&event["objectRef"]["name"]) {
            name if name.is_empty() => text(&event["requestObject"]["metadata"]["name"]),
            name => name,
        }
    })
    .collect()
}

fn no_credential_is_shown(world: World) {
    let files = r#""$CONFORMANCE_HUB_KUBECONFIG" "$CONFORMANCE_MEMBER_KUBECONFIG""#;
    let print = format!("cat {files}; echo printed >&2; exit 7");
    world.folder.write("join.sh", print);
    let (evidence, mut all) = world.driven();
    let driver = evidence.driver.as_ref().expect("a driver");
    let join = driver.steps_of(DriverAction::Join).next().expect("a join");
    assert_contains(&join.output, &["printed", "token: …"]);
    assert_contains(&all, &["failed to join"]);
    for name in ["evidence.jsonl", "report.json", "report.xml"] {
        all += &world.folder.text(name);
    }
    // The fake members' tokens are made in the same way, by another name.
    for token in [ApiServer::token("conformance"), ApiServer::token("admin")] {
        assert!(!all.contains(&token), "{token}");
    }
}

/// Starts a run, and returns when it has changed profiles of the hub.
fn start(world: &World) -> Child {
    // Members break and heal for longer than this test takes.
    world.folder.write("driver.yaml", FILE.replace("500ms", "10m"));
    let mut run = world.drive();
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = run.spawn().expect("it runs");
    world.until("the foreign profile and a changed name are there", |world| {
        let profiles = world.profiles();
        let has = |pointer: &str, text: &str| {
            let mut values = profiles
                .iter()
                .filter_map(|profile| profile.pointer(pointer)?.as_str());
            values.any(|value| value.contains(text))
        };
        has("/metadata/name", "-foreign") && has("/spec/displayName", "set by conformance run")
    });
    assert!(world.joined() > 0 && world.journals() == 1);
    child
}

fn a_signal_has_everything_undone(world: World) {
    let child = start(&world);
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    let printed = printed(&output);
    assert_contains(&printed, &["undoing changes"]);
    assert!(output.status.code().is_some_and(|code| code != 130), "{output:?}");
    assert_eq!((world.joined(), world.journals()), (0, 0), "{printed}");
    world.until("nothing is left", |world| world.profiles().is_empty());
    let evidence = world.evidence(&printed);
    let gap = evidence.gaps(Kind::Driver).next().expect("a gap");
    assert!(gap.reason.contains("stopped before"), "{gap:?}");
}

fn a_killed_run_is_cleaned_up_after(world: World) {
    let mut child = start(&world);
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert!(world.joined() > 0 && world.journals() == 1);

    let cleaned = done(&mut world.run("--clean"));
    let printed = cleaned.printed();
    assert_eq!(cleaned.code, Some(0), "{printed}");
    let parts = ["called the hook `leave`", "-foreign", "is undone"];
    assert_contains(&printed, &parts);
    assert_eq!((world.joined(), world.journals()), (0, 0), "{printed}");
    world.until("nothing is left", |world| world.profiles().is_empty());
    let again = done(&mut world.run("--clean"));
    assert_contains(&again.printed(), &["nothing is left of any run"]);
    assert!(!Path::new("/nonexistent").exists());
}
