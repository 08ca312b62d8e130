//! Stores and removes objects without a request, as other parts of a cluster would.

use serde_json::{Value, json};

use super::{crd_controller, delete::undefine};
use crate::{
    context::ServerState,
    object::meta,
    store::{definition, resource::id, storage::key},
};

impl ServerState {
    /// Stores `object` without any check, in place of the one of its name.
    pub(crate) fn place(&self, (group, plural): (&str, &str), mut object: Value) {
        let id = id(group, plural);
        let key = key(meta::text(&object, "namespace"), meta::text(&object, "name"));
        let mut storage = self.storage();
        match storage.get(&id, &key) {
            Some(before) => {
                for field in ["uid", "creationTimestamp", "resourceVersion"] {
                    object["metadata"][field] = before.object()["metadata"][field].clone();
                }
                if object == *before.object() {
                    return;
                }
            }
            None => {
                object["metadata"]["uid"] = self.new_uid().into();
                object["metadata"]["creationTimestamp"] = self.time().into();
            }
        }
        storage.put(&id, &key, object);
    }

    /// Removes an object, if it exists.
    pub(crate) fn withdraw(&self, (group, plural): (&str, &str), namespace: &str, name: &str) {
        self.storage().remove(&id(group, plural), &key(namespace, name));
    }

    /// Serves what `definition` defines, as if created and accepted long ago.
    pub(crate) fn define(&self, mut definition: Value) {
        if let Value::Object(fields) = &mut definition {
            definition::set_defaults(fields);
        }
        definition["status"] = definition::new_status(&definition);
        definition["status"] = crd_controller::status(&definition, &Default::default(), &self.time());
        definition["metadata"]["generation"] = 1.into();
        if let Ok(resource) = definition::read_accepted(&definition) {
            self.storage().serve(resource);
            let (group, plural) = crd_controller::definitions();
            self.place((&group, &plural), definition);
        }
    }

    /// Removes a CRD and its objects.
    pub(crate) fn undefine(&self, name: &str) {
        let mut storage = self.storage();
        if let Some(definition) = storage.get(&crd_controller::definitions(), name) {
            undefine(&mut storage, definition.object(), &self.time());
        }
    }

    /// Creates an initial namespace.
    pub(crate) fn place_namespace(&self, name: &str) {
        let object = json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        self.place(("", "namespaces"), object);
    }
}
