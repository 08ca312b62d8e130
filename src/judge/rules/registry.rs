//! All rules in the order of the reports: binds each id to its file and its function.
//!
//! The documentation of each function begins with its rule's id, so grep finds it.

use std::sync::{Arc, LazyLock};

use evidence::{
    DriverAction, Evidence, Scenario,
    api::{ObjectKind, Role},
};
use jiff::civil::Date;

use super::{
    consumer::{expectations, hub, plugin},
    facts::Facts,
    manager::{
        access, access_content, clusters, clustersets, conditions, consumers, identity, kubeconfigs,
        lifecycle, members, outages, properties, updates,
    },
    scheduler::{decisions, placements, slices},
    team::findings_of_team,
};
use crate::{
    engine::{
        CountedWrites, DECISION_GRACE, Evaluate, Hub, action, change,
        consumer::{self, connections, consumer_writes, on_testbed, plugin_runs},
        creation, decision, endpoint_calls, group, history, joined_profile, login, member, once,
        placement_step, plugin_logins, reference, same_access, same_conditions, same_labels,
        same_outside_access, same_properties, same_writers, secret, slice, slice_group, stable, state, step,
        timed_state, unlabelled_secret, writes,
    },
    subjects::Findings,
    time::SECOND,
};

/// The missing evidence if the audit log does not contain responses.
const NO_RESPONSES: &str =
    "the audit log does not show whether writes changed anything: log them at level RequestResponse";

/// The missing evidence if the audit log does not contain request bodies.
const NO_BODIES: &str = "the audit log does not contain the bodies of patches: log them at level Request";

/// The field of findings on writes.
const VERSION: &str = "metadata.resourceVersion";

/// Rules on events that examine the run as a whole in any case.
const ALWAYS_EXAMINED: [&str; 1] = ["consumer-secrets/credential-to-its-member-only"];

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `suite/rule`.
    pub id: &'static str,
    /// Its facts.
    pub facts: Facts,
    /// Its functions, and what they are called on.
    pub(crate) evaluators: Vec<Arc<dyn Evaluate>>,
}

/// A rule's id, the text of its file and its evaluators.
type RuleBinding = (&'static str, &'static str, Vec<Arc<dyn Evaluate>>);

/// Binds ids to evaluators; the file comes from the role and the id.
macro_rules! rules {
    ($role:literal: $($id:literal => [$($evaluator:expr),*],)*) => {
        vec![$((
            $id,
            include_str!(concat!("../suites/", $role, "/", $id, ".yaml")),
            vec![$(Arc::new($evaluator) as Arc<dyn Evaluate>),*],
        )),*]
    };
}

