//! Evaluates a function on data that the run read once, at its end (Secrets), and on all calls to one profile's member.
//!
//! Profiles are compared with Secrets only by what they reported throughout the last 2 min of the watch.

use evidence::{
    Credential, EndpointCall, Login, LoginCredential, LoginOutcome, Namespace, Secret, UnlabelledSecret,
    api::{Feature, names},
};

use super::{judged::key, prelude::*, state::GRACE};
use crate::{reasons::NO_SECRET_TRIED, time::stamped};

/// A judged Secret of a consumer, and the profiles that it may be for.
pub(crate) struct ConsumerSecret<'e> {
    pub(crate) secret: &'e Secret,
    /// The profiles that its labels name, deleted ones included. Without a namespace in the labels there may be several.
    pub(crate) profiles: Vec<&'e ProfileHistory>,
}

pub(crate) fn secret(check: fn(&ConsumerSecret, &Hub) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        if hub.consumer_secrets().is_empty() {
            nothing_found(hub, findings, NO_SECRET);
        }
        for secret in hub.consumer_secrets() {
            findings.count(check(secret, hub).on(|| secret.secret.into()));
        }
    }
}

/// A rule on what a joined member answered to the credential of a consumer's Secret.
pub(crate) fn login(check: fn(&ConsumerSecret, &LoginOutcome) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        let logins = hub.evidence.logins.iter();
        let with_secrets = logins.filter_map(|login| match &login.credential {
            LoginCredential::Secret(secret) => Some(((&*secret.namespace, &*secret.name), login)),
            LoginCredential::Plugin(_) => None,
        });
        let tried: HashMap<(&str, &str), &Login> = with_secrets.collect();
        if hub.consumer_secrets().is_empty() {
            nothing_found(hub, findings, NO_SECRET);
        } else if tried.is_empty() {
            findings.not_asked(NO_SECRET_TRIED);
        }
        for secret in hub.consumer_secrets() {
            if let Some(login) = tried.get(&(&*secret.secret.namespace, &*secret.secret.name)) {
                let answer = answer_of_login(hub, secret, login, check);
                findings.count(answer.on(|| secret.secret.into()));
            }
        }
    }
}

/// A rule on each Secret in a consumer's namespace that has a kubeconfig, but no label. Without any such Secret, the rule is
/// kept in each namespace.
pub(crate) fn unlabelled_secret(check: fn(&UnlabelledSecret, &Hub) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        let namespaces = hub.evidence.namespaces.iter();
        let consumers = namespaces.filter(|namespace| namespace.consumer().is_some());
        findings.examined += consumers.count();
        if findings.examined == 0 {
            nothing_found(hub, findings, NO_CONSUMER);
        }
        let secrets = hub.evidence.unlabelled_secrets.iter();
        for secret in secrets.filter(|secret| hub.consumer_of(&secret.namespace).is_some()) {
            for finding in check(secret, hub).on(|| secret.into()).findings() {
                findings.report(finding.clone());
            }
        }
    }
}

/// A rule on each profile of a joined member. A violation counts only if the member was joined throughout the last 2 min.
pub(crate) fn joined_profile(check: fn(&ClusterProfile, &Hub) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        for object in hub.profiles() {
            let Some(profile) = object.current().filter(|profile| is_joined(profile)) else {
                continue;
            };
            let mut answer = check(profile, hub);
            if !answer.findings().is_empty() {
                let holds = |profile: Option<&_>| profile.is_some_and(is_joined);
                match object.throughout_the_last(GRACE + 1, hub, holds) {
                    Certainty::Yes => {}
                    Certainty::No => answer = Answer::NotApplicable,
                    Certainty::Unknown(reason) => answer = Answer::Unknown(reason),
                }
            }
            findings.count(answer.on(|| profile.into()));
        }
    }
}

