//! One authorized request on its way to its handler.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::audit::Entry;
use super::auth::User;
use super::body::Reply;
use super::form::Form;
use super::request::{RequestInfo, Target};
use super::resource::{Family, Resource, Version};
use super::scale;
use super::server::ApiServer;
use super::status::{Failure, Outcome};
use super::storage::{Storage, Table};
use super::tokens;
use super::typed;

pub(super) struct Context<'a> {
    pub(super) server: &'a ApiServer,
    pub(super) info: &'a RequestInfo,
    pub(super) user: &'a User,
    /// The User-Agent.
    pub(super) agent: &'a str,
    pub(super) content_type: String,
    pub(super) accept: String,
    pub(super) entry: &'a mut Entry,
    /// Texts for `Warning` headers, whether the request is refused or not.
    pub(super) warnings: &'a mut Vec<String>,
}

/// The resource that a request names, and the version in which it does.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) resource: Arc<Resource>,
    version: usize,
    /// Where the resource is a Scale: what is scaled.
    pub(super) scaled: Option<Arc<Named>>,
}

impl Named {
    pub(super) fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    pub(super) fn api_version(&self) -> String {
        self.resource.api_version(&self.version().name)
    }

    /// A resource of a single version.
    pub(super) fn only(resource: Arc<Resource>) -> Self {
        Self {
            resource,
            version: 0,
            scaled: None,
        }
    }

    /// The resource that `target` names, if it is served.
    pub(super) fn find(storage: &Storage, target: &Target) -> Outcome<Self> {
        // The server's own groups answer with a Status where others are not even routed.
        let is_own = |table: &Table| {
            let resource = &table.resource;
            resource.family != Family::Custom
                && resource.group == target.group
                && resource.served_version(&target.version).is_some()
        };
        let missing = || match target.group.is_empty() || storage.tables().any(is_own) {
            true => Failure::no_such_resource(),
            false => Failure::no_such_path(),
        };
        let table = storage
            .table(&target.group, &target.resource)
            .ok_or_else(missing)?;
        let resource = table.resource.clone();
        let served = |version: &Version| version.served && version.name == target.version;
        let version = resource.versions.iter().position(served);
        let version = version.ok_or_else(missing)?;
        let subresource = match target.subresource.as_str() {
            "" => true,
            "status" => resource.versions[version].status_subresource,
            "scale" => resource.versions[version].scale.is_some(),
            _ => false,
        };
        // Behind a subresource of its own kinds there is nothing; that of others is found all the same.
        let subresource = subresource && !(target.beyond && resource.family != Family::Custom);
        // Cluster-scoped resources are not found below a namespace.
        let is_itself = target.resource == "namespaces" && target.namespace == target.name;
        let scope = resource.namespaced || target.namespace.is_empty() || is_itself;
        if !scope {
            return Err(missing());
        }
        if !subresource {
            return Err(match resource.family {
                Family::Custom => Failure::not_found(resource.qualified(), &target.name),
                _ => missing(),
            });
        }
        let named = Self {
            resource,
            version,
            scaled: None,
        };
        Ok(match target.subresource.as_str() {
            "scale" => Self {
                resource: scale::resource(named.resource.namespaced),
                version: 0,
                scaled: Some(Arc::new(named)),
            },
            _ => named,
        })
    }
}

impl Context<'_> {
    /// Calls the handler. The body is read only by those who want it.
    pub(super) async fn dispatch(
        &mut self,
        method: &Method,
        body: impl Future<Output = Outcome<Bytes>>,
    ) -> Outcome<Reply> {
        let info = self.info;
        let Some(target) = &info.target else {
            return self.about_server(method);
        };
        // Whoever reads a body reads JSON, but for patches.
        let is_protobuf = media_type(&self.content_type) == typed::PROTOBUF && info.verb != "patch";
        let wanted = match is_protobuf.then(|| Named::find(&self.server.storage(), target)) {
            Some(_) if info.verb.starts_with("delete") => "DeleteOptions".to_owned(),
            Some(Ok(named)) => named.resource.kind.clone(),
            Some(Err(_)) | None => String::new(),
        };
        let body = async {
            match (body.await?, is_protobuf) {
                (body, true) if !body.is_empty() => {
                    typed::protobuf_to_json(&body, &wanted).map_err(Failure::bad_request)
                }
                (body, _) => Ok(body),
            }
        };
        if tokens::is_token_request(target) && method == Method::POST {
            let body = body.await?;
            if is_protobuf {
                self.content_type.clear();
            }
            return self.give_token(target, &body);
        }
        let named = Named::find(&self.server.storage(), target)?;
        let form = Form::wanted(&self.accept, &info.query)?;
        let is_custom = named.resource.family == Family::Custom;
        let is_review = named.resource.family == Family::Review;
        let has_types = named.resource.message().is_some();
        if is_protobuf && (has_types || info.verb.starts_with("delete")) {
            self.content_type.clear();
        } else if is_protobuf {
            return Err(Failure::unsupported_media_type(&["application/json"]));
        }
        if is_review {
            let is_routed =
                target.name.is_empty() && named.resource.namespaced != target.namespace.is_empty();
            return match (is_routed, info.verb) {
                (true, "create") => {
                    let body = body.await?;
                    self.review(&named, target, &body)
                }
                (true, _) => Err(Failure::method_not_routed()),
                (false, _) => Err(Failure::no_such_resource()),
            };
        }
        self.warnings.extend(named.version().warning.clone());
        // Only what may concern all namespaces is found outside of one.
        if named.resource.namespaced && target.namespace.is_empty() && !matches!(info.verb, "list" | "watch")
        {
            return Err(match is_custom {
                true => Failure::no_such_path(),
                false => Failure::method_not_routed(),
            });
        }
        let reply = self.handle(&named, target, &form, body).await?;
        form.reply(reply, &named, self.server.now())
    }

    async fn handle(
        &mut self,
        named: &Named,
        target: &Target,
        form: &Form,
        body: impl Future<Output = Outcome<Bytes>>,
    ) -> Outcome<Reply> {
        let of = named.scaled.as_deref().unwrap_or(named);
        let is_custom = of.resource.family == Family::Custom;
        match self.info.verb {
            "get" => self.get(named, target),
            "list" => self.list(named, target),
            "watch" => self.watch(named, target, form),
            // Custom resources do not mind a name.
            "create" if target.subresource.is_empty() && (is_custom || target.name.is_empty()) => {
                let body = body.await?;
                self.create(named, target, &body)
            }
            "update" if !target.name.is_empty() => {
                let body = body.await?;
                self.update(named, target, &body)
            }
            "patch" if !target.name.is_empty() => {
                let body = body.await?;
                self.patch(named, target, &body)
            }
            "delete" if target.subresource.is_empty() => {
                let body = body.await?;
                self.delete(named, target, &body)
            }
            "deletecollection" => {
                let body = body.await?;
                self.delete_collection(named, target, &body)
            }
            _ if !is_custom => Err(Failure::method_not_routed()),
            "update" | "patch" => Err(Failure::bad_request("name must be provided")),
            verb => Err(Failure::method_not_allowed(of.resource.qualified(), verb)),
        }
    }
}

/// The kind of content that a header tells, without its parameters.
pub(super) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}

/// A request's body as JSON.
pub(super) fn read_json(body: &Bytes) -> Outcome<Value> {
    serde_json::from_slice(body).map_err(|error| {
        Failure::bad_request(format!(
            "the object provided is unrecognized: couldn't get version/kind; json parse error: {error}"
        ))
    })
}
