//! Clients that behave badly. In real time, over sockets.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::*;
use crate::command::monitor::serve::serve;

/// Sends these bytes, and reads until the end.
async fn exchange(address: std::net::SocketAddr, sent: &str) -> String {
    let talk = async {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(sent.as_bytes()).await.expect("it is sent");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).expect("UTF-8")
    };
    timeout(Duration::from_secs(5), talk)
        .await
        .expect("an answer in time")
}

#[tokio::test]
async fn clients_that_hold_connections_keep_no_probe_waiting() {
    let world = World::new().await;
    let shared = world.monitor().shared;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = async {
        let mut held = Vec::new();
        for number in 0..200 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            // Some begin a request, and never end it.
            if number % 2 == 0 {
                stream
                    .write_all(b"GET /metrics HTTP/1.1\r\nHo")
                    .await
                    .expect("it is sent");
            }
            held.push(stream);
        }
        let health = exchange(address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert!(
            health.starts_with("HTTP/1.1 200 ") && health.ends_with("ok\n"),
            "{health}"
        );
        let head = exchange(address, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        let post = exchange(
            address,
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        )
        .await;
        assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
        let garbage = exchange(address, "\u{1}\u{16}\r\n\r\n").await;
        assert!(garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
    };
    tokio::select! {
        () = asked => {}
        never = serve(listener, shared, Hosts::of(address, &[])) => match never {},
    }
}
