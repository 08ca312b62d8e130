//! Cleaning up after killed runs.

use std::fs;

use apiserver::{Affected, ApiServer, Misbehaviour, User};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{
    connect::{Connection, call, get},
    driver::{FieldChange, JournalHead},
};

const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";
const SLICES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/placementdecisions";
const SERVER: &str = "https://hub.example";

/// A hub, and a folder with journals and a driver file whose leave hook notes its members.
struct World {
    hub: Connection,
    folder: TempDir,
}

const PROFILE_CRD: &str = include_str!("../../../lab/crds/clusterprofiles.multicluster.x-k8s.io.yaml");
const SLICE_CRD: &str = include_str!("../../../lab/crds/placementdecisions.multicluster.x-k8s.io.yaml");

/// A hub that knows these kinds.
fn hub(definitions: &[&str]) -> Connection {
    connection(&server(definitions))
}

fn server(definitions: &[&str]) -> ApiServer {
    let server = ApiServer::new(apiserver::ServerClock::system());
    server.add_user(User::master("conformance"));
    for definition in definitions {
        server.define(serde_saphyr::from_str(definition).expect("a definition"));
    }
    server
}

fn connection(server: &ApiServer) -> Connection {
    let mut hub = Connection::new(server.client("conformance"), "lab");
    hub.access = Some(HubAccess {
        server: SERVER.to_owned(),
        kubeconfig: "{}".to_owned(),
    });
    hub
}

impl World {
    fn new(leave: &str) -> Self {
        Self::with(leave, hub(&[PROFILE_CRD]))
    }

    fn with(leave: &str, hub: Connection) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let unplace = "echo \\\"took back $CONFORMANCE_PLACEMENT\\\" >> left";
        let file = format!(
            "hooks:\n  join: [\"true\"]\n  leave: [sh, leave.sh]\n  place: [\"true\"]\n  unplace: [sh, -c, \"{unplace}\"]\n"
        );
        fs::write(folder.path().join("driver.yaml"), file).expect("a file");
        fs::write(folder.path().join("leave.sh"), leave).expect("a file");
        Self { hub, folder }
    }

    fn journals(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// The journal of a run, as if it had just begun.
    fn journal(&self, run: &str, server: &str, entries: &[UndoEntry]) -> Journal {
        let head = JournalHead {
            run: run.to_owned(),
            server: server.to_owned(),
            hub: "context hub".to_owned(),
            driver_file: self.folder.path().join("driver.yaml"),
            ..JournalHead::default()
        };
        let journal = Journal::begin(&self.journals(), head).expect("a journal");
        for entry in entries {
            journal.record_undo(entry.clone()).expect("written");
        }
        journal
    }

    async fn profile(&self, name: &str, run: Option<&str>) -> ObjectRef {
        let spec = json!({"displayName": "theirs", "clusterManager": {"name": "m"}});
        let profile = json!({"kind": "ClusterProfile", "spec": spec});
        self.create(PROFILES, profile, name, run).await
    }

    async fn create(&self, path: &str, mut object: Value, name: &str, run: Option<&str>) -> ObjectRef {
        object["apiVersion"] = "multicluster.x-k8s.io/v1alpha1".into();
        object["metadata"] = json!({"name": name});
        if let Some(run) = run {
            object["metadata"]["labels"] = json!({LABEL_RUN: run});
        }
        let created: Value = call(&self.hub.timed(), Method::POST, path, Some(&object))
            .await
            .expect("created");
        ObjectRef::of_value(&created, "")
    }

    async fn names(&self) -> Vec<String> {
        let list: Value = get(&self.hub.timed(), PROFILES).await.expect("a list");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let items = list["items"].as_array().expect("items").iter();
        items
            .map(|item| {
                [&item["metadata"]["name"], &item["spec"]["displayName"]]
                    .map(text)
                    .join(": ")
            })
            .collect()
    }

    async fn clean(&self) -> Cleaned {
        let (claim, journals) = (Claim::default(), self.journals());
        let cleaning = clean(&self.hub, &claim, None, Clock::system(), &journals, None);
        cleaning.await.expect("it could be tried")
    }

    /// Cleans up completely, and reports that.
    async fn clean_all(&self, messages: &[&str]) {
        let cleaned = self.clean().await;
        assert_eq!(cleaned.leftovers, [""; 0]);
        let output = cleaned.messages.join("\n");
        for message in messages {
            assert!(output.contains(message), "{message} in {output}");
        }
    }
}

fn field(profile: &ObjectRef, after: &str) -> UndoEntry {
    UndoEntry::Field(FieldChange {
        profile: profile.clone(),
        pointer: "/spec/displayName".to_owned(),
        before: Some("before".to_owned()),
        after: Some(after.to_owned()),
    })
}

fn objects() -> UndoEntry {
    UndoEntry::Objects {
        namespaces: vec!["default".to_owned()],
    }
}

