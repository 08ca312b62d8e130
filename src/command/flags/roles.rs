//! Which roles a run judges, and by which editions.

use anyhow::anyhow;
use clap::{
    ArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use evidence::{
    Claim,
    api::{Edition, Role},
};

use crate::command::terminal::exit::Failure;

/// Reads the value of `--role`, one of these.
pub fn parser<const N: usize>(roles: [Role; N]) -> impl TypedValueParser<Value = Role> {
    let named = |role: Role| {
        PossibleValue::new(role.name()).help(match role {
            Role::Manager => "Who writes ClusterProfiles (KEP-4322)",
            Role::Scheduler => "Who writes PlacementDecisions (KEP-5313)",
            Role::Consumer => "Who reads ClusterProfiles and reaches their members",
        })
    };
    PossibleValuesParser::new(roles.map(named)).map(move |name| {
        let mut roles = roles.into_iter();
        // Clap takes no other names.
        roles.find(|role| role.name() == name).unwrap_or_default()
    })
}

/// Has a claim judge these roles by that edition. Without a role, the edition tells it. Of a role that the claim has, the
/// edition stays.
///
/// # Errors
/// When the edition is of a role that is not judged.
pub fn apply(roles: &[Role], edition: Option<Edition>, claim: &mut Claim) -> Result<(), Failure> {
    let judged = match (roles, edition) {
        ([], None) => return Ok(()),
        ([], Some(edition)) if claim.edition_of(edition.role()).is_some() => claim.roles().collect(),
        ([], Some(edition)) => vec![edition.role()],
        (roles, Some(edition)) if !roles.contains(&edition.role()) => {
            return Err(Failure::usage(anyhow!(
                "edition {edition} is for the role {role}: add --role {role}, or name another edition",
                role = edition.role()
            )));
        }
        (roles, _) => roles.to_vec(),
    };
    if judged.len() > 1 && judged.contains(&Role::Consumer) {
        return Err(Failure::usage(anyhow!(
            "a consumer is judged alone, as the run plays the cluster manager for it: leave out the other roles"
        )));
    }
    let edition_of = |role: Role| {
        let given = edition.filter(|edition| edition.role() == role);
        given.or(claim.edition_of(role)).unwrap_or(role.default_edition())
    };
    let editions: Vec<Edition> = Role::ALL
        .into_iter()
        .filter(|role| judged.contains(role))
        .map(edition_of)
        .collect();
    claim.edition = editions[0];
    claim.also = editions.get(1).copied();
    Ok(())
}

/// Flags that apply to one role only, by their ids.
const FLAGS: [(&str, Role); 18] = [
    ("scheduler", Role::Scheduler),
    ("scheduler_users", Role::Scheduler),
    ("scheduler_agents", Role::Scheduler),
    ("scheduler_field_managers", Role::Scheduler),
    ("cluster_manager", Role::Manager),
    ("cluster_manager_users", Role::Manager),
    ("cluster_manager_agents", Role::Manager),
    ("cluster_manager_field_managers", Role::Manager),
    ("features", Role::Manager),
    ("no_features", Role::Manager),
    ("consumers", Role::Manager),
    ("clustersets", Role::Manager),
    ("expect_profiles", Role::Manager),
    ("node_tolerance", Role::Manager),
    ("members", Role::Manager),
    ("provider_file", Role::Manager),
    ("probe", Role::Manager),
    ("consumer_agents", Role::Consumer),
];

/// Why a run of these roles does not use a flag.
pub fn unused_in_run(id: &str, judged: &[Role]) -> Option<String> {
    match id {
        "namespaces" if judged.contains(&Role::Consumer) => {
            Some("the driver file names the namespaces of a consumer".to_owned())
        }
        "observe" if judged.contains(&Role::Consumer) => {
            Some("the scenarios of a consumer set the duration".to_owned())
        }
        _ => unused(id, judged),
    }
}

/// Why neither a run nor a replay of these roles uses a flag.
pub fn unused(id: &str, judged: &[Role]) -> Option<String> {
    let (_, role) = FLAGS.iter().find(|(flag, _)| *flag == id)?;
    (!judged.contains(role)).then(|| format!("it applies only to --role {role}"))
}

/// The roles that a run judges. None if evidence that is read says it.
pub fn judged(flags: &ArgMatches) -> Option<Vec<Role>> {
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
        apply(roles, edition, &mut claim).expect("they agree");
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
        let refused = apply(&[Role::Manager], newest, &mut Claim::default());
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
        assert_eq!(
            editions(&[Role::Scheduler], None, &recorded),
            ["placement-2026-09"]
        );
        let older = Some(Edition::Placement2025M09);
        assert_eq!(editions(&[], older, &recorded), ["2026-09", "placement-2025-09"]);
    }
}
