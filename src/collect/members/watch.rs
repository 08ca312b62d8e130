//! Asking all members side by side, again and again until the window is over.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    panic::resume_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{StreamExt as _, stream};
use kube::Client;
use tokio::{
    select,
    sync::{Semaphore, SemaphorePermit, watch},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep_until},
};

use super::{
    ask::Asker,
    clean::Clean,
    look::{look, no_way},
    plan::{Dial, MemberWay, Members, Way},
    tried::{Key, Named, Tried, keys},
};
use crate::{clock::Clock, evidence::Look};

/// How many members are asked at a time.
const AT_ONCE: usize = 64;
/// How often members are asked, in windows that are short and in long ones.
const OFTEN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(600);

/// The members of one run.
pub(in crate::collect) struct Asking {
    means: Means,
    ways: Vec<MemberWay>,
    from_secrets: bool,
    /// What has been seen of each.
    pub(super) records: BTreeMap<Named, Record>,
    pub(super) tried: Arc<Mutex<Vec<Tried>>>,
    /// Why the Secrets could not be read.
    pub(super) unread: Option<String>,
}

/// What has been seen of one member so far.
#[derive(Clone, Default)]
pub(super) struct Record(Arc<Mutex<Recorded>>);

/// The same.
#[derive(Default)]
pub(super) struct Recorded {
    /// The way, for people; empty where there is none.
    pub way: String,
    pub looks: Vec<Look>,
    /// Why there is no way.
    pub closed: Option<String>,
}

/// By what members are asked.
#[derive(Clone)]
struct Means {
    clock: Clock,
    dial: Arc<dyn Dial>,
    turns: Arc<Semaphore>,
    /// None: once.
    every: Option<Duration>,
}

impl Asking {
    /// Prepares to ask what is in scope, for a window of that length.
    pub fn new(members: &Members, namespaces: &[String], observe: Duration, clock: Clock) -> Self {
        let every = match observe {
            Duration::ZERO => None,
            observe if observe > LONG => Some(SELDOM),
            _ => Some(OFTEN),
        };
        let is_in_scope =
            |way: &&MemberWay| namespaces.is_empty() || namespaces.contains(&way.profile.namespace);
        Self {
            means: Means {
                clock,
                dial: Arc::clone(&members.dial),
                turns: Arc::new(Semaphore::new(AT_ONCE)),
                every,
            },
            ways: members.ways.iter().filter(is_in_scope).cloned().collect(),
            from_secrets: members.from_secrets,
            records: BTreeMap::new(),
            tried: Arc::default(),
            unread: None,
        }
    }

    /// Asks until the window is over, and each member at least once. May be cancelled: what was seen stays.
    pub async fn run(&mut self, hub: &Client, places: &[String], over: watch::Receiver<bool>) {
        let mut keys = self.keys(hub, places).await;
        let mut ways: BTreeMap<Named, MemberWay> = BTreeMap::new();
        for way in &self.ways {
            ways.entry(named(way)).or_insert_with(|| way.clone());
        }
        let mut tasks = JoinSet::new();
        for named in ways.keys().chain(keys.keys()).cloned().collect::<BTreeSet<_>>() {
            let record = Record::default();
            self.records.insert(named.clone(), record.clone());
            let task = Task {
                means: self.means.clone(),
                over: over.clone(),
                record,
                tried: Arc::clone(&self.tried),
            };
            let keys = keys.remove(&named).unwrap_or_default();
            tasks.spawn(task.run(ways.remove(&named), keys));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(panicked) = ended {
                resume_unwind(panicked.into_panic());
            }
        }
    }

    /// Tries those Secrets again that their members refused, and those that came meanwhile: what a manager renews may
    /// have been read a moment before. Secrets that are gone count no more.
    pub async fn again(&mut self, hub: &Client, places: &[String]) {
        if self.means.every.is_none() || !self.from_secrets || self.unread.is_some() {
            return;
        }
        let keys = self.keys(hub, places).await;
        if self.unread.is_some() {
            return;
        }
        let before = std::mem::take(&mut *lock(&self.tried));
        let mut settled: Vec<Tried> = before.into_iter().filter(|tried| !tried.is_doubtful()).collect();
        let known: HashSet<String> = settled.iter().map(|tried| tried.secret.path()).collect();
        let keys = keys.into_values().flatten();
        let keys: Vec<Key> = keys.filter(|key| !known.contains(&key.secret.path())).collect();
        let means = &self.means;
        let outcomes = stream::iter(keys)
            .map(|key| async move {
                let _turn = means.turn().await;
                key.turn(&*means.dial, means.clock).await
            })
            .buffer_unordered(AT_ONCE);
        settled.extend(
            outcomes
                .filter_map(async |outcome| Some(outcome?.0))
                .collect::<Vec<_>>()
                .await,
        );
        *lock(&self.tried) = settled;
    }

