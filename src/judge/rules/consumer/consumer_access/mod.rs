//! The suite `consumer-access`: a consumer reaches members as their profiles say.

mod certificates;
mod guess;
mod lists;
mod providers;
mod proxy;
mod server_name;

pub(in crate::rules) use certificates::ca_honoured;
pub(in crate::rules) use guess::no_guess;
pub(in crate::rules) use lists::list_by_version;
pub(in crate::rules) use providers::picks_known_provider;
pub(in crate::rules) use proxy::proxy_honoured;
pub(in crate::rules) use server_name::tls_server_name_honoured;
