//! Runs the scenarios: publishes what they say, and records what the consumer does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evidence::{
    DriverAction, Evidence, Gap, HookCall, Kind, ObjectKey, ScenarioRun, Testbed, api::PlacementDecision,
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{
    TestbedPlan,
    mentions::read_mentions,
    publish::PublishedProfile,
    scenarios::{Need, ProfileTemplate, TestbedScenario, TestbedStep, Wait, scenarios},
};
use crate::{
    clock::later,
    driver::{Called, DriverWrites, HookMember, HookRequest},
    run::context::RunContext,
};

pub(super) const TICK: Duration = Duration::from_millis(250);
const OUTPUTS_TICK: Duration = Duration::from_secs(2);
const BETWEEN_WRITES: Duration = Duration::from_secs(3);
/// A second has just begun.
const EARLY: Duration = Duration::from_millis(300);
/// The consumer may take this many times what it took for the slowest control.
const SETTLE_FACTOR: u64 = 3;
/// The settle time is at least this long, in seconds. Failed connections are often tried again after 5 s.
const LEAST_SETTLE: u64 = 10;
/// The run ends when so many controls in a row were not called.
const MOST_UNCALLED: usize = 2;

/// Runs the scenarios, and deletes what it published, also when the run is stopped. Returns what was recorded as evidence, with
/// gaps for what is missing.
pub(crate) async fn run_testbed(context: &RunContext<'_>, plan: &TestbedPlan) -> Evidence {
    let mut player = Player::new(context, plan);
    let from = player.context.now();
    let ended_early = match plan.journal.record_undo(player.undo_entry()) {
        Ok(()) => player.run_scenarios().await,
        Err(error) => Some(format!("cannot write the log of changes to undo: {error}")),
    };
    player.close_all_expectations();
    player.testbed.addresses = plan.calls.addresses();
    player.testbed.settle_seconds = player.settle_seconds();
    let (member_calls, plugin_calls) = plan.calls.logs(from);
    let (mentions, unread_mentions) = Box::pin(read_mentions(&player)).await;
    player.clean_up().await;
    let mut gaps = Vec::new();
    if let Some(full) = plan.calls.full() {
        gaps.extend([Kind::MemberCalls, Kind::PluginCalls].map(|kind| Gap {
            from: Some(full),
            ..Gap::of(kind, flood(full))
        }));
    }
    for (kind, reason) in [
        (Kind::Outputs, player.unread),
        (Kind::Testbed, ended_early),
        (Kind::Mentions, unread_mentions),
    ] {
        gaps.extend(reason.map(|reason| Gap::of(kind, reason)));
    }
    Evidence {
        testbed: Some(player.testbed),
        member_calls: Some(member_calls),
        plugin_calls: Some(plugin_calls),
        mentions: Some(mentions),
        gaps: gaps.into(),
        ..Evidence::default()
    }
}

fn flood(full: Timestamp) -> String {
    format!("the consumer floods its members: calls after {full} are not recorded")
}

pub(super) struct Player<'a> {
    pub context: &'a RunContext<'a>,
    pub plan: &'a TestbedPlan,
    pub writes: DriverWrites<'a>,
    pub testbed: Testbed,
    /// By key: the last one of each.
    pub profiles: BTreeMap<String, PublishedProfile>,
    /// The slices on the hub.
    pub slices: BTreeMap<ObjectKey, PlacementDecision>,
    /// What the first slice of the decision names, in order of publication.
    pub decided: Vec<ObjectKey>,
    pub missing_namespaces: BTreeSet<String>,
    pub unread: Option<String>,
}

impl<'a> Player<'a> {
    fn new(context: &'a RunContext<'a>, plan: &'a TestbedPlan) -> Self {
        let mut player = Self {
            writes: DriverWrites::new(
                &context.client,
                &context.target,
                &plan.run,
                context.touched.clone(),
            ),
            context,
            plan,
            testbed: Testbed {
                run: plan.run.clone(),
                consumer: plan.claims.clone(),
                ..Testbed::default()
            },
            profiles: BTreeMap::new(),
            slices: BTreeMap::new(),
            decided: Vec::new(),
            missing_namespaces: BTreeSet::new(),
            unread: None,
        };
        let hooks = [DriverAction::Stop, DriverAction::Start, DriverAction::Uninstall];
        player.testbed.hooks = hooks.into_iter().filter(|hook| player.has_hook(*hook)).collect();
        player
    }

