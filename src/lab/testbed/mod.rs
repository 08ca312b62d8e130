//! The members of a testbed: for a consumer in this process under its clock, or on ports of this machine.

mod ports;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use collect::{
    driver::OfferError,
    testbed::{Arrival, Calls, MemberAddresses, NewAddress, OpenConnection},
};
use evidence::MemberAddress;
use futures::{FutureExt as _, future::BoxFuture};
pub use ports::OnPorts;

use crate::manager::new_ca_data;

/// The first port of the members.
const FIRST_PORT: u32 = 6443;

/// The members of a testbed in this process. They know what a TLS handshake would show.
#[derive(Debug)]
pub struct WithinProcess {
    calls: Arc<Calls>,
    opened: AtomicU32,
}

/// How a client begins a connection.
#[derive(Clone, Copy, Debug)]
pub struct Hello<'a> {
    /// The URL.
    pub url: &'a str,
    /// The server name that it asks for. Without one, it sends none, as for an address.
    pub server_name: Option<&'a str>,
    /// Which authority it trusts.
    pub trust: Trust<'a>,
    /// The proxy that it uses.
    pub proxy: Option<&'a str>,
}

/// Which authority a client trusts.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// An authority: its certificate, PEM in base64.
    Authority(&'a str),
    /// Any authority.
    AnyAuthority,
}

impl WithinProcess {
    /// Members that record their calls there.
    pub fn new(calls: Arc<Calls>) -> Self {
        Self {
            calls,
            opened: AtomicU32::new(0),
        }
    }

    /// Connects a client. None when no member listens, or one side does not trust the other.
    pub fn dial(&self, hello: Hello<'_>) -> Option<OpenConnection> {
        let mut addresses = self.calls.addresses();
        addresses.retain(|address| address.url == hello.url);
        if let (Some(proxy), Some((_, host))) = (hello.proxy, hello.url.split_once("://")) {
            self.calls.proxied(proxy, host);
        }
        if addresses.is_empty() {
            return None;
        }
        let arrival = Arrival {
            url: hello.url,
            server_name: hello.server_name,
            hello: true,
            via_proxy: hello.proxy.is_some(),
        };
        let is_named = |address: &&MemberAddress| {
            address.server_name.is_none() || address.server_name.as_deref() == hello.server_name
        };
        let error = match (addresses.iter().find(is_named), hello.trust) {
            (None, _) => "no certificate for that server name",
            (Some(address), Trust::Authority(known)) if known != address.ca_data => {
                "certificate signed by unknown authority"
            }
            (Some(_), _) => return Some(self.calls.connected(arrival)),
        };
        self.calls.failed(arrival, error);
        None
    }
}

impl MemberAddresses for WithinProcess {
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>> {
        async move {
            let number = self.opened.fetch_add(1, Ordering::Relaxed);
            let address = MemberAddress {
                url: new
                    .shared_url
                    .clone()
                    .unwrap_or_else(|| format!("https://192.0.2.1:{}", FIRST_PORT + number)),
                member: new.member.clone(),
                server_name: new.server_name.clone(),
                ca_data: new_ca_data(&new.member),
            };
            self.calls.open(address.clone());
            Ok(address)
        }
        .boxed()
    }

    fn open_proxy(&self) -> BoxFuture<'_, Result<String, OfferError>> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        async move { Ok(format!("http://192.0.2.1:{}", FIRST_PORT + number)) }.boxed()
    }
}

#[cfg(test)]
mod tests;
