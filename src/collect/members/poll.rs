//! Polls all members in parallel until the window is over, and turns the samples into evidence.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use evidence::{
    Evidence, Gap, Kind, Login, LoginCredential, LoginOutcome, Member, MemberPart, MemberSample, ObjectKey,
    ObjectRef, ProfileHistory, Reason, Scope,
    api::{ClusterProfile, names},
};
use futures::{StreamExt as _, future::join_all, stream};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Semaphore, SemaphorePermit, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    MemberAccess, Members,
    credentials::{describe, id, list_ways, may_succeed_later, unknown_profile},
    sample::{Asker, NOT_ACCEPTED, no_way, take_sample},
};
use crate::{
    clock::Clock,
    connect::TimedClient,
    hub::{NO_SECRETS, secrets_path},
};

const AT_ONCE: usize = 64;
/// How often members are asked, in short windows and in long ones.
const OFTEN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(600);

pub(crate) struct MemberPoll {
    hub: TimedClient,
    clock: Clock,
    members: Members,
    scope: Scope,
    /// The paths of the profiles on the hub.
    profiles: Vec<String>,
    /// The paths of consumers' Secrets; none if the runner may not list them.
    secrets: Vec<String>,
    turns: Semaphore,
    /// The interval between samples; none: each member is sampled once.
    every: Option<Duration>,
    /// By profile. One that nothing has opened has a sample with the reason.
    records: BTreeMap<ObjectKey, Mutex<Member>>,
    tried: Mutex<Vec<Login>>,
    /// Why the Secrets could not be read.
    unread: Option<Reason>,
    /// Why some plugins may not have been run.
    not_run: Option<String>,
}

impl MemberPoll {
    /// Prepares to ask what is in scope, for a window of that length. `profiles` are the paths of the profiles on the hub, and
    /// `places` the namespaces whose Secrets the runner may list.
    pub fn new(
        hub: TimedClient,
        profiles: Vec<String>,
        places: &[String],
        members: &Members,
        scope: &Scope,
        observe: Duration,
        clock: Clock,
    ) -> Self {
        let every = match observe {
            Duration::ZERO => None,
            observe if observe > LONG => Some(SELDOM),
            _ => Some(OFTEN),
        };
        let is_in_scope = |access: &&MemberAccess| scope.holds_namespace(&access.profile.namespace);
        let plugins = members.plugins.as_ref();
        let secrets = places.iter();
        let secrets = secrets.map(|place| secrets_path(place, names::LABEL_SECRET_PROFILE));
        Self {
            hub,
            clock,
            profiles,
            secrets: secrets.collect(),
            turns: Semaphore::new(AT_ONCE),
            every,
            not_run: plugins.map(|_| "the run was stopped before".to_owned()),
            members: Members {
                access: members.access.iter().filter(is_in_scope).cloned().collect(),
                ..members.clone()
            },
            scope: scope.clone(),
            records: BTreeMap::new(),
            tried: Mutex::default(),
            unread: None,
        }
    }

    /// Polls until the window is over, and each member at least once. May be cancelled: the samples so far stay.
    pub async fn run(&mut self, over: watch::Receiver<bool>) {
        let secrets = self.secret_attempts().await;
        let (plugins, unlisted) = self.plugin_attempts().await;
        let mut all: BTreeMap<ObjectKey, Vec<MemberAccess>> = BTreeMap::new();
        for access in self.members.access.iter().cloned().chain(secrets).chain(plugins) {
            all.entry(access.profile.clone()).or_default().push(access);
        }
        let profiles = all.keys().cloned();
        self.records = profiles.map(|profile| (profile, Mutex::default())).collect();
        let polls = all.into_iter().map(|(profile, accesses)| {
            let record = &self.records[&profile];
            self.poll(record, accesses, over.clone())
        });
        join_all(polls).await;
        self.not_run = unlisted;
    }

    /// Tries those credentials again that their members refused, and new ones, with the profiles as they are now: a manager may
    /// have renewed them a moment ago. Deleted Secrets do not count. A list of Secrets may take at most `limit`.
    pub async fn again(&mut self, profiles: impl Iterator<Item = &ClusterProfile>, limit: Duration) {
        if self.every.is_none() {
            return;
        }
        self.hub.list_timeout = self.hub.list_timeout.min(limit);
        let mut attempts = Vec::new();
        if self.unread.is_none() {
            attempts = self.secret_attempts().await;
        }
        // The list of Secrets may have failed just now. Then the earlier refusals count.
        let is_unread = self.unread.is_some();
        if let Some(plugins) = &self.members.plugins {
            let of_plugins = profiles.filter_map(|profile| MemberAccess::by_plugin(profile, plugins));
            attempts.extend(of_plugins.filter(|attempt| self.members.hold(&attempt.profile)));
        }
        let mut settled = self.tried.lock().clone();
        settled.retain(|login| {
            let is_secret = matches!(login.credential, LoginCredential::Secret(_));
            !may_succeed_later(login) || (is_unread && is_secret)
        });
        let settled_ids: HashSet<_> = settled.iter().map(id).collect();
        attempts.retain(|attempt| !settled_ids.contains(&attempt.id()));
        let tries = attempts.iter().map(async |attempt| {
            let _turn = self.turn().await;
            let (dial, with) = (&self.members.dial, attempt.credential()?);
            Some(attempt.try_out(with, dial, self.clock).await.0)
        });
        let tried = join_all(tries).await.into_iter().flatten();
        // Only now: earlier outcomes are kept if the run is stopped meanwhile.
        *self.tried.lock() = settled.into_iter().chain(tried).collect();
        self.not_run = None;
    }

