//! How a testbed opens the addresses of its members.

use evidence::MemberAddress;

use super::{members::NewAddress, session::Session};

impl Session<'_> {
    /// Opens an address of a member; none if that fails.
    pub async fn address(&self, what: &str) -> Option<MemberAddress> {
        self.open(NewAddress {
            member: self.name(what),
            ..NewAddress::default()
        })
        .await
    }

    /// Opens such an address; none if that fails.
    pub async fn open(&self, new: NewAddress) -> Option<MemberAddress> {
        match self.plan.members.open(&new).await {
            Ok(address) => Some(address),
            Err(error) => {
                self.warn(&format!("the member {} is left out: {error}", new.member));
                None
            }
        }
    }

    /// Opens a proxy; none if that fails.
    pub async fn proxy(&self) -> Option<String> {
        match self.plan.members.open_proxy().await {
            Ok(url) => Some(url),
            Err(error) => {
                self.warn(&format!("the proxy is left out: {error}"));
                None
            }
        }
    }
}
