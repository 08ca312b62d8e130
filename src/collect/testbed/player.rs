//! Runs the scenarios: publishes what they say, and records what the consumer does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evidence::{
    ConsumerSpec, DriverAction, HookCall, Log, MemberCall, Mentions, OutputSnapshot, PluginCall, Reason,
    ScenarioRun, Testbed,
};
use jiff::{SignedDuration, Timestamp};
use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    TestbedPlan,
    decisions::Slices,
    mentions::read_mentions,
    plugin::PluginPlan,
    publish::PublishedProfile,
    scenarios::{Need, PLAIN, PluginBehavior, TestbedScenario, TestbedStep, Wait},
    table::SCENARIOS,
};
use crate::driver::{Call, Called, Member, RunContext, Writes};

/// Interval of looking for a call.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// Interval of reading outputs while the run waits for a control.
const OUTPUTS_TICK: Duration = Duration::from_secs(2);
/// Time between heartbeats, and between other repeated writes.
const BETWEEN_WRITES: Duration = Duration::from_secs(3);
/// A second has just begun.
const EARLY: SignedDuration = SignedDuration::from_millis(300);
/// The consumer may take this many times what it took for the slowest control.
const SETTLE_FACTOR: u64 = 3;
/// The settle time is at least this long. Failed connections are often tried again after 5 s.
const LEAST_SETTLE: Duration = Duration::from_secs(10);
/// The run ends when so many controls in a row were not called.
const MOST_UNCALLED: usize = 2;

/// What the run recorded.
pub(crate) struct TestbedRecord {
    pub testbed: Testbed,
    pub member_calls: Log<MemberCall>,
    pub plugin_calls: Log<PluginCall>,
    /// What the consumer reported, and why something could not be read.
    pub mentions: (Mentions, Option<Reason>),
    /// Since when calls are not recorded, because there were too many.
    pub full: Option<Timestamp>,
    /// Why outputs could not be read.
    pub unread: Option<String>,
    /// Why the run ended before the last scenario.
    pub ended_early: Option<String>,
}

/// Runs the scenarios, and deletes what it published, also when `stop` is cancelled.
pub(crate) async fn run_testbed(
    context: RunContext<'_>,
    plan: &TestbedPlan,
    stop: CancellationToken,
) -> TestbedRecord {
    let mut player = Player::new(context, plan, stop);
    let from = player.now();
    let ended_early = match player.write_ahead() {
        Ok(()) => player.run_scenarios().await,
        Err(reason) => Some(reason),
    };
    player.close_all_expectations();
    player.testbed.addresses = plan.calls.addresses();
    player.testbed.settle_seconds = player.settle_seconds();
    let (member_calls, plugin_calls, full) = plan.calls.since(from);
    let mentions = Box::pin(read_mentions(&player)).await;
    player.clean_up().await;
    TestbedRecord {
        testbed: player.testbed,
        member_calls,
        plugin_calls,
        mentions,
        full,
        unread: player.unread,
        ended_early,
    }
}

/// Takes the steps of scenarios.
pub(super) struct Player<'a> {
    pub context: RunContext<'a>,
    pub plan: &'a TestbedPlan,
    pub writes: Writes<'a>,
    stop: CancellationToken,
    pub testbed: Testbed,
    /// By key: the last one of each.
    pub profiles: BTreeMap<String, PublishedProfile>,
    pub slices: Slices,
    pub missing_namespaces: BTreeSet<String>,
    unread: Option<String>,
    /// The number of the entry in the journal.
    pub undo: Option<u64>,
}

impl<'a> Player<'a> {
    fn new(context: RunContext<'a>, plan: &'a TestbedPlan, stop: CancellationToken) -> Self {
        let mut player = Self {
            writes: Writes::new(context.client, context.target, context.touched.clone()),
            context,
            plan,
            stop,
            testbed: Testbed {
                run: plan.run.clone(),
                consumer: ConsumerSpec {
                    outputs: plan.outputs.iter().map(|place| place.reader()).collect(),
                    ..plan.claims.clone()
                },
                ..Testbed::default()
            },
            profiles: BTreeMap::new(),
            slices: Slices::default(),
            missing_namespaces: BTreeSet::new(),
            unread: None,
            undo: None,
        };
        let hooks = [DriverAction::Stop, DriverAction::Start, DriverAction::Uninstall];
        player.testbed.hooks = hooks.into_iter().filter(|hook| player.has_hook(*hook)).collect();
        player
    }