fn manager() -> Vec<RuleBinding> {
    rules! { "manager":
    "identity/manager-label-present" => [state(identity::has_manager_label).reads(same_labels)],
    "identity/manager-label-matches" => [state(identity::manager_label_matches).reads(same_labels)],
    "identity/manager-label-from-creation" => [creation(identity::has_manager_label)],
    "identity/manager-name-usable" => [state(identity::manager_name_usable).reads(same_labels)],
    "identity/manager-immutable" => [stable(identity::manager_name).any_author(), once(identity::hub_refuses_another_manager)],
    "identity/manager-unique" => [once(identity::manager_unique)],
    "identity/one-manager-per-profile" => [state(identity::written_by_its_manager).of_other_managers(), once(identity::no_request_for_others)],
    "identity/name-unique" => [group(clusters::name_in_use, clusters::name_unique).reads(clusters::same_name)],
    "identity/one-profile-per-cluster" => [group(clusters::identity_in_inventory, clusters::one_profile_per_cluster).reads(clusters::same_identity)],
    "identity/name-follows-guidance" => [state(identity::name_follows_guidance).reads(same_labels)],
    "identity/display-name-kept" => [step(Scenario::Tampering, DriverAction::SetDisplayName, lifecycle::display_name_kept)],
    "identity/member-id-non-empty" => [state(identity::member_id_non_empty).reads(same_labels)],
    "identity/member-id-set" => [state(identity::has_member_id).filled_later().reads(same_labels)],
    "identity/member-id-from-creation" => [creation(identity::has_member_id)],
    "identity/member-id-stable" => [stable(identity::member_id)],
    "identity/member-id-unique" => [group(identity::member_key, identity::member_id_unique).reads(identity::same_member_id)],
    "identity/member-id-no-tie" => [group(identity::member_key, identity::member_id_no_tie).reads(identity::same_member_id)],
    "identity/expected-profiles" => [once(clusters::expected_profiles)],
    "clustersets/namespace-labelled" => [group(clustersets::namespace, clustersets::namespace_labelled).of_one().reads(clustersets::same_clusterset), once(clustersets::declared_namespaces)],
    "clustersets/one-set-per-namespace" => [state(clustersets::one_set_per_namespace).reads(clustersets::same_clusterset)],
    "clustersets/one-set-per-cluster" => [group(clusters::proof_in_clusterset, clusters::one_set_per_cluster).reads(clusters::same_identity)],
    "version/reported" => [state(members::version_reported).filled_later().reads(same_conditions)],
    "version/well-formed" => [state(members::version_well_formed).reads(same_conditions)],
    "version/matches-member" => [member(members::version_matches_member)],
    "version/follows-upgrade" => [step(Scenario::Upgrade, DriverAction::Upgrade, outages::follows_upgrade)],
    "properties/cluster-endpoints-present" => [state(properties::cluster_endpoints_present).filled_later().reads(same_properties)],
    "properties/cluster-endpoints-well-formed" => [state(properties::cluster_endpoints_well_formed).reads(same_properties)],
    "properties/cluster-endpoints-are-a-list" => [state(properties::cluster_endpoints_are_a_list).reads(same_properties)],
    "properties/cluster-endpoints-reachable" => [endpoint_calls(properties::cluster_endpoints_reachable)],
    "properties/location-immutable" => [stable(properties::location)],
    "properties/node-count-well-formed" => [state(properties::node_count_well_formed).reads(same_properties)],
    "properties/node-count-matches-member" => [member(members::node_count_matches_member).grace(300 * SECOND)],
    "properties/node-types-well-formed" => [state(properties::node_types_well_formed).reads(same_properties)],
    "properties/metrics-endpoints-well-formed" => [state(properties::metrics_endpoints_well_formed).reads(same_properties)],
    "properties/custom-resource-groups-well-formed" => [state(properties::custom_resource_groups_well_formed).reads(same_properties)],
    "properties/custom-resource-groups-match-member" => [member(members::custom_resource_groups_match_member).grace(300 * SECOND)],
    "properties/honours-only-labelled" => [member(members::honours_only_labelled)],
    "properties/cluster-properties-propagated" => [member(members::cluster_properties_propagated)],
    "properties/cluster-properties-verbatim" => [member(members::cluster_properties_verbatim)],
    "properties/cluster-id-well-formed" => [state(properties::cluster_id_well_formed).reads(same_properties)],
    "properties/cluster-id-stable" => [stable(properties::cluster_id).within(properties::clusterset)],
    "properties/clusterset-immutable" => [change(properties::clusterset_replaced)],
    "properties/observed-time-sane" => [timed_state(properties::observed_time_not_ahead).grace(0).reads(same_properties), change(properties::observed_time_not_back)],
    "properties/well-known-spelling" => [state(properties::well_known_spelling).reads(same_properties)],
    "conditions/control-plane-healthy-reported" => [state(conditions::control_plane_healthy_reported).filled_later().reads(same_conditions)],
    "conditions/joined-reported" => [state(conditions::joined_reported).filled_later().reads(same_conditions)],
    "conditions/well-formed" => [state(conditions::well_formed).reads(same_conditions), timed_state(conditions::transition_time_not_ahead).grace(0).reads(same_conditions)],
    "conditions/transition-time-kept" => [change(conditions::transition_time_kept)],
    "conditions/transition-time-moves" => [change(conditions::transition_time_moves)],
    "conditions/observed-generation-not-ahead" => [state(conditions::observed_generation_not_ahead).reads(same_conditions)],
    "conditions/observed-generation-current" => [state(conditions::observed_generation_current).any_author().reads(same_conditions)],
    "conditions/healthy-needs-joined" => [state(conditions::healthy_needs_joined).reads(same_conditions)],
    "conditions/status-follows-joined" => [state(conditions::status_follows_joined).filled_later().reads(same_conditions)],
    "conditions/healthy-agrees-with-member" => [
            member(members::healthy_agrees_with_member)
                .while_joined()
                .nothing_happened_if_any(conditions::reports_health, "no member with the condition ControlPlaneHealthy was joined and answered")
        ],
    "conditions/healthy-follows-outage" => [
            step(Scenario::Outage, DriverAction::Break, outages::unhealthy_after_break)
                .applies_if_any(conditions::reports_health),
            step(Scenario::Outage, DriverAction::Heal, outages::healthy_after_heal)
                .applies_if_any(conditions::reports_health)
        ],
    "conditions/joined-follows-leave" => [step(Scenario::JoinAndLeave, DriverAction::Leave, outages::joined_follows_leave)],
    "conditions/not-flapping" => [writes(CountedWrites::Observed, updates::not_flapping)],
    "access/provider-named" => [state(access::provider_named).reads(same_access)],
    "access/server-is-url" => [state(access::server_is_url).reads(same_access)],
    "access/ca-data-is-certificates" => [state(access::ca_data_is_certificates).reads(same_access)],
    "access/ca-data-current" => [timed_state(access::ca_data_current).reads(same_access)],
    "access/no-secrets" => [state(access_content::no_secrets).grace(0).reads(same_access)],
    "access/no-secrets-elsewhere" => [state(access_content::no_secrets_elsewhere).grace(0).reads(same_outside_access)],
    "access/no-local-paths" => [state(access::no_local_paths).reads(same_access)],
    "access/server-told" => [state(access::server_present).filled_later().reads(same_access)],
    "access/not-environment-specific" => [state(access_content::not_environment_specific).reads(same_access)],
    "access/portable" => [state(access::portable).reads(same_access)],
    "access/tls-verified" => [state(access::tls_verified).reads(same_access)],
    "access/exec-extension-well-formed" => [state(access_content::exec_extension_well_formed).reads(same_access)],
    "access/additional-args-well-formed" => [state(access_content::additional_args_well_formed).reads(same_access)],
    "access/additional-envs-well-formed" => [state(access_content::additional_envs_well_formed).reads(same_access)],
    "access/proxy-url-well-formed" => [state(access::proxy_url_well_formed).reads(same_access)],
    "access/not-deprecated-only" => [state(access::not_deprecated_only).reads(same_access)],
    "access/within-v1alpha2-limits" => [state(access::within_v1alpha2_limits).reads(same_access)],
    "access/plugin-yields-credential" => [plugin_logins(access::plugin_yields_credential)],
    "consumers/secret-namespace-labelled" => [secret(consumers::secret_namespace_labelled)],
    "consumers/secret-names-profile" => [secret(consumers::secret_names_profile)],
    "consumers/secret-has-kubeconfig" => [secret(kubeconfigs::secret_has_kubeconfig)],
    "consumers/secret-single-consumer" => [secret(kubeconfigs::secret_single_consumer)],
    "consumers/consumer-name-unique" => [once(consumers::consumer_name_unique)],
    "consumers/kubeconfig-self-contained" => [secret(kubeconfigs::kubeconfig_self_contained)],
    "consumers/kubeconfig-points-at-member" => [secret(kubeconfigs::kubeconfig_points_at_member)],
    "consumers/kubeconfig-works" => [login(consumers::kubeconfig_works)],
    "consumers/least-privilege" => [login(consumers::least_privilege)],
    "consumers/declared-consumer-served" => [joined_profile(consumers::declared_consumer_served)],
    "consumers/secrets-retired" => [step(Scenario::JoinAndLeave, DriverAction::Leave, consumers::secrets_retired)],
    "consumers/secret-labelled" => [unlabelled_secret(consumers::secret_labelled)],
    "updates/status-writes-within-budget" => [writes(CountedWrites::Status, updates::status_writes_within_budget)],
    "updates/writes-within-burst" => [writes(CountedWrites::Changing, updates::writes_within_burst)],
    "updates/refused-writes-within-budget" => [writes(CountedWrites::Refused, updates::refused_writes_within_budget)],
    "updates/no-empty-writes" => [writes(CountedWrites::Logged, updates::no_empty_writes).needs(updates::shows_effect, NO_RESPONSES)],
    "updates/status-by-subresource" => [writes(CountedWrites::Logged, updates::status_by_subresource).needs(updates::shows_body, NO_BODIES)],
    "updates/distinct-appliers" => [state(updates::distinct_appliers).reads(same_writers)],
    "updates/no-dynamic-data" => [writes(CountedWrites::Observed, updates::no_dynamic_data)],
    "lifecycle/join-creates-profile" => [
            action(Scenario::JoinAndLeave, DriverAction::Join, lifecycle::join_creates_profile),
            action(Scenario::SimilarNames, DriverAction::Join, lifecycle::join_creates_profile).if_taken()
        ],
    "lifecycle/join-fills-status" => [step(Scenario::JoinAndLeave, DriverAction::Join, lifecycle::join_fills_status)],
    "lifecycle/deleted-profile-restored" => [
            step(Scenario::Tampering, DriverAction::DeleteProfile, lifecycle::deleted_profile_restored),
            step(Scenario::NamespaceGone, DriverAction::CreateNamespace, lifecycle::deleted_profile_restored).if_taken()
        ],
    "lifecycle/status-restored" => [step(Scenario::Tampering, DriverAction::TamperStatus, lifecycle::status_restored)],
    "lifecycle/label-restored" => [step(Scenario::Tampering, DriverAction::RemoveLabel, lifecycle::label_restored)],
    "lifecycle/foreign-profiles-untouched" => [
            action(Scenario::ForeignProfile, DriverAction::PutForeignProfile, lifecycle::foreign_profiles_untouched),
            action(Scenario::ForeignProfile, DriverAction::ChangeForeignProfile, lifecycle::foreign_profiles_untouched).if_taken(),
            action(Scenario::ForeignProfile, DriverAction::RecreateForeignProfile, lifecycle::foreign_profiles_untouched).if_taken()
        ],
    "lifecycle/restart-keeps-profiles" => [action(Scenario::Restart, DriverAction::Restart, lifecycle::restart_keeps_profiles)],
    "lifecycle/cut-off-keeps-profiles" => [
            action(Scenario::CutOff, DriverAction::Disconnect, lifecycle::cut_off_keeps_profiles),
            action(Scenario::NamespaceGone, DriverAction::DeleteNamespace, lifecycle::cut_off_keeps_profiles).if_taken()
        ],
    "lifecycle/heal-restores-status" => [
            step(Scenario::Outage, DriverAction::Heal, outages::heal_restores_status),
            step(Scenario::CutOff, DriverAction::Reconnect, outages::heal_restores_status).if_taken()
        ],
    }
}

