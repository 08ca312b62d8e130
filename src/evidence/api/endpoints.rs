//! Endpoints of members' API servers: the property's value, the formats of one endpoint, and equality.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
};

use super::{
    address::{Address, AddressFault, Schemes, endpoint_fault},
    shape::strings,
};

/// The value of the property `cluster-endpoints.k8s.io`, read.
#[derive(Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// A JSON list of strings, as in the documents.
    List(Vec<String>),
    /// One endpoint, or several separated by commas or white space.
    Plain(Vec<String>),
    /// JSON, but not a list of strings.
    Unreadable,
}

impl Endpoints {
    /// Reads the value of the property.
    pub fn read(value: &str) -> Self {
        let value = value.trim();
        if value.starts_with('[')
            && let Some(list) = strings(value)
        {
            return Endpoints::List(list);
        }
        // An IPv6 address in brackets begins like a list.
        let may_be_addresses = value.starts_with('[') && !value.contains('"');
        if value.starts_with(['[', '{', '"']) && !may_be_addresses && fault(value).is_some() {
            return Endpoints::Unreadable;
        }
        Self::plain(value)
    }

    fn plain(value: &str) -> Self {
        let separated = value.split(|c: char| c == ',' || c.is_whitespace());
        Endpoints::Plain(
            separated
                .filter(|entry| !entry.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    /// The endpoints, as written.
    pub fn entries(&self) -> &[String] {
        match self {
            Endpoints::List(entries) | Endpoints::Plain(entries) => entries,
            Endpoints::Unreadable => &[],
        }
    }
}

const SCHEMES: Schemes = Schemes::Of(&["https", "http"]);

/// Returns what is wrong with an endpoint. A URL with a host, `host:port`, an IP address and `IP:port` have none.
pub fn fault(endpoint: &str) -> Option<AddressFault> {
    endpoint_fault(endpoint, SCHEMES)
}

/// The target of an endpoint in normal form: no scheme, canonical host, the port if known, no trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// A name, or an address without brackets.
    host: String,
    port: Option<String>,
    /// Begins with a slash; empty for none.
    path: String,
}

impl Place {
    /// Reads an endpoint; none if it is malformed or means the reader's own machine.
    pub fn read(endpoint: &str) -> Option<Self> {
        let endpoint = endpoint.trim();
        // A host without a port still identifies a member.
        if fault(endpoint).is_some_and(|fault| fault != AddressFault::NoPort) {
            return None;
        }
        let address = Address::split(endpoint);
        let means_the_reader = address.is_loopback() || address.is_own_api_server();
        (!means_the_reader).then(|| Self::of(&address))
    }

    fn of(address: &Address<'_>) -> Self {
        let host = address.bare_host();
        Self {
            host: match host.parse::<Ipv6Addr>() {
                Ok(ip) => ip.to_canonical().to_string(),
                Err(_) => host.to_ascii_lowercase(),
            },
            port: address.known_port().map(str::to_owned),
            path: address.path.trim_end_matches('/').to_owned(),
        }
    }

    /// Returns `true` for a private address, which means another machine in each network.
    pub fn is_private(&self) -> bool {
        let is_shared = |ip: Ipv4Addr| ip.octets()[0] == 100 && ip.octets()[1] & 0xC0 == 0x40;
        let v4 = |ip: Ipv4Addr| ip.is_private() || ip.is_link_local() || is_shared(ip);
        let v6 = |ip: Ipv6Addr| ip.is_unique_local() || ip.is_unicast_link_local();
        self.host.parse().is_ok_and(v4) || self.host.parse().is_ok_and(v6)
    }

    /// Returns `true` if host and port are equal.
    pub fn is_same_server(&self, other: &Place) -> bool {
        self.host == other.host && self.port == other.port
    }

    /// The HTTPS URLs of an endpoint, without secrets, one for each possible port; none if it cannot use TLS.
    pub fn urls(endpoint: &str) -> Option<Vec<String>> {
        let endpoint = endpoint.trim();
        if fault(endpoint).is_some() {
            return None;
        }
        let address = Address::split(endpoint);
        if address.scheme.is_some() && !address.has_scheme("https") {
            return None;
        }
        let Self { mut host, port, path } = Self::of(&address);
        if host.contains(':') {
            host = format!("[{host}]");
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        let ports = port.map_or_else(|| USUAL_PORTS.map(str::to_owned).to_vec(), |port| vec![port]);
        let urls = ports.iter().map(|port| format!("https://{host}:{port}{path}"));
        Some(urls.collect())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        if let Some(port) = &self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

const USUAL_PORTS: [&str; 2] = ["443", "6443"];

/// The text of [`Place::read`].
pub fn normal(endpoint: &str) -> Option<String> {
    Place::read(endpoint).map(|place| place.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form = fn(Vec<String>) -> Endpoints;

    #[test]
    fn forms_of_the_property() {
        let owned = |entries: &[&str]| entries.iter().map(ToString::to_string).collect();
        for (value, form, entries) in [
            (r#"["a:1","b:2"]"#, Endpoints::List as Form, &["a:1", "b:2"][..]),
            (r#" [ "https:\/\/a" ] "#, Endpoints::List, &["https://a"]),
            ("[]", Endpoints::List, &[]),
            ("a:1", Endpoints::Plain, &["a:1"]),
            ("a:1, b:2", Endpoints::Plain, &["a:1", "b:2"]),
            ("a:1\nb:2 c:3", Endpoints::Plain, &["a:1", "b:2", "c:3"]),
            ("[::1]:6443", Endpoints::Plain, &["[::1]:6443"]),
            (
                "[::1]:6443,[::2]:6443",
                Endpoints::Plain,
                &["[::1]:6443", "[::2]:6443"],
            ),
            (" ", Endpoints::Plain, &[]),
        ] {
            assert_eq!(Endpoints::read(value), form(owned(entries)));
        }
        for unreadable in [r#"["a:1""#, r#"["a:1",2]"#, r#"{"url":"a:1"}"#, r#""a:1""#] {
            assert_eq!(Endpoints::read(unreadable), Endpoints::Unreadable, "{unreadable}");
        }
    }

    #[test]
    fn endpoint_is_called_over_tls_without_secrets() {
        for (endpoint, urls) in [
            ("https://u:p@A.example/k8s/?t=x#f", "https://a.example:443/k8s"),
            ("a.example.:6443", "https://a.example:6443"),
            ("[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
            (
                "2001:db8::1",
                "https://[2001:db8::1]:443 https://[2001:db8::1]:6443",
            ),
            ("10.0.0.1", "https://10.0.0.1:443 https://10.0.0.1:6443"),
        ] {
            assert_eq!(Place::urls(endpoint).unwrap_or_default().join(" "), urls);
        }
        for endpoint in ["http://a.example", "a.example", "a b", ""] {
            assert_eq!(Place::urls(endpoint), None, "{endpoint}");
        }
    }

    #[test]
    fn private_addresses_are_recognized() {
        let is_private = |endpoint| Place::read(endpoint).map(|place| place.is_private());
        let private = "10.1.2.3:6443 https://172.31.0.1 192.168.1.1 169.254.0.1:1 100.64.0.1:443 \
                       [fd00::1]:6443 [fe80::1]:6443";
        for private in private.split(' ') {
            assert_eq!(is_private(private), Some(true), "{private}");
        }
        for public in "100.3.3.4:5683 172.32.0.1:1 https://a.example [2001:db8::1]:6443".split(' ') {
            assert_eq!(is_private(public), Some(false), "{public}");
        }
    }

    #[test]
    fn equal_endpoints_have_one_normal_form() {
        let rows = "
https://A.example a.example:443
HTTPS://a.example:/ https://a.example
https://a_b.example A_B.example:443
https://a.example.:6443/ a.example:6443
[2001:DB8::1]:6443 https://[2001:db8::1]:6443/
[2001:0db8:0:0::0001]:6443 [2001:db8::1]:6443
2001:db8:0:0:0:0:0:1 [2001:db8::1]
https://[::ffff:192.0.2.7]:6443 192.0.2.7:6443
https://user:pass@a.example/x https://a.example/x/";
        for (one, other) in rows.lines().filter_map(|row| row.split_once(' ')) {
            assert_eq!(normal(one), normal(other), "{one} and {other}");
            assert!(normal(one).is_some(), "{one}");
        }
        assert_eq!(normal("https://A.example/X/").as_deref(), Some("a.example:443/X"));
        let clusters = ["a", "b"].map(|name| normal(&format!("https://gateway/clusters/{name}")));
        assert_ne!(clusters[0], clusters[1]);
        let hosts = "https://localhost:6443 https://Kubernetes.Default.svc.cluster.local 127.0.0.1:6443 [::1]:6443 \
                   https://kubernetes.default.svc 0.0.0.0:6443";
        for host in hosts.split(' ').chain([""]) {
            assert_eq!(normal(host), None, "{host}");
        }
    }
}
