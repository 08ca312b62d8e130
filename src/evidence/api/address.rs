//! Addresses in profiles: URLs (RFC 3986), hosts with ports and IP addresses, read as clients read them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::named::named_enum;

/// The parts of an address, valid or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The text before `://`, in any case; none without one.
    pub scheme: Option<&'a str>,
    /// The text before the last `@` of the authority: a credential, or a user's name.
    pub userinfo: Option<&'a str>,
    /// A name, or an address without brackets.
    pub host: &'a str,
    /// The text after the host's colon; none without a colon.
    pub port: Option<&'a str>,
    /// The rest: path, query and fragment.
    pub path: &'a str,
    bracketed: bool,
}

/// The schemes that a URL may have.
#[derive(Clone, Copy, Debug)]
pub enum Schemes {
    /// One of these, in lower case.
    Of(&'static [&'static str]),
    /// Any that RFC 3986 allows.
    Any,
}

named_enum! {
    /// What is wrong with an address. Its text follows a subject, for example "endpoint".
    pub enum AddressFault {
        /// There is no text.
        Empty = "is empty",
        /// It has no scheme, where a URL is required.
        NotAbsolute = "is not an absolute URL",
        /// It holds a character that no URL may hold.
        NotValid = "is not a valid URL",
        /// Its scheme is not one of those that are allowed.
        Scheme = "is a URL with an unsupported scheme",
        /// It has no host.
        NoHost = "has no host",
        /// Its host is neither a name nor an IP address.
        Host = "has no valid host",
        /// Its port is not a number from 1 to 65535.
        Port = "has no valid port",
        /// Its host is an IPv6 address without brackets.
        Brackets = "has an IPv6 address without brackets",
        /// It has a host, but neither a scheme nor a port.
        NoPort = "has a host, but neither a scheme nor a port",
        /// It has none of the forms that are allowed without a scheme.
        Form = "is neither a URL, a host with a port, nor an IP address",
    }
}

impl<'a> Address<'a> {
    /// Splits an address into its parts, valid or not.
    pub fn split(text: &'a str) -> Self {
        let mut triples = text.as_bytes().windows(3);
        let (scheme, rest) = match triples.position(|triple| triple == b"://") {
            Some(at) => (Some(&text[..at]), &text[at + 3..]),
            None => (None, text),
        };
        let path = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
        let (authority, path) = rest.split_at(path.unwrap_or(rest.len()));
        let (userinfo, authority) = match authority.rsplit_once('@') {
            Some((userinfo, authority)) => (Some(userinfo), authority),
            None => (None, authority),
        };
        let (host, port, bracketed) = split_port(authority);
        Self {
            scheme,
            userinfo,
            host,
            port,
            path,
            bracketed,
        }
    }

    /// Returns `true` if the scheme is this one, which is in lower case.
    pub fn has_scheme(&self, scheme: &str) -> bool {
        self.scheme.is_some_and(|text| text.eq_ignore_ascii_case(scheme))
    }

    /// The port, or the one that the scheme implies, if known.
    pub(crate) fn known_port(&self) -> Option<&'a str> {
        let implied = || match self.scheme?.to_ascii_lowercase().as_str() {
            "https" => Some("443"),
            "http" => Some("80"),
            _ => None,
        };
        self.port.filter(|port| !port.is_empty()).or_else(implied)
    }

    /// Returns `true` if the host means the machine of its reader: a loopback or unspecified address.
    pub fn is_loopback(&self) -> bool {
        let host = self.bare_host();
        let is_own = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        is_domain_or_below(host, "localhost") || host.parse().is_ok_and(is_own)
    }

    /// Returns `true` if the host is the API server's name in any cluster: each reader reaches its own.
    pub(crate) fn is_own_api_server(&self) -> bool {
        const SERVICE: &str = "kubernetes.default.svc";
        let host = self.bare_host();
        let is = |name: &str| host.eq_ignore_ascii_case(name);
        let beginning = host.get(..SERVICE.len()).unwrap_or_default();
        is("kubernetes") || is("kubernetes.default") || beginning.eq_ignore_ascii_case(SERVICE)
    }

    /// Returns `true` if only the pods of one cluster can resolve the host: the name of a Service there.
    pub fn is_in_cluster(&self) -> bool {
        let host = self.bare_host();
        let is_service = |domain: &str| is_domain_or_below(host, domain) && host.len() > domain.len();
        self.is_own_api_server() || is_service("svc") || is_service("svc.cluster.local")
    }

    /// The host without the dot of a fully qualified name.
    pub fn bare_host(&self) -> &'a str {
        self.host.strip_suffix('.').unwrap_or(self.host)
    }

    /// What is wrong with the host, if anything. An IPv6 address needs brackets.
    fn host_fault(&self) -> Option<AddressFault> {
        let is_valid = if self.bracketed {
            is_ipv6(self.host)
        } else {
            is_host(self.host)
        };
        if is_valid {
            None
        } else if self.host.is_empty() {
            Some(AddressFault::NoHost)
        } else if !self.bracketed && is_bare_ipv6(self.host) {
            Some(AddressFault::Brackets)
        } else {
            Some(AddressFault::Host)
        }
    }
}