fn scheduler() -> Vec<RuleBinding> {
    rules! { "scheduler":
    "placement-slices/size" => [slice(slices::size)],
    "placement-slices/decisions-present" => [slice(slices::decisions_present)],
    "placement-slices/key-shared" => [placement_step(Scenario::SliceLimit, DriverAction::Reschedule, decisions::key_shared)],
    "placement-slices/key-one-decision" => [slice_group(decisions::namespace_and_key, decisions::key_one_decision)],
    "placement-slices/index-is-number" => [slice(slices::index_is_number)],
    "placement-slices/index-complete" => [decision(decisions::index_complete).unless_terminating()],
    "placement-slices/no-needless-slices" => [decision(decisions::no_needless_slices)],
    "placement-slices/cluster-once" => [slice(decisions::cluster_once_in_slice).grace(DECISION_GRACE), slice_group(decisions::cluster_of_decision, decisions::cluster_in_one_slice).of_several()],
    "placement-references/resolve" => [reference(slices::resolve).grace(slices::REFERENCE_GRACE)],
    "placement-references/resolve-across-time" => [reference(slices::resolve_across_time).grace(slices::REFERENCE_GRACE)],
    "placement-references/name-valid" => [slice(slices::name_valid)],
    "placement-references/selected-is-alive" => [reference(slices::selected_is_alive).unless(slices::gives_reason)],
    "placement-labels/scheduler-named" => [slice(slices::scheduler_named)],
    "placement-labels/scheduler-stable" => [change(slices::scheduler_stable)],
    "placement-labels/no-unknown-multicluster-labels" => [slice(slices::no_unknown_multicluster_labels)],
    "placement-labels/reason-is-public" => [slice(slices::reason_is_public)],
    "placement-ownership/one-writer" => [writes(CountedWrites::Observed, slices::one_writer)],
    "placement-ownership/foreign-decisions-untouched" => [action(Scenario::ForeignProfile, DriverAction::PutForeignSlice, placements::foreign_decisions_untouched)],
    "placement-updates/no-empty-writes" => [writes(CountedWrites::Logged, slices::no_empty_writes).needs(slices::shows_effect, NO_RESPONSES)],
    "placement-updates/no-torn-reschedule" => [history(decisions::no_torn_reschedule)],
    "placement-lifecycle/placed" => [placement_step(Scenario::Placement, DriverAction::Place, placements::placed)],
    "placement-lifecycle/crosses-the-limit" => [placement_step(Scenario::SliceLimit, DriverAction::Reschedule, placements::crosses_the_limit)],
    "placement-lifecycle/unplaced" => [placement_step(Scenario::Placement, DriverAction::Unplace, placements::unplaced).of_all_scenarios()],
    "placement-lifecycle/none-selected" => [placement_step(Scenario::Placement, DriverAction::Reschedule, placements::none_selected)],
    "placement-lifecycle/restored" => [placement_step(Scenario::Placement, DriverAction::DeleteSlice, placements::restored), placement_step(Scenario::Placement, DriverAction::EmptySlice, placements::restored)],
    "placement-lifecycle/restart-keeps" => [action(Scenario::Restart, DriverAction::Restart, placements::restart_keeps)],
    "placement-lifecycle/owner-collects" => [slice(slices::owner_collects)],
    }
}

