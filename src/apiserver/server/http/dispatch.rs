//! Calls the handler of an authorized request.

use std::future::Future;

use bytes::Bytes;

use crate::{
    context::request::Context,
    object::status::{Failure, Outcome},
    request::{form::Form, reply::Reply},
    store::{named::Named, resource::Family},
    verbs::token_request,
};

impl Context<'_> {
    /// Calls the handler. Only handlers that want the body read it.
    pub(crate) async fn dispatch(&mut self, body: impl Future<Output = Outcome<Bytes>>) -> Outcome<Reply> {
        let info = self.info;
        let Some(target) = &info.target else {
            return self.about_server();
        };
        if token_request::is_token_request(target) && info.verb == "create" {
            return self.give_token(target, &body.await?);
        }
        let named = Named::find(&self.state.storage(), target)?;
        let form = Form::wanted(self.accept, &info.query)?;
        if named.resource.family == Family::Review {
            let is_routed =
                target.name.is_empty() && named.resource.namespaced != target.namespace.is_empty();
            return match (is_routed, info.verb) {
                (true, "create") => self.review(&named, &body.await?),
                (true, _) => Err(Failure::method_not_routed()),
                (false, _) => Err(Failure::no_such_resource()),
            };
        }
        self.warnings.extend(named.version().warning.clone());
        // Only lists and watches span namespaces.
        let is_everywhere = named.resource.namespaced && target.namespace.is_empty();
        if is_everywhere && !matches!(info.verb, "list" | "watch") {
            return Err(match named.resource.family {
                Family::Custom => Failure::no_such_path(),
                _ => Failure::method_not_routed(),
            });
        }
        let of = &named.scaled.as_deref().unwrap_or(&named).resource;
        let is_custom = of.family == Family::Custom;
        let (is_named, is_whole) = (!target.name.is_empty(), target.subresource.is_empty());
        let reply = match info.verb {
            "get" => self.get(&named),
            "list" => self.list(&named),
            "watch" => self.watch(&named, &form),
            // For custom resources, a create may have a name in its path.
            "create" if is_whole && (is_custom || !is_named) => self.create(&named, &body.await?),
            "update" if is_named => self.update(&named, &body.await?),
            "patch" if is_named => self.patch(&named, &body.await?),
            "delete" if is_whole => self.delete(&named, &body.await?),
            "deletecollection" => self.delete_many(&named, &body.await?),
            _ if !is_custom => Err(Failure::method_not_routed()),
            "update" | "patch" => Err(Failure::bad_request("name must be provided")),
            verb => Err(Failure::method_not_allowed(of.qualified(), verb)),
        };
        form.reply(reply?, &named, self.state.now())
    }
}
