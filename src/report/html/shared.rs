//! What the HTML report and the board share: the base of their styles, and the policy of their pages.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use sha2::{Digest, Sha256};

/// Colours, text, tables, cells and tools.
const BASE: &str = include_str!("../templates/style/base.css");

/// A page's style: the base, then its own.
pub(crate) fn style(own: &str) -> String {
    format!("{BASE}{own}")
}

/// A page's policy: a browser allows only its own style and script, by their digests. No script is allowed where it is
/// empty.
pub(crate) fn policy(style: &str, script: &str) -> String {
    let scripts = if script.is_empty() {
        "'none'".to_owned()
    } else {
        hash(script)
    };
    format!(
        "default-src 'none'; style-src {}; script-src {scripts}; base-uri 'none'; form-action 'none'",
        hash(style)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)))
}
