//! Polls all members side by side until the window is over.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    panic::resume_unwind,
    sync::Arc,
    time::Duration,
};

use evidence::{LoginOutcome, Look, Reason, Scope, api::ClusterProfile};
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Semaphore, SemaphorePermit, watch},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep_until},
};

use super::{
    ask::{Asker, NOT_ACCEPTED},
    clean::Clean,
    error::NoWay,
    issued::{self, Renewal},
    look::{look, no_way},
    plan::{Dial, MemberWay, Members, Way},
    tried::{AttemptId, CredentialAttempt, Named, Tried, attempts, plugin_attempt, plugin_attempts},
};
use crate::{
    clock::Clock,
    connect::{
        call::TimedClient,
        error::ClientError,
        exec::{PATIENCE as EXEC_PATIENCE, connect},
    },
    hub::missing::NO_SECRETS,
    plugins::Request,
};

/// How many members are asked at a time.
pub(super) const AT_ONCE: usize = 64;
/// How often members are asked, in windows that are short and in long ones.
const OFTEN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(600);

/// The members of one run.
pub(crate) struct Asking {
    means: Means,
    members: Members,
    scope: Scope,
    /// What has been seen of each.
    pub(super) records: BTreeMap<Named, Record>,
    pub(super) tried: Arc<Mutex<Vec<Tried>>>,
    /// Why the Secrets could not be read.
    pub(super) unread: Option<Reason>,
    /// Why some plugins may not have been run.
    pub(super) not_run: Option<String>,
}

/// Where on the hub the credentials for members are.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub hub: &'a TimedClient,
    /// Paths of the lists of profiles.
    pub profiles: &'a [String],
    /// Namespaces of the Secrets.
    pub places: &'a [String],
}

/// The record of one member, shared by those who add to it.
pub(super) type Record = Arc<Mutex<Recorded>>;

/// What has been seen of one member so far.
#[derive(Default)]
pub(super) struct Recorded {
    /// The way, for people; empty where there is none.
    pub way: String,
    pub looks: Vec<Look>,
    /// Whether somebody has given a way, other than by a Secret.
    pub given: bool,
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
    pub fn new(members: &Members, scope: &Scope, observe: Duration, clock: Clock) -> Self {
        let every = match observe {
            Duration::ZERO => None,
            observe if observe > LONG => Some(SELDOM),
            _ => Some(OFTEN),
        };
        let is_in_scope = |way: &&MemberWay| scope.holds_namespace(&way.profile.namespace);
        let not_run = members.plugins.as_ref();
        let not_run = not_run.map(|_| "the run was stopped before".to_owned());
        Self {
            means: Means {
                clock,
                dial: Arc::clone(&members.dial),
                turns: Arc::new(Semaphore::new(AT_ONCE)),
                every,
            },
            members: Members {
                ways: members.ways.iter().filter(is_in_scope).cloned().collect(),
                ..members.clone()
            },
            scope: scope.clone(),
            records: BTreeMap::new(),
            tried: Arc::default(),
            unread: None,
            not_run,
        }
    }

    /// Asks until the window is over, and each member at least once. May be cancelled: what was seen stays.
    pub async fn run(&mut self, from: Sources<'_>, over: watch::Receiver<bool>) {
        let secrets = self.attempts(from).await;
        let (plugins, unlisted) = self.plugins(from).await;
        let mut attempts: BTreeMap<Named, Vec<CredentialAttempt>> = BTreeMap::new();
        for attempt in secrets.into_iter().chain(plugins) {
            attempts.entry(attempt.profile.clone()).or_default().push(attempt);
        }
        let mut ways: BTreeMap<Named, MemberWay> = BTreeMap::new();
        for way in &self.members.ways {
            ways.entry(named(way)).or_insert_with(|| way.clone());
        }
        let mut tasks = JoinSet::new();
        for named in ways
            .keys()
            .chain(attempts.keys())
            .cloned()
            .collect::<BTreeSet<_>>()
        {
            let record = Record::default();
            self.records.insert(named.clone(), record.clone());
            let task = Task {
                means: self.means.clone(),
                over: over.clone(),
                record,
                tried: Arc::clone(&self.tried),
            };
            let attempts = attempts.remove(&named).unwrap_or_default();
            tasks.spawn(task.run(ways.remove(&named), attempts));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(panicked) = ended {
                resume_unwind(panicked.into_panic());
            }
        }
        self.not_run = unlisted;
    }

