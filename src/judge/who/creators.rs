//! Who creates objects under the name of a producer.

use std::collections::BTreeMap;

use evidence::Request;

use super::{
    hand::{Hand, Who},
    logged::{Judged, events, is_creation},
};

/// The users of one producer's name, as one: a user, or all that were claimed.
pub(crate) struct Creator<'e> {
    /// The user of the first creation.
    pub(crate) by: &'e str,
    /// The first creation.
    pub(crate) created: &'e Request,
}

impl<'e, T: Judged> Who<'e, T> {
    /// Who created objects under each producer's name, which `named` tells of a request. People and tools that write for them
    /// are left out: a backup restores objects with all that their producer wrote. Who created first comes first.
    pub(crate) fn creators(
        &self,
        named: impl Fn(&'e Request) -> Option<&'e str>,
    ) -> BTreeMap<&'e str, Vec<Creator<'e>>> {
        let mut created: BTreeMap<(&str, Option<&str>), &Request> = BTreeMap::new();
        for request in events::<T>(self.evidence) {
            let is_left_out = matches!(self.hand_of(request), Hand::Run | Hand::Other);
            if is_left_out || !request.is_write() || &*request.verb == "deletecollection" {
                continue;
            }
            let Some(producer) = named(request) else { continue };
            let user = Some(&*request.user).filter(|user| !self.is_claimed_user(user));
            if is_creation(request) {
                created.entry((producer, user)).or_insert(request);
            }
        }
        let mut creators: BTreeMap<&str, Vec<Creator>> = BTreeMap::new();
        for ((producer, _), created) in created {
            creators.entry(producer).or_default().push(Creator {
                by: &created.user,
                created,
            });
        }
        for creators in creators.values_mut() {
            creators.sort_by_key(|creator| creator.created.at);
        }
        creators
    }
}