impl<'e> ConsumerSecret<'e> {
    /// The name in the Secret's label.
    pub(crate) fn name(&self) -> &'e str {
        secret_label(self.secret, names::LABEL_SECRET_PROFILE).unwrap_or_default()
    }

    /// The namespace in the Secret's label, if any.
    pub(crate) fn namespace(&self) -> Option<&'e str> {
        secret_label(self.secret, names::LABEL_SECRET_PROFILE_NAMESPACE)
    }

    /// Whether the Secret was created, or a profile that it names was deleted, in the last 2 min: Secrets and profiles are
    /// read one after the other.
    pub(crate) fn changed_lately(&self, hub: &Hub) -> bool {
        let Some(lately) = end(hub.evidence).map(|end| end - GRACE) else {
            return false;
        };
        let deleted = self.profiles.iter().filter_map(|history| history.deleted);
        let mut deleted = deleted.map(|deleted| deleted.as_microsecond());
        let created = self.created(hub.evidence).map(|created| created.latest);
        deleted.any(|deleted| deleted >= lately) || created.is_some_and(|created| created >= lately)
    }

    /// Whether the Secret was created during a watch that missed nothing.
    pub(crate) fn is_newer_than_watch(&self, hub: &Hub) -> bool {
        let evidence = hub.evidence;
        let began = evidence.header.window.map(|window| window.from.as_microsecond());
        let created = self.created(evidence).map(|created| created.earliest);
        let times = created.zip(began);
        evidence.is_whole(Kind::Timeline) && times.is_some_and(|(created, began)| created >= began)
    }

    fn created(&self, evidence: &Evidence) -> Option<Edge> {
        stamped(evidence, self.secret.creation_timestamp.as_deref()?)
    }

    /// A reason about the Secret.
    pub(crate) fn in_words(&self, reason: &str) -> Reason {
        format!("Secret {}/{}: {reason}", self.secret.namespace, self.secret.name).into()
    }

    pub(crate) fn has_profile(&self) -> bool {
        self.profiles.iter().any(|history| history.deleted.is_none())
    }
}

impl<'e> Hub<'e> {
    pub(crate) fn consumer_of(&self, namespace: &str) -> Option<&'e str> {
        self.namespace(namespace).and_then(Namespace::consumer)
    }

    /// Whether a profile of the hub may be outside the scope.
    pub(crate) fn judges_everything(&self) -> bool {
        let scope = &self.evidence.header.scope;
        scope.cluster_manager.is_none() && scope.namespaces.is_empty()
    }

    /// Why consumers' Secrets were to be found although there are none, if the user claims them.
    pub(crate) fn why_consumers_expected(&self, what: &str) -> Option<Reason> {
        let claim = self.claim();
        if claim.features.contains(&Feature::ConsumerSecrets) {
            Some(format!("{what}, though consumer-secrets is claimed").into())
        } else if !claim.consumers.is_empty() {
            Some(format!("{what}, though consumers are declared").into())
        } else {
            None
        }
    }

    /// Whether something held of all these profiles at a moment.
    pub(crate) fn held_at(
        &self,
        histories: &[&ProfileHistory],
        at: Timestamp,
        holds: fn(&ClusterProfile) -> bool,
    ) -> Certainty {
        let mut certainty = Certainty::No;
        for history in histories {
            // Members are called when the watch has ended, too.
            certainty = match Timeline::of_name(self.evidence, &[*history]).at(at) {
                Err(reason) => Certainty::Unknown(reason),
                Ok(profiles) if profiles.iter().any(|profile| !holds(profile)) => return Certainty::No,
                Ok(profiles) if !profiles.is_empty() && certainty == Certainty::No => Certainty::Yes,
                Ok(_) => certainty,
            };
        }
        certainty
    }

    pub(crate) fn secrets_with(&self, credential: &Credential) -> impl Iterator<Item = &ConsumerSecret<'e>> {
        let places = self.credentials.get(credential).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.consumer_secrets()[*place])
    }

    /// The versions that a profile had at some time in the last 2 min of the window.
    pub(crate) fn recent<'h>(&self, history: &'h ProfileHistory) -> impl Iterator<Item = &'h ClusterProfile> {
        let lately = end(self.evidence).map(|end| end - GRACE);
        let versions = history.versions.iter().enumerate();
        versions.filter_map(move |(place, version)| {
            let is_recent = match (history.versions.get(place + 1), lately) {
                (Some(next), Some(lately)) => next.received().as_microsecond() > lately,
                (next, _) => next.is_none(),
            };
            is_recent.then_some(&version.object)
        })
    }
}

/// The reasons for no verdict without a Secret, or without a consumer.
const NO_SECRET: &str = "no Secret with label x-k8s.io/cluster-profile was found";
pub(crate) const NO_CONSUMER: &str = "no namespace with label x-k8s.io/cluster-inventory-consumer was found";

fn answer_of_login(
    hub: &Hub,
    secret: &ConsumerSecret,
    login: &Login,
    check: fn(&ConsumerSecret, &LoginOutcome) -> Answer,
) -> Answer {
    let answer = match &login.outcome {
        LoginOutcome::Unanswered { reason } => Answer::Unknown(secret.in_words(reason)),
        outcome => check(secret, outcome),
    };
    let precondition = precondition(&login.outcome);
    match (hub.held_at(&secret.profiles, login.at, precondition), answer) {
        (Certainty::No, _) => Answer::NotApplicable,
        (Certainty::Unknown(_), Answer::Broken(_) | Answer::Warning(_)) => {
            Answer::Unknown(secret.in_words(MISSED))
        }
        (_, answer) => answer,
    }
}