/// Returns what is wrong with a URL that must have a host; `None` if nothing is.
pub fn url_fault(text: &str, schemes: Schemes) -> Option<AddressFault> {
    fault_of_url(&Address::split(text), text, schemes)
}

/// Returns what is wrong with a URL, which was split from a text.
fn fault_of_url(url: &Address, text: &str, schemes: Schemes) -> Option<AddressFault> {
    let Some(scheme) = url.scheme else {
        return Some(if text.is_empty() {
            AddressFault::Empty
        } else {
            AddressFault::NotAbsolute
        });
    };
    let may_stand = |c: char| match c {
        '\\' => false,
        _ if c.is_ascii() => c.is_ascii_graphic(),
        _ => c.is_alphanumeric(),
    };
    if !text.chars().all(may_stand) {
        return Some(AddressFault::NotValid);
    }
    let is_known = match schemes {
        Schemes::Of(schemes) => schemes.iter().any(|scheme| url.has_scheme(scheme)),
        Schemes::Any => is_scheme(scheme),
    };
    if !is_known {
        return Some(AddressFault::Scheme);
    }
    // Targets of gRPC, for example dns:///thanos.example:10901 and unix:///run/x, name the host in the path.
    let is_http = url.has_scheme("https") || url.has_scheme("http");
    if matches!(schemes, Schemes::Any) && !is_http && text[scheme.len()..].starts_with(":///") {
        let has_path = text.len() > scheme.len() + ":///".len();
        return (!has_path).then_some(AddressFault::Host);
    }
    // RFC 3986 lets a URL end its authority with a bare colon.
    let is_valid = |port: &str| port.is_empty() || is_port(port);
    url.host_fault().or_else(|| {
        url.port
            .is_some_and(|port| !is_valid(port))
            .then_some(AddressFault::Port)
    })
}

/// Returns what is wrong with an endpoint. A URL with a host, `host:port`, an IP address and `IP:port` have none.
pub fn endpoint_fault(text: &str, schemes: Schemes) -> Option<AddressFault> {
    let text = text.trim();
    if text.is_empty() {
        return Some(AddressFault::Empty);
    }
    let address = Address::split(text);
    if address.scheme.is_some() {
        return fault_of_url(&address, text, schemes);
    }
    if is_ip(text) {
        return None;
    }
    let has_more = address.userinfo.is_some() || !address.path.is_empty();
    let host_fault = address.host_fault();
    match address.port {
        _ if host_fault == Some(AddressFault::Brackets) => host_fault,
        None if !has_more && host_fault.is_none() => Some(AddressFault::NoPort),
        None => Some(AddressFault::Form),
        Some(_) if address.userinfo.is_some() || host_fault.is_some() => Some(AddressFault::Host),
        Some(port) if has_more || !is_port(port) => Some(AddressFault::Port),
        Some(_) => None,
    }
}

/// An address without a scheme, without the path that may follow; a URL as it is.
pub fn without_path(text: &str) -> &str {
    let address = Address::split(text);
    if address.scheme.is_some() {
        text
    } else {
        &text[..text.len() - address.path.len()]
    }
}