#[tokio::test]
async fn all_changes_of_a_killed_run_are_undone() {
    let world = World::new("echo \"$CONFORMANCE_RUN $CONFORMANCE_MEMBER\" >> left\n");
    world.profile("ours", Some("r1")).await;
    let changed = world.profile("changed", None).await;
    let later = world.profile("later", None).await;
    let other = world.profile("other", None).await;
    let recreated = ObjectRef {
        uid: "another uid".to_owned(),
        ..other.clone()
    };
    let entries = [
        UndoEntry::hook(DriverAction::Leave, "one"),
        // The hub serves no slices. Objects without the label of the run stay.
        objects(),
        UndoEntry::hook(DriverAction::Unplace, "two"),
        field(&changed, "theirs"),
        // Another client has changed it since, or the name is another object's.
        field(&later, "ours"),
        field(&recreated, "theirs"),
    ];
    drop(world.journal("r1", SERVER, &entries));
    world
        .clean_all(&[
            "run r1: called the hook `leave` for one",
            "run r1: restored /spec/displayName of ClusterProfile default/changed",
            "run r1: deleted ClusterProfile default/ours",
            "run r1: everything that it did is undone",
        ])
        .await;
    assert_eq!(
        world.names().await,
        ["changed: before", "later: theirs", "other: theirs"]
    );
    let left = fs::read_to_string(world.folder.path().join("left")).expect("a file");
    assert_eq!(left, "took back two\nr1 one\n");
    assert_eq!(fs::read_dir(world.journals()).expect("a folder").count(), 0);

    world
        .clean_all(&["nothing is left of any run on this hub (lab)"])
        .await;
}

#[tokio::test]
async fn a_change_that_cannot_be_undone_stays_in_the_journal() {
    let world = World::new("[ -e lets-go ] || { echo not yet; exit 1; }\n");
    drop(world.journal("r1", SERVER, &[UndoEntry::hook(DriverAction::Leave, "one")]));
    let cleaned = world.clean().await;
    assert_eq!(
        cleaned.leftovers,
        [
            "run r1: failed to call the hook `leave` for one: the hook `leave`: it ended with exit code 1; its last \
             words: not yet"
        ]
    );
    fs::write(world.folder.path().join("lets-go"), "").expect("a file");
    world.clean_all(&[]).await;
}

#[tokio::test]
async fn an_object_that_cannot_be_deleted_does_not_keep_the_others() {
    let server = server(&[PROFILE_CRD]);
    let world = World::with("exit 0\n", connection(&server));
    for name in ["first", "second"] {
        world.profile(name, Some("r1")).await;
    }
    server.misbehave(Misbehaviour::Fail {
        affected: Affected::verb_on("delete", "clusterprofiles"),
        code: 403,
        retry_after: None,
        every: 1,
        times: 1,
    });
    drop(world.journal("r1", SERVER, &[objects()]));
    assert_eq!(world.clean().await.leftovers.len(), 1);
    assert_eq!(world.names().await, ["first: theirs"]);
    world
        .clean_all(&["run r1: deleted ClusterProfile default/first"])
        .await;
}

#[tokio::test]
async fn other_runs_are_left_alone() {
    let world = World::new("echo called >> left\n");
    world.profile("stranger", Some("r9")).await;
    let leave = [UndoEntry::hook(DriverAction::Leave, "one")];
    let _active = world.journal("r1", SERVER, &leave);
    drop(world.journal("r2", "https://another.example", &leave));
    world
        .clean_all(&[
            "run r1 is still going on: it is left alone",
            "run r2 was on another hub (context hub, https://another.example): clean up there",
            "ClusterProfile default/stranger is of run r9, whose journal is not on this machine",
        ])
        .await;
    assert_eq!(world.names().await.len(), 1);
    assert!(!world.folder.path().join("left").exists());
}

#[tokio::test]
async fn slices_with_the_label_of_the_run_are_deleted() {
    let world = World::with("exit 0\n", hub(&[PROFILE_CRD, SLICE_CRD]));
    for (name, run) in [("ours", Some("r1")), ("theirs", None), ("stranger", Some("r9"))] {
        let slice = json!({"kind": "PlacementDecision", "decisions": []});
        world.create(SLICES, slice, name, run).await;
    }
    drop(world.journal("r1", SERVER, &[objects()]));
    world
        .clean_all(&[
            "run r1: deleted PlacementDecision default/ours",
            "run r1: everything that it did is undone",
            "PlacementDecision default/stranger is of run r9",
            &format!("kubectl delete placementdecisions -A -l {LABEL_RUN}=r9"),
        ])
        .await;
    let list: Value = get(&world.hub.timed(), SLICES).await.expect("a list");
    let items = list["items"].as_array().expect("items").iter();
    let names: Vec<&str> = items
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["stranger", "theirs"]);
}

#[tokio::test(start_paused = true)]
async fn finalizers_are_removed_after_their_owners_had_time() {
    let world = World::new("exit 0\n");
    let ours = world.profile("ours", Some("r1")).await;
    let theirs = world.profile("theirs", None).await;
    let client = world.hub.timed();
    for profile in [&ours, &theirs] {
        let path = format!("{PROFILES}/{}", profile.name);
        let finalized = json!({"metadata": {"finalizers": ["consumer.example/leave"]}});
        let _: Value = call(&client, Method::PATCH, &path, Some(&finalized))
            .await
            .expect("patched");
    }
    let path = format!("{PROFILES}/theirs");
    let _: Value = call(&client, Method::DELETE, &path, None).await.expect("deleted");
    drop(world.journal("r1", SERVER, &[objects()]));
    let began = tokio::time::Instant::now();
    let cleaned = world.clean().await;
    assert_eq!(cleaned.leftovers, [""; 0]);
    let messages = cleaned.messages.join("\n");
    let released =
        "run r1: deleted ClusterProfile default/ours, and removed its finalizers (consumer.example/leave)";
    assert!(messages.contains(released), "{messages}");
    assert!(!messages.contains("theirs"), "{messages}");
    assert_eq!(world.names().await, ["theirs: theirs"]);
    assert!(began.elapsed() >= std::time::Duration::from_secs(10));
}
