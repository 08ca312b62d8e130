//! Polls all members in parallel until the window is over, and turns the samples into evidence.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    panic::resume_unwind,
    sync::Arc,
    time::Duration,
};

use evidence::{
    Gap, Kind, Login, LoginOutcome, LoginWith, Look, Member, MemberPart, ObjectKey, ObjectRef,
    ProfileHistory, Reason, Scope,
    api::{ClusterProfile, names},
};
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Semaphore, SemaphorePermit, watch},
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    ask::NOT_ACCEPTED,
    credentials::{
        AccessSource, CredentialAttempt, OpenMember, ProfileName, TriedCredential, open_way, plugin_attempts,
        secret_attempts,
    },
    look::{look, no_way},
    plan::{Dial, MemberWay, Members},
};
use crate::{clock::Clock, connect::call::TimedClient, hub::missing::NO_SECRETS};

/// How many members are asked at a time.
const AT_ONCE: usize = 64;
/// How often members are asked, in short windows and in long ones.
const OFTEN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(600);

/// The members of one run.
pub(crate) struct MemberPoll {
    poller: Poller,
    members: Members,
    scope: Scope,
    records: BTreeMap<ProfileName, Arc<Mutex<MemberRecord>>>,
    tried: Arc<Mutex<Vec<TriedCredential>>>,
    /// Why the Secrets could not be read.
    unread: Option<Reason>,
    /// Why some plugins may not have been run.
    not_run: Option<String>,
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

/// What the members have shown.
#[derive(Default)]
pub(crate) struct PolledMembers {
    pub members: Vec<Member>,
    pub logins: Vec<Login>,
    pub gaps: Vec<Gap>,
}

/// The samples of one member so far.
#[derive(Default)]
struct MemberRecord {
    /// The way, for people; empty if there is none.
    way: String,
    looks: Vec<Look>,
    /// Whether the user has given a way.
    is_given: bool,
    /// Why there is no way.
    closed: Option<String>,
}

/// What polling takes.
#[derive(Clone)]
struct Poller {
    clock: Clock,
    dial: Arc<dyn Dial>,
    turns: Arc<Semaphore>,
    /// None: once.
    every: Option<Duration>,
    over: Option<watch::Receiver<bool>>,
}

impl MemberPoll {
    /// Prepares to ask what is in scope, for a window of that length.
    pub fn new(members: &Members, scope: &Scope, observe: Duration, clock: Clock) -> Self {
        let every = match observe {
            Duration::ZERO => None,
            observe if observe > LONG => Some(SELDOM),
            _ => Some(OFTEN),
        };
        let is_in_scope = |way: &&MemberWay| scope.holds_namespace(&way.profile.namespace);
        let plugins = members.plugins.as_ref();
        Self {
            poller: Poller {
                clock,
                dial: Arc::clone(&members.dial),
                turns: Arc::new(Semaphore::new(AT_ONCE)),
                every,
                over: None,
            },
            not_run: plugins.map(|_| "the run was stopped before".to_owned()),
            members: Members {
                ways: members.ways.iter().filter(is_in_scope).cloned().collect(),
                ..members.clone()
            },
            scope: scope.clone(),
            records: BTreeMap::new(),
            tried: Arc::default(),
            unread: None,
        }
    }

    /// Polls until the window is over, and each member at least once. May be cancelled: the samples so far stay.
    pub async fn run(&mut self, from: Sources<'_>, over: watch::Receiver<bool>) {
        let secrets = self.secret_attempts(from).await;
        let (plugins, unlisted) = self.plugin_attempts(from).await;
        let mut attempts: BTreeMap<ProfileName, Vec<CredentialAttempt>> = BTreeMap::new();
        for attempt in secrets.into_iter().chain(plugins) {
            attempts.entry(attempt.profile.clone()).or_default().push(attempt);
        }
        let mut ways: BTreeMap<ProfileName, MemberWay> = BTreeMap::new();
        for way in &self.members.ways {
            let name = ProfileName {
                namespace: Some(way.profile.namespace.clone()),
                name: way.profile.name.clone(),
            };
            ways.entry(name).or_insert_with(|| way.clone());
        }
        let poller = Poller {
            over: Some(over),
            ..self.poller.clone()
        };
        let mut tasks = JoinSet::new();
        let profiles: BTreeSet<_> = ways.keys().chain(attempts.keys()).cloned().collect();
        for profile in profiles {
            let record = Arc::<Mutex<MemberRecord>>::default();
            self.records.insert(profile.clone(), Arc::clone(&record));
            let attempts = attempts.remove(&profile).unwrap_or_default();
            let (way, tried) = (ways.remove(&profile), Arc::clone(&self.tried));
            let poller = poller.clone();
            tasks.spawn(async move { poller.run(way, attempts, &record, &tried).await });
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(panicked) = ended {
                resume_unwind(panicked.into_panic());
            }
        }
        self.not_run = unlisted;
    }

