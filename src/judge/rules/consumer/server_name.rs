//! Whether a consumer asks for the server that a profile names.

use std::net::IpAddr;

use evidence::MemberCall;

use crate::{
    engine::{
        Answer,
        consumer::{AccessEntry, without_dot},
    },
    subjects::Finding,
    text::{ABSENT, redacted},
};

/// `consumer-access/tls-server-name-honoured`
///
/// Each connection asks for the name that the entry has. Clients do not send IP addresses.
pub(in crate::rules) fn tls_server_name_honoured(connection: &MemberCall, entry: &AccessEntry) -> Answer {
    let name = entry
        .provider
        .cluster
        .tls_server_name
        .as_deref()
        .unwrap_or_default();
    if name.is_empty() {
        return Answer::NotApplicable;
    }
    let is_asked = match connection.server_name.as_deref() {
        Some(sent) => without_dot(sent).eq_ignore_ascii_case(without_dot(name)),
        None => name.parse::<IpAddr>().is_ok(),
    };
    Answer::broken_if(!is_asked, || {
        let sent = connection
            .server_name
            .as_deref()
            .map_or(ABSENT.to_owned(), redacted);
        Finding::at_path(
            "status.accessProviders[].cluster.tls-server-name",
            "the consumer drops the server name for TLS",
        )
        .expected(redacted(name))
        .observed(format!(
            "{sent} in a connection to {} at {}",
            redacted(&connection.url),
            connection.at
        ))
    })
}