    /// Tries those credentials again that their members refused, and those that came meanwhile, with the profiles as they
    /// are now: what a manager renews may have been read a moment before. Secrets that are gone count no more.
    pub async fn again(&mut self, from: Sources<'_>, profiles: impl Iterator<Item = &ClusterProfile>) {
        if self.means.every.is_none() {
            return;
        }
        let attempts = match self.unread {
            None => self.attempts(from).await,
            Some(_) => Vec::new(),
        };
        let plugins = self.members.plugins.as_ref();
        let plugins = plugins.map(|plugins| profiles.filter_map(|profile| plugin_attempt(profile, plugins)));
        let plugins = plugins
            .into_iter()
            .flatten()
            .filter(|attempt| self.holds(attempt));
        let attempts = attempts.into_iter().chain(plugins);
        let is_unread = self.unread.is_some();
        let settled: Vec<Tried> = self
            .tried
            .lock()
            .iter()
            .filter(|tried| !tried.is_doubtful() || (is_unread && tried.is_of_secret()))
            .cloned()
            .collect();
        let known: HashSet<AttemptId> = settled.iter().map(Tried::id).collect();
        let attempts: Vec<CredentialAttempt> = attempts
            .filter(|attempt| !known.contains(&attempt.id()))
            .collect();
        let means = &self.means;
        let outcomes = stream::iter(attempts)
            .map(|attempt| async move {
                let _turn = means.turn().await;
                attempt.turn(&*means.dial, means.clock).await.0
            })
            .buffer_unordered(AT_ONCE);
        let tried: Vec<Tried> = outcomes.collect().await;
        // Only now: what was tried before is kept where the run is stopped meanwhile.
        *self.tried.lock() = settled.into_iter().chain(tried).collect();
        self.not_run = None;
    }

    /// The Secrets to be tried.
    async fn attempts(&mut self, from: Sources<'_>) -> Vec<CredentialAttempt> {
        if !self.members.from_secrets {
            return Vec::new();
        }
        if from.places.is_empty() {
            self.unread = Some(NO_SECRETS);
            return Vec::new();
        }
        let attempts = attempts(from.hub, from.places).await.unwrap_or_else(|failure| {
            self.unread = Some(failure.to_string().into());
            Vec::new()
        });
        attempts
            .into_iter()
            .filter(|attempt| self.holds(attempt))
            .collect()
    }

    /// The plugins to be run or, where the profiles cannot be listed, why not.
    async fn plugins(&self, from: Sources<'_>) -> (Vec<CredentialAttempt>, Option<String>) {
        let Some(plugins) = &self.members.plugins else {
            return (Vec::new(), None);
        };
        match plugin_attempts(from.hub, from.profiles, &self.scope, plugins).await {
            Ok(attempts) => (
                attempts
                    .into_iter()
                    .filter(|attempt| self.holds(attempt))
                    .collect(),
                None,
            ),
            Err(failure) => (Vec::new(), Some(failure.to_string())),
        }
    }

