//! What a run shows and keeps while it watches. With `--record`, a part of the record survives a run that is killed.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use collect::{Progress, clock::Clock};
use evidence::{Awaited, Evidence, api::Role, file};
use judge::{RuleVerdict, Selection, Verdict, Waivers, judge, rules::Level, unsettled};
use report::{FileFormat, OutputFiles, Part, escape, no_status};
use tokio::{task::spawn_blocking, time::Instant};

use super::progress::{Display, in_words};
use crate::command::{
    flags::target::Target,
    terminal::{advice, called},
};

/// Interval of the parts. The rest of a minute is for writing one, so that a killed run loses a minute at most.
const EVERY: Duration = Duration::from_secs(50);

/// Writing parts takes at most one part in so many of the time.
const SHARE: u32 = 20;

/// What a run uses while it watches.
pub struct Watching<'a> {
    pub selection: &'a Selection,
    pub waivers: Option<&'a Waivers>,
    /// The part to keep, if the run is recorded.
    pub record: Option<RecordPart>,
}

#[derive(Clone, Debug)]
pub struct RecordPart {
    part: Part,
    /// The record's path as the user gave it: its end says whether it is packed.
    named: PathBuf,
}

impl RecordPart {
    /// Prepares the part of a run's record, and sets aside the one that a killed run has left. Returns `None` if the run has
    /// no record in a file, or takes no time: a single snapshot, or the lab, whose time is simulated.
    pub fn begin(outputs: &mut OutputFiles, target: &Target, observe: Duration) -> Option<Self> {
        if observe.is_zero() || target.is_lab() {
            return None;
        }
        let record = outputs.get_mut(&FileFormat::Record)?;
        let named = record.path().to_owned();
        let part = record.begin_part()?;
        match part.set_aside() {
            Ok(None) => {}
            Ok(Some(aside)) => note_part("an earlier run was killed", &aside),
            Err(error) => anstream::eprintln!(
                "warning: failed to rename {}, which an earlier run left, and this run replaces: {error}",
                part.path().display()
            ),
        }
        Some(Self { part, named })
    }

    /// Prints where the part is, if the run has left one.
    pub fn note_leftover(&self) {
        let path = self.part.path();
        if path.exists() {
            note_part("the run ended early", &path);
        }
    }

    fn write(&self, evidence: &Evidence) -> std::io::Result<()> {
        self.part
            .write(|into| file::write_named(evidence, &self.named, into))
    }
}

fn note_part(what: &str, part: &Path) {
    let (path, called) = (part.display(), called());
    anstream::eprintln!("note: {what}; judge what it had recorded with `{called} replay {path}`");
}

impl Watching<'_> {
    /// The progress of a run. Without `waits`, the hub's time is simulated.
    pub fn progress(&self, waits: bool) -> Box<dyn Progress> {
        Box::new(RunProgress::new(self, Display::new(waits)))
    }
}

/// Shows progress, judges the first list, and keeps the part of the record.
struct RunProgress {
    display: Arc<Display>,
    selection: Selection,
    waivers: Option<Waivers>,
    keeper: Option<Arc<Keeper>>,
}

impl RunProgress {
    fn new(watching: &Watching<'_>, display: Display) -> Self {
        let record = watching.record.clone();
        Self {
            display: Arc::new(display),
            selection: watching.selection.clone(),
            waivers: watching.waivers.cloned(),
            keeper: record.map(|record| Arc::new(Keeper::new(record))),
        }
    }
}

impl Progress for RunProgress {
    fn phase(&self, what: &str) {
        self.display.phase(&escape::line(what));
    }

    fn step(&self, what: &str) {
        self.display.step(what);
    }

    fn warn(&self, what: &str) {
        self.display.warn(what);
    }

    fn left_over(&self, journal: &Path) {
        self.display.warn(&advice::left_over(journal));
    }

    fn listed(&self, list: Evidence, observe: Duration) {
        // A judgement that takes longer than the run is not shown.
        let display = Arc::downgrade(&self.display);
        let (selection, waivers) = (self.selection.clone(), self.waivers.clone());
        spawn_blocking(move || {
            let mut roles = list.header.claim.roles();
            // The profiles for a consumer are the run's own, and come later.
            let is_empty = list.profiles.is_empty() && list.slices.is_empty();
            if is_empty || roles.all(|role| role == Role::Consumer) {
                return;
            }
            let line = first_sight(&list, &selection, waivers.as_ref(), observe);
            if let Some(display) = display.upgrade() {
                display.print(&line);
            }
        });
    }

    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        self.display.tick(elapsed, observe, profiles, writes);
    }

    fn open(&self, so_far: &Evidence) -> Awaited {
        unsettled(so_far, &self.selection)
    }

    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        self.display.settling(elapsed, most, awaited);
    }

    fn wants_snapshot(&self, is_over: bool) -> bool {
        let keeper = self.keeper.as_ref();
        keeper.is_some_and(|keeper| keeper.wants_snapshot(is_over))
    }

    fn snapshot(&self, so_far: Evidence) {
        let Some(keeper) = self.keeper.clone() else { return };
        keeper.begin();
        let display = Arc::downgrade(&self.display);
        spawn_blocking(move || {
            if let Err(failure) = keeper.write(&so_far)
                && let Some(display) = display.upgrade()
            {
                keeper.warn_once(&failure, &display);
            }
        });
    }
}

/// Writes the parts, one after the other.
struct Keeper {
    record: RecordPart,
    state: Mutex<State>,
    turn: Mutex<()>,
    has_warned: AtomicBool,
}

struct State {
    next: Instant,
    is_writing: bool,
    /// Whether the first part was begun.
    begun: bool,
}