    /// Runs all scenarios. Returns why it ended early.
    async fn run_scenarios(&mut self) -> Option<String> {
        let scenarios: Vec<&TestbedScenario> = SCENARIOS
            .iter()
            .filter(|scenario| self.has_all(scenario.needs))
            .collect();
        for (index, scenario) in scenarios.iter().enumerate() {
            self.announce(scenario, index + 1, scenarios.len());
            self.run_scenario(scenario).await;
            if self.is_stopped() {
                return Some("the run ended before the last scenario".to_owned());
            }
            if let Some(reason) = self.reason_to_end() {
                self.warn(&format!("{reason}; the other scenarios are left out"));
                return Some(reason);
            }
        }
        None
    }

    fn announce(&self, scenario: &TestbedScenario, number: usize, count: usize) {
        let least = match self.settle().as_secs() {
            0 => String::new(),
            seconds => format!(", at least {seconds} s each"),
        };
        let name = scenario.name;
        self.context
            .progress
            .step(&format!("scenario {name} ({number} of {count}{least})"));
    }

    async fn run_scenario(&mut self, scenario: &TestbedScenario) {
        self.steps(scenario.steps).await;
        if scenario.control {
            self.control(scenario).await;
        } else {
            self.open_expectations(scenario.expectations);
            self.pause(self.settle()).await;
            self.read_outputs().await;
        }
        self.check_profiles().await;
        self.steps(scenario.after).await;
    }

    /// Publishes the control, opens the expectations, and waits until the control is called and the consumer had its time.
    async fn control(&mut self, scenario: &TestbedScenario) {
        let key = format!("{}-control", scenario.name);
        let is_published = self.publish(&key, PLAIN).await;
        self.open_expectations(scenario.expectations);
        if !is_published {
            return;
        }
        let from = self.profiles[&key].changed_at;
        let member = self.name(&key);
        let patience = self.plan.patience.max(self.settle() * scenario.settle_times);
        let called_at = self.wait_for_call(&member, patience).await;
        self.testbed.scenarios.push(ScenarioRun {
            name: scenario.name.to_owned(),
            control: member,
            from,
            until: from,
            called_at,
            may_delay: scenario.may_delay,
        });
        if let Some(called_at) = called_at {
            let settle = self.settle();
            self.pause_until(after(called_at, settle * scenario.settle_times.min(1)))
                .await;
            self.pause_until(after(from, settle * scenario.settle_times))
                .await;
        }
        self.read_outputs().await;
        let until = self.now();
        if let Some(run) = self.testbed.scenarios.last_mut() {
            run.until = until;
        }
    }

    async fn steps(&mut self, steps: &[TestbedStep]) {
        for step in steps {
            if self.is_stopped() {
                return;
            }
            Box::pin(self.step(step)).await;
        }
    }

    async fn step(&mut self, step: &TestbedStep) {
        match *step {
            TestbedStep::Publish(template) => _ = self.publish(template.key, template).await,
            TestbedStep::Create(templates) => {
                for template in templates {
                    self.create(template.key, *template).await;
                }
            }
            TestbedStep::Complete(keys) => {
                for key in keys {
                    self.complete(key).await;
                }
            }
            TestbedStep::Change(key, entries) => self.change_entries(key, entries).await,
            TestbedStep::Move(key) => self.move_member(key).await,
            TestbedStep::Recreate(key) => self.recreate(key).await,
            TestbedStep::Health(key, health) => self.change_health(key, health).await,
            TestbedStep::Heartbeats(key, count) => self.heartbeats(key, count).await,
            TestbedStep::Rewrite(key, count) => self.rewrite(key, count).await,
            TestbedStep::Delete(key) => self.delete(key).await,
            TestbedStep::Work(keys) => self.work_on(keys).await,
            TestbedStep::Plugin(key, behavior) => self.plan_plugin(key, behavior),
            TestbedStep::PluginsRecover => self.plan.calls.give_again(),
            TestbedStep::Decide(slice, keys) => self.decide(slice, keys).await,
            TestbedStep::Undecide => self.undecide().await,
            TestbedStep::DecideAgain => _ = self.write_first().await,
            TestbedStep::EndConnections(keys) => {
                for key in keys {
                    self.plan.calls.cut(&self.name(key));
                }
            }
            TestbedStep::WhileStopped(steps) => self.while_stopped(steps).await,
            TestbedStep::Uninstall => _ = self.hook(DriverAction::Uninstall).await,
            TestbedStep::Wait(wait) => self.wait(wait).await,
            TestbedStep::If(need, steps) if self.has(need) => self.steps(steps).await,
            TestbedStep::If(..) => {}
        }
    }

