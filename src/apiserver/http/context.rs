//! One authorized request on its way to its handler.

use std::{future::Future, sync::Arc};

use bytes::Bytes;

use super::{
    body::Reply,
    form::Form,
    request::{RequestInfo, Target},
};
use crate::{
    about::audit::Entry,
    access::{auth::User, tokens},
    object::status::{Failure, Outcome},
    server::ApiServer,
    store::{
        builtin,
        resource::{Family, Resource, Version},
        storage::{Storage, Table, id, key},
    },
};

pub(crate) struct Context<'a> {
    pub(crate) server: &'a ApiServer,
    pub(crate) info: &'a RequestInfo,
    pub(crate) user: &'a User,
    /// The User-Agent.
    pub(crate) agent: &'a str,
    /// Of what kind the body is.
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) entry: &'a mut Entry,
    /// Texts for `Warning` headers, whether the request is refused or not.
    pub(crate) warnings: &'a mut Vec<String>,
}

/// What a request names: the resource, the version in which it does, and where.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) resource: Arc<Resource>,
    version: usize,
    pub(crate) target: Arc<Target>,
    /// Where the resource is a Scale: what is scaled.
    pub(crate) scaled: Option<Arc<Named>>,
}

impl Named {
    pub(crate) fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    pub(crate) fn api_version(&self) -> String {
        self.resource.api_version(&self.version().name)
    }

    /// The namespace in which to look, empty for all.
    pub(crate) fn namespace(&self) -> &str {
        match self.resource.namespaced {
            true => &self.target.namespace,
            false => "",
        }
    }

    /// The key of the object.
    pub(crate) fn key(&self) -> String {
        key(self.namespace(), &self.target.name)
    }

    /// A resource of a single version.
    pub(crate) fn only(resource: Arc<Resource>, target: &Arc<Target>) -> Self {
        Self {
            resource,
            version: 0,
            target: target.clone(),
            scaled: None,
        }
    }

    /// The resource that `target` names, if it is served.
    pub(crate) fn find(storage: &Storage, target: &Arc<Target>) -> Outcome<Self> {
        // The server's own groups answer with a Status where others are not even routed.
        let is_own = |Table { resource, .. }: &Table| {
            let is_of_group = resource.family != Family::Custom && resource.group == target.group;
            is_of_group && resource.served_version(&target.version).is_some()
        };
        let missing = || match target.group.is_empty() || storage.tables().any(is_own) {
            true => Failure::no_such_resource(),
            false => Failure::no_such_path(),
        };
        // Cluster-scoped resources are not found below a namespace.
        let is_itself = target.resource == "namespaces" && target.namespace == target.name;
        let is_anywhere = target.namespace.is_empty() || is_itself;
        let served = |version: &Version| version.served && version.name == target.version;
        let found = storage.table(&id(&target.group, &target.resource));
        let found = found.and_then(|table| {
            let version = table.resource.versions.iter().position(served)?;
            (is_anywhere || table.resource.namespaced).then(|| (table.resource.clone(), version))
        });
        let (resource, version) = found.ok_or_else(missing)?;
        let is_custom = resource.family == Family::Custom;
        let has_subresource = match target.subresource.as_str() {
            // Behind a subresource of its own kinds there is nothing; that of others is found all the same.
            _ if target.beyond && !is_custom => false,
            "" => true,
            "status" => resource.versions[version].status_subresource,
            "scale" => resource.versions[version].scale.is_some(),
            _ => false,
        };
        if !has_subresource {
            return Err(match is_custom {
                true => Failure::not_found(resource.qualified(), &target.name),
                false => missing(),
            });
        }
        let named = Self {
            version,
            ..Self::only(resource, target)
        };
        Ok(match target.subresource.as_str() {
            "scale" => Self {
                scaled: Some(Arc::new(named.clone())),
                ..Self::only(builtin::scale(named.resource.namespaced), target)
            },
            _ => named,
        })
    }
}

impl Context<'_> {
    /// Calls the handler. The body is read only by those who want it.
    pub(crate) async fn dispatch(&mut self, body: impl Future<Output = Outcome<Bytes>>) -> Outcome<Reply> {
        let info = self.info;
        let Some(target) = &info.target else {
            return self.about_server();
        };
        if tokens::is_token_request(target) && info.verb == "create" {
            return self.give_token(target, &body.await?);
        }
        let named = Named::find(&self.server.storage(), target)?;
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
        // Only what may concern all namespaces is found outside of one.
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
            // Custom resources do not mind a name.
            "create" if is_whole && (is_custom || !is_named) => self.create(&named, &body.await?),
            "update" if is_named => self.update(&named, &body.await?),
            "patch" if is_named => self.patch(&named, &body.await?),
            "delete" if is_whole => self.delete(&named, &body.await?),
            "deletecollection" => self.delete_many(&named, &body.await?),
            _ if !is_custom => Err(Failure::method_not_routed()),
            "update" | "patch" => Err(Failure::bad_request("name must be provided")),
            verb => Err(Failure::method_not_allowed(of.qualified(), verb)),
        };
        form.reply(reply?, &named, self.server.now())
    }
}

/// The kind of content that a header tells, without its parameters.
pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}
