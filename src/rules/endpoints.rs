//! Endpoints of members' API servers: the property's value, the forms of one endpoint, and when two are the same.

use std::{borrow::Cow, net::Ipv4Addr, net::Ipv6Addr};

use http::Uri;

/// The value of the property `cluster-endpoints.k8s.io`, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoints<'a> {
    /// A JSON list of strings, as the documents show it.
    List(Vec<Cow<'a, str>>),
    /// One endpoint, or several between commas or white space.
    Plain(Vec<Cow<'a, str>>),
    /// JSON, but no list of strings.
    Unreadable,
}

impl<'a> Endpoints<'a> {
    /// Reads the value of the property.
    pub(super) fn read(value: &'a str) -> Self {
        let value = value.trim();
        // An IPv6 address in brackets begins like a list.
        if value.starts_with(['[', '{', '"']) && fault(value).is_some() {
            return match serde_json::from_str::<Vec<Text<'a>>>(value) {
                Ok(list) => Endpoints::List(list.into_iter().map(|text| text.0).collect()),
                Err(_) if value.starts_with("[") && !value.contains('"') => Self::plain(value),
                Err(_) => Endpoints::Unreadable,
            };
        }
        Self::plain(value)
    }

    fn plain(value: &'a str) -> Self {
        let separated = value.split(|c: char| c == ',' || c.is_whitespace());
        Endpoints::Plain(
            separated
                .filter(|entry| !entry.is_empty())
                .map(Cow::from)
                .collect(),
        )
    }

    /// The endpoints, as they are written.
    pub(super) fn entries(&self) -> &[Cow<'a, str>] {
        match self {
            Endpoints::List(entries) | Endpoints::Plain(entries) => entries,
            Endpoints::Unreadable => &[],
        }
    }
}

/// A string that borrows from the JSON where it can (`Cow` by itself never does).
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What is wrong with one endpoint; nothing when it is a URL with a host, `host:port`, an IP address or `IP:port`.
pub(super) fn fault(endpoint: &str) -> Option<&'static str> {
    let endpoint = endpoint.trim();
    if endpoint.is_empty() {
        return Some("endpoint is empty");
    }
    if endpoint.contains("://") {
        return url_fault(endpoint);
    }
    if is_ip(endpoint) {
        return None;
    }
    match endpoint.rsplit_once(':') {
        Some((host, port)) if is_host(host) && is_port(port) => None,
        Some((host, _)) if !is_host(host) => Some("endpoint has no valid host"),
        Some(_) => Some("endpoint has no valid port"),
        None if is_host(endpoint) => Some("endpoint has a host, but neither a scheme nor a port"),
        None => Some("endpoint is neither a URL, a host with a port, nor an IP address"),
    }
}

fn url_fault(url: &str) -> Option<&'static str> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Some("endpoint is no valid URL");
    };
    let port = uri.authority().and_then(|authority| {
        let after_host = authority.as_str().rsplit(['@', ']']).next().unwrap_or("");
        after_host.rsplit_once(':').map(|(_, port)| port)
    });
    match (uri.scheme_str(), uri.host()) {
        (Some("https" | "http"), Some(host)) if is_host(host) => match port {
            Some(port) if !is_port(port) => Some("endpoint has no valid port"),
            _ => None,
        },
        (Some("https" | "http"), _) => Some("endpoint has no valid host"),
        _ => Some("endpoint is no http or https URL"),
    }
}

/// An endpoint in the form in which two ways to write it are equal: no scheme, the host in lower case, a port where
/// one is known, no slash at the end. None where it names no member: it is malformed, or means the machine of
/// whoever reads it.
pub(super) fn normal(endpoint: &str) -> Option<String> {
    let endpoint = endpoint.trim();
    if fault(endpoint).is_some_and(|fault| !fault.ends_with("neither a scheme nor a port")) {
        return None;
    }
    let (scheme, rest) = match endpoint.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, endpoint),
    };
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let (host, port) = split_port(authority);
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if means_the_reader(&host) {
        return None;
    }
    let port = port.or(match scheme {
        Some("https") => Some("443"),
        Some("http") => Some("80"),
        _ => None,
    });
    let path = path.trim_end_matches('/');
    Some(match port {
        Some(port) => format!("{host}:{port}{path}"),
        None => format!("{host}{path}"),
    })
}

