//! The members that scenarios can take.

use std::sync::atomic::{AtomicUsize, Ordering};

use evidence::runs::member_name;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{DriverPlan, HookMember};

/// The members that scenarios can take: unlimited if the run names them, shared if they are the implementer's own.
pub(super) struct MemberPool {
    run: String,
    next: AtomicUsize,
    /// None unless they are the implementer's own.
    own_members: Option<Mutex<OwnMembers>>,
    /// Wakes the scenarios that wait for members.
    changed: Notify,
}

struct OwnMembers {
    /// Members that no scenario has. The last is taken first.
    free: Vec<HookMember>,
    /// Number of members that have not failed to leave.
    usable: usize,
}

impl MemberPool {
    pub fn new(plan: &DriverPlan) -> Self {
        let members = &plan.file.members;
        let shared = || OwnMembers {
            free: members.iter().rev().cloned().collect(),
            usable: members.len(),
        };
        Self {
            run: plan.run.clone(),
            next: AtomicUsize::new(1),
            own_members: (!members.is_empty()).then(|| Mutex::new(shared())),
            changed: Notify::new(),
        }
    }

    /// Takes that many members together, once they are free. The error says why that is impossible.
    pub async fn take(&self, count: usize) -> Result<Vec<HookMember>, String> {
        let Some(own_members) = &self.own_members else {
            return Ok((0..count).map(|_| HookMember::named(self.name())).collect());
        };
        loop {
            let changed = self.changed.notified();
            if let Some(outcome) = own_members.lock().take(count) {
                return outcome;
            }
            changed.await;
        }
    }

    /// Two new members of which one has the other's name and a suffix; none if members are the implementer's own.
    pub fn similar(&self) -> Vec<HookMember> {
        if self.own_members.is_some() {
            return Vec::new();
        }
        let name = self.name();
        [name.clone(), format!("{name}-b")].map(HookMember::named).into()
    }

    pub fn give_back(&self, member: HookMember) {
        if let Some(own_members) = &self.own_members {
            own_members.lock().free.push(member);
            self.changed.notify_waiters();
        }
    }

    /// Records that a member has failed to leave: no other scenario can take it.
    pub fn lose(&self) {
        if let Some(own_members) = &self.own_members {
            own_members.lock().usable -= 1;
            self.changed.notify_waiters();
        }
    }

    /// A name that nothing else of the run has.
    pub fn name(&self) -> String {
        member_name(&self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

impl OwnMembers {
    /// Takes that many members if they are free. Returns an error if there are too few usable ones.
    fn take(&mut self, count: usize) -> Option<Result<Vec<HookMember>, String>> {
        if self.usable < count {
            let usable = self.usable;
            return Some(Err(format!(
                "too few members: {count} needed, {usable} usable; the others failed to leave"
            )));
        }
        let remaining = self.free.len().checked_sub(count)?;
        Some(Ok(self.free.split_off(remaining)))
    }
}