impl Keeper {
    fn new(record: RecordPart) -> Self {
        let state = State {
            next: Instant::now() + EVERY,
            is_writing: false,
            begun: false,
        };
        Self {
            record,
            state: Mutex::new(state),
            turn: Mutex::default(),
            has_warned: AtomicBool::new(false),
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

    fn write(&self, so_far: &Evidence) -> std::io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        let written = self.record.write(so_far);
        let mut state = self.state();
        state.is_writing = false;
        state.next = (began + EVERY).max(Instant::now() + SHARE * began.elapsed());
        written
    }

    /// Warns about the first failure. The run goes on, and tries each part.
    fn warn_once(&self, failure: &std::io::Error, display: &Display) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            display.warn(&format!(
                "failed to write {}, so that a killed run would lose its evidence: {failure}",
                self.record.part.path().display()
            ));
        }
    }
}

/// The number of rules that the line names.
const MOST_NAMED: usize = 3;

/// Judges the first list as a single snapshot, and names the MUST rules that fail.
fn first_sight(
    list: &Evidence,
    selection: &Selection,
    waivers: Option<&Waivers>,
    observe: Duration,
) -> String {
    let mut judgement = judge(list, selection);
    if let Some(waivers) = waivers {
        let today = Waivers::day(Clock::system().now());
        judgement.waive(waivers, today, list.header.claim.strict);
    }
    let fails = |verdict: &&RuleVerdict| verdict.verdict == Verdict::Fail && verdict.level() == Level::Must;
    let failed = judgement.verdicts.iter().filter(fails);
    let ids: Vec<&str> = failed.map(|verdict| verdict.rule.id).collect();
    let cause = no_status(list).map_or_else(String::new, |cause| format!("; {cause}"));
    let (rules, observe) = (in_one_line(&ids), in_words(observe));
    format!("at first sight: {rules}{cause}; watching for {observe}")
}

fn in_one_line(ids: &[&str]) -> String {
    let count = match ids.len() {
        0 => return "no MUST rule fails".to_owned(),
        1 => "1 MUST rule fails".to_owned(),
        number => format!("{number} MUST rules fail"),
    };
    let mut named = ids[..ids.len().min(MOST_NAMED)].join(", ");
    if ids.len() > MOST_NAMED {
        named += &format!(", and {} more", ids.len() - MOST_NAMED);
    }
    format!("{count} ({named})")
}

#[cfg(test)]
mod tests {
    use collect::{Plan, Wish, collect};
    use evidence::{Digester, Kind, read_input};
    use kube::{
        Api, Client,
        api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    };
    use lab::hub::Hub;
    use report::prepare;
    use serde_json::json;
    use tokio::time::sleep;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const MINUTE: i64 = 60;

    /// A hub of which a record is made.
    struct World {
        hub: Hub,
        clock: Clock,
        folder: tempfile::TempDir,
        outputs: OutputFiles,
        record: RecordPart,
    }

    impl World {
        async fn new(name: &str) -> Self {
            let clock = Clock::system();
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(name);
            let mut outputs = prepare([(FileFormat::Record, path)].into(), |_| "--record".to_owned())
                .expect("it can be written");
            let output = outputs.get_mut(&FileFormat::Record).expect("the record");
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
            let progress = self.progress(|_| {});
            let client = self.hub.client_as("admin", "m").expect("a client");
            tokio::select! {
                seen = collect(&self.hub.connection, &plan, self.clock, &progress, CancellationToken::new()) => {
                    Some(seen.expect("evidence"))
                }
                () = change(client) => None,
                () = sleep(Duration::from_secs(patience)) => None,
            }
        }

        fn progress(&self, write: impl Fn(&str) + Send + Sync + 'static) -> RunProgress {
            let watching = Watching {
                selection: &Selection::default(),
                waivers: None,
                record: Some(self.record.clone()),
            };
            RunProgress::new(&watching, Display::on(None, false, write))
        }

        fn part(&self) -> Evidence {
            let input = read_input(&self.record.part.path(), &Digester::new([7; 32]));
            input.expect("evidence").evidence
        }

        fn files(&self) -> Vec<String> {
            let files = std::fs::read_dir(self.folder.path()).expect("the folder");
            let name = |file: std::fs::DirEntry| file.file_name().to_string_lossy().into_owned();
            files.map(|file| name(file.expect("a file"))).collect()
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
        let created = profiles.create(&PostParams::default(), &profile).await;
        created.expect("created");
        for number in 1.. {
            sleep(Duration::from_secs(10)).await;
            let version = format!("v1.{number}.0");
            let status = Patch::Merge(json!({"status": {"version": {"kubernetes": version}}}));
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
        let output = world.outputs.remove(&FileFormat::Record).expect("the record");
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
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let progress = world.progress(move |line| written.lock().expect("a lock").push(line.to_owned()));
        let keeper = progress.keeper.as_ref().expect("a keeper");
        for _ in 0..3 {
            let failure = keeper.write(&Evidence::default()).expect_err("no file");
            keeper.warn_once(&failure, &progress.display);
        }
        let lines = lines.lock().expect("a lock");
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("evidence.jsonl.part"), "{line}");
        assert_eq!(world.files(), ["evidence.jsonl.part"], "and nothing half written");
    }

    #[test]
    fn a_line_names_at_most_three_rules() {
        assert_eq!(in_one_line(&[]), "no MUST rule fails");
        assert_eq!(in_one_line(&["a/b"]), "1 MUST rule fails (a/b)");
        assert_eq!(in_one_line(&["a", "b", "c"]), "3 MUST rules fail (a, b, c)");
        let expected = "5 MUST rules fail (a, b, c, and 2 more)";
        assert_eq!(in_one_line(&["a", "b", "c", "d", "e"]), expected);
    }
}
