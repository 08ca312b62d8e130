//! Who creates objects under the name of a producer.

use std::collections::BTreeMap;

use evidence::Request;

use super::{
    hand::{Hand, Who},
    logged::{Judged, events, is_creation},
    succession::WriteSpan,
};

/// The users of one producer's name, as one: a user, or all that were claimed.
pub(crate) struct Creator<'e> {
    /// The user of the first creation.
    pub(crate) by: &'e str,
    /// The first creation.
    pub(crate) created: &'e Request,
    /// How many there are.
    pub(crate) count: usize,
    /// The writes on objects of that producer.
    pub(crate) wrote: WriteSpan,
}

impl<'e, T: Judged> Who<'e, T> {
    /// Who created objects under each producer's name, which `named` tells of a request. People and tools that write for them
    /// are left out: a backup restores objects with all that their producer wrote. Who created first comes first.
    pub(crate) fn creators(
        &self,
        named: impl Fn(&'e Request) -> Option<&'e str>,
    ) -> BTreeMap<&'e str, Vec<Creator<'e>>> {
        let mut spans: BTreeMap<(&str, Option<&str>), WriteSpan> = BTreeMap::new();
        let mut created: BTreeMap<(&str, Option<&str>), (&Request, usize)> = BTreeMap::new();
        for request in events::<T>(self.evidence) {
            let is_left_out = matches!(self.hand_of(request), Hand::Run | Hand::Other);
            if is_left_out || !request.is_write() || &*request.verb == "deletecollection" {
                continue;
            }
            let Some(producer) = named(request) else { continue };
            let user = Some(&*request.user).filter(|user| !self.is_claimed_user(user));
            let write = WriteSpan::at(request.at);
            let span = spans.entry((producer, user)).or_insert(write);
            *span = span.and(write);
            if is_creation(request) {
                created.entry((producer, user)).or_insert((request, 0)).1 += 1;
            }
        }
        let mut creators: BTreeMap<&str, Vec<Creator>> = BTreeMap::new();
        for (key @ (producer, _), (created, count)) in created {
            creators.entry(producer).or_default().push(Creator {
                by: &created.user,
                created,
                count,
                wrote: spans[&key],
            });
        }
        for creators in creators.values_mut() {
            creators.sort_by_key(|creator| creator.created.at);
        }
        creators
    }
}
