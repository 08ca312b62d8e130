//! What a run shows and keeps while it watches. With `--record`, a part of the record survives a run that is killed.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use collect::Progress;
use evidence::{Awaited, Evidence, api::Role, file};
use judge::{Selection, Waivers, unsettled};
use report::{Form, Part, Prepared};
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    first_sight::first_sight,
    progress::{Output, output},
};
use crate::command::{flags::target::Target, terminal::called::called};

/// Interval of the parts. The rest of a minute is for writing one, so that a killed run loses a minute at most.
const EVERY: Duration = Duration::from_secs(50);

/// Writing parts takes at most one part in so many of the time.
const SHARE: u32 = 20;

/// What a run uses while it watches.
pub struct Watching<'a> {
    /// The rules that were selected.
    pub selection: &'a Selection,
    /// The violations that are accepted.
    pub waivers: Option<&'a Waivers>,
    /// The part to keep, if the run is recorded.
    pub record: Option<RecordPart>,
}

/// The part of a record.
#[derive(Clone, Debug)]
pub struct RecordPart {
    part: Part,
    /// The record's path as the user gave it: its end says whether it is packed.
    named: PathBuf,
}

impl RecordPart {
    /// Prepares the part of a run's record, and sets aside the one that a killed run has left. Returns `None` if the run has
    /// no record in a file, or takes no time: a single snapshot, or the lab, whose time is simulated.
    pub fn begin(outputs: &mut Prepared, target: &Target, observe: Duration) -> Option<Self> {
        if observe.is_zero() || target.is_lab() {
            return None;
        }
        let record = outputs.0.get_mut(&Form::Record)?;
        let named = record.path().to_owned();
        let part = record.begin_part()?;
        match part.set_aside() {
            Ok(None) => {}
            Ok(Some(aside)) => tell("an earlier run was killed", &aside),
            Err(error) => anstream::eprintln!(
                "warning: failed to rename {}, which an earlier run left, and this run replaces: {error}",
                part.path().display()
            ),
        }
        Some(Self { part, named })
    }

    /// Says where the part is, if the run has left one.
    pub fn tell_what_is_left(&self) {
        let path = self.part.path();
        if path.exists() {
            tell("the run ended early", &path);
        }
    }

    fn write(&self, evidence: &Evidence) -> std::io::Result<()> {
        self.part
            .write(|into| file::write_named(evidence, &self.named, into))
    }
}

fn tell(what: &str, part: &Path) {
    let (path, called) = (part.display(), called());
    anstream::eprintln!("note: {what}; judge what it had recorded with `{called} replay {path}`");
}

impl Watching<'_> {
    /// The progress of a run. Without `waits`, the hub's time is simulated.
    pub fn progress(&self, waits: bool) -> Box<dyn Progress> {
        Box::new(RunProgress::new(self, output(waits)))
    }
}

/// Shows progress, judges the first list, and keeps the part of the record.
struct RunProgress {
    shown: Arc<dyn Output>,
    selection: Selection,
    waivers: Option<Waivers>,
    keeper: Option<Arc<Keeper>>,
}

impl RunProgress {
    fn new(watching: &Watching<'_>, shown: Arc<dyn Output>) -> Self {
        let record = watching.record.clone();
        Self {
            shown,
            selection: watching.selection.clone(),
            waivers: watching.waivers.cloned(),
            keeper: record.map(|record| Arc::new(Keeper::new(record))),
        }
    }
}

impl Progress for RunProgress {
    fn phase(&self, what: &str) {
        self.shown.phase(what);
    }

    fn step(&self, what: &str) {
        self.shown.step(what);
    }

    fn warn(&self, what: &str) {
        self.shown.warn(what);
    }

    fn left_over(&self, journal: &Path) {
        self.shown.left_over(journal);
    }

    fn listed(&self, list: Evidence, observe: Duration) {
        // A judgement that takes longer than the run is not shown.
        let shown = Arc::downgrade(&self.shown);
        let (selection, waivers) = (self.selection.clone(), self.waivers.clone());
        spawn_blocking(move || {
            let mut roles = list.header.claim.roles();
            // The profiles for a consumer are the run's own, and come later.
            let is_empty = list.profiles.is_empty() && list.slices.is_empty();
            if is_empty || roles.all(|role| role == Role::Consumer) {
                return;
            }
            let line = first_sight(&list, &selection, waivers.as_ref(), observe);
            if let Some(shown) = shown.upgrade() {
                shown.print(&line);
            }
        });
    }

    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        self.shown.tick(elapsed, observe, profiles, writes);
        if let Some(failure) = self.keeper.as_ref().and_then(|keeper| keeper.first_failure()) {
            self.shown.warn(&failure);
        }
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.selection)
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        self.shown.settling(elapsed, most, awaited);
    }

    fn wants_snapshot(&self, is_over: bool) -> bool {
        let keeper = self.keeper.as_ref();
        keeper.is_some_and(|keeper| keeper.wants_snapshot(is_over))
    }

    fn snapshot(&self, so_far: Evidence) {
        if let Some(keeper) = &self.keeper {
            keeper.begin();
            let keeper = Arc::clone(keeper);
            spawn_blocking(move || keeper.write(&so_far));
        }
    }
}