    /// Tries those credentials again that their members refused, and new ones, with the profiles as they are now: a manager may
    /// have renewed them a moment ago. Deleted Secrets do not count.
    pub async fn again(&mut self, from: Sources<'_>, profiles: impl Iterator<Item = &ClusterProfile>) {
        if self.poller.every.is_none() {
            return;
        }
        let mut attempts = Vec::new();
        if self.unread.is_none() {
            attempts = self.secret_attempts(from).await;
        }
        // The list of Secrets may have failed just now. Then the earlier refusals count.
        let is_unread = self.unread.is_some();
        if let Some(plugins) = &self.members.plugins {
            let of_plugins = profiles.filter_map(|profile| CredentialAttempt::of_plugin(profile, plugins));
            attempts.extend(of_plugins.filter(|attempt| self.holds(attempt)));
        }
        let is_secret = |tried: &TriedCredential| matches!(tried.with, LoginWith::Secret(_));
        let mut settled = self.tried.lock().clone();
        settled.retain(|tried| !tried.is_doubtful() || (is_unread && is_secret(tried)));
        let known: HashSet<_> = settled.iter().map(TriedCredential::id).collect();
        attempts.retain(|attempt| !known.contains(&attempt.id()));
        let poller = &self.poller;
        let outcomes = stream::iter(attempts)
            .map(|attempt| async move {
                let _turn = poller.turn().await;
                attempt.try_out(&poller.dial, poller.clock).await.0
            })
            .buffer_unordered(AT_ONCE);
        let tried: Vec<TriedCredential> = outcomes.collect().await;
        // Only now: earlier outcomes are kept if the run is stopped meanwhile.
        *self.tried.lock() = settled.into_iter().chain(tried).collect();
        self.not_run = None;
    }

    /// The Secrets to be tried.
    async fn secret_attempts(&mut self, from: Sources<'_>) -> Vec<CredentialAttempt> {
        if !self.members.from_secrets {
            return Vec::new();
        }
        if from.places.is_empty() {
            self.unread = Some(NO_SECRETS);
            return Vec::new();
        }
        let attempts = secret_attempts(from.hub, from.places).await;
        let mut attempts = attempts.unwrap_or_else(|failure| {
            self.unread = Some(failure.to_string().into());
            Vec::new()
        });
        attempts.retain(|attempt| self.holds(attempt));
        attempts
    }

    /// The plugins to be run or, if the profiles cannot be listed, why not.
    async fn plugin_attempts(&self, from: Sources<'_>) -> (Vec<CredentialAttempt>, Option<String>) {
        let Some(plugins) = &self.members.plugins else {
            return (Vec::new(), None);
        };
        match plugin_attempts(from.hub, from.profiles, &self.scope, plugins).await {
            Ok(mut attempts) => {
                attempts.retain(|attempt| self.holds(attempt));
                (attempts, None)
            }
            Err(failure) => (Vec::new(), Some(failure.to_string())),
        }
    }

    /// Whether the credential of that member is tried.
    fn holds(&self, attempt: &CredentialAttempt) -> bool {
        let ProfileName { namespace, name } = &attempt.profile;
        self.members.hold(namespace.as_deref(), name)
    }

