//! How consumers connect to the member: server, proxy and TLS.

use evidence::api::{
    ClusterProfile, Edition, Role,
    address::{Address, Schemes, url_fault},
};

use super::providers::{effective_entries, entries_with};
use crate::{
    engine::{Answer, Hub},
    text::{redacted, redacted_address, redacted_or_absent},
};

const SERVER: &str = ".cluster.server";

/// `access/server-is-url`
///
/// Each server of an access provider is an absolute URL with a host.
///
/// client-go completes a server without a scheme, so such a server is only a warning up to edition 2026-07.
pub(in crate::rules) fn server_is_url(profile: &ClusterProfile, hub: &Hub) -> Answer {
    let needs_scheme = hub.edition(Role::Manager) >= Edition::Y2026M09;
    let servers = entries_with(profile, |cluster| cluster.server.as_deref());
    Answer::each(servers, |(entry, server)| {
        let Some(fault) = url_fault(server, Schemes::Of(&["https", "http"])) else {
            return Answer::Kept;
        };
        let finding = entry
            .finding(SERVER, format!("server {fault}"))
            .expected("an absolute URL with a host, such as https://a.example:6443")
            .observed(redacted_address(server));
        if !needs_scheme && lacks_only_scheme(server) {
            Answer::warning(finding)
        } else {
            Answer::broken(finding)
        }
    })
}

/// Whether a server is `host[:port][/path]`. A single word such as `unknown` is not a host.
fn lacks_only_scheme(server: &str) -> bool {
    let completed = format!("https://{server}");
    let address = Address::split(server);
    let is_host = address.bare_host().contains(['.', ':']);
    address.scheme.is_none()
        && address.userinfo.is_none()
        && (is_host || address.port.is_some_and(|port| !port.is_empty()))
        && url_fault(&completed, Schemes::Of(&["https"])).is_none()
}

/// `access/server-told`
///
/// Each access provider has a server.
pub(in crate::rules) fn server_told(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let server = entry.provider.cluster.server.as_deref();
        Answer::broken_if(server.unwrap_or_default().is_empty(), || {
            entry
                .finding(SERVER, "access provider has no server")
                .expected("the URL by which consumers reach the member")
                .observed(redacted_or_absent(server))
        })
    })
}

/// `access/tls-verified`
///
/// Clients use TLS and verify the server's certificate.
pub(in crate::rules) fn tls_verified(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let cluster = &entry.provider.cluster;
        let verifies = Answer::broken_if(cluster.insecure_skip_tls_verify == Some(true), || {
            entry
                .finding(
                    ".cluster.insecure-skip-tls-verify",
                    "the server's certificate is not verified",
                )
                .expected("false")
                .observed("true")
        });
        let server = Address::split(cluster.server.as_deref().unwrap_or_default());
        verifies.and(Answer::broken_if(server.has_scheme("http"), || {
            entry
                .finding(SERVER, "server is accessed without TLS")
                .expected("https")
                .observed("http")
        }))
    })
}

/// `access/proxy-url-well-formed`
///
/// Each proxy is a URL that clients support.
pub(in crate::rules) fn proxy_url_well_formed(profile: &ClusterProfile, _: &Hub) -> Answer {
    let proxies = entries_with(profile, |cluster| cluster.proxy_url.as_deref());
    Answer::each(proxies, |(entry, proxy)| {
        let Some(fault) = url_fault(proxy, Schemes::Of(&["http", "https", "socks5"])) else {
            return Answer::Kept;
        };
        Answer::broken(
            entry
                .finding(".cluster.proxy-url", format!("proxy {fault}"))
                .expected("an http, https or socks5 URL with a host")
                .observed(redacted_address(proxy)),
        )
    })
}

/// `access/portable`
///
/// No access provider depends on `tls-server-name`, which v0.1.3 of the API's Go module drops.
pub(in crate::rules) fn portable(profile: &ClusterProfile, _: &Hub) -> Answer {
    Answer::each(effective_entries(profile), |entry| {
        let cluster = &entry.provider.cluster;
        let name = cluster.tls_server_name.as_deref().unwrap_or_default();
        let server = Address::split(cluster.server.as_deref().unwrap_or_default());
        let is_other_name = !name.is_empty() && !name.eq_ignore_ascii_case(server.bare_host());
        Answer::broken_if(is_other_name, || {
            entry
                .finding(
                    ".cluster.tls-server-name",
                    "released consumer libraries ignore tls-server-name",
                )
                .expected("a server whose certificate has the server's own name")
                .observed(redacted(name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_lack_only_a_scheme() {
        for server in [
            "a.example",
            "a.example:6443/api",
            "node1:6443",
            "10.0.0.1",
            "[2001:db8::1]:6443",
        ] {
            assert!(lacks_only_scheme(server), "{server}");
        }
        for server in [
            "unknown",
            "TODO",
            "n/a",
            "https:/a.example",
            "https:a",
            "user@a.example",
            "2001:db8::1",
            "",
        ] {
            assert!(!lacks_only_scheme(server), "{server}");
        }
    }
}
