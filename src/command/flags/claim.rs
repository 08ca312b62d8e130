//! The flags of the verdict: the roles, the edition, the claims and the waivers.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{
    ArgMatches, Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use evidence::{
    About, Claim, agent_program,
    api::{
        Edition, Feature, Role,
        syntax::{is_dns_label, is_label_value},
    },
};

use crate::command::{Failure, bail_usage};

/// The edition, and what the implementation claims.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Verdict")]
pub struct ClaimFlags {
    /// Who is judged [default: manager, or that of --edition]
    ///
    /// A manager writes ClusterProfiles (KEP-4322), a scheduler writes PlacementDecisions (KEP-5313), and a consumer reads
    /// ClusterProfiles and reaches their members. manager and scheduler can be judged together, with a comma between them.
    /// Recorded evidence names its roles.
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',', value_parser = role_parser())]
    pub roles: Vec<Role>,
    /// The edition of the documents [default: standard]
    ///
    /// Of managers: standard (the KEP with the proposed standard property list), 2026-07 (the KEP as merged) or 2026-09. Of
    /// schedulers: placement-2025-09 (the default) or placement-2026-09. Of consumers: consumer-2026-07 (the default) or
    /// consumer-2026-09. Recorded evidence names its edition.
    #[arg(long)]
    pub edition: Option<Edition>,
    /// A feature that the implementation claims, for example consumer-secrets
    #[arg(long = "feature", value_name = "FEATURE")]
    pub features: Vec<Feature>,
    /// A feature that the implementation declares not to have
    #[arg(long = "no-feature", value_name = "FEATURE")]
    pub no_features: Vec<Feature>,
    /// A consumer that needs a Secret for every profile
    #[arg(long = "consumer", value_name = "NAME")]
    pub consumers: Vec<String>,
    /// A user of the cluster manager (repeatable: name all)
    ///
    /// As the hub names it, for all replicas and components.
    #[arg(long = "cluster-manager-user", value_name = "USER")]
    pub cluster_manager_users: Vec<String>,
    /// A program of the cluster manager (repeatable: name all)
    ///
    /// The part of its user agent before the first `/`. Needed where several programs share one user.
    #[arg(long = "cluster-manager-agent", value_name = "PROGRAM", value_parser = agent_program)]
    pub cluster_manager_agents: Vec<String>,
    /// A field manager of the cluster manager (repeatable: name all)
    #[arg(long = "cluster-manager-field-manager", value_name = "NAME")]
    pub cluster_manager_field_managers: Vec<String>,
    /// A user of the scheduler (repeatable: name all)
    ///
    /// As the hub names it, for all replicas and components.
    #[arg(long = "scheduler-user", value_name = "USER")]
    pub scheduler_users: Vec<String>,
    /// A program of the scheduler (repeatable: name all)
    ///
    /// The part of its user agent before the first `/`. Needed where several programs share one user.
    #[arg(long = "scheduler-agent", value_name = "PROGRAM", value_parser = agent_program)]
    pub scheduler_agents: Vec<String>,
    /// A field manager of the scheduler (repeatable: name all)
    #[arg(long = "scheduler-field-manager", value_name = "NAME")]
    pub scheduler_field_managers: Vec<String>,
    /// A program of the consumer (repeatable: name all)
    ///
    /// The part of its user agent before the first `/`. Needed where other programs share the user that the driver file
    /// names. Replaces consumer.agents of the driver file.
    #[arg(long = "consumer-agent", value_name = "PROGRAM", value_parser = agent_program)]
    pub consumer_agents: Vec<String>,
    /// How many profiles the manager should publish: one per member
    #[arg(long, value_name = "N")]
    pub expect_profiles: Option<usize>,
    /// Accept node counts that differ by at most N [default: 0]
    #[arg(long, value_name = "N")]
    pub node_tolerance: Option<u64>,
    /// A namespace that represents a ClusterSet (repeatable)
    #[arg(long = "clusterset", value_name = "NS=NAME", value_parser = clusterset)]
    pub clustersets: Vec<(String, String)>,
    /// Count a broken SHOULD rule as a failure
    #[arg(long)]
    pub strict: bool,
    /// Waive the violations that FILE lists
    ///
    /// Each with a reason and a last day: `waivers: [{rule, object, reason, link, expires}]`. Reports show them as waived, never
    /// as passed.
    #[arg(long, value_name = "FILE")]
    pub waivers: Option<PathBuf>,
    /// What the configuration file says of the run, for the report to submit.
    #[arg(skip)]
    pub about: About,
}