fn consumer() -> Vec<RuleBinding> {
    rules! { "consumer":
    "consumer-hub/status-not-written" => [consumer_writes(ObjectKind::ClusterProfile, "status", hub::status_not_written)],
    "consumer-hub/profile-not-written" => [consumer_writes(ObjectKind::ClusterProfile, VERSION, hub::profile_not_written)],
    "consumer-hub/deletion-not-blocked" => [on_testbed(hub::deletion_not_blocked)],
    "consumer-scope/namespaces-apart" => [],
    "consumer-scope/selection-kept" => [],
    "consumer-identity/oldest-wins" => [],
    "consumer-identity/tie-acts-on-none" => [],
    "consumer-identity/empty-is-absent" => [],
    "consumer-identity/other-inventories-stay" => [],
    "consumer-identity/next-takes-over" => [],
    "consumer-identity/warning-surfaced" => [],
    "consumer-access/picks-known-provider" => [],
    "consumer-access/no-guess" => [],
    "consumer-access/list-by-version" => [],
    "consumer-access/ca-honoured" => [],
    "consumer-access/tls-server-name-honoured" => [connections(plugin::tls_server_name_honoured)],
    "consumer-access/proxy-honoured" => [],
    "consumer-exec/config-verbatim" => [plugin_runs(plugin::config_verbatim)],
    "consumer-exec/protocol-as-configured" => [plugin_runs(plugin::protocol_as_configured)],
    "consumer-exec/profile-args-off-by-default" => [plugin_runs(plugin::profile_args_off_by_default)],
    "consumer-exec/profile-args-as-told" => [plugin_runs(plugin::profile_args_as_told)],
    "consumer-exec/nothing-leaks-between-profiles" => [plugin_runs(plugin::nothing_leaks_between_profiles)],
    "consumer-exec/expiry-renewed" => [],
    "consumer-exec/failure-isolated" => [],
    "consumer-exec/malformed-isolated" => [],
    "consumer-change/address-followed" => [],
    "consumer-change/access-revoked" => [],
    "consumer-change/profile-gone" => [],
    "consumer-change/heartbeats-harmless" => [],
    "consumer-change/restart-no-orphans" => [],
    "consumer-health/unhealthy-not-dispatched" => [],
    "consumer-health/unknown-values-tolerated" => [],
    "consumer-placement/all-slices" => [],
    "consumer-placement/references" => [],
    "consumer-placement/follows" => [],
    "consumer-placement/read-only-and-feedback-elsewhere" => [consumer_writes(ObjectKind::PlacementDecision, VERSION, hub::read_only_and_feedback_elsewhere)],
    "consumer-secrets/credential-to-its-member-only" => [on_testbed(hub::credential_to_its_member_only)],
    "consumer-secrets/nothing-secret-in-the-open" => [on_testbed(hub::nothing_secret_in_the_open)],
    }
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let bindings = [manager(), scheduler(), consumer()].into_iter().flatten();
    bindings
        .map(|(id, text, mut evaluators)| {
            // The files are compiled in, and a test parses each of them.
            let facts = Facts::parse(id, text).unwrap_or_else(|error| panic!("{error}"));
            if let Some(words) = facts.expectations.clone() {
                let special_case = expectations::special_case(id);
                evaluators.push(Arc::new(consumer::expectations(id, words, special_case)));
            }
            let judges_events = evaluators.iter().any(|evaluator| evaluator.judges_events());
            let is_said = facts.nothing_happened.is_some() || ALWAYS_EXAMINED.contains(&id);
            assert!(
                !judges_events || is_said,
                "{id}: its file lacks `nothingHappened`"
            );
            Rule {
                id,
                facts,
                evaluators,
            }
        })
        .collect()
});

