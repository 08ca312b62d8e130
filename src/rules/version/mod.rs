//! The suite `version`.

mod upgrade;

pub(super) use upgrade::follows_upgrade;
