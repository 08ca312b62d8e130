//! The suite `consumer-secrets`: a consumer keeps credentials to itself.

mod own_member;

pub(in crate::rules) use own_member::credential_to_its_member_only;
