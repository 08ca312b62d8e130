//! The URL functions of rules.

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    Context, ExecutionError, Value as Cel,
    extractors::This,
    objects::{Key, Map, Opaque},
};

use super::go_url::{self, Url};

impl Opaque for Url {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}

/// Registers the functions, in place of the library's: those follow the WHATWG's rules for browsers.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("url", |text: Arc<String>| {
        let url = Url::read(&text).map_err(|error| {
            let why = format!("URL parse error during conversion from string: {error}");
            ExecutionError::function_error("url", why)
        })?;
        Ok::<_, ExecutionError>(Cel::Opaque(Arc::new(url)))
    });
    context.add_function("isURL", |text: Arc<String>| go_url::check(&text).is_ok());
    context.add_function("getScheme", |This(url): This<Cel>| part(&url, |url| &url.scheme));
    context.add_function("getHost", |This(url): This<Cel>| part(&url, |url| &url.host));
    context.add_function("getHostname", |This(url): This<Cel>| part(&url, Url::hostname));
    context.add_function("getPort", |This(url): This<Cel>| part(&url, Url::port));
    context.add_function("getEscapedPath", |This(url): This<Cel>| {
        part(&url, |url| &url.path)
    });
    context.add_function("getQuery", |This(url): This<Cel>| {
        let mut parameters: HashMap<Key, Vec<Cel>> = HashMap::new();
        for (name, value) in as_url(&url)?.parameters() {
            let values = parameters.entry(Key::String(Arc::new(name))).or_default();
            values.push(text(&value));
        }
        let lists = parameters.into_iter();
        let lists = lists.map(|(name, values)| (name, Cel::List(Arc::new(values))));
        let map = Arc::new(lists.collect());
        Ok::<_, ExecutionError>(Cel::Map(Map { map }))
    });
}

fn as_url(value: &Cel) -> Result<&Url, ExecutionError> {
    let url = match value {
        Cel::Opaque(opaque) => opaque.downcast_ref::<Url>(),
        _ => None,
    };
    url.ok_or_else(|| ExecutionError::unsupported_target_type(value.clone()))
}

fn part(value: &Cel, part: impl Fn(&Url) -> &str) -> Result<Cel, ExecutionError> {
    Ok(text(part(as_url(value)?)))
}

fn text(text: &str) -> Cel {
    Cel::String(Arc::new(text.to_owned()))
}
