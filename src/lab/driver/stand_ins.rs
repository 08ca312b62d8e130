//! Offers stand-in members, on ports of this machine.

use collect::{
    clock::Clock,
    driver::{Offer, OfferError, Offered},
};
use futures::{FutureExt as _, future::BoxFuture};

use crate::member::{MemberState, Served, StandIn};

/// The version after an upgrade.
const UPGRADED: &str = "v1.35.1";

/// Offers stand-ins on ports of this machine.
#[derive(Debug)]
pub struct StandIns {
    clock: Clock,
}

/// A stand-in, on a port if it must be reached from outside this process.
pub struct Member {
    stand_in: StandIn,
    served: Option<Served>,
}

impl StandIns {
    /// Makes stand-ins whose time is that of `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }
}

impl Offer for StandIns {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        async move {
            let stand_in = StandIn::new(name, self.clock, MemberState::default());
            let served = stand_in.serve().await.map_err(|error| OfferError(error.into()))?;
            Ok(Box::new(Member {
                stand_in,
                served: Some(served),
            }) as Box<dyn Offered>)
        }
        .boxed()
    }
}

impl Member {
    /// A stand-in for this process alone.
    pub fn within(stand_in: StandIn) -> Self {
        Self {
            stand_in,
            served: None,
        }
    }
}

impl Offered for Member {
    fn kubeconfig(&self) -> Option<String> {
        self.served.as_ref().map(Served::kubeconfig)
    }

    fn server(&self) -> Option<String> {
        self.served.as_ref().map(Served::server)
    }

    fn break_down(&self) {
        self.stand_in.alter(|state| state.unreachable = true);
    }

    fn heal(&self) {
        self.stand_in.alter(|state| state.unreachable = false);
    }

    fn upgrade(&self) -> String {
        self.stand_in
            .alter(|state| UPGRADED.clone_into(&mut state.version));
        UPGRADED.to_owned()
    }
}
