//! The limits of v1alpha2 on access providers, which v1alpha1 lacks.

use evidence::api::AccessProvider;

use super::entries::{NO_PROVIDER, OF_ACCESS, lists, of_profile};
use crate::{
    shared::state::each_state,
    subjects::{Finding, Findings, Profiles},
};

/// The maximum number of access providers of a profile.
const MOST_PROVIDERS: usize = 64;
/// The maximum length of a name, in characters.
const LONGEST_NAME: usize = 253;
/// The maximum length of a URL, in characters.
const LONGEST_URL: usize = 2048;

/// `access/within-v1alpha2-limits`
///
/// Access providers stay within the numbers and lengths that v1alpha2 accepts.
///
/// The deprecated list is not examined: v1alpha2 lacks it.
pub(in crate::rules) fn within_v1alpha2_limits(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NO_PROVIDER);
    each_state(profiles, findings, OF_ACCESS, |profile| {
        let [(list, providers), _] = lists(profile);
        let too_many = (providers.len() > MOST_PROVIDERS).then(|| {
            Finding::on(profile, "profile has more access providers than v1alpha2 accepts")
                .at(format!("status.{list}"))
                .expected(format!("at most {MOST_PROVIDERS}"))
                .observed(providers.len().to_string())
        });
        let entries = of_profile(profile).filter(|entry| entry.list == list);
        let too_long = entries.flat_map(|entry| {
            faults(entry.provider).map(move |(part, limit, length)| {
                entry
                    .finding(&part, "text has a length that v1alpha2 does not accept")
                    .expected(limit)
                    .observed(format!("{length} characters"))
            })
        });
        let found = too_many.into_iter().chain(too_long).map(Into::into).collect();
        (!providers.is_empty()).then_some(found)
    });
}

/// The fields of a provider whose lengths are out of bounds: path, limit and length.
fn faults(provider: &AccessProvider) -> impl Iterator<Item = (String, String, usize)> {
    let cluster = &provider.cluster;
    let text = |text: &Option<_>| text.as_deref().map_or(0, length);
    let fields = [
        (".name".to_owned(), length(&provider.name), LONGEST_NAME),
        (".cluster.server".to_owned(), text(&cluster.server), LONGEST_URL),
        (
            ".cluster.tls-server-name".to_owned(),
            text(&cluster.tls_server_name),
            LONGEST_NAME,
        ),
        (
            ".cluster.proxy-url".to_owned(),
            text(&cluster.proxy_url),
            LONGEST_URL,
        ),
    ];
    let fields = fields.into_iter().filter(|(_, length, most)| length > most);
    let fields = fields.map(|(path, length, most)| (path, format!("at most {most} characters"), length));
    let extensions = cluster.extensions.iter().map(|extension| {
        let path = format!(".cluster.extensions[{}].name", extension.name);
        (path, length(&extension.name))
    });
    let extensions = extensions.filter(|(_, length)| !(1..=LONGEST_NAME).contains(length));
    let limit = format!("1 to {LONGEST_NAME} characters");
    fields.chain(extensions.map(move |(path, length)| (path, limit.clone(), length)))
}

/// The length as the API server counts it.
fn length(text: &str) -> usize {
    text.chars().count()
}