    async fn heartbeats(&mut self, key: &str, count: usize) {
        for _ in 0..count {
            self.pause(BETWEEN_WRITES).await;
            self.heartbeat(key).await;
        }
    }

    async fn change_entries(&mut self, key: &str, entries: &'static [super::scenarios::AccessTemplate]) {
        let Some(profile) = self.profiles.get_mut(key) else {
            return;
        };
        profile.template.entries = entries;
        if self.open_addresses(key).await {
            self.change(key).await;
        }
    }

    async fn change_health(&mut self, key: &str, health: &'static str) {
        let Some(profile) = self.profiles.get_mut(key) else {
            return;
        };
        profile.template.health = health;
        self.change(key).await;
    }

    /// Writes a profile with other plugin configurations, so that no credential comes from a cache.
    async fn rewrite(&mut self, key: &str, count: usize) {
        for _ in 0..count {
            self.pause(BETWEEN_WRITES).await;
            let Some(profile) = self.profiles.get_mut(key) else {
                return;
            };
            profile.round += 1;
            profile.heartbeat += 1;
            if self.write_status(key).await {
                self.work(key).await;
            }
        }
    }

    async fn recreate(&mut self, key: &str) {
        let Some(template) = self.profiles.get(key).map(|profile| profile.template) else {
            return;
        };
        self.delete(key).await;
        self.publish(key, template).await;
    }

    fn plan_plugin(&self, key: &str, behavior: PluginBehavior) {
        let plan = match behavior {
            PluginBehavior::Expires(lifetime) => PluginPlan::Gives(lifetime),
            PluginBehavior::Fails => PluginPlan::Fails,
            PluginBehavior::Garbage => PluginPlan::PrintsGarbage,
            PluginBehavior::Hangs => PluginPlan::Hangs(self.hang()),
        };
        self.plan.calls.plan(&self.name(key), plan);
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
        let Some(hooks) = &self.plan.hooks else {
            return false;
        };
        if action != DriverAction::Start {
            self.close_all_expectations();
        }
        let from = self.now();
        let stop = match action {
            DriverAction::Start => CancellationToken::new(),
            _ => self.stop.clone(),
        };
        let Called { failure, output, .. } = hooks.call(&Call::of(action), stop).await;
        if let Some(reason) = &failure {
            self.warn(reason);
        }
        let is_done = failure.is_none();
        self.testbed.hook_calls.push(HookCall {
            action,
            from,
            until: self.now(),
            failure,
            output,
        });
        is_done
    }

    /// Gives the consumer work on these profiles.
    pub(super) async fn work_on(&mut self, keys: &[&str]) {
        for key in keys {
            self.work(key).await;
        }
    }

    /// Gives the consumer work on the member of a profile, if the driver file has the hook `work`.
    pub(super) async fn work(&mut self, key: &str) {
        let Some(profile) = self.profiles.get(key).filter(|profile| profile.is_selected) else {
            return;
        };
        let Some(hooks) = &self.plan.hooks else { return };
        if !self.is_running() || !self.has_hook(DriverAction::Work) {
            return;
        }
        let member = Member {
            name: profile.object.name.clone(),
            ..Member::default()
        };
        let call = Call {
            member: Some(&member),
            profile: Some(profile.key()),
            ..Call::of(DriverAction::Work)
        };
        if let Some(reason) = hooks.call(&call, self.stop.clone()).await.failure {
            self.warn(&reason);
        }
    }