/// Writes the parts, one after the other.
struct Keeper {
    record: RecordPart,
    state: Mutex<State>,
    turn: Mutex<()>,
}

struct State {
    /// When the next part is due.
    next: Instant,
    is_writing: bool,
    /// Whether the first part was begun.
    begun: bool,
    /// Why the last part could not be written.
    failure: Option<std::io::Error>,
    is_reported: bool,
}

impl Keeper {
    fn new(record: RecordPart) -> Self {
        let state = State {
            next: Instant::now() + EVERY,
            is_writing: false,
            begun: false,
            failure: None,
            is_reported: false,
        };
        Self {
            record,
            state: Mutex::new(state),
            turn: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants_snapshot(&self, is_over: bool) -> bool {
        let state = self.state();
        if is_over {
            // A run without a part so far has lasted less than a minute.
            state.begun
        } else {
            !state.is_writing && Instant::now() >= state.next
        }
    }

    fn begin(&self) {
        let mut state = self.state();
        state.is_writing = true;
        state.begun = true;
    }

    fn write(&self, so_far: &Evidence) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let written = self.record.write(so_far);
        let mut state = self.state();
        state.is_writing = false;
        state.next = (began + EVERY).max(Instant::now() + SHARE * began.elapsed());
        state.failure = written.err();
    }

    /// The warning about the first failure. The run goes on, and tries each part.
    fn first_failure(&self) -> Option<String> {
        let mut state = self.state();
        let failure = state.failure.take().filter(|_| !state.is_reported)?;
        state.is_reported = true;
        Some(format!(
            "failed to write {}, so that a killed run would lose its evidence: {failure}",
            self.record.part.path().display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use collect::{Plan, Wish, clock::Clock, collect};
    use evidence::{Digester, Kind, read_input};
    use judge::judge;
    use kube::{
        Api, Client,
        api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    };
    use lab::hub::Hub;
    use report::Outputs;
    use serde_json::json;
    use tokio::time::sleep;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const MINUTE: i64 = 60;

    /// The lines that a run prints.
    #[derive(Default)]
    struct Lines(Mutex<Vec<String>>);

    impl Progress for Lines {
        fn warn(&self, what: &str) {
            self.print(what);
        }
    }

    impl Output for Lines {
        fn print(&self, line: &str) {
            self.0.lock().expect("a lock").push(line.to_owned());
        }
    }

    /// A hub of which a record is made.
    struct World {
        hub: Hub,
        clock: Clock,
        folder: tempfile::TempDir,
        outputs: Prepared,
        record: RecordPart,
    }

    impl World {
        async fn new(name: &str) -> Self {
            let clock = Clock::system();
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(name);
            let mut outputs = Outputs([(Form::Record, path)].into())
                .prepare(|_| "--record".to_owned())
                .expect("it can be written");
            let output = outputs.0.get_mut(&Form::Record).expect("the record");
            let part = output.begin_part().expect("a file");
            let named = output.path().to_owned();
            Self {
                hub: Hub::lab(clock).await.expect("a hub"),
                clock,
                folder,
                outputs,
                record: RecordPart { part, named },
            }
        }

        /// Watches for that long, while a profile changes every 10 s; gives up after `patience`.
        async fn watch(&self, seconds: u64, patience: u64) -> Option<Evidence> {
            let plan = Plan {
                secrets: Wish::Asked,
                ..Plan::watching(Duration::from_secs(seconds))
            };
            let progress = self.progress(Arc::new(Lines::default()));
            let client = self.hub.client_as("admin", "m").expect("a client");
            tokio::select! {
                seen = collect(&self.hub.connection, &plan, self.clock, &progress, CancellationToken::new()) => {
                    Some(seen.expect("evidence"))
                }
                () = change(client) => None,
                () = sleep(Duration::from_secs(patience)) => None,
            }
        }

        fn progress(&self, shown: Arc<dyn Output>) -> RunProgress {
            let watching = Watching {
                selection: &Selection::default(),
                waivers: None,
                record: Some(self.record.clone()),
            };
            RunProgress::new(&watching, shown)
        }

        fn part(&self) -> Evidence {
            let input = read_input(&self.record.part.path(), &Digester::new([7; 32]));
            input.expect("evidence").evidence
        }

        fn files(&self) -> Vec<String> {
            let files = std::fs::read_dir(self.folder.path()).expect("the folder");
            files
                .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
                .collect()
        }
    }

    /// Changes the status of a profile every 10 s.
    async fn change(client: Client) {
        let kind = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile");
        let profiles: Api<DynamicObject> =
            Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind));
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "a"}, "spec": {"clusterManager": {"name": "m"}},
        });
        let profile = serde_json::from_value(profile).expect("a profile");
        profiles
            .create(&PostParams::default(), &profile)
            .await
            .expect("created");
        for number in 1.. {
            sleep(Duration::from_secs(10)).await;
            let status =
                Patch::Merge(json!({"status": {"version": {"kubernetes": format!("v1.{number}.0")}}}));
            let patched = profiles.patch_status("a", &PatchParams::default(), &status).await;
            patched.expect("patched");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_killed_run_loses_a_minute_at_most() {
        for name in ["evidence.jsonl", "evidence.jsonl.zst"] {
            let world = World::new(name).await;
            assert!(world.watch(3600, 1000).await.is_none(), "the run is not over");
            let killed = world.clock.now();
            // The process may be killed while it writes the next part.
            let mut files = world.files();
            files.retain(|file| !file.ends_with(".tmp"));
            assert_eq!(files, [format!("{name}.part")]);
            let packed = std::fs::read(world.record.part.path()).expect("the part");
            assert_eq!(packed[0] == b'{', name.ends_with("jsonl"));

            let part = world.part();
            let last = part.profiles[0].versions.last().expect("a version");
            let lost = killed.duration_since(last.received()).as_secs();
            assert!((0..=MINUTE).contains(&lost), "{lost} s are lost");
            let versions = part.profiles[0].versions.len() as i64;
            assert!(versions >= (1000 - MINUTE) / 10, "{versions} versions");
            let [gap] = &part.gaps(Kind::Timeline).collect::<Vec<_>>()[..] else {
                panic!("{:?}", part.gaps)
            };
            assert!(gap.until.expect("an end") > killed, "{gap:?}");
            assert!(!part.is_whole(Kind::Secrets), "they were never read");
            assert!(judge(&part, &Selection::default()).partial);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_is_killed_after_its_window_loses_no_change() {
        let world = World::new("evidence.jsonl").await;
        let evidence = world.watch(95, 1000).await.expect("evidence");
        // The last part is written beside what is read then.
        sleep(Duration::from_secs(1)).await;
        let part = world.part();
        assert_eq!(part.profiles, evidence.profiles);
        assert!(part.is_whole(Kind::Timeline), "{:?}", part.gaps);
        assert!(judge(&part, &Selection::default()).partial);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_ends_leaves_no_part() {
        let mut world = World::new("evidence.jsonl").await;
        let evidence = world.watch(200, 1000).await.expect("evidence");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.files(), ["evidence.jsonl.part"]);
        let output = world.outputs.0.remove(&Form::Record).expect("the record");
        output
            .write(|into| file::write_named(&evidence, Path::new("evidence.jsonl"), into))
            .expect("written");
        assert_eq!(world.files(), ["evidence.jsonl"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_cannot_write_its_part_goes_on_and_says_so_once() {
        let world = World::new("evidence.jsonl").await;
        // Nothing replaces a folder that is not empty.
        std::fs::create_dir_all(world.record.part.path().join("full")).expect("created");
        let lines = Arc::new(Lines::default());
        let shown: Arc<dyn Output> = lines.clone();
        let progress = world.progress(shown);
        let keeper = progress.keeper.as_ref().expect("a keeper");
        for _ in 0..3 {
            let mut state = keeper.state();
            state.failure = world.record.write(&Evidence::default()).err();
            assert!(state.failure.is_some());
            drop(state);
            progress.tick(Duration::ZERO, Duration::ZERO, 0, 0);
        }
        let lines = lines.0.lock().expect("a lock");
        assert!(
            lines.len() == 1 && lines[0].contains("evidence.jsonl.part"),
            "{lines:?}"
        );
        assert_eq!(world.files(), ["evidence.jsonl.part"], "and nothing half written");
    }
}
