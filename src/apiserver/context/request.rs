//! An authorized request, as its handler gets it.

use std::sync::Arc;

use crate::{
    access::user::User,
    context::{audit::Entry, state::State},
    request::info::RequestInfo,
};

pub(crate) struct Context<'a> {
    pub(crate) state: &'a Arc<State>,
    pub(crate) info: &'a RequestInfo,
    pub(crate) user: &'a User,
    /// The User-Agent.
    pub(crate) agent: &'a str,
    /// The body's media type.
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) entry: &'a mut Entry,
    /// `Warning` headers, sent even if the request fails.
    pub(crate) warnings: &'a mut Vec<String>,
}