impl ClaimFlags {
    /// Overrides a claim, for example that of an evidence file, with what the flags say.
    pub fn apply(&self, claim: &mut Claim) -> Result<(), Failure> {
        let mut both = self
            .features
            .iter()
            .filter(|feature| self.no_features.contains(feature));
        if let Some(both) = both.next() {
            bail_usage!("--feature {both} contradicts --no-feature {both}: give one of them");
        }
        let mut clustersets = BTreeMap::new();
        for (namespace, set) in &self.clustersets {
            let earlier = clustersets.insert(namespace.clone(), set.clone());
            if let Some(earlier) = earlier.filter(|earlier| earlier != set) {
                bail_usage!(
                    "--clusterset {namespace}={set} contradicts --clusterset {namespace}={earlier}: a namespace \
                     represents one ClusterSet, give one of them"
                );
            }
        }
        apply_roles(&self.roles, self.edition, claim)?;
        for feature in &self.features {
            claim.no_features.remove(feature);
            claim.features.insert(*feature);
        }
        for feature in &self.no_features {
            claim.features.remove(feature);
            claim.no_features.insert(*feature);
        }
        let (manager, scheduler) = (&mut claim.cluster_manager, &mut claim.scheduler);
        for (claimed, names) in [
            (&mut claim.consumers, &self.consumers),
            (&mut claim.consumer_agents, &self.consumer_agents),
            (&mut manager.users, &self.cluster_manager_users),
            (&mut manager.agents, &self.cluster_manager_agents),
            (&mut manager.field_managers, &self.cluster_manager_field_managers),
            (&mut scheduler.users, &self.scheduler_users),
            (&mut scheduler.agents, &self.scheduler_agents),
            (&mut scheduler.field_managers, &self.scheduler_field_managers),
        ] {
            if !names.is_empty() {
                claimed.clone_from(names);
            }
        }
        if self.expect_profiles.is_some() {
            claim.expected_profiles = self.expect_profiles;
        }
        if let Some(tolerance) = self.node_tolerance {
            claim.node_tolerance = tolerance;
        }
        if !clustersets.is_empty() {
            claim.clustersets = clustersets;
        }
        claim.strict |= self.strict;
        claim.about.update(&self.about);
        Ok(())
    }
}

/// Reads a namespace and the name of its ClusterSet, which a label of the namespace repeats.
fn clusterset(text: &str) -> Result<(String, String), &'static str> {
    let (namespace, set) = text.split_once('=').unwrap_or_default();
    if is_dns_label(namespace) && is_label_value(set) && !set.is_empty() {
        Ok((namespace.to_owned(), set.to_owned()))
    } else {
        Err("give a namespace and the name of its ClusterSet, a label value, for example fleet=production")
    }
}

/// Reads the value of `--role`.
pub fn role_parser() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::name)).map(|name| {
        let mut roles = Role::ALL.into_iter();
        // Clap takes no other names.
        roles.find(|role| role.name() == name).unwrap_or_default()
    })
}

/// Sets the roles and the edition of a claim. Without a role, it is that of the edition. A role that the claim has keeps
/// its edition.
fn apply_roles(roles: &[Role], edition: Option<Edition>, claim: &mut Claim) -> Result<(), Failure> {
    let roles_to_judge = match (roles, edition) {
        ([], None) => return Ok(()),
        ([], Some(edition)) if claim.edition_of(edition.role()).is_some() => claim.roles().collect(),
        ([], Some(edition)) => vec![edition.role()],
        (roles, Some(edition)) if !roles.contains(&edition.role()) => {
            bail_usage!(
                "edition {edition} is for the role {role}: add --role {role}, or name another edition",
                role = edition.role()
            );
        }
        (roles, _) => roles.to_vec(),
    };
    if roles_to_judge.len() > 1 && roles_to_judge.contains(&Role::Consumer) {
        bail_usage!(
            "a consumer is judged alone, as the run plays the cluster manager for it: leave out the other roles"
        );
    }
    let edition_of = |role: Role| {
        let flag = edition.filter(|edition| edition.role() == role);
        flag.or(claim.edition_of(role)).unwrap_or(role.default_edition())
    };
    let roles_to_judge = Role::ALL.into_iter().filter(|role| roles_to_judge.contains(role));
    let editions: Vec<Edition> = roles_to_judge.map(edition_of).collect();
    claim.edition = editions[0];
    claim.also = editions.get(1).copied();
    Ok(())
}

