//! What comes to the scheduler from outside: orders of the remote control, and steps of the script.

use super::{
    controller::Controller,
    inventory::{self, MEMBERS, member, report},
    names::{PLACEMENTS, SCHEDULER},
    placement::Placement,
    remote::Order,
    script::Action,
    slice,
    world::FULL_FROM,
};
use crate::client::{RequestError, Via};

impl Controller {
    /// Follows an order of the remote control.
    pub(super) async fn follow(&mut self, order: Order) -> Result<(), RequestError> {
        match order {
            Order::Place {
                namespace,
                name,
                clusters,
            } => {
                // Of clusters to which the script does nothing.
                let placement =
                    Placement::new(&namespace, &name, clusters, self.inventory).skipping(FULL_FROM);
                self.place(placement).await?;
                if let Some(placed) = self.placed.get_mut(&(namespace, name)) {
                    placed.is_driven = true;
                }
                Ok(())
            }
            Order::Unplace { namespace, name } => self.unplace(&namespace, &name).await,
            Order::Restart => self.restart().await,
        }
    }

    /// Takes a step of the script.
    pub(super) async fn take(&mut self, action: Action) -> Result<(), RequestError> {
        match action {
            Action::Place(placement) => self.place(placement).await,
            Action::Resize { workload, clusters } => {
                let key = (PLACEMENTS.to_owned(), workload.to_owned());
                if let Some(placed) = self.placed.get_mut(&key) {
                    placed.placement.clusters = clusters;
                }
                Ok(())
            }
            Action::Unplace { workload } => self.unplace(PLACEMENTS, workload).await,
            Action::Delete { member: number } => {
                self.hub
                    .delete(&inventory::target(MEMBERS, &member(number)))
                    .await
            }
            Action::Report {
                member: number,
                health,
            } => report(&self.hub, MEMBERS, &member(number), health, self.clock.now()).await,
            Action::Request {
                workload,
                user,
                field_manager,
                patch,
            } => {
                let hub = match user {
                    Some(user) => self.hub.acting_as(user),
                    None => self.hub.clone(),
                };
                let target = slice::target(PLACEMENTS, &format!("{SCHEDULER}-{workload}-0"));
                match hub.patch(&target, field_manager, Via::Object, &patch).await {
                    // Another fault has given the slice another name.
                    Err(error) if error.is_not_found() => Ok(()),
                    done => done.map(drop),
                }
            }
        }
    }
}
