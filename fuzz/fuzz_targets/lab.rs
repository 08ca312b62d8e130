//! Requests to the lab's API server. Each is a line with method, path and content type, and a body up to two NULs: one
//! belongs to protobuf.
#![no_main]

use apiserver::{ApiServer, Clock};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Builder;
use tower::ServiceExt;

fuzz_target!(|data: &[u8]| {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = ApiServer::new(Clock::system());
        let mut rest = data;
        while !rest.is_empty() {
            let end = rest.windows(2).position(|pair| pair == [0, 0]);
            let (request, after) = match end {
                Some(end) => (&rest[..end], &rest[end + 2..]),
                None => (rest, &[][..]),
            };
            rest = after;
            let end = request
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(request.len());
            let (head, body) = request.split_at(end);
            let body = body.strip_prefix(b"\n").unwrap_or(body);
            ask(&server, head, body).await;
        }
    });
});

async fn ask(server: &ApiServer, head: &[u8], body: &[u8]) {
    let mut parts = head.split(|byte| *byte == b' ');
    let (Some(method), Some(uri)) = (parts.next(), parts.next()) else {
        return;
    };
    let content_type = parts.next().unwrap_or(b"application/json");
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header(
            header::AUTHORIZATION,
            format!("Bearer {}", ApiServer::token("admin")),
        )
        .header(header::CONTENT_TYPE, content_type)
        .body(Full::new(Bytes::copy_from_slice(body)));
    if let Ok(request) = request {
        let Ok(_answer) = server.clone().oneshot(request).await;
    }
}
