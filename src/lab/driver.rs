//! How a run drives the reference implementations, and the fake members that it offers to any manager.

use std::collections::BTreeMap;

use collect::{
    clock::Clock,
    driver::{Called, HookRequest, Hooks, Offer, OfferError, Offered},
};
use evidence::{DriverAction, api::Role};
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    manager::Manager,
    member::{FakeMember, MemberState, Served},
};

/// The version after an upgrade.
const UPGRADED: &str = "v1.35.1";

/// An order to a reference implementation, which ignores those that it does not know.
#[derive(Clone)]
pub(crate) struct Order {
    pub action: DriverAction,
    /// The name of the member or of the workload; empty if the order concerns neither.
    pub name: String,
    /// A client for the member that joins; its user may do everything.
    pub member: Option<kube::Client>,
    /// How many clusters the workload needs.
    pub clusters: usize,
}

/// Controls a reference implementation, as an administrator would. Clones control the same one.
#[derive(Clone, Debug)]
pub struct Remote(mpsc::UnboundedSender<(Order, oneshot::Sender<()>)>);

/// The receiving end of a [`Remote`]: orders, each with a channel that confirms it.
pub(crate) type Orders = mpsc::UnboundedReceiver<(Order, oneshot::Sender<()>)>;

pub(crate) fn remote() -> (Remote, Orders) {
    let (orders, received) = mpsc::unbounded_channel();
    (Remote(orders), received)
}

impl Remote {
    /// Sends an order. Returns once the implementation has confirmed it; false if it does not run.
    async fn send(&self, order: Order) -> bool {
        let (confirm, confirmed) = oneshot::channel();
        self.0.send((order, confirm)).is_ok() && confirmed.await.is_ok()
    }
}

/// Drives the reference implementations of one or several roles, with members in this process.
pub struct ReferenceHooks {
    remotes: BTreeMap<Role, Remote>,
    clock: Clock,
    members: Mutex<BTreeMap<String, FakeMember>>,
}

impl ReferenceHooks {
    /// Drives the implementations of these remote controls. The members' time is that of `clock`.
    pub fn new(remotes: impl IntoIterator<Item = (Role, Remote)>, clock: Clock) -> Self {
        Self {
            remotes: remotes.into_iter().collect(),
            clock,
            members: Mutex::default(),
        }
    }
}

/// The roles whose implementations act.
fn roles(action: DriverAction) -> &'static [Role] {
    use DriverAction::{Place, Reschedule, Restart, Start, Stop, Uninstall, Unplace};
    match action {
        Place | Reschedule | Unplace => &[Role::Scheduler],
        // A restart is one of both, as of a program that is both.
        Restart => &[Role::Manager, Role::Scheduler],
        Stop | Start | Uninstall => &[Role::Consumer],
        _ => &[Role::Manager],
    }
}

impl Hooks for ReferenceHooks {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let lacks = !roles(action).iter().any(|role| self.remotes.contains_key(role));
        lacks.then(|| format!("the reference implementation has no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a HookRequest<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        let name = match (call.member, call.placement) {
            (Some(member), _) => member.name.clone(),
            (None, Some(placement)) => placement.name.clone(),
            (None, None) => String::new(),
        };
        let member = self.members.lock().get(&name).cloned();
        let order = Order {
            action: call.action,
            member: member.map(|member| member.client_as(FakeMember::ADMIN, Manager::NAME)),
            name,
            clusters: call.placement.map_or(0, |placement| placement.clusters),
        };
        async move {
            for role in roles(call.action) {
                let Some(remote) = self.remotes.get(role) else {
                    continue;
                };
                let is_confirmed = tokio::select! {
                    is_confirmed = remote.send(order.clone()) => is_confirmed,
                    () = stop.cancelled() => return Called::failed("the run was stopped"),
                };
                if !is_confirmed {
                    return Called::failed(format!("the reference {role} has ended, or was not started"));
                }
            }
            Called::success()
        }
        .boxed()
    }
}

impl Offer for ReferenceHooks {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        let fake_member = FakeMember::new(name, self.clock, MemberState::default());
        self.members.lock().insert(name.to_owned(), fake_member.clone());
        let member = OfferedMember {
            fake_member,
            served: None,
        };
        async move { Ok(Box::new(member) as Box<dyn Offered>) }.boxed()
    }
}

/// Offers fake members on ports of this machine.
#[derive(Debug)]
pub struct StandIns {
    clock: Clock,
}

impl StandIns {
    /// Makes members whose time is that of `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }
}

impl Offer for StandIns {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        async move {
            let fake_member = FakeMember::new(name, self.clock, MemberState::default());
            let served = fake_member
                .serve()
                .await
                .map_err(|error| OfferError(error.into()))?;
            let served = Some(served);
            Ok(Box::new(OfferedMember { fake_member, served }) as Box<dyn Offered>)
        }
        .boxed()
    }
}

/// A fake member, on a port if it must be reached from outside this process.
struct OfferedMember {
    fake_member: FakeMember,
    served: Option<Served>,
}

impl Offered for OfferedMember {
    fn kubeconfig(&self) -> Option<String> {
        self.served.as_ref().map(Served::kubeconfig)
    }

    fn server(&self) -> Option<String> {
        self.served.as_ref().map(Served::server)
    }

    fn break_down(&self) {
        self.fake_member.alter(|state| state.unreachable = true);
    }

    fn heal(&self) {
        self.fake_member.alter(|state| state.unreachable = false);
    }

    fn upgrade(&self) -> String {
        self.fake_member
            .alter(|state| UPGRADED.clone_into(&mut state.version));
        UPGRADED.to_owned()
    }
}
