//! The suite `version`: what a profile says of its member's version of Kubernetes.

mod member;

pub(super) use member::matches_member;
