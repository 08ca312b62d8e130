//! A page that answers with JSON.

use std::time::Duration;

use http::Uri;
use kube::Config;
use serde_json::Value;

use super::Found;
use crate::connect::{
    call::{TimedClient, get},
    client::client,
};

/// How long it may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads all texts of a part of the page.
pub(super) async fn read(url: &Uri, pointer: &str) -> Result<Vec<Found>, String> {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let base = Uri::builder()
        .scheme(url.scheme_str().unwrap_or("http"))
        .authority(url.authority().map_or("", |authority| authority.as_str()))
        .path_and_query("/")
        .build()
        .map_err(|_| "its URL has no host".to_owned())?;
    let client = client(Config::new(base)).map_err(|error| error.to_string())?;
    let client = TimedClient::new(client, TIMEOUT, std::sync::Arc::default(), 0);
    let page: Value = get(&client, path).await.map_err(|failure| failure.to_string())?;
    let Some(part) = page.pointer(pointer) else {
        return Ok(Vec::new());
    };
    let mut texts = Vec::new();
    gather(part, &mut texts);
    Ok(vec![Found {
        object: format!("page {}", url.path()),
        texts,
    }])
}

/// All texts within a value.
fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|each| gather(each, texts)),
        Value::Object(fields) => fields.values().for_each(|each| gather(each, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
