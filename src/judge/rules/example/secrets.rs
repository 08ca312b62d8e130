//! An example's Secrets: merged onto a conforming consumer's Secret.

use evidence::{Secret, api::names};
use serde_json::{Value, json};

use super::{
    conforming::{self, text},
    error::{Flaw, strictly},
};

/// Reads all Secrets. One whose labels name no profile belongs to the `first` profile.
pub(super) fn all(overlays: &[Value], first: Option<&Value>) -> Result<Vec<Secret>, Flaw> {
    overlays.iter().map(|overlay| secret(overlay, first)).collect()
}

fn secret(overlay: &Value, first: Option<&Value>) -> Result<Secret, Flaw> {
    let mut overlay = overlay.clone();
    let fields = overlay.as_object_mut().ok_or("a secret is a mapping")?;
    let server = take_text(fields, "server")?;
    let token = take_text(fields, "token")?;

    let profile = profile_of(&overlay, first);
    let (profile_name, profile_namespace) = conforming::key(&profile);
    let namespace = text(&overlay, &["namespace"]).unwrap_or("consumer").to_owned();
    let name = text(&overlay, &["name"]).unwrap_or(&profile_name).to_owned();
    let server = server.unwrap_or_else(|| format!("https://{profile_name}.{profile_namespace}.example:6443"));
    // Equal tokens have equal digests. By default each Secret has its own token.
    let digest = format!("digest of {}", token.unwrap_or(format!("{namespace}/{name}")));

    let mut whole = conforming::secret(&namespace, &name, &profile, &server, &digest);
    let lacks_config = overlay
        .get("keys")
        .and_then(Value::as_array)
        .is_some_and(|keys| !keys.contains(&json!(names::SECRET_CONFIG_KEY)));
    if lacks_config
        || overlay
            .get("kubeconfigError")
            .is_some_and(|error| !error.is_null())
    {
        whole["kubeconfig"] = Value::Null;
    }
    json_patch::merge(&mut whole, &overlay);
    strictly("secret", &whole)
}

/// The named profile, with the fields that a conforming Secret needs.
fn profile_of(overlay: &Value, first: Option<&Value>) -> Value {
    let label = |key: &str| text(overlay, &["labels", key]);
    match label(names::LABEL_SECRET_PROFILE) {
        Some(name) => {
            let namespace = label(names::LABEL_SECRET_PROFILE_NAMESPACE).unwrap_or("default");
            json!({"metadata": {"name": name, "namespace": namespace}})
        }
        None => first.cloned().unwrap_or_default(),
    }
}

fn take_text(fields: &mut serde_json::Map<String, Value>, key: &str) -> Result<Option<String>, Flaw> {
    match fields.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err("a secret's `server` and `token` are strings".into()),
    }
}