    async fn secret_attempts(&mut self) -> Vec<MemberAccess> {
        if !self.members.from_secrets {
            return Vec::new();
        }
        if self.secrets.is_empty() {
            self.unread = Some(NO_SECRETS);
            return Vec::new();
        }
        let is_called = |attempt: &MemberAccess| self.members.hold(&attempt.profile);
        let read = |json: &[u8]| MemberAccess::by_secret(json).filter(is_called);
        let attempts = list_ways(&self.hub, &self.secrets, read).await;
        attempts.unwrap_or_else(|failure| {
            self.unread = Some(failure.to_string().into());
            Vec::new()
        })
    }

    /// The plugins to be run or, if the profiles cannot be listed, why not.
    async fn plugin_attempts(&self) -> (Vec<MemberAccess>, Option<String>) {
        let Some(plugins) = &self.members.plugins else {
            return (Vec::new(), None);
        };
        let read = |json: &[u8]| {
            // The inventory reports what is not a profile.
            let profile: ClusterProfile = serde_json::from_slice(json).ok()?;
            let attempt = MemberAccess::by_plugin(&profile, plugins)?;
            (self.scope.holds(&profile) && self.members.hold(&attempt.profile)).then_some(attempt)
        };
        match list_ways(&self.hub, &self.profiles, read).await {
            Ok(attempts) => (attempts, None),
            Err(failure) => (Vec::new(), Some(failure.to_string())),
        }
    }

    /// Adds the members and the logins to the evidence, with gaps for what is missing.
    pub fn finish(self, evidence: &mut Evidence) {
        let profiles = known_profiles(&evidence.profiles);
        let configured: HashSet<_> = self.members.access.iter().map(|one| &one.profile).collect();
        let mut members: BTreeMap<ObjectRef, Member> = BTreeMap::new();
        for (name, member) in self.records {
            let (profile, is_given) = (find_profile(&profiles, &name), configured.contains(&name));
            // A Secret without a profile is a matter of its own.
            if !is_given && profile.uid.is_empty() {
                continue;
            }
            // Of two members, as of a Secret without the namespace, the one by the user's way counts.
            let before = members.entry(profile.clone()).or_default();
            if before.access.is_empty() || before.samples.is_empty() || is_given {
                *before = Member {
                    profile,
                    ..member.into_inner()
                };
            }
        }
        for mut member in members.into_values() {
            evidence.gaps.extend(take_silence(&mut member));
            evidence.members.push(member);
        }
        let mut logins = self.tried.into_inner();
        logins.sort_by_cached_key(id);
        for login in &mut logins {
            login.profile = find_profile(&profiles, &ObjectKey::from(&login.profile));
        }
        evidence.logins = logins;
        if let Some(reason) = &self.not_run {
            let reason = format!("not all credential plugins were run: {reason}");
            evidence.gaps.push(Gap::of(Kind::Plugins, reason));
        }
        if let Some(reason) = self.unread.filter(|_| evidence.members.is_empty()) {
            let reason = format!("the Secrets that would open the members could not be read: {reason}");
            evidence.gaps.push(Gap::of(Kind::Members, reason));
        }
    }
}

/// Why a member never answered: then it keeps no samples.
fn take_silence(member: &mut Member) -> Option<Gap> {
    let has_answered = |sample: &MemberSample| MemberPart::ALL.iter().any(|part| sample.has(*part));
    if member.samples.iter().any(has_answered) {
        return None;
    }
    let last = member.samples.pop();
    member.samples.clear();
    let reason = last.and_then(|sample| sample.missing.values().next().cloned());
    let reason = reason.unwrap_or_else(|| "the run was stopped before it was asked".into());
    Some(Gap {
        object: Some(member.profile.clone()),
        ..Gap::of(Kind::Members, reason)
    })
}

/// The profiles that the hub had, by name: in each namespace the last one.
fn known_profiles(profiles: &[ProfileHistory]) -> HashMap<&str, Vec<ObjectRef>> {
    let mut profiles_by_name: HashMap<&str, Vec<ObjectRef>> = HashMap::new();
    for history in profiles {
        let profile = history.last();
        let same_name = profiles_by_name.entry(&profile.metadata.name).or_default();
        same_name.retain(|object| object.namespace != *profile.metadata.namespace);
        same_name.push(ObjectRef {
            resource_version: String::new(),
            ..ObjectRef::from(profile)
        });
    }
    profiles_by_name
}

