//! The reference manager as a driven implementation.

use std::collections::BTreeMap;

use collect::{
    clock::Clock,
    driver::{Call, Called, Hooks, Offer, OfferError, Offered},
};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Manager, Remote, RemoteError};
use crate::{
    driver::{Member, within},
    member::{MemberState, StandIn},
};

/// Drives the reference manager, with members in this process.
pub struct ReferenceHooks {
    remote: Remote,
    clock: Clock,
    members: Mutex<BTreeMap<String, StandIn>>,
}

impl ReferenceHooks {
    /// Drives the manager of this remote control. The members' time is that of `clock`.
    pub fn new(remote: Remote, clock: Clock) -> Self {
        Self {
            remote,
            clock,
            members: Mutex::default(),
        }
    }

    async fn act(&self, action: DriverAction, name: &str) -> Result<(), RemoteError> {
        let member = self.members.lock().get(name).cloned();
        match (action, member) {
            (DriverAction::Join, Some(member)) => {
                let client = member.client_as(StandIn::ADMIN, Manager::NAME);
                self.remote.join(name, client).await
            }
            (DriverAction::Leave, _) => self.remote.leave(name).await,
            (DriverAction::Restart, _) => self.remote.restart().await,
            (DriverAction::Disconnect, _) => self.remote.cut_off(true).await,
            (DriverAction::Reconnect, _) => self.remote.cut_off(false).await,
            // The run never asks for these: the members are stand-ins.
            _ => Ok(()),
        }
    }
}

impl Hooks for ReferenceHooks {
    fn lacking(&self, _: DriverAction) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            let name = call.member.map_or("", |member| &member.name);
            within(self.act(call.action, name), stop).await
        }
        .boxed()
    }
}

impl Offer for ReferenceHooks {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        let stand_in = StandIn::new(name, self.clock, MemberState::default());
        self.members.lock().insert(name.to_owned(), stand_in.clone());
        async move { Ok(Box::new(Member::within(stand_in)) as Box<dyn Offered>) }.boxed()
    }
}
