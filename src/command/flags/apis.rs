//! Which APIs a run judges, and by which editions.

use anyhow::anyhow;
use clap::{ArgMatches, ValueEnum};
use evidence::{
    Claim,
    api::{Api, Edition},
};

use crate::command::terminal::exit::Failure;

/// The value of `--api`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Apis {
    /// ClusterProfile (KEP-4322)
    #[value(name = "clusterprofile")]
    ClusterProfile,
    /// PlacementDecision (KEP-5313)
    Placement,
    /// Both, if the hub serves both
    All,
}

impl Apis {
    pub(crate) fn hold(self, api: Api) -> bool {
        match self {
            Apis::All => true,
            Apis::ClusterProfile => api == Api::ClusterProfile,
            Apis::Placement => api == Api::Placement,
        }
    }
}

/// Has a claim judge these APIs by that edition. Without an API, the edition tells it. Of an API that the claim has, the
/// edition stays.
///
/// # Errors
/// When the edition is of an API that is not judged.
pub fn apply(apis: Option<Apis>, edition: Option<Edition>, claim: &mut Claim) -> Result<(), Failure> {
    let apis = match (apis, edition.map(Edition::api)) {
        (None, None) => return Ok(()),
        (None, Some(api)) if claim.edition_of(api).is_some() && claim.also.is_some() => Apis::All,
        (None, Some(Api::ClusterProfile)) => Apis::ClusterProfile,
        (None, Some(Api::Placement)) => Apis::Placement,
        (Some(apis), of_edition) => {
            if let Some((edition, api)) = edition.zip(of_edition)
                && !apis.hold(api)
            {
                return Err(Failure::usage(anyhow!(
                    "edition {edition} is one of the API {api}: add --api {api}, or name another edition"
                )));
            }
            apis
        }
    };
    let edition_of = |api: Api| {
        let given = edition.filter(|edition| edition.api() == api);
        given.or(claim.edition_of(api)).unwrap_or(api.default_edition())
    };
    let editions: Vec<Edition> = Api::ALL
        .into_iter()
        .filter(|api| apis.hold(*api))
        .map(edition_of)
        .collect();
    claim.edition = editions[0];
    claim.also = editions.get(1).copied();
    Ok(())
}

/// Flags that one API alone has a use for, by their ids.
const FLAGS: [(&str, Api); 16] = [
    ("scheduler", Api::Placement),
    ("scheduler_users", Api::Placement),
    ("scheduler_field_managers", Api::Placement),
    ("consumer_users", Api::Placement),
    ("workload", Api::Placement),
    ("cluster_manager", Api::ClusterProfile),
    ("cluster_manager_users", Api::ClusterProfile),
    ("cluster_manager_field_managers", Api::ClusterProfile),
    ("features", Api::ClusterProfile),
    ("no_features", Api::ClusterProfile),
    ("consumers", Api::ClusterProfile),
    ("clustersets", Api::ClusterProfile),
    ("node_tolerance", Api::ClusterProfile),
    ("members", Api::ClusterProfile),
    ("provider_file", Api::ClusterProfile),
    ("probe", Api::ClusterProfile),
];

/// The API of a flag that the run has no use for, as it judges another one; none where it has, or where evidence that is
/// read says what was judged.
pub fn useless_for(id: &str, flags: &ArgMatches) -> Option<Api> {
    let api = FLAGS.iter().find(|(flag, _)| *flag == id)?.1;
    let one = |id| flags.try_contains_id(id).unwrap_or_default();
    let apis = if one("api") {
        flags.get_one::<Apis>("api")
    } else {
        None
    };
    let edition = if one("edition") {
        flags.get_one::<Edition>("edition")
    } else {
        None
    };
    let is_read = one("from") || one("evidence");
    let is_judged = match (apis, edition) {
        (Some(apis), _) => apis.hold(api),
        (None, Some(edition)) => edition.api() == api,
        (None, None) => is_read || api == Api::ClusterProfile,
    };
    (!is_judged).then_some(api)
}

/// The API of a flag that recorded evidence has no use for, as it is judged by another one's rules.
pub fn useless_for_claim(id: &str, claim: &Claim) -> Option<Api> {
    let api = FLAGS.iter().find(|(flag, _)| *flag == id)?.1;
    claim.edition_of(api).is_none().then_some(api)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editions(apis: Option<Apis>, edition: Option<Edition>, before: &Claim) -> Vec<&'static str> {
        let mut claim = before.clone();
        apply(apis, edition, &mut claim).expect("they agree");
        claim.editions().map(Edition::name).collect()
    }

    #[test]
    fn the_edition_tells_the_api() {
        let new = Claim::default();
        assert_eq!(editions(None, None, &new), ["standard"]);
        assert_eq!(editions(None, Some(Edition::Y2026M07), &new), ["2026-07"]);
        let newest = Some(Edition::Placement2026M09);
        assert_eq!(editions(None, newest, &new), ["placement-2026-09"]);
        assert_eq!(editions(Some(Apis::Placement), None, &new), ["placement-2025-09"]);
        assert_eq!(
            editions(Some(Apis::All), None, &new),
            ["standard", "placement-2025-09"]
        );
        assert_eq!(
            editions(Some(Apis::All), newest, &new),
            ["standard", "placement-2026-09"]
        );
        let refused = apply(Some(Apis::ClusterProfile), newest, &mut Claim::default());
        assert!(refused.is_err());
    }

    #[test]
    fn what_was_recorded_stays() {
        let recorded = Claim {
            edition: Edition::Y2026M09,
            also: Some(Edition::Placement2026M09),
            ..Claim::default()
        };
        assert_eq!(editions(None, None, &recorded), ["2026-09", "placement-2026-09"]);
        assert_eq!(
            editions(Some(Apis::Placement), None, &recorded),
            ["placement-2026-09"]
        );
        let older = Some(Edition::Placement2025M09);
        assert_eq!(editions(None, older, &recorded), ["2026-09", "placement-2025-09"]);
    }
}