    /// The evidence, for the profiles that the hub had.
    pub fn finish(self, profiles: &[ProfileHistory]) -> PolledMembers {
        let mut polled = PolledMembers::default();
        let known = KnownProfiles::of(profiles);
        let mut members: BTreeMap<ObjectRef, MemberRecord> = BTreeMap::new();
        for (name, record) in &self.records {
            let record = std::mem::take(&mut *record.lock());
            let profile = known.find(name);
            // A Secret without a profile is a matter of its own.
            if !record.is_given && profile.uid.is_empty() {
                continue;
            }
            // Of two records, as of a Secret without the namespace, the one by the user's way counts.
            let before = members.entry(profile).or_default();
            if before.looks.is_empty() || record.is_given {
                *before = record;
            }
        }
        for (profile, record) in members {
            polled.add(profile, record);
        }
        let mut tried = std::mem::take(&mut *self.tried.lock());
        tried.sort_by_cached_key(TriedCredential::id);
        let login = |tried: TriedCredential| Login {
            at: tried.at,
            profile: known.find(&tried.profile),
            with: tried.with,
            outcome: tried.outcome,
        };
        polled.logins = tried.into_iter().map(login).collect();
        if let Some(reason) = &self.not_run {
            let reason = format!("not all credential plugins were run: {reason}");
            polled.gaps.push(Gap::of(Kind::Plugins, reason));
        }
        if let Some(reason) = self.unread.filter(|_| polled.members.is_empty()) {
            let reason = format!("the Secrets that would open the members could not be read: {reason}");
            polled.gaps.push(Gap::of(Kind::Members, reason));
        }
        polled
    }
}

impl PolledMembers {
    /// A member that never answered has no looks, but a gap.
    fn add(&mut self, profile: ObjectRef, record: MemberRecord) {
        let MemberRecord {
            way,
            mut looks,
            closed,
            ..
        } = record;
        let has_answered = |look: &Look| MemberPart::ALL.iter().any(|part| look.has(*part));
        if !looks.iter().any(has_answered) {
            let missing = looks
                .last()
                .and_then(|look| look.missing.values().next().cloned());
            let reason = missing.or(closed.map(Reason::from));
            let reason = reason.unwrap_or_else(|| "the run was stopped before it was asked".into());
            self.gaps.push(Gap {
                object: Some(profile.clone()),
                ..Gap::of(Kind::Members, reason)
            });
            looks.clear();
        }
        self.members.push(Member { profile, way, looks });
    }
}

/// The profiles that the hub had, by name.
struct KnownProfiles<'a>(HashMap<&'a str, Vec<ObjectRef>>);

impl<'a> KnownProfiles<'a> {
    fn of(profiles: &'a [ProfileHistory]) -> Self {
        let mut known: HashMap<&str, Vec<ObjectRef>> = HashMap::new();
        for history in profiles {
            let profile = history.last();
            let same_name = known.entry(&profile.metadata.name).or_default();
            // The last of those that had the name, one after the other.
            same_name.retain(|object| object.namespace != *profile.metadata.namespace);
            same_name.push(ObjectRef {
                resource_version: String::new(),
                ..ObjectRef::from(profile)
            });
        }
        Self(known)
    }

    /// The profile of that name. Without a namespace: the only one, or the one in `default`. An unknown profile has no uid.
    fn find(&self, name: &ProfileName) -> ObjectRef {
        let same_name = self
            .0
            .get(name.name.as_str())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let of = |namespace: &str| same_name.iter().find(|object| object.namespace == namespace);
        let found = match (&name.namespace, same_name) {
            (Some(namespace), _) => of(namespace),
            (None, [only]) => Some(only),
            (None, _) => of("default"),
        };
        found.cloned().unwrap_or_else(|| ObjectRef {
            kind: names::KIND.to_owned(),
            namespace: name.namespace.clone().unwrap_or_default(),
            name: name.name.clone(),
            ..ObjectRef::default()
        })
    }
}

impl Poller {
    /// Tries the credentials of one member, and polls it by the user's way or else by the first credential that it accepts.
    async fn run(
        mut self,
        way: Option<MemberWay>,
        attempts: Vec<CredentialAttempt>,
        record: &Mutex<MemberRecord>,
        all_tried: &Mutex<Vec<TriedCredential>>,
    ) {
        let mut access: Option<(AccessSource, Option<OpenMember>)> = None;
        if let Some(way) = way {
            let mut record = record.lock();
            record.way.clone_from(&way.description);
            record.is_given = true;
            access = Some((AccessSource::Way(way), None));
        }
        for attempt in attempts {
            let _turn = self.turn().await;
            let (tried, member) = attempt.try_out(&self.dial, self.clock).await;
            if access.is_none() {
                let mut record = record.lock();
                match member {
                    Some(member) => {
                        record.way = tried.way();
                        access = Some((attempt.source, Some(member)));
                    }
                    None => record.closed = Some(tried.describe()),
                }
            }
            all_tried.lock().push(tried);
        }
        if let Some((source, member)) = access {
            self.poll(source, member, record).await;
        }
    }

