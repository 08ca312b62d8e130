//! What a network does to a run: over sockets, in real time.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use collect::clock::Clock;
use lab::hub::Hub;
use tokio::{io::copy_bidirectional, task::spawn_blocking};

use super::*;

/// Answers each connection by that, without end.
fn endless_hub(folder: &Folder, head: &'static [u8], piece: &'static [u8]) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let kubeconfig = folder.kubeconfig(listener.local_addr().expect("an address").port());
    let answer = move |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(head);
        let pace = Duration::from_millis(20);
        stream.set_read_timeout(Some(pace)).expect("a timeout");
        // Until the run has enough of it, and closes the connection.
        while !matches!(stream.read(&mut [0]), Ok(0)) && stream.write_all(piece).is_ok() {}
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    kubeconfig
}

#[test]
fn an_answer_without_an_end_is_given_up_and_reported() {
    for (head, piece) in [
        (&b"HTTP/1.1 200 OK\r\n"[..], &b"X-More: yes\r\n"[..]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\n \r\n",
        ),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 100000\r\n\r\n", b" "),
    ] {
        let folder = Folder::new();
        let kubeconfig = endless_hub(&folder, head, piece);
        let clock = Clock::system();
        let began = clock.now();
        let run = [
            "run",
            "--kubeconfig",
            &kubeconfig,
            "--request-timeout",
            "1s",
            "--json",
            &folder.flag("json"),
        ];
        let done = call(&run);
        let told = String::from_utf8_lossy(head);
        assert_eq!(done.code, Some(4), "{told}: {}", done.err);
        let took = clock.now().duration_since(began).as_secs();
        assert!(took < 30, "{told}: {took} s");
        assert_eq!(folder.json("json")["decision"], "inconclusive", "{told}");
    }
}

#[tokio::test]
async fn a_run_survives_a_first_connection_that_is_reset() {
    let hub = Hub::lab(Clock::system()).await.expect("a hub");
    let server = hub.as_lab().expect("the lab").clone();
    let behind = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a port");
    let to = behind.local_addr().expect("an address");
    tokio::spawn(async move { server.serve(behind).await });
    let before = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a port");
    let folder = Folder::new();
    let kubeconfig = folder.kubeconfig(before.local_addr().expect("an address").port());
    let token = format!("user: {{token: '{}'}}", lab::hub::ApiServer::token("conformance"));
    let text = folder.text("kubeconfig").replace("user: {}", &token);
    fs::write(&kubeconfig, text).expect("written");
    tokio::spawn(async move {
        let (first, _) = before.accept().await.expect("a connection");
        // Whatever was asked: what is unread makes it a reset.
        first.readable().await.expect("a request");
        drop(first);
        while let Ok((mut near, _)) = before.accept().await {
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.expect("the hub");
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    let flags = [
        "run".to_owned(),
        "--kubeconfig".to_owned(),
        kubeconfig,
        "--observe".to_owned(),
        "0s".to_owned(),
        "-v".to_owned(),
        "--wait".to_owned(),
    ];
    let done = spawn_blocking(move || call(&flags.iter().map(String::as_str).collect::<Vec<_>>()));
    let done = done.await.expect("it is called");
    // A hub without a profile.
    assert_eq!(done.code, Some(3), "{}{}", done.out, done.err);
    assert!(done.out.contains("cost to the hub: "), "{}", done.out);
}

#[test]
fn a_hub_out_of_reach_is_one_message_and_leaves_reports() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let kubeconfig = folder.kubeconfig(1);
    let done = call(&[
        "run",
        "--kubeconfig",
        &kubeconfig,
        "--json",
        &json,
        "--junit",
        &junit,
    ]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert_eq!(done.out, "");
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    assert!(done.err.contains("context here"), "{}", done.err);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "inconclusive");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts
            .iter()
            // The user expects no number of profiles.
            .filter(|verdict| verdict["rule"] != "identity/expected-profiles")
            .all(|verdict| verdict["verdict"] == "inconclusive"),
        "{report:#}"
    );
    assert!(folder.text("report.xml").contains("<error "));
    let unknown = ["run", "--kubeconfig", &kubeconfig, "--context", "there"];
    refused(&unknown, &["there"]);
    let done = call(&["run"]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("--kubeconfig"), "{}", done.err);
}