    /// The Secrets to be tried, by profile.
    async fn keys(&mut self, hub: &Client, places: &[String]) -> BTreeMap<Named, Vec<Key>> {
        let mut by_profile: BTreeMap<Named, Vec<Key>> = BTreeMap::new();
        if !self.from_secrets {
            return by_profile;
        }
        match keys(hub, places).await {
            Ok(keys) => {
                for key in keys {
                    by_profile.entry(key.profile.clone()).or_default().push(key);
                }
            }
            Err(failure) => self.unread = Some(failure.told()),
        }
        by_profile
    }
}

fn named(way: &MemberWay) -> Named {
    Named {
        namespace: Some(way.profile.namespace.clone()),
        name: way.profile.name.clone(),
    }
}

/// One member, while it is asked.
struct Task {
    means: Means,
    over: watch::Receiver<bool>,
    record: Record,
    tried: Arc<Mutex<Vec<Tried>>>,
}

/// A way that may still have to be prepared.
enum Path {
    Open(Asker),
    Closed(MemberWay),
}

impl Task {
    async fn run(mut self, way: Option<MemberWay>, keys: Vec<Key>) {
        let mut path = way.map(|way| {
            self.record.lock().way.clone_from(&way.told);
            Path::Closed(way)
        });
        for key in keys {
            let _turn = self.means.turn().await;
            let Some((tried, asker)) = key.turn(&*self.means.dial, self.means.clock).await else {
                continue;
            };
            if path.is_none() {
                let mut record = self.record.lock();
                match asker {
                    Some(asker) => {
                        record.way = format!("Secret {}", tried.secret.path());
                        path = Some(Path::Open(asker));
                    }
                    None => record.closed = Some(tried.told()),
                }
            }
            lock(&self.tried).push(tried);
        }
        if let Some(path) = path {
            self.look_on(path).await;
        }
    }

    async fn look_on(&mut self, mut path: Path) {
        let began = Instant::now();
        let means = self.means.clone();
        self.look_once(&means, &mut path).await;
        let Some(every) = means.every else { return };
        loop {
            let passed = began.elapsed().as_nanos() / every.as_nanos();
            let next = began + every * (u32::try_from(passed).unwrap_or(u32::MAX) + 1);
            let mut over = self.over.clone();
            select! {
                biased;
                _ = over.wait_for(|over| *over) => return,
                () = async {
                    sleep_until(next).await;
                    self.look_once(&means, &mut path).await;
                } => {}
            }
        }
    }

    async fn look_once(&self, means: &Means, path: &mut Path) {
        let _turn = means.turn().await;
        if let Path::Closed(way) = path {
            match open(way, &means.dial).await {
                Ok(asker) => *path = Path::Open(asker),
                Err(cause) => {
                    self.record.lock().looks.push(no_way(means.clock, &cause));
                    return;
                }
            }
        }
        let Path::Open(asker) = path else { return };
        let before = self.record.lock().looks.last().cloned();
        let look = look(asker, means.clock, before.as_ref()).await;
        self.record.lock().looks.push(look);
    }
}

/// Prepares a way, which may run a credential plugin.
async fn open(way: &MemberWay, dial: &Arc<dyn Dial>) -> Result<Asker, String> {
    match &way.way {
        Way::Client(client) => Ok(Asker {
            client: client.clone(),
            clean: Clean::default(),
        }),
        Way::Config(config) => {
            let (config, dial) = (config.clone(), Arc::clone(dial));
            let clean = Clean::of(&config.auth_info);
            let connected = spawn_blocking(move || dial.connect(*config)).await;
            let connected = connected.unwrap_or_else(|_| Err("its client could not be made".to_owned()));
            let client = connected.map_err(|cause| clean.words(&cause))?;
            let client = client.ok_or("nobody is to be called there")?;
            Ok(Asker { client, clean })
        }
    }
}

impl Means {
    /// Waits for a turn: members are many.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }
}

impl Record {
    pub fn lock(&self) -> MutexGuard<'_, Recorded> {
        lock(&self.0)
    }
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