/// What must hold of a profile, or its member owes no such answer.
fn precondition(outcome: &LoginOutcome) -> fn(&ClusterProfile) -> bool {
    match outcome {
        LoginOutcome::Accepted { .. } | LoginOutcome::Refused { .. } => is_joined,
        LoginOutcome::NoCredential { .. } | LoginOutcome::Unanswered { .. } => is_reachable,
    }
}

/// The reason for no verdict if the profile was not watched when its member was called.
const MISSED: &str = "the watch was interrupted when its member was called";

/// Whether the manager maintains the profile: it reports the member as joined, or does not report that.
pub(crate) fn is_joined(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(names::CONDITION_JOINED);
    !profile.is_terminating() && joined.is_none_or(|joined| &*joined.status == "True")
}

/// Whether it also reports the member as healthy, or does not report that.
pub(crate) fn is_reachable(profile: &ClusterProfile) -> bool {
    let healthy = profile.condition(names::CONDITION_HEALTHY);
    is_joined(profile) && healthy.is_none_or(|healthy| &*healthy.status == "True")
}

/// Says what an empty result means: the feature is absent, unless the user claims it.
fn nothing_found(hub: &Hub, findings: &mut Findings, what: &'static str) {
    match hub.why_consumers_expected(what) {
        Some(reason) => findings.cannot_tell(reason),
        None => findings.not_applicable(what),
    }
}

/// The places of the Secrets with each credential that can be compared.
pub(super) fn by_credential<'e>(secrets: &[ConsumerSecret<'e>]) -> BTreeMap<&'e Credential, Vec<usize>> {
    let mut places: BTreeMap<&Credential, Vec<usize>> = BTreeMap::new();
    for (place, secret) in secrets.iter().enumerate() {
        let kubeconfig = secret.secret.kubeconfig.iter();
        let users = kubeconfig.flat_map(|kubeconfig| &kubeconfig.users);
        for credential in users.flat_map(|user| &user.credentials) {
            let places_of_credential = places.entry(credential).or_default();
            if places_of_credential.last() != Some(&place) {
                places_of_credential.push(place);
            }
        }
    }
    places
}

/// The judged Secrets, without those that are, or may be, for profiles that are not judged.
pub(super) fn consumer_secrets(evidence: &Evidence) -> Vec<ConsumerSecret<'_>> {
    if evidence.secrets.is_empty() {
        return Vec::new();
    }
    let mut by_name: HashMap<&str, Vec<&ProfileHistory>> = HashMap::default();
    for history in &evidence.profiles {
        by_name.entry(key(history).1).or_default().push(history);
    }
    let secrets = evidence.secrets.iter().map(|secret| {
        let name = secret_label(secret, names::LABEL_SECRET_PROFILE).unwrap_or_default();
        let mut profiles = by_name.get(name).cloned().unwrap_or_default();
        if let Some(namespace) = secret_label(secret, names::LABEL_SECRET_PROFILE_NAMESPACE) {
            profiles.retain(|history| key(history).0 == namespace);
        }
        ConsumerSecret { secret, profiles }
    });
    secrets.filter(|secret| is_judged(evidence, secret)).collect()
}

fn is_judged(evidence: &Evidence, secret: &ConsumerSecret) -> bool {
    let scope = &evidence.header.scope;
    if secret.profiles.is_empty() {
        // The profile is unknown, so the Secret is judged only if every profile is.
        let is_in_scope = |namespace: &str| scope.namespaces.iter().any(|name| name == namespace);
        return scope.cluster_manager.is_none()
            && (scope.namespaces.is_empty() || secret.namespace().is_some_and(is_in_scope));
    }
    secret.profiles.iter().all(|history| {
        let (namespace, name) = key(history);
        history.objects().any(|profile| scope.holds(profile)) && !evidence.is_touched(namespace, name)
    })
}

pub(crate) fn secret_label<'e>(secret: &'e Secret, key: &str) -> Option<&'e str> {
    secret.labels.get(key).map(String::as_str)
}

/// A call that the run made with what a profile reports.
#[derive(Clone, Copy)]
struct ProfileCall<'e, C> {
    call: &'e C,
    profile: &'e ObjectRef,
    at: Timestamp,
    /// What must hold of the profile, or the member owes no answer.
    precondition: fn(&ClusterProfile) -> bool,
}

