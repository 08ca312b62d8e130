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

pub(super) use display_name::display_name_kept;
pub(super) use immutable::manager_immutable;
pub(super) use label::{
    manager_label_from_creation, manager_label_matches, manager_label_present, manager_name_usable,
};
pub(super) use member::one_profile_per_cluster;
pub(super) use member_id::{
    member_id_from_creation, member_id_non_empty, member_id_set, member_id_stable, member_id_unique,
};
pub(super) use member_id_tie::member_id_no_tie;
pub(super) use name_unique::name_unique;
pub(super) use names::name_follows_guidance;
pub(super) use owners::{manager_unique, one_manager_per_profile};
