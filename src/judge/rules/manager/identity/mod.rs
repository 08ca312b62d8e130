//! The suite `identity`: the manager, the name, and the member id of profiles.

mod clusters;
mod display_name;
mod expected;
mod manager;
mod member_id;
mod writers;

pub(in crate::rules) use clusters::{
    identity_in_inventory, name_follows_guidance, name_in_use, name_unique, one_profile_per_cluster,
};
pub(in crate::rules) use display_name::display_name_kept;
pub(in crate::rules) use expected::{expected_profiles, no_expected_number};
pub(in crate::rules) use manager::{
    hub_refuses_another_manager, manager_label_from_creation, manager_label_matches, manager_label_present,
    manager_name, manager_name_usable,
};
pub(in crate::rules) use member_id::{
    member_id, member_id_from_creation, member_id_no_tie, member_id_non_empty, member_id_set,
    member_id_unique, member_key,
};
pub(in crate::rules) use writers::{manager_unique, no_request_for_others, written_by_its_manager};