    async fn poll(
        &mut self,
        source: AccessSource,
        mut member: Option<OpenMember>,
        record: &Mutex<MemberRecord>,
    ) {
        let began = Instant::now();
        self.sample(&source, &mut member, record).await;
        let (Some(every), Some(mut over)) = (self.every, self.over.take()) else {
            return;
        };
        loop {
            let passed = began.elapsed().as_nanos() / every.as_nanos();
            let next = began + every * (u32::try_from(passed).unwrap_or(u32::MAX) + 1);
            select! {
                biased;
                _ = over.wait_for(|over| *over) => return,
                () = async {
                    sleep_until(next).await;
                    self.sample(&source, &mut member, record).await;
                } => {}
            }
        }
    }

    /// Adds one sample of the member to its record. A credential that has expired is renewed first.
    async fn sample(
        &self,
        source: &AccessSource,
        member: &mut Option<OpenMember>,
        record: &Mutex<MemberRecord>,
    ) {
        let _turn = self.turn().await;
        let now = self.clock.now();
        let is_valid = |member: &OpenMember| member.expires.is_none_or(|expires| expires > now);
        let open = match member.take().filter(is_valid) {
            Some(open) => Ok(open),
            None => source.open(&self.dial, self.clock).await,
        };
        let mut look = match open {
            Err(outcome) => no_way(self.clock, &not_opened(source, outcome)),
            Ok(open) => {
                let look = look(&open.asker, self.clock).await;
                // A plugin that does not report when its credential expires is asked for another one then.
                let is_refused = look.missing.values().any(|reason| *reason == NOT_ACCEPTED);
                let is_renewable = matches!(source, AccessSource::Plugin(_));
                *member = (!(is_refused && is_renewable)).then_some(open);
                look
            }
        };
        let mut record = record.lock();
        look.share_with(&record.looks);
        record.looks.push(look);
    }

    /// Waits for a turn: members are many.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }
}

/// Why the member could not be asked.
fn not_opened(source: &AccessSource, outcome: LoginOutcome) -> String {
    let reason = match outcome {
        LoginOutcome::NoCredential { reason } => reason,
        LoginOutcome::Unanswered { reason } => reason.to_string(),
        LoginOutcome::Accepted { .. } | LoginOutcome::Refused { .. } => String::new(),
    };
    match source {
        AccessSource::Way(_) => reason,
        _ => format!("its credential was not renewed: {reason}"),
    }
}

/// What one sample of a member has shown.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The profile that describes the member.
    pub profile: ObjectKey,
    /// The way, for people.
    pub way: String,
    /// The sample, with what is missing of it.
    pub look: Look,
}

/// Samples the members in scope once before a run, in parallel and at most for `limit` in all; in the order of the ways. Reads
/// no Secret and runs no plugin of an access provider; a kubeconfig may run one of its own.
pub async fn reach_members(members: &Members, scope: &Scope, clock: Clock, limit: Duration) -> Vec<Reached> {
    let deadline = Instant::now().checked_add(limit);
    let ways = members.ways.iter();
    let ways = ways.filter(|way| scope.holds_namespace(&way.profile.namespace));
    let looks = ways.map(|way| async move {
        let sampling = async {
            match open_way(way, &members.dial).await {
                Ok(asker) => look(&asker, clock).await,
                Err(error) => no_way(clock, &error),
            }
        };
        let look = match deadline {
            Some(deadline) => timeout_at(deadline, sampling).await.unwrap_or_else(|_| {
                no_way(clock, &format!("it did not answer within {} s", limit.as_secs()))
            }),
            None => sampling.await,
        };
        Reached {
            profile: way.profile.clone(),
            way: way.description.clone(),
            look,
        }
    });
    stream::iter(looks).buffered(AT_ONCE).collect().await
}