pub(crate) fn endpoint_calls(check: fn(&ClusterProfile, &[&EndpointCall]) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        let calls = hub.evidence.endpoint_calls.iter().map(|call| ProfileCall {
            call,
            profile: &call.profile,
            at: call.at,
            precondition: is_reachable,
        });
        judge_calls(hub, calls, false, check, findings);
    }
}

/// A rule on all logins with the credential plugin of one profile. The issuer of credentials may not know a new member yet.
pub(crate) fn plugin_logins(check: fn(&ClusterProfile, &[&Login]) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        let logins = hub.evidence.logins.iter();
        let by_plugins = logins.filter(|login| matches!(login.credential, LoginCredential::Plugin(_)));
        let calls = by_plugins.map(|login| ProfileCall {
            call: login,
            profile: &login.profile,
            at: login.at,
            precondition: precondition(&login.outcome),
        });
        judge_calls(hub, calls, true, check, findings);
    }
}

/// Judges all calls of each profile, with its version at the last call. Without any call in the run, the function is called
/// for each profile without calls. If `is_settled_first`, a failure counts only once the profile is older than the grace
/// period.
fn judge_calls<'e, C: 'e>(
    hub: &Hub<'e>,
    calls: impl Iterator<Item = ProfileCall<'e, C>>,
    is_settled_first: bool,
    check: fn(&ClusterProfile, &[&C]) -> Answer,
    findings: &mut Findings,
) {
    let mut by_profile: HashMap<(&str, &str), Vec<ProfileCall<C>>> = HashMap::default();
    for call in calls {
        let name = (&*call.profile.namespace, &*call.profile.name);
        by_profile.entry(name).or_default().push(call);
    }
    if by_profile.is_empty() {
        for profile in hub.profiles().iter().filter_map(|object| object.current()) {
            findings.count(check(profile, &[]));
        }
    }
    for object in hub.profiles() {
        let Some(calls) = by_profile.get(&object.name()) else {
            continue;
        };
        match answer_of_calls(check, hub, object, calls, is_settled_first) {
            Answer::Unknown(reason) => findings.cannot_tell_of(calls[0].profile, reason),
            answer => findings.count(answer),
        }
    }
}

const NEW: &str = "too early to tell: the profile was younger than 2 min when the member was called";

fn answer_of_calls<'e, C>(
    check: fn(&ClusterProfile, &[&C]) -> Answer,
    hub: &Hub<'e>,
    object: &JudgedObject<'e, ClusterProfile>,
    calls: &[ProfileCall<'e, C>],
    is_settled_first: bool,
) -> Answer {
    let timeline = Timeline::of_name(hub.evidence, &object.histories);
    let mut last = None;
    let mut examined = Vec::new();
    let mut is_any_missed = false;
    for call in calls {
        // Members are called when the watch has ended, too.
        match timeline.at(call.at) {
            Err(_) => is_any_missed = true,
            Ok(profiles) if profiles.iter().all(|profile| (call.precondition)(profile)) => {
                if let Some(profile) = profiles.last() {
                    last = Some((*profile, call.at));
                    examined.push(call.call);
                }
            }
            Ok(_) => {}
        }
    }
    let answer = last.map_or(Answer::NotApplicable, |(profile, _)| check(profile, &examined));
    match (answer, last) {
        (Answer::NotApplicable, None) if is_any_missed => Answer::Unknown(MISSED.into()),
        (Answer::Broken(_) | Answer::Warning(_), _) if is_any_missed => Answer::Unknown(MISSED.into()),
        (Answer::Broken(_), Some((profile, at)))
            if is_settled_first && is_new(hub.evidence, object, profile, at) =>
        {
            Answer::Unknown(NEW.into())
        }
        (answer, Some((profile, _))) => answer.on(|| ObjectRef::from(profile)),
        (answer, None) => answer,
    }
}

/// Whether the profile was not yet older than the grace period.
fn is_new(
    evidence: &Evidence,
    object: &JudgedObject<'_, ClusterProfile>,
    profile: &ClusterProfile,
    at: Timestamp,
) -> bool {
    let created = profile.metadata.creation_timestamp.as_deref();
    let created = created.and_then(|created| Some(stamped(evidence, created)?.latest));
    let mut histories = object.histories.iter();
    let history = histories.find(|history| history.last().metadata.uid == profile.metadata.uid);
    let arrival = history.map(|history| history.versions[0].received().as_microsecond());
    let since = created.into_iter().chain(arrival).min();
    since.is_some_and(|since| at.as_microsecond() - since < GRACE)
}
