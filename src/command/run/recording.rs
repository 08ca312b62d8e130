//! A part of the record, which survives a run that is killed.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{Evidence, file};
use report::{FileFormat, OutputFiles, Part};
use tokio::time::Instant;

use crate::command::{Target, called};

/// Interval of the parts. The rest of a minute is for writing one, so that a killed run loses a minute at most.
const EVERY: Duration = Duration::from_secs(50);

/// Writing parts takes at most one part in so many of the time.
const SHARE: u32 = 20;

#[derive(Clone, Debug)]
pub struct RecordPart {
    part: Part,
    /// The record's path as the user gave it: its end says whether it is packed.
    path: PathBuf,
}

impl RecordPart {
    /// Prepares the part of a run's record, and renames the one that a killed run has left. Returns `None` if the run has
    /// no record in a file, or takes no time: a single snapshot, or the lab, whose time is simulated.
    pub fn begin(outputs: &mut OutputFiles, target: &Target, observe: Duration) -> Option<Self> {
        if observe.is_zero() || target.is_lab() {
            return None;
        }
        let record = outputs.get_mut(&FileFormat::Record)?;
        let path = record.path().to_owned();
        let part = record.begin_part()?;
        match part.set_aside() {
            Ok(None) => {}
            Ok(Some(old_part)) => note_part("an earlier run was killed", &old_part),
            Err(error) => anstream::eprintln!(
                "warning: failed to rename {}, which an earlier run left, and this run replaces: {error}",
                part.path().display()
            ),
        }
        Some(Self { part, path })
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
            .write(|into| file::write_named(evidence, &self.path, into))
    }
}

fn note_part(what: &str, part: &Path) {
    let (path, called) = (part.display(), called());
    anstream::eprintln!("note: {what}; judge what it had recorded with `{called} replay {path}`");
}

/// Writes the parts of the record, one after the other.
pub struct Keeper {
    record: RecordPart,
    /// When the next part is due.
    pub next: Instant,
    pub has_begun: bool,
    has_failed: bool,
}

impl Keeper {
    pub fn new(record: RecordPart) -> Self {
        Self {
            record,
            next: Instant::now() + EVERY,
            has_begun: false,
            has_failed: false,
        }
    }

    pub fn begin(&mut self) {
        self.has_begun = true;
        self.next = Instant::now() + EVERY;
    }

    /// Writes a part. Returns a warning about the first failure: the run goes on, and tries each part.
    pub fn write(&mut self, so_far: &Evidence) -> Option<String> {
        let began = Instant::now();
        let result = self.record.write(so_far);
        self.next = self.next.max(Instant::now() + SHARE * began.elapsed());
        let failure = result.err()?;
        let is_first = !std::mem::replace(&mut self.has_failed, true);
        is_first.then(|| {
            let path = self.record.part.path();
            let path = path.display();
            format!("failed to write {path}, so that a killed run would lose its evidence: {failure}")
        })
    }
}

#[cfg(test)]
mod tests {
    use collect::{EvidenceRequest, Plan, clock::Clock, collect};
    use evidence::{Digester, Kind, read_input};
    use judge::{Selection, judge};
    use kube::{
        Api, Client,
        api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    };
    use lab::hub::Hub;
    use report::prepare;
    use serde_json::json;
    use tokio::time::sleep;
    use tokio_util::sync::CancellationToken;

    use super::{super::progress::RunProgress, *};

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
            let path = output.path().to_owned();
            Self {
                hub: Hub::lab(clock).await.expect("a hub"),
                clock,
                folder,
                outputs,
                record: RecordPart { part, path },
            }
        }

        /// Watches for that long, while a profile changes every 10 s; gives up after `patience`.
        async fn watch(&self, seconds: u64, patience: u64) -> Option<Evidence> {
            let plan = Plan {
                secrets: EvidenceRequest::Explicit,
                ..Plan::watching(Duration::from_secs(seconds))
            };
            let progress = self.progress();
            let client = self.hub.client_as("admin", "m").expect("a client");
            tokio::select! {
                seen = collect(&self.hub.connection, &plan, self.clock, &progress, CancellationToken::new()) => {
                    Some(seen.expect("evidence"))
                }
                () = change(client) => None,
                () = sleep(Duration::from_secs(patience)) => None,
            }
        }

        fn progress(&self) -> RunProgress {
            let keeper = Keeper::new(self.record.clone());
            RunProgress::new(&Selection::default(), None, Some(keeper), false)
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
        // The last part is written while the rest is read.
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
        let mut keeper = Keeper::new(world.record.clone());
        let lines: Vec<String> = (0..3)
            .filter_map(|_| keeper.write(&Evidence::default()))
            .collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("evidence.jsonl.part"), "{line}");
        assert_eq!(world.files(), ["evidence.jsonl.part"], "and nothing half written");
    }
}
