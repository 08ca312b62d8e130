//! The suite `identity`: the manager, the name and the member id of profiles.

mod display_name;
mod immutable;
mod label;
mod member;
mod member_id;
mod member_id_tie;
mod name_unique;
mod names;
mod owners;

pub(in crate::rules) use display_name::display_name_kept;
pub(in crate::rules) use immutable::manager_immutable;
pub(in crate::rules) use label::{
    manager_label_from_creation, manager_label_matches, manager_label_present, manager_name_usable,
};
pub(in crate::rules) use member::one_profile_per_cluster;
pub(in crate::rules) use member_id::{
    member_id_from_creation, member_id_non_empty, member_id_set, member_id_stable, member_id_unique,
};
pub(in crate::rules) use member_id_tie::member_id_no_tie;
pub(in crate::rules) use name_unique::name_unique;
pub(in crate::rules) use names::name_follows_guidance;
pub(in crate::rules) use owners::{manager_unique, one_manager_per_profile};
