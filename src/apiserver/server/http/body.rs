//! Reads request bodies, up to a limit.

use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::BoxError;

use crate::object::status::{Failure, Outcome};

/// The maximum size of a request, in bytes.
const MAX_REQUEST: usize = 3 * 1024 * 1024;

/// Reads a request's body.
pub(crate) async fn read<B>(body: B) -> Outcome<Bytes>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let whole = Limited::new(body, MAX_REQUEST).collect().await;
    let whole = whole.map_err(|error| {
        if error.is::<LengthLimitError>() {
            Failure::too_large(&format!("limit is {MAX_REQUEST}"))
        } else {
            Failure::bad_request("failed to read the request's body")
        }
    });
    Ok(whole?.to_bytes())
}
