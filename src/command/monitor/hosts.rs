//! The names under which the page is served: no website may reach it by a name that resolves to this machine.
//!
//! Such a page (DNS rebinding) is asked for by its own name, so that name comes in the header `Host`. An address in its place
//! is nobody's to resolve: kubelets and Prometheus ask by the address of the Pod. Nor can a website be of a name without a dot,
//! or of a Service: those resolve within the cluster alone.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header, uri::Authority};

/// The ends of names that resolve on this machine alone.
const OF_MACHINE: [&str; 2] = ["localhost", ".localhost"];
/// The ends of names that resolve within a cluster, or a ClusterSet, alone.
const OF_CLUSTER: [&str; 3] = [".svc", ".svc.cluster.local", ".svc.clusterset.local"];

/// The names under which the page is served.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Further ones, such as that of an Ingress.
    named: Vec<String>,
    /// True if only this machine reaches the page.
    is_local: bool,
}

impl Hosts {
    /// Those of a page at that address, and further ones.
    pub fn of(address: SocketAddr, named: &[String]) -> Self {
        Self {
            named: named.iter().map(|name| plain(name)).collect(),
            is_local: address.ip().is_loopback(),
        }
    }

    /// True if a request is meant for the page: by each name that it gives. Without one, it is from no browser.
    pub fn accept(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let given = headers.get_all(header::HOST).iter();
        let given = given.map(|value| value.to_str().unwrap_or_default());
        given
            .chain(uri.authority().map(Authority::as_str))
            .all(|host| self.has(host))
    }

    fn has(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        // No header has a port that is no number, nor the name of a user.
        let is_odd = authority.port_u16().is_none() && authority.as_str() != authority.host();
        if is_odd || authority.as_str().contains('@') {
            return false;
        }
        let host = plain(authority.host());
        let ends_with_one = |ends: &[&str]| ends.iter().any(|end| host.ends_with(end));
        let is_machine = host == OF_MACHINE[0] || host.ends_with(OF_MACHINE[1]);
        let is_cluster = !host.contains('.') || ends_with_one(&OF_CLUSTER);
        is_address(&host) || is_machine || (!self.is_local && is_cluster) || self.named.contains(&host)
    }
}

/// A name in small letters, without the dot of the root.
fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(host).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepts(listen: &str, named: &[&str], host: &str) -> bool {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let hosts = Hosts::of(listen.parse().expect("an address"), &named);
        let value = HeaderValue::from_str(host).expect("a header");
        hosts.accept(
            &Uri::from_static("/"),
            &HeaderMap::from_iter([(header::HOST, value)]),
        )
    }

    const LOCAL: &str = "127.0.0.1:8080";
    const IN_POD: &str = "0.0.0.0:8080";

    #[test]
    fn a_website_does_not_reach_the_page_by_its_own_name() {
        for listen in [LOCAL, "[::1]:8080", IN_POD, "[::]:8080"] {
            for host in [
                "evil.example",
                "evil.example:8080",
                "127.0.0.1.evil.example",
                "localhost.evil.example",
                "evillocalhost",
                "monitor.svc.evil.example",
                "127.0.0.1:x",
                "localhost@evil.example",
                "",
            ] {
                let is_word = host == "evillocalhost" && listen != LOCAL && listen != "[::1]:8080";
                assert_eq!(accepts(listen, &[], host), is_word, "{host} at {listen}");
            }
        }
    }

    #[test]
    fn who_is_on_this_machine_or_in_the_cluster_reaches_it() {
        for host in [
            "localhost",
            "LocalHost:8080",
            "localhost.",
            "127.0.0.1:8080",
            "[::1]:8080",
            "[::1]",
            "m.localhost",
        ] {
            assert!(accepts(LOCAL, &[], host) && accepts(IN_POD, &[], host), "{host}");
        }
        // Of a Pod: the kubelet and Prometheus by its address, others by the name of its Service.
        for host in [
            "10.244.0.7:8080",
            "[fd00::7]:8080",
            "monitor:8080",
            "monitor.fleet.svc:8080",
            "monitor.fleet.svc.cluster.local:8080",
            "monitor.fleet.svc.clusterset.local:8080",
        ] {
            assert!(accepts(IN_POD, &[], host), "{host}");
        }
        // That of a Service and its namespace may as well be a website's.
        assert!(!accepts(IN_POD, &[], "monitor.fleet:8080"));
        assert!(accepts(IN_POD, &["monitor.fleet"], "monitor.fleet:8080"));
        assert!(!accepts(LOCAL, &[], "monitor:8080"));
    }

    #[test]
    fn further_names_are_reached_as_they_are_given() {
        let named = ["Monitor.Corp.Example"];
        assert!(accepts(IN_POD, &named, "monitor.corp.example"));
        assert!(accepts(LOCAL, &named, "monitor.corp.example.:443"));
        assert!(!accepts(LOCAL, &named, "other.corp.example"));
        assert!(!accepts(LOCAL, &named, "x.monitor.corp.example"));
    }

    #[test]
    fn every_name_of_a_request_counts() {
        let hosts = Hosts::of(LOCAL.parse().expect("an address"), &[]);
        let good = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("localhost"))]);
        let mut both = good.clone();
        both.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(!hosts.accept(&Uri::from_static("/"), &both));
        assert!(!hosts.accept(&Uri::from_static("http://evil.example/"), &good));
        assert!(hosts.accept(&Uri::from_static("/"), &good));
        assert!(hosts.accept(&Uri::from_static("/"), &HeaderMap::new()));
    }
}