    /// Runs all scenarios. Returns why it ended early.
    async fn run_scenarios(&mut self) -> Option<String> {
        let mut scenarios = scenarios();
        scenarios.retain(|scenario| self.has_all(&scenario.needs));
        for (index, scenario) in scenarios.iter().enumerate() {
            let least = match self.settle().as_secs() {
                0 => String::new(),
                seconds => format!(", at least {seconds} s each"),
            };
            let (name, number, count) = (&scenario.name, index + 1, scenarios.len());
            let progress = self.context.progress;
            progress.step(&format!("scenario {name} ({number} of {count}{least})"));
            self.run_scenario(scenario).await;
            if self.context.is_stopped() {
                return Some("the run ended before the last scenario".to_owned());
            }
            if let Some(reason) = self.reason_to_end() {
                self.warn(&format!("{reason}; the other scenarios are left out"));
                return Some(reason);
            }
        }
        None
    }

    async fn run_scenario(&mut self, scenario: &TestbedScenario) {
        self.steps(&scenario.steps).await;
        if scenario.without_control {
            self.open_expectations(&scenario.expectations);
            self.context.pause(self.settle()).await;
            self.read_outputs().await;
        } else {
            self.control(scenario).await;
        }
        self.check_profiles().await;
        self.steps(&scenario.after).await;
    }

    /// Publishes the control, opens the expectations, and waits until the control is called and the consumer had its time.
    async fn control(&mut self, scenario: &TestbedScenario) {
        let template = ProfileTemplate {
            key: format!("{}-control", scenario.name),
            ..ProfileTemplate::default()
        };
        let is_published = self.publish(&template).await;
        self.open_expectations(&scenario.expectations);
        if is_published.is_none() {
            return;
        }
        let from = self.profiles[&template.key].changed_at;
        let member = self.name(&template.key);
        let times = scenario.settle_times.unwrap_or(1);
        let patience = self.plan.patience.max(self.settle() * times);
        let called_at = self.wait_for_call(&member, patience).await;
        self.testbed.scenarios.push(ScenarioRun {
            name: scenario.name.clone(),
            control: member.clone(),
            from,
            until: from,
            called_at,
            may_delay: scenario.may_delay,
        });
        if let Some(called_at) = called_at {
            let settle = self.settle();
            let end = later(called_at, settle * times.min(1)).max(later(from, settle * times));
            let remaining = end.duration_since(self.context.now());
            let remaining = Duration::try_from(remaining).unwrap_or_default();
            self.context.pause(remaining).await;
        }
        self.read_outputs().await;
        let until = self.context.now();
        if let Some(run) = self.testbed.scenarios.last_mut() {
            run.until = until;
            // A consumer may write its output long before it calls the member.
            run.called_at = self.plan.calls.first_call(&member).or(called_at);
        }
    }

    async fn steps(&mut self, steps: &[TestbedStep]) {
        for step in steps {
            if self.context.is_stopped() {
                return;
            }
            Box::pin(self.step(step)).await;
        }
    }

