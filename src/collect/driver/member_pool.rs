//! Members for scenarios: unlimited where the run makes them up, shared where they are the implementer's own.

use std::sync::atomic::{AtomicUsize, Ordering};

use evidence::runs::member_name;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::plan::{DriverPlan, Fleet, OwnMember};

/// The members that scenarios can take.
pub(super) struct MemberPool {
    run: String,
    next: AtomicUsize,
    /// The implementer's own members that no scenario has.
    own: Option<(Semaphore, Mutex<Vec<OwnMember>>)>,
}

impl MemberPool {
    /// All members of a plan.
    pub fn new(plan: &DriverPlan) -> Self {
        Self {
            run: plan.run.clone(),
            next: AtomicUsize::new(1),
            own: match &plan.fleet {
                Fleet::StandIns(_) | Fleet::Made(_) => None,
                // The last is taken first.
                Fleet::Own(own, _) => Some((
                    Semaphore::new(own.len()),
                    own.iter().rev().cloned().collect::<Vec<_>>().into(),
                )),
            },
        }
    }

    /// Takes that many members together, once they are free.
    pub async fn take(&self, count: usize) -> Vec<OwnMember> {
        let Some((permits, own)) = &self.own else {
            let names = (0..count).map(|_| self.name());
            return names
                .map(|name| OwnMember {
                    name,
                    ..OwnMember::default()
                })
                .collect();
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if let Ok(permit) = permits.acquire_many(count).await {
            permit.forget();
        }
        let mut own = own.lock();
        let left = own.len().saturating_sub(count as usize);
        own.split_off(left)
    }

    /// Two new members of which one has the other's name and a suffix; none if members are the implementer's own.
    pub fn similar(&self) -> Vec<OwnMember> {
        if self.own.is_some() {
            return Vec::new();
        }
        let name = self.name();
        let names = [format!("{name}-b"), name];
        names
            .into_iter()
            .rev()
            .map(|name| OwnMember {
                name,
                ..OwnMember::default()
            })
            .collect()
    }

    /// Returns a member that has left.
    pub fn give_back(&self, member: OwnMember) {
        if let Some((permits, own)) = &self.own {
            own.lock().push(member);
            permits.add_permits(1);
        }
    }

    /// A name that nothing else of the run has.
    pub fn name(&self) -> String {
        member_name(&self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
