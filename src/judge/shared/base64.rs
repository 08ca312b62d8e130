//! Base64 as kubeconfigs have it.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};

/// Decodes base64, which may be broken into lines.
pub(crate) fn decode(data: &str) -> Option<Vec<u8>> {
    let data = if data.contains('\n') || data.contains('\r') {
        Cow::from(data.replace(['\n', '\r'], ""))
    } else {
        data.into()
    };
    BASE64_STANDARD.decode(&*data).ok()
}