/// The profile of that name. Without a namespace: the only one, or the one in `default`. An unknown profile has no uid.
fn find_profile(profiles: &HashMap<&str, Vec<ObjectRef>>, name: &ObjectKey) -> ObjectRef {
    let same_name = profiles.get(&*name.name).map(Vec::as_slice).unwrap_or_default();
    let of = |namespace: &str| same_name.iter().find(|object| object.namespace == namespace);
    let profile = match (name.namespace.as_str(), same_name) {
        ("", [only]) => Some(only),
        ("", _) => of("default"),
        (namespace, _) => of(namespace),
    };
    profile.cloned().unwrap_or_else(|| unknown_profile(name))
}

impl MemberPoll {
    /// Tries the credentials of one member, and polls it by the user's way or else by the first credential that it accepts.
    async fn poll(&self, record: &Mutex<Member>, all: Vec<MemberAccess>, mut over: watch::Receiver<bool>) {
        let (mut current, mut asker) = (None, None);
        for access in all {
            let Some(with) = access.credential() else {
                let access = current.get_or_insert(access);
                record.lock().access.clone_from(&access.description);
                continue;
            };
            let _turn = self.turn().await;
            let (tried, opened) = access.try_out(with, &self.members.dial, self.clock).await;
            if current.is_none() {
                let mut member = record.lock();
                if opened.is_some() {
                    member.samples.clear();
                    member.access.clone_from(&access.description);
                    (current, asker) = (Some(access), opened);
                } else {
                    member.samples = vec![no_way(self.clock, &describe(&tried))];
                }
            }
            self.tried.lock().push(tried);
        }
        let Some(access) = current else {
            return;
        };
        let began = Instant::now();
        self.sample(&access, &mut asker, record).await;
        let Some(every) = self.every else {
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
                    self.sample(&access, &mut asker, record).await;
                } => {}
            }
        }
    }

    /// Adds one sample of the member to its record. A credential that has expired is renewed first.
    async fn sample(&self, access: &MemberAccess, asker: &mut Option<Asker>, record: &Mutex<Member>) {
        let _turn = self.turn().await;
        let now = self.clock.now();
        let is_valid = |asker: &Asker| asker.expires.is_none_or(|expires| expires > now);
        let open = match asker.take().filter(is_valid) {
            Some(open) => Ok(open),
            None => access.open(&self.members.dial, self.clock).await,
        };
        let mut sample = match open {
            Err(outcome) => no_way(self.clock, &not_opened(access, outcome)),
            Ok(open) => {
                let sample = take_sample(&open, self.clock).await;
                // A plugin that does not report when its credential expires is asked for another one then.
                let is_refused = sample.missing.values().any(|reason| *reason == NOT_ACCEPTED);
                let is_renewable = matches!(access.credential(), Some(LoginCredential::Plugin(_)));
                *asker = (!(is_refused && is_renewable)).then_some(open);
                sample
            }
        };
        let mut member = record.lock();
        sample.share_with(&member.samples);
        member.samples.push(sample);
    }

    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }
}

fn not_opened(access: &MemberAccess, outcome: LoginOutcome) -> String {
    let reason = match outcome {
        LoginOutcome::NoCredential { reason } => reason,
        LoginOutcome::Unanswered { reason } => reason.to_string(),
        LoginOutcome::Accepted { .. } | LoginOutcome::Refused { .. } => String::new(),
    };
    match access.credential() {
        None => reason,
        Some(_) => format!("its credential was not renewed: {reason}"),
    }
}

/// Samples the members in scope once before a run, in parallel and at most for `limit` in all; in the order of the ways. Reads
/// no Secret and runs no plugin of an access provider; a kubeconfig may run one of its own.
pub async fn reach_members(members: &Members, scope: &Scope, clock: Clock, limit: Duration) -> Vec<Member> {
    let began = Instant::now();
    let accesses = members.access.iter();
    let accesses = accesses.filter(|access| scope.holds_namespace(&access.profile.namespace));
    let samples = accesses.map(|access| async move {
        let sampling = async {
            match access.open(&members.dial, clock).await {
                Ok(asker) => take_sample(&asker, clock).await,
                Err(outcome) => no_way(clock, &not_opened(access, outcome)),
            }
        };
        let sample = timeout(limit.saturating_sub(began.elapsed()), sampling).await;
        let late = |_| no_way(clock, &format!("it did not answer within {} s", limit.as_secs()));
        Member {
            profile: unknown_profile(&access.profile),
            access: access.description.clone(),
            samples: vec![sample.unwrap_or_else(late)],
        }
    });
    stream::iter(samples).buffered(AT_ONCE).collect().await
}