fn split_port(authority: &str) -> (&str, Option<&str>, bool) {
    if let Some(rest) = authority.strip_prefix('[')
        && let Some((host, after)) = rest.split_once(']')
    {
        return match after {
            "" => (host, None, true),
            // Anything else after the bracket is not a valid port.
            after => (host, Some(after.strip_prefix(':').unwrap_or(after)), true),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port), false),
        _ => (authority, None, false),
    }
}

/// Returns `true` for an IPv6 address, or one with a port after it, that should have brackets.
fn is_bare_ipv6(host: &str) -> bool {
    let before_port = host.rsplit_once(':').map_or(host, |(before, _)| before);
    is_ipv6(host) || is_ipv6(before_port)
}

/// An IPv6 address, with or without a zone (RFC 6874).
fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once("%25").unwrap_or((text, "-"));
    address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty()
}

/// An IPv4 address, or an IPv6 address with or without brackets.
fn is_ip(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    text.parse::<IpAddr>().is_ok() || inner.parse::<Ipv6Addr>().is_ok()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// An IPv4 address or a name. RFC 1123 forbids `_` and other scripts in host names, but clients accept both.
fn is_host(text: &str) -> bool {
    if text.parse::<Ipv4Addr>().is_ok() {
        return true;
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let may_stand = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut labels = name.as_bytes().split(|byte| *byte == b'.');
    let is_label =
        |label: &[u8]| (1..=63).contains(&label.len()) && !label.starts_with(b"-") && !label.ends_with(b"-");
    // A name that ends in a number is a malformed IPv4 address.
    let last = labels.clone().next_back().unwrap_or_default();
    let ends_in_number = last.iter().all(u8::is_ascii_digit);
    name.len() <= 253 && !ends_in_number && name.chars().all(may_stand) && labels.all(is_label)
}

fn is_domain_or_below(name: &str, domain: &str) -> bool {
    let split = name.len().checked_sub(domain.len());
    let parts = split.and_then(|at| name.split_at_checked(at));
    parts.is_some_and(|(before, end)| {
        end.eq_ignore_ascii_case(domain) && (before.is_empty() || before.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: Schemes = Schemes::Of(&["http", "https"]);

    const URLS: &str = "
https://a.example HTTPS://A.Example:6443/ Http://a.example https://a.example:6443/k8s/clusters/c-1?x=y#z
https://under_score.example https://_grpc._tcp.example:443 https://10.0.0.1
https://[2001:db8::1]:6443/path https://[fe80::1%25eth0]:6443 https://bücher.example
https://localhost:6443 https://user:secret@a.example https://a.example: https://a.example.:6443";

    /// Invalid URLs, each after its fault.
    const INVALID_URLS: &str = "
NotAbsolute a.example:6443
NotAbsolute https:a.example
NoHost https://
NoHost https:///path
NoHost https://:6443
NoHost https://user@
NoHost https://?x
NoHost https://[]:1
NotValid https://a b.example
Scheme tcp://a.example
Scheme ://a.example
Port https://a.example:port
Port https://a.example:65536
Port https://a.example:0
Port https://a.example:+1
Port https://[2001:db8::1]x:1
Brackets https://2001:db8::1
Brackets https://2001:db8::1:6443/path
Brackets https://u@2001:db8:0:0:0:0:0:1:6443
Host https://[2001:db8::1
Host https://[a.example]:443
Host https://[fe80::1%25]:443
Host https://300.1.1.1
Host https://<server>
Host https://a..example
Host https://-a.example";

    const ENDPOINTS: &str = "
https://a.example HTTPS://a.example:6443/k8s/clusters/c-1 http://10.0.0.1:8080
https://[2001:db8::1]:6443 a.example:6443 A.Example.:443 a_b.example:443 node1:6443 100.3.3.4
100.3.3.4:5683 2001:db8::1 [2001:db8::1] [2001:db8::1]:6443 a.example:1";

    /// Invalid endpoints, each after its fault.
    const INVALID_ENDPOINTS: &str = "
NoPort a.example
NoPort unknown
NoHost https://:6443
Scheme tcp://a.example:6443
NotValid https://a b.example
Brackets https://2001:db8::1:443
Brackets 2001:db8:0:0:0:0:0:1:443
Port [2001:db8::1]x:1
Port a.example:
Port a.example:0
Port a.example:+80
Port a.example:70000
Port a.example:443/path
Host :6443
Host -a.example:443
Host 300.3.3.4:443
Host 1.2.3:443
Host [a.example]:443
Host admin:s3cret@a.example:443
Host a b:443
Form [2001:db8::1
Form a b";

    #[test]
    fn faults_of_urls_and_endpoints() {
        for url in URLS.split_whitespace() {
            assert_eq!(url_fault(url, HTTP), None, "{url}");
        }
        for endpoint in ENDPOINTS.split_whitespace() {
            assert_eq!(endpoint_fault(endpoint, HTTP), None, "{endpoint}");
        }
        let is = |fault: Option<AddressFault>, name: &str| format!("{fault:?}") == format!("Some({name})");
        for (name, url) in INVALID_URLS.lines().filter_map(|line| line.split_once(' ')) {
            assert!(is(url_fault(url, HTTP), name), "{url}");
        }
        for (name, endpoint) in INVALID_ENDPOINTS.lines().filter_map(|line| line.split_once(' ')) {
            assert!(is(endpoint_fault(endpoint, HTTP), name), "{endpoint}");
        }
        for (url, fault) in [
            ("", AddressFault::Empty),
            ("https:\\\\a.example", AddressFault::NotAbsolute),
            (" https://a.example", AddressFault::NotValid),
            ("https://a.example\n", AddressFault::NotValid),
            ("https://a.example\\x", AddressFault::NotValid),
        ] {
            assert_eq!(url_fault(url, HTTP), Some(fault), "{url}");
        }
        assert_eq!(endpoint_fault("", HTTP), Some(AddressFault::Empty));
        assert_eq!(endpoint_fault("  a.example:1  ", HTTP), None);
    }

    #[test]
    fn schemes_are_case_insensitive() {
        const SOCKS: Schemes = Schemes::Of(&["socks5"]);
        for (text, schemes, expected) in [
            ("socks5://[::1]:1080", SOCKS, None),
            ("SOCKS5://proxy", SOCKS, None),
            ("socks5://", SOCKS, Some(AddressFault::NoHost)),
            ("grpc://thanos.example:10901", Schemes::Any, None),
            ("dns+grpc://thanos_query:10901", Schemes::Any, None),
            ("1grpc://thanos.example", Schemes::Any, Some(AddressFault::Scheme)),
            ("gr_pc://thanos.example", Schemes::Any, Some(AddressFault::Scheme)),
            ("://thanos.example", Schemes::Any, Some(AddressFault::Scheme)),
        ] {
            assert_eq!(url_fault(text, schemes), expected, "{text}");
        }
        assert!(Address::split("HTTP://a").has_scheme("http"));
        assert!(!Address::split("a:80").has_scheme("http"));
        let port = |text| Address::split(text).known_port();
        assert_eq!(port("HTTPS://a"), Some("443"));
        assert_eq!(port("http://a:"), Some("80"));
        assert_eq!(port("http://a:8080"), Some("8080"));
        assert_eq!(port("grpc://a"), None);
    }

    #[test]
    fn loopback_and_in_cluster_hosts() {
        let loopback = "https://localhost:6443 https://api.LOCALHOST 127.0.0.1:6443 https://127.8.9.1/x [::1]:6443 \
            0.0.0.0:6443 https://u@[::]:1";
        let in_cluster = "https://kubernetes.default.svc https://Kubernetes.Default.svc.cluster.local.:443 \
            https://kubernetes https://proxy.fleet.svc:8443 proxy.fleet.SVC.cluster.local:8443";
        let elsewhere = "https://a.example:6443 https://localhost.example https://mylocalhost https://api.svc.example \
            https://svc https://proxy-svc:1 https://kubernetes.example 10.96.0.1:443";
        for (texts, is_loopback, is_in_cluster) in [
            (loopback, true, false),
            (in_cluster, false, true),
            (elsewhere, false, false),
        ] {
            for text in texts.split_whitespace() {
                let address = Address::split(text);
                assert_eq!(address.is_loopback(), is_loopback, "{text}");
                assert_eq!(address.is_in_cluster(), is_in_cluster, "{text}");
            }
        }
    }
}