    /// Whether what opens that member is tried.
    fn holds(&self, attempt: &CredentialAttempt) -> bool {
        let Named { namespace, name } = &attempt.profile;
        self.members.hold(namespace.as_deref(), name)
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
enum Route {
    Open(Asker, Option<Renewal>),
    Pending(PendingRoute),
}

/// What prepares a way.
enum PendingRoute {
    Way(Box<MemberWay>),
    Plugin(Arc<Request>),
}

impl Task {
    async fn run(mut self, way: Option<MemberWay>, attempts: Vec<CredentialAttempt>) {
        let mut route = way.map(|way| {
            let mut record = self.record.lock();
            record.way.clone_from(&way.description);
            record.given = true;
            Route::Pending(PendingRoute::Way(Box::new(way)))
        });
        for attempt in attempts {
            let _turn = self.means.turn().await;
            let (tried, opened) = attempt.turn(&*self.means.dial, self.means.clock).await;
            if route.is_none() {
                let mut record = self.record.lock();
                match opened {
                    Some((asker, renewal)) => {
                        record.way = tried.way();
                        route = Some(Route::Open(asker, renewal));
                    }
                    None => record.closed = Some(tried.describe()),
                }
            }
            self.tried.lock().push(tried);
        }
        if let Some(route) = route {
            self.look_on(route).await;
        }
    }

    async fn look_on(&mut self, mut route: Route) {
        let began = Instant::now();
        let means = self.means.clone();
        self.look_once(&means, &mut route).await;
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
                    self.look_once(&means, &mut route).await;
                } => {}
            }
        }
    }

    async fn look_once(&self, means: &Means, route: &mut Route) {
        let _turn = means.turn().await;
        if let Route::Open(_, Some(renewal)) = route
            && renewal.is_due(means.clock.now())
        {
            *route = Route::Pending(PendingRoute::Plugin(Arc::clone(&renewal.request)));
        }
        if let Route::Pending(pending) = route {
            match pending.open(means).await {
                Ok(opened) => *route = opened,
                Err(error) => {
                    self.add(no_way(means.clock, &error.to_string()));
                    return;
                }
            }
        }
        let Route::Open(asker, renewal) = route else {
            return;
        };
        let look = look(asker, means.clock).await;
        // Who does not tell when a credential expires is asked for another when it has.
        if let Some(renewal) = renewal
            && look.missing.values().any(|reason| *reason == NOT_ACCEPTED)
        {
            *route = Route::Pending(PendingRoute::Plugin(Arc::clone(&renewal.request)));
        }
        self.add(look);
    }

    fn add(&self, mut look: Look) {
        let mut record = self.record.lock();
        look.share_with(&record.looks);
        record.looks.push(look);
    }
}

impl PendingRoute {
    /// Prepares the way.
    ///
    /// # Errors
    /// Why there is none.
    async fn open(&self, means: &Means) -> Result<Route, NoWay> {
        let request = match self {
            PendingRoute::Way(way) => return Ok(Route::Open(open(way, &means.dial).await?, None)),
            PendingRoute::Plugin(request) => request,
        };
        let opened = issued::open(request, &*means.dial, means.clock).await;
        opened
            .map(|(asker, renewal)| Route::Open(asker, renewal))
            .map_err(|outcome| {
                NoWay::NotRenewed(match outcome {
                    LoginOutcome::NoCredential { reason } => Some(reason),
                    LoginOutcome::Unanswered { reason } => Some(reason.to_string()),
                    LoginOutcome::Accepted { .. } | LoginOutcome::Refused { .. } => None,
                })
            })
    }
}

/// Prepares a way, which may run a credential plugin.
pub(super) async fn open(way: &MemberWay, dial: &Arc<dyn Dial>) -> Result<Asker, NoWay> {
    match &way.way {
        Way::Client(client) => Ok(Asker {
            client: client.clone(),
            clean: Clean::default(),
        }),
        Way::Config(config) => {
            let (config, dial) = (config.clone(), Arc::clone(dial));
            let clean = Clean::of(&config.auth_info);
            let connected = connect(*config, EXEC_PATIENCE, async |config| {
                let connected = spawn_blocking(move || dial.connect(config)).await;
                connected
                    .unwrap_or_else(|_| Err(ClientError::Refused("its client could not be made".to_owned())))
            });
            let client = connected
                .await
                .map_err(|error| NoWay::Client(clean.words(&error.to_string())))?;
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