/// Host (an IPv6 address without its brackets) and port of an authority.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').unwrap_or((rest, ""));
        return (host, after.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether a host is another one for each who reads it, so that it identifies no member.
fn means_the_reader(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "kubernetes"
        || host == "kubernetes.default"
        || host.starts_with("kubernetes.default.svc")
        || host
            .parse::<Ipv4Addr>()
            .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
        || host
            .parse::<Ipv6Addr>()
            .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// An IPv4 address, or an IPv6 address with or without brackets.
fn is_ip(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok() || is_bracketed(text)
}

fn is_bracketed(text: &str) -> bool {
    text.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok())
}

/// What may stand before a port: an IPv4 address, a bracketed IPv6 address or a DNS name.
fn is_host(text: &str) -> bool {
    if text.parse::<Ipv4Addr>().is_ok() || is_bracketed(text) {
        return true;
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // A name that ends in a number is an IPv4 address gone wrong.
    let ends_in_number = name
        .rsplit('.')
        .next()
        .is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    name.len() <= 253 && !ends_in_number && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_endpoint() {
        let good = [
            "https://a.example",
            "https://a.example:6443/k8s/clusters/c-1",
            "http://10.0.0.1:8080",
            "https://[2001:db8::1]:6443",
            "a.example:6443",
            "A.Example.:443",
            "node1:6443",
            "100.3.3.4",
            "100.3.3.4:5683",
            "2001:db8::1",
            "[2001:db8::1]",
            "[2001:db8::1]:6443",
            "  a.example:1  ",
        ];
        for endpoint in good {
            assert_eq!(fault(endpoint), None, "{endpoint}");
        }
        let bad = [
            "",
            "a.example",
            "unknown",
            "https://",
            "https://:6443",
            "https://a.example:0",
            "https://a.example:port",
            "https://a.example:65536",
            "https://300.1.1.1",
            "tcp://a.example:6443",
            "a.example:",
            "a.example:0",
            "a.example:+80",
            "a.example:70000",
            ":6443",
            "a_b.example:443",
            "-a.example:443",
            "300.3.3.4:443",
            "1.2.3:443",
            "[2001:db8::1",
            "[a.example]:443",
            "a.example:443/path",
            "a b:443",
        ];
        for endpoint in bad {
            assert!(fault(endpoint).is_some(), "{endpoint}");
        }
    }

    #[test]
    fn forms_of_the_property() {
        let list =
            |entries: &[&str]| Endpoints::List(entries.iter().map(|e| Cow::from(e.to_string())).collect());
        let plain =
            |entries: &[&str]| Endpoints::Plain(entries.iter().map(|e| Cow::from(e.to_string())).collect());
        assert_eq!(Endpoints::read(r#"["a:1","b:2"]"#), list(&["a:1", "b:2"]));
        assert_eq!(Endpoints::read(r#" [ "https:\/\/a" ] "#), list(&["https://a"]));
        assert_eq!(Endpoints::read("[]"), list(&[]));
        assert_eq!(Endpoints::read("a:1"), plain(&["a:1"]));
        assert_eq!(Endpoints::read("a:1, b:2"), plain(&["a:1", "b:2"]));
        assert_eq!(Endpoints::read("a:1\nb:2 c:3"), plain(&["a:1", "b:2", "c:3"]));
        assert_eq!(Endpoints::read("[::1]:6443"), plain(&["[::1]:6443"]));
        assert_eq!(
            Endpoints::read("[::1]:6443,[::2]:6443"),
            plain(&["[::1]:6443", "[::2]:6443"])
        );
        assert_eq!(Endpoints::read(" "), plain(&[]));
        for unreadable in [r#"["a:1""#, r#"["a:1",2]"#, r#"{"url":"a:1"}"#, r#""a:1""#] {
            assert_eq!(Endpoints::read(unreadable), Endpoints::Unreadable, "{unreadable}");
        }
    }

    #[test]
    fn the_same_endpoint_in_other_words() {
        let same = |one: &str, other: &str| {
            assert_eq!(normal(one), normal(other), "{one} and {other}");
            assert!(normal(one).is_some(), "{one}");
        };
        same("https://A.example", "a.example:443");
        same("https://a.example.:6443/", "a.example:6443");
        same("[2001:DB8::1]:6443", "https://[2001:db8::1]:6443/");
        same("https://user:pass@a.example/x", "https://a.example/x/");
        assert_ne!(
            normal("https://gateway/clusters/a"),
            normal("https://gateway/clusters/b")
        );
        for nobody in [
            "https://localhost:6443",
            "127.0.0.1:6443",
            "[::1]:6443",
            "https://kubernetes.default.svc",
            "0.0.0.0:6443",
            "",
        ] {
            assert_eq!(normal(nobody), None, "{nobody}");
        }
    }
}
