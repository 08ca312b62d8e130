//! The members of a testbed.

use evidence::MemberAddress;
use futures::future::BoxFuture;

use crate::driver::OfferError;

/// Opens addresses of members, and records who calls there in [`Calls`](super::Calls).
pub trait Members: Send + Sync {
    /// Opens an address. It answers for as long as this lives.
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>>;

    /// Opens a proxy that leads to members. Gives its URL.
    fn open_proxy(&self) -> BoxFuture<'_, Result<String, OfferError>>;
}

/// An address to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAddress {
    /// The member that answers there.
    pub member: String,
    /// The server name to which alone it answers.
    pub server_name: Option<String>,
    /// The URL to share with another member, where server names tell them apart.
    pub beside: Option<String>,
}