    async fn step(&mut self, step: &TestbedStep) {
        match step {
            TestbedStep::Publish(template) => _ = self.publish(template).await,
            TestbedStep::Create(template) => _ = self.create(template).await,
            TestbedStep::Complete(key) => _ = self.complete(key).await,
            TestbedStep::Change {
                profile,
                entries,
                health,
            } => _ = self.change(profile, entries.as_deref(), health.as_deref()).await,
            TestbedStep::Move(key) => _ = self.move_member(key).await,
            TestbedStep::Rewrite {
                profile,
                times,
                new_config,
            } => {
                for _ in 0..*times {
                    self.context.pause(BETWEEN_WRITES).await;
                    let _ = self.rewrite(profile, *new_config).await;
                }
            }
            TestbedStep::Delete(key) => self.delete(key).await,
            TestbedStep::Work(keys) => self.work_on(keys).await,
            TestbedStep::Plugin { profile, behavior } => {
                self.plan
                    .calls
                    .set_plugin(self.name(profile), *behavior, self.hang());
            }
            TestbedStep::PluginsRecover => self.plan.calls.reset_plugin(),
            TestbedStep::Decide { of, slice, profiles } => self.decide(*of, *slice, profiles).await,
            TestbedStep::Undecide => self.undecide().await,
            TestbedStep::DecideAgain => _ = self.write_first().await,
            TestbedStep::EndConnections(keys) => {
                for key in keys {
                    self.plan.calls.end_connections(&self.name(key));
                }
            }
            TestbedStep::WhileStopped(steps) => self.while_stopped(steps).await,
            TestbedStep::Uninstall => _ = self.hook(DriverAction::Uninstall).await,
            TestbedStep::Wait(wait) => self.wait(wait).await,
            TestbedStep::If { need, steps } => {
                if self.has(*need) {
                    self.steps(steps).await;
                }
            }
        }
    }

    /// Stops the consumer, takes the steps, and starts it again, also when the run is stopped.
    async fn while_stopped(&mut self, steps: &[TestbedStep]) {
        if self.hook(DriverAction::Stop).await {
            self.steps(steps).await;
        }
        self.hook(DriverAction::Start).await;
        self.wait_for_deletions().await;
    }

    /// Calls a hook that concerns the whole consumer. False if it fails.
    async fn hook(&mut self, action: DriverAction) -> bool {
        let mut stop = self.context.stop.clone();
        if action == DriverAction::Start {
            stop = CancellationToken::new();
        } else {
            self.close_all_expectations();
        }
        let from = self.context.now();
        let Called { failure, output, .. } = self.plan.hooks.call(&HookRequest::of(action), stop).await;
        if let Some(reason) = &failure {
            self.warn(reason);
        }
        let is_done = failure.is_none();
        self.testbed.hook_calls.push(HookCall {
            action,
            from,
            until: self.context.now(),
            failure,
            output,
        });
        is_done
    }

    pub(super) async fn work_on(&mut self, keys: &[String]) {
        for key in keys {
            self.work(key).await;
        }
    }

    /// Gives the consumer work on the member of a profile, if the driver file has the hook `work`.
    pub(super) async fn work(&mut self, key: &str) {
        let Some(profile) = self.profiles.get(key).filter(|profile| profile.is_selected()) else {
            return;
        };
        if !self.is_running() || !self.has_hook(DriverAction::Work) {
            return;
        }
        let member = HookMember::named(profile.object().name);
        let call = HookRequest {
            member: Some(&member),
            profile: Some(profile.key()),
            ..HookRequest::of(DriverAction::Work)
        };
        if let Some(reason) = self
            .plan
            .hooks
            .call(&call, self.context.stop.clone())
            .await
            .failure
        {
            self.warn(&reason);
        }
    }

    async fn wait(&mut self, wait: &Wait) {
        match wait {
            Wait::Called(key) => self.wait_for(key, self.settle()).await,
            Wait::CalledAfterStart(key) => {
                let profiles = u32::try_from(self.profiles.len()).unwrap_or(u32::MAX);
                let all = self.settle().saturating_mul(profiles);
                self.wait_for(key, self.plan.patience.max(all)).await;
            }
            Wait::Settled => self.context.pause(self.settle()).await,
            Wait::PluginHangs => self.context.pause(self.hang()).await,
            Wait::Seconds(seconds) => self.context.pause(Duration::from_secs(*seconds)).await,
            Wait::NextSecond => {
                let fraction = self.context.now().subsec_nanosecond().unsigned_abs();
                let fraction = Duration::from_nanos(fraction.into());
                if fraction > EARLY {
                    self.context.pause(Duration::from_secs(1) - fraction).await;
                }
            }
        }
    }