    async fn wait(&mut self, wait: Wait) {
        match wait {
            Wait::Called(key) => self.wait_for(key, self.settle()).await,
            Wait::CalledAfterStart(key) => {
                let profiles = u32::try_from(self.profiles.len()).unwrap_or(u32::MAX);
                let all = self.settle().saturating_mul(profiles);
                self.wait_for(key, self.plan.patience.max(all)).await;
            }
            Wait::Settled => self.pause(self.settle()).await,
            Wait::PluginHangs => self.pause(self.hang()).await,
            Wait::Seconds(seconds) => self.pause(Duration::from_secs(seconds)).await,
            Wait::NextSecond => {
                let fraction = SignedDuration::from_nanos(self.now().subsec_nanosecond().into());
                let left = SignedDuration::from_secs(1).saturating_sub(fraction);
                if fraction > EARLY {
                    self.pause(Duration::try_from(left).unwrap_or_default()).await;
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
        let deadline = after(self.now(), patience);
        let mut next_read = self.now();
        loop {
            let mut called = self.plan.calls.first_call(member);
            if called.is_none() && !self.plan.outputs.is_empty() && self.now() >= next_read {
                called = self.output_names(member).await;
                next_read = after(self.now(), OUTPUTS_TICK);
            }
            let is_over = self.now() >= deadline || self.is_stopped() || self.plan.calls.full().is_some();
            if called.is_some() || is_over {
                return called;
            }
            self.pause(TICK).await;
        }
    }

    /// When an output names a member, if one does now.
    async fn output_names(&mut self, member: &str) -> Option<Timestamp> {
        let snapshot = self.snapshot().await;
        let addresses = self.plan.calls.addresses();
        let urls = addresses.iter().filter(|address| address.member == member);
        let urls: BTreeSet<&String> = urls.map(|address| &address.url).collect();
        let mut outputs = snapshot.outputs.iter();
        let is_named = outputs.any(|output| {
            output.members.contains(member) || output.servers.iter().any(|url| urls.contains(url))
        });
        is_named.then_some(snapshot.at)
    }

    /// Reads the outputs of the consumer, if any are declared, and records them. A consumer that does not run may serve none.
    async fn read_outputs(&mut self) {
        if !self.plan.outputs.is_empty() && self.is_running() && !self.is_stopped() {
            let snapshot = self.snapshot().await;
            self.testbed.outputs.push(snapshot);
        }
    }

    /// Reads the outputs of the consumer. Reports once what cannot be read.
    async fn snapshot(&mut self) -> OutputSnapshot {
        let addresses = self.plan.calls.addresses();
        let mut outputs = Vec::new();
        for place in &self.plan.outputs {
            match place.read(self.context.client, &addresses).await {
                Ok(read) => outputs.extend(read),
                Err(reason) if self.unread.is_none() => {
                    self.warn(&reason);
                    self.unread = Some(reason);
                }
                Err(_) => {}
            }
        }
        OutputSnapshot {
            at: self.now(),
            outputs,
        }
    }

    /// Why the other scenarios cannot be judged.
    fn reason_to_end(&self) -> Option<String> {
        if let Some(full) = self.plan.calls.full() {
            return Some(format!(
                "the consumer floods its members: calls after {full} are not recorded"
            ));
        }
        let uncalled = self
            .testbed
            .scenarios
            .iter()
            .rev()
            .take_while(|run| run.called_at.is_none());
        let uncalled = uncalled.count();
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
    pub(super) fn settle_seconds(&self) -> Option<u64> {
        let runs = self.testbed.scenarios.iter().filter(|run| !run.may_delay);
        let slowest = runs
            .filter_map(|run| Some(run.called_at?.duration_since(run.from)))
            .max()?;
        let slowest = Duration::try_from(slowest).unwrap_or_default();
        let whole = slowest.as_secs() + u64::from(slowest.subsec_nanos() > 0);
        Some(LEAST_SETTLE.as_secs().max(whole * SETTLE_FACTOR))
    }

    /// How long the consumer may take to follow a change, as far as that is known.
    pub(super) fn settle(&self) -> Duration {
        Duration::from_secs(self.settle_seconds().unwrap_or_default())
    }

    /// How long a plugin hangs: a sequential consumer calls other members within two settle times.
    fn hang(&self) -> Duration {
        self.settle() * 3 / 2
    }

    fn has_hook(&self, action: DriverAction) -> bool {
        let hooks = self.plan.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.lacking(action).is_none())
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

    /// Waits, unless the run is stopped.
    pub(super) async fn pause(&self, duration: Duration) {
        select! {
            () = self.stop.cancelled() => {}
            () = sleep(duration) => {}
        }
    }

    async fn pause_until(&self, moment: Timestamp) {
        let left = moment.duration_since(self.now());
        self.pause(Duration::try_from(left).unwrap_or_default()).await;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// What the last hook did to the consumer.
    pub(super) fn last_hook(&self) -> Option<DriverAction> {
        let mut calls = self.testbed.hook_calls.iter().rev();
        let last = calls.find(|call| call.failure.is_none())?;
        Some(last.action)
    }

    fn is_running(&self) -> bool {
        !matches!(
            self.last_hook(),
            Some(DriverAction::Stop | DriverAction::Uninstall)
        )
    }

    pub(super) fn warn(&self, message: &str) {
        self.context.progress.warn(message);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.context.clock.now()
    }
}

/// That much later.
pub(super) fn after(moment: Timestamp, duration: Duration) -> Timestamp {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(duration).unwrap_or(Timestamp::MAX)
}
