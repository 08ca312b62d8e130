//! The suite `consumer-secrets`: a consumer keeps credentials to itself.

mod in_the_open;
mod own_member;

pub(in crate::rules) use in_the_open::nothing_secret_in_the_open;
pub(in crate::rules) use own_member::credential_to_its_member_only;