/// All rules, in the ledger's order.
pub fn all() -> &'static [Rule] {
    &RULES
}

/// The day of the newest rule; none if the suite had all of them from the beginning.
pub fn as_of() -> Option<Date> {
    all().iter().filter_map(|rule| rule.facts.added).max()
}

/// The rule with that id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().iter().find(|rule| rule.id == id)
}

impl Rule {
    /// A rule without a function.
    pub fn without_function(id: &'static str, facts: Facts) -> Self {
        let evaluators = Vec::new();
        Self {
            id,
            facts,
            evaluators,
        }
    }

    /// The role that it is about: its editions are all of one.
    pub fn role(&self) -> Role {
        self.facts.since.role()
    }

    /// What it examines and finds in the evidence.
    pub fn findings(&self, evidence: &Evidence) -> Findings {
        findings_of_team(&[(self, &Hub::of(evidence))]).remove(0)
    }

    /// Whether the rule itself says what interruptions of a watch hide.
    pub(crate) fn judges_around_gaps(&self) -> bool {
        self.evaluators
            .iter()
            .all(|evaluator| evaluator.judges_around_gaps())
    }

    /// Whether the rule judges published objects, rather than what an implementation does.
    pub(crate) fn judges_published_objects(&self) -> bool {
        self.evaluators
            .first()
            .is_some_and(|evaluator| evaluator.judges_published_objects())
    }

    /// The path of its file in the repository.
    pub fn file(&self) -> String {
        format!("suites/{}/{}.yaml", self.role(), self.id)
    }

    /// The part of the id before the slash.
    pub fn suite(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }
}