    async fn wait_for(&mut self, key: &str, patience: Duration) {
        if self.profiles.contains_key(key) {
            let member = self.name(key);
            self.wait_for_call(&member, patience).await;
        }
    }

    /// Waits until a member was called, or an output names it. Returns when.
    async fn wait_for_call(&mut self, member: &str, patience: Duration) -> Option<Timestamp> {
        let deadline = self.context.after(patience);
        let mut next_read = self.context.now();
        loop {
            let mut called = self.plan.calls.first_call(member);
            if called.is_none() && !self.plan.outputs.is_empty() && self.context.now() >= next_read {
                called = self.output_names(member).await;
                next_read = self.context.after(OUTPUTS_TICK);
            }
            let is_over = self.context.now() >= deadline
                || self.context.is_stopped()
                || self.plan.calls.full().is_some();
            if called.is_some() || is_over {
                return called;
            }
            self.context.pause(TICK).await;
        }
    }

    fn reason_to_end(&self) -> Option<String> {
        if let Some(full) = self.plan.calls.full() {
            return Some(flood(full));
        }
        let scenarios = self.testbed.scenarios.iter().rev();
        let uncalled = scenarios.take_while(|run| run.called_at.is_none()).count();
        if uncalled == 0 {
            return None;
        }
        let silence = match self.plan.calls.last_call() {
            Some(last) => format!("the consumer has called no member since {last}"),
            None => "the consumer has called no member".to_owned(),
        };
        if uncalled >= MOST_UNCALLED {
            return Some(silence);
        }
        self.warn(&silence);
        None
    }

    /// Three times what the consumer took for the slowest control. None if it never called one.
    fn settle_seconds(&self) -> Option<u64> {
        let runs = self.testbed.scenarios.iter().filter(|run| !run.may_delay);
        let times = runs.filter_map(|run| Some(run.called_at?.duration_since(run.from)));
        let slowest = Duration::try_from(times.max()?).unwrap_or_default();
        let whole = slowest.as_secs() + u64::from(slowest.subsec_nanos() > 0);
        Some(LEAST_SETTLE.max(whole * SETTLE_FACTOR))
    }

    /// How long the consumer may take to follow a change; zero until it has called a control.
    pub(super) fn settle(&self) -> Duration {
        Duration::from_secs(self.settle_seconds().unwrap_or_default())
    }

    /// How long a plugin hangs: a sequential consumer calls other members within two settle times.
    fn hang(&self) -> Duration {
        self.settle() * 3 / 2
    }

    fn has_hook(&self, action: DriverAction) -> bool {
        self.plan.hooks.lacking(action).is_none()
    }

    pub(super) fn has_all(&self, needs: &[Need]) -> bool {
        needs.iter().all(|need| self.has(*need))
    }

    fn has(&self, need: Need) -> bool {
        let claims = &self.plan.claims;
        match need {
            Need::SecondNamespace => claims.namespaces.len() > 1,
            Need::Unselected => self.plan.unselected.is_some(),
            Need::Labels => !claims.labels.is_empty(),
            Need::ActionsConflict => claims.actions_conflict,
            Need::GatesOnHealth => claims.gates_on_health,
            Need::ProfileArgs => claims.profile_args,
            Need::ProfileEnvs => claims.profile_envs,
            Need::NoFallback => claims.fallback.is_none(),
            Need::ReadsPlacements => claims.reads_placements(),
            Need::PlacementsAlone => claims.acts_on_placements_alone(),
            Need::OneDecision => claims.decision.is_some(),
            Need::Hook(action) => self.has_hook(action),
        }
    }

    /// The last hook that succeeded.
    pub(super) fn last_hook(&self) -> Option<DriverAction> {
        let mut calls = self.testbed.hook_calls.iter().rev();
        let last = calls.find(|call| call.failure.is_none())?;
        Some(last.action)
    }

    pub(super) fn is_running(&self) -> bool {
        let last = self.last_hook();
        !matches!(last, Some(DriverAction::Stop | DriverAction::Uninstall))
    }

    pub(super) fn warn(&self, message: &str) {
        self.context.progress.warn(message);
    }
}
