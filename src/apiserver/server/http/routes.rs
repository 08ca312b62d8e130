//! Answers requests outside of the API's resources.

use crate::{
    context::request::Context,
    object::status::{Failure, Outcome},
    request::reply::Reply,
};

impl Context<'_> {
    /// Answers a request outside of the API.
    pub(crate) fn about_server(&self) -> Outcome<Reply> {
        let about = || self.state.about.lock();
        let path = self.info.path.trim_matches('/');
        let reads = matches!(self.info.verb, "get" | "head");
        match path.split_once('/').unwrap_or((path, "")) {
            (endpoint @ ("healthz" | "livez" | "readyz"), "") => {
                Ok(about().health(endpoint, &self.info.query))
            }
            (endpoint @ ("healthz" | "livez" | "readyz"), check) => about().one_check(endpoint, check),
            ("version", "") if !reads => Err(Failure::method_not_routed()),
            _ if !reads => Err(Failure::no_such_resource()),
            ("version", "") => Ok(Reply::value(200, &about().version())),
            // The core group answers with a Status, even for versions that do not exist.
            ("api", version) if !matches!(version, "" | "v1") => Err(Failure::no_such_resource()),
            _ => self.discover(self.info.path.trim_end_matches('/')),
        }
    }
}
