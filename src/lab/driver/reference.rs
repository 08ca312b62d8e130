//! The reference manager as an implementation that is driven.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use collect::{
    clock::Clock,
    driver::{Call, Called, Hooks, Offer, OfferError, Offered},
};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use super::stand_ins::Member;
use crate::{
    manager::{Manager, Remote, RemoteError},
    member::{MemberState, StandIn},
};

/// Drives the reference manager, which is given members within this process.
pub struct ReferenceHooks {
    remote: Remote,
    clock: Clock,
    members: Mutex<BTreeMap<String, StandIn>>,
}

impl ReferenceHooks {
    /// By that remote control; the members' time is that of `clock`.
    pub fn new(remote: Remote, clock: Clock) -> Self {
        Self {
            remote,
            clock,
            members: Mutex::default(),
        }
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<String, StandIn>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn act(&self, action: DriverAction, name: &str) -> Result<(), RemoteError> {
        let member = self.members().get(name).cloned();
        match (action, member) {
            (DriverAction::Join, Some(member)) => {
                let client = member.client_as(StandIn::ADMIN, Manager::NAME);
                self.remote.join(name, client).await
            }
            (DriverAction::Leave, _) => self.remote.leave(name).await,
            (DriverAction::Restart, _) => self.remote.restart().await,
            // Nobody asks for it: its members are stand-ins.
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
            let acted = tokio::select! {
                acted = self.act(call.action, name) => acted,
                () = stop.cancelled() => return Called::failed("the run was stopped"),
            };
            acted.map_or_else(|error| Called::failed(error.to_string()), |()| Called::done())
        }
        .boxed()
    }
}

impl Offer for ReferenceHooks {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        let stand_in = StandIn::new(name, self.clock, MemberState::default());
        self.members().insert(name.to_owned(), stand_in.clone());
        async move { Ok(Box::new(Member::within(stand_in)) as Box<dyn Offered>) }.boxed()
    }
}