/// Flags of managers whose ids do not say so.
const OF_MANAGERS: [&str; 9] = [
    "features",
    "no_features",
    "consumers",
    "clustersets",
    "expect_profiles",
    "node_tolerance",
    "members",
    "provider_file",
    "probe",
];

/// The role that a flag applies to, by the flag's id; `None` if it applies to all.
fn role_of_flag(id: &str) -> Option<Role> {
    match id {
        "consumer_agents" => Some(Role::Consumer),
        _ if id.starts_with("scheduler") => Some(Role::Scheduler),
        _ if id.starts_with("cluster_manager") || OF_MANAGERS.contains(&id) => Some(Role::Manager),
        _ => None,
    }
}

/// Why a run of these roles does not use a flag.
pub fn unused_in_run(id: &str, roles: &[Role]) -> Option<String> {
    match id {
        "namespaces" if roles.contains(&Role::Consumer) => {
            Some("the driver file names the namespaces of a consumer".to_owned())
        }
        "observe" if roles.contains(&Role::Consumer) => {
            Some("the scenarios of a consumer set the duration".to_owned())
        }
        _ => unused_flag(id, roles),
    }
}

/// Why neither a run nor a replay of these roles uses a flag.
pub fn unused_flag(id: &str, roles: &[Role]) -> Option<String> {
    let role = role_of_flag(id)?;
    (!roles.contains(&role)).then(|| format!("it applies only to --role {role}"))
}

/// The roles that a run judges. None if evidence that is read says it.
pub fn judged_roles(flags: &ArgMatches) -> Option<Vec<Role>> {
    let has = |id| flags.try_contains_id(id).unwrap_or_default();
    if has("roles") {
        return Some(flags.get_many("roles")?.copied().collect());
    }
    if has("edition") {
        return Some(vec![flags.get_one::<Edition>("edition")?.role()]);
    }
    let is_read = has("from") || has("evidence");
    (!is_read).then(|| vec![Role::default()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Role; 2] = [Role::Scheduler, Role::Manager];

    fn editions(roles: &[Role], edition: Option<Edition>, before: &Claim) -> Vec<&'static str> {
        let mut claim = before.clone();
        apply_roles(roles, edition, &mut claim).expect("they agree");
        claim.editions().map(Edition::name).collect()
    }

    #[test]
    fn the_edition_tells_the_role() {
        let new = Claim::default();
        assert_eq!(editions(&[], None, &new), ["standard"]);
        assert_eq!(editions(&[], Some(Edition::Y2026M07), &new), ["2026-07"]);
        let newest = Some(Edition::Placement2026M09);
        assert_eq!(editions(&[], newest, &new), ["placement-2026-09"]);
        assert_eq!(editions(&[Role::Scheduler], None, &new), ["placement-2025-09"]);
        assert_eq!(editions(&BOTH, None, &new), ["standard", "placement-2025-09"]);
        assert_eq!(editions(&BOTH, newest, &new), ["standard", "placement-2026-09"]);
        let refused = apply_roles(&[Role::Manager], newest, &mut Claim::default());
        assert!(refused.is_err());
    }

    #[test]
    fn what_was_recorded_stays() {
        let recorded = Claim {
            edition: Edition::Y2026M09,
            also: Some(Edition::Placement2026M09),
            ..Claim::default()
        };
        assert_eq!(editions(&[], None, &recorded), ["2026-09", "placement-2026-09"]);
        let expected = ["placement-2026-09"];
        assert_eq!(editions(&[Role::Scheduler], None, &recorded), expected);
        let older = Some(Edition::Placement2025M09);
        assert_eq!(editions(&[], older, &recorded), ["2026-09", "placement-2025-09"]);
    }
}
