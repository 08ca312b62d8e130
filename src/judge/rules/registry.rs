//! All rules in the order of the reports: binds each id to its file and its function.
//!
//! The function of `suite/name` is in the folder `suite`. Its documentation begins with the id, so grep finds it.

use std::sync::LazyLock;

use evidence::{Evidence, api::Api};
use jiff::civil::Date;

use super::{
    access, clustersets, conditions, consumers, facts::Facts, finding::Findings, identity, lifecycle,
    placement_labels, placement_lifecycle, placement_ownership, placement_references, placement_slices,
    placement_updates, properties, updates, version,
};

/// A rule's function.
pub type Examine = fn(&Evidence, &mut Findings);

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `suite/rule`, the path of its file under `suites/` without the ending.
    pub id: &'static str,
    /// Its facts.
    pub facts: Facts,
    /// Its function.
    pub examine: Examine,
}

/// Binds ids to functions; the file comes from the id.
macro_rules! rules {
    ($($id:literal => $examine:path,)*) => {
        [$(($id, include_str!(concat!("../suites/", $id, ".yaml")), $examine as Examine)),*]
    };
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let bindings: Vec<(&'static str, &'static str, Examine)> = rules! {
        "identity/manager-label-present" => identity::manager_label_present,
        "identity/manager-label-matches" => identity::manager_label_matches,
        "identity/manager-label-from-creation" => identity::manager_label_from_creation,
        "identity/manager-name-usable" => identity::manager_name_usable,
        "identity/manager-immutable" => identity::manager_immutable,
        "identity/manager-unique" => identity::manager_unique,
        "identity/one-manager-per-profile" => identity::one_manager_per_profile,
        "identity/name-unique" => identity::name_unique,
        "identity/one-profile-per-cluster" => identity::one_profile_per_cluster,
        "identity/name-follows-guidance" => identity::name_follows_guidance,
        "identity/display-name-kept" => identity::display_name_kept,
        "identity/member-id-non-empty" => identity::member_id_non_empty,
        "identity/member-id-set" => identity::member_id_set,
        "identity/member-id-stable" => identity::member_id_stable,
        "identity/member-id-unique" => identity::member_id_unique,
        "identity/member-id-no-tie" => identity::member_id_no_tie,
        "clustersets/namespace-labelled" => clustersets::namespace_labelled,
        "clustersets/one-set-per-namespace" => clustersets::one_set_per_namespace,
        "clustersets/one-set-per-cluster" => clustersets::one_set_per_cluster,
        "version/reported" => version::reported,
        "version/well-formed" => version::well_formed,
        "version/matches-member" => version::matches_member,
        "version/follows-upgrade" => version::follows_upgrade,
        "properties/cluster-endpoints-present" => properties::cluster_endpoints_present,
        "properties/cluster-endpoints-well-formed" => properties::cluster_endpoints_well_formed,
        "properties/cluster-endpoints-are-a-list" => properties::cluster_endpoints_are_a_list,
        "properties/cluster-endpoints-reachable" => properties::cluster_endpoints_reachable,
        "properties/location-immutable" => properties::location_immutable,
        "properties/node-count-well-formed" => properties::node_count_well_formed,
        "properties/node-count-matches-member" => properties::node_count_matches_member,
        "properties/node-types-well-formed" => properties::node_types_well_formed,
        "properties/metrics-endpoints-well-formed" => properties::metrics_endpoints_well_formed,
        "properties/custom-resource-groups-well-formed" => properties::custom_resource_groups_well_formed,
        "properties/custom-resource-groups-match-member" => properties::custom_resource_groups_match_member,
        "properties/honours-only-labelled" => properties::honours_only_labelled,
        "properties/cluster-properties-propagated" => properties::cluster_properties_propagated,
        "properties/cluster-properties-verbatim" => properties::cluster_properties_verbatim,
        "properties/observed-time-sane" => properties::observed_time_sane,
        "properties/well-known-spelling" => properties::well_known_spelling,
        "conditions/control-plane-healthy-reported" => conditions::control_plane_healthy_reported,
        "conditions/joined-reported" => conditions::joined_reported,
        "conditions/well-formed" => conditions::well_formed,
        "conditions/transition-time-kept" => conditions::transition_time_kept,
        "conditions/transition-time-moves" => conditions::transition_time_moves,
        "conditions/observed-generation-not-ahead" => conditions::observed_generation_not_ahead,
        "conditions/healthy-needs-joined" => conditions::healthy_needs_joined,
        "conditions/status-follows-joined" => conditions::status_follows_joined,
        "conditions/healthy-agrees-with-member" => conditions::healthy_agrees_with_member,
        "conditions/healthy-follows-outage" => conditions::healthy_follows_outage,
        "conditions/joined-follows-leave" => conditions::joined_follows_leave,
        "conditions/not-flapping" => conditions::not_flapping,
        "access/provider-named" => access::provider_named,
        "access/server-is-url" => access::server_is_url,
        "access/ca-data-is-certificates" => access::ca_data_is_certificates,
        "access/ca-data-current" => access::ca_data_current,
        "access/no-secrets" => access::no_secrets,
        "access/no-local-paths" => access::no_local_paths,
        "access/server-told" => access::server_told,
        "access/not-environment-specific" => access::not_environment_specific,
        "access/portable" => access::portable,
        "access/tls-verified" => access::tls_verified,
        "access/exec-extension-well-formed" => access::exec_extension_well_formed,
        "access/additional-args-well-formed" => access::additional_args_well_formed,
        "access/additional-envs-well-formed" => access::additional_envs_well_formed,
        "access/proxy-url-well-formed" => access::proxy_url_well_formed,
        "access/not-deprecated-only" => access::not_deprecated_only,
        "access/plugin-yields-credential" => access::plugin_yields_credential,
        "consumers/secret-namespace-labelled" => consumers::secret_namespace_labelled,
        "consumers/secret-names-profile" => consumers::secret_names_profile,
        "consumers/secret-has-kubeconfig" => consumers::secret_has_kubeconfig,
        "consumers/secret-single-consumer" => consumers::secret_single_consumer,
        "consumers/consumer-name-unique" => consumers::consumer_name_unique,
        "consumers/kubeconfig-self-contained" => consumers::kubeconfig_self_contained,
        "consumers/kubeconfig-points-at-member" => consumers::kubeconfig_points_at_member,
        "consumers/kubeconfig-works" => consumers::kubeconfig_works,
        "consumers/least-privilege" => consumers::least_privilege,
        "consumers/declared-consumer-served" => consumers::declared_consumer_served,
        "consumers/secrets-retired" => consumers::secrets_retired,
        "consumers/secret-labelled" => consumers::secret_labelled,
        "updates/status-writes-within-budget" => updates::status_writes_within_budget,
        "updates/average-rate" => updates::average_rate,
        "updates/writes-within-burst" => updates::writes_within_burst,
        "updates/no-empty-writes" => updates::no_empty_writes,
        "updates/status-by-subresource" => updates::status_by_subresource,
        "updates/distinct-appliers" => updates::distinct_appliers,
        "updates/no-dynamic-data" => updates::no_dynamic_data,
        "updates/restart-within-burst" => updates::restart_within_burst,
        "updates/scale-within-budget" => updates::scale_within_budget,
        "lifecycle/join-creates-profile" => lifecycle::join_creates_profile,
        "lifecycle/join-fills-status" => lifecycle::join_fills_status,
        "lifecycle/leave-retires-profile" => lifecycle::leave_retires_profile,
        "lifecycle/deleted-profile-restored" => lifecycle::deleted_profile_restored,
        "lifecycle/status-restored" => lifecycle::status_restored,
        "lifecycle/label-restored" => lifecycle::label_restored,
        "lifecycle/foreign-profiles-untouched" => lifecycle::foreign_profiles_untouched,
        "lifecycle/restart-keeps-profiles" => lifecycle::restart_keeps_profiles,
        "lifecycle/heal-restores-status" => lifecycle::heal_restores_status,
        "placement-slices/size" => placement_slices::size,
        "placement-slices/decisions-present" => placement_slices::decisions_present,
        "placement-slices/key-shared" => placement_slices::key_shared,
        "placement-slices/key-valid" => placement_slices::key_valid,
        "placement-slices/key-one-decision" => placement_slices::key_one_decision,
        "placement-slices/index-is-number" => placement_slices::index_is_number,
        "placement-slices/index-complete" => placement_slices::index_complete,
        "placement-slices/index-all-or-none" => placement_slices::index_all_or_none,
        "placement-slices/no-needless-slices" => placement_slices::no_needless_slices,
        "placement-slices/cluster-once" => placement_slices::cluster_once,
        "placement-slices/name-deterministic" => placement_slices::name_deterministic,
        "placement-references/resolve" => placement_references::resolve,
        "placement-references/resolve-across-time" => placement_references::resolve_across_time,
        "placement-references/name-valid" => placement_references::name_valid,
        "placement-references/namespace-readable" => placement_references::namespace_readable,
        "placement-references/of-one-inventory" => placement_references::of_one_inventory,
        "placement-references/selected-is-alive" => placement_references::selected_is_alive,
        "placement-references/no-legacy-keys" => placement_references::no_legacy_keys,
        "placement-labels/scheduler-named" => placement_labels::scheduler_named,
        "placement-labels/scheduler-stable" => placement_labels::scheduler_stable,
        "placement-labels/placement-key-usable" => placement_labels::placement_key_usable,
        "placement-labels/placement-key-matches-workload" => placement_labels::placement_key_matches_workload,
        "placement-labels/no-unknown-multicluster-labels" => placement_labels::no_unknown_multicluster_labels,
        "placement-labels/reason-is-public" => placement_labels::reason_is_public,
        "placement-ownership/one-writer" => placement_ownership::one_writer,
        "placement-ownership/consumers-read-only" => placement_ownership::consumers_read_only,
        "placement-ownership/consumers-cannot-write" => placement_ownership::consumers_cannot_write,
        "placement-ownership/foreign-decisions-untouched" => placement_ownership::foreign_decisions_untouched,
        "placement-ownership/not-a-conversation" => placement_ownership::not_a_conversation,
        "placement-updates/stable-order" => placement_updates::stable_order,
        "placement-updates/no-empty-writes" => placement_updates::no_empty_writes,
        "placement-updates/not-churning" => placement_updates::not_churning,
        "placement-updates/no-torn-reschedule" => placement_updates::no_torn_reschedule,
        "placement-updates/index-follows-order" => placement_updates::index_follows_order,
        "placement-lifecycle/placed" => placement_lifecycle::placed,
        "placement-lifecycle/crosses-the-limit" => placement_lifecycle::crosses_the_limit,
        "placement-lifecycle/unplaced" => placement_lifecycle::unplaced,
        "placement-lifecycle/none-selected" => placement_lifecycle::none_selected,
        "placement-lifecycle/restored" => placement_lifecycle::restored,
        "placement-lifecycle/restart-keeps" => placement_lifecycle::restart_keeps,
        "placement-lifecycle/owner-collects" => placement_lifecycle::owner_collects,
    }
    .into();
    bindings
        .into_iter()
        .map(|(id, text, examine)| {
            // The files are compiled in, and a test parses each of them.
            let facts = Facts::parse(id, text).unwrap_or_else(|error| panic!("{error}"));
            Rule { id, facts, examine }
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
    /// The API that it is about: its editions are all of one.
    pub fn api(&self) -> Api {
        self.facts.since.api()
    }

    /// What it examines and finds in the evidence.
    pub fn findings(&self, evidence: &Evidence) -> Findings {
        let mut findings = Findings::default();
        (self.examine)(evidence, &mut findings);
        findings
    }

    /// The part of the id before the slash.
    pub fn suite(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
        path::{Path, PathBuf},
    };

    use super::all;

    /// A folder or file of this crate's sources.
    fn source(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("rules").join(path)
    }

    /// The bindings above, as written: each id with the module and the name of its function.
    fn bindings() -> Vec<(String, String, String)> {
        let text = fs::read_to_string(source("registry.rs")).expect("this file");
        let lines = text.lines().filter_map(|line| {
            let (id, path) = line.trim().strip_prefix('"')?.split_once("\" => ")?;
            let (suite, function) = path.strip_suffix(',')?.split_once("::")?;
            Some((id.to_owned(), suite.to_owned(), function.to_owned()))
        });
        lines.collect()
    }

    /// The functions of a suite's files, each with the first line of its documentation.
    fn functions(suite: &str) -> Vec<(String, String)> {
        let mut functions = Vec::new();
        for file in fs::read_dir(source(suite)).expect("a folder for each suite") {
            let text = fs::read_to_string(file.expect("an entry").path()).expect("a source file");
            let mut documentation: Option<&str> = None;
            for line in text.lines() {
                if let Some(words) = line.strip_prefix("///") {
                    documentation.get_or_insert(words.trim());
                } else if line.starts_with("#[") {
                    // An attribute may be between documentation and function.
                } else {
                    let function = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
                    if let Some((name, _)) = function.filter(|_| !line.starts_with(' ')) {
                        functions.push((name.to_owned(), documentation.unwrap_or_default().to_owned()));
                    }
                    documentation = None;
                }
            }
        }
        functions
    }

    /// `grep -rn '`suite/name`' src/judge/rules` leads to the function of every rule.
    #[test]
    fn the_documentation_of_a_rule_s_function_begins_with_its_id() {
        let bindings = bindings();
        assert_eq!(bindings.len(), all().len(), "some bindings were not understood");
        let suites: BTreeSet<&str> = bindings.iter().map(|(_, suite, _)| &**suite).collect();
        let mut claims: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for suite in suites {
            for (name, first) in functions(suite) {
                if let Some(id) = first.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
                    && id.contains('/')
                {
                    let claim = format!("{suite}::{name}");
                    claims.entry(id.to_owned()).or_default().push(claim);
                }
            }
        }
        let mut complaints = Vec::new();
        for (id, suite, function) in bindings {
            let bound = format!("{suite}::{function}");
            if id.replace('-', "_") != format!("{suite}/{function}") {
                complaints.push(format!("{id} is bound to {bound}, which has another name"));
            }
            match claims.remove(&id).unwrap_or_default().as_slice() {
                [one] if *one == bound => {}
                [] => complaints.push(format!("begin the documentation of {bound} with the line `{id}`")),
                others => complaints.push(format!(
                    "{id} is bound to {bound}, but stands at the head of {}",
                    others.join(" and ")
                )),
            }
        }
        for (id, functions) in claims {
            complaints.push(format!(
                "{} has the id {id}, which is not registered",
                functions.join(" and ")
            ));
        }
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}
