//! Hubs that hang, never end an answer, or are out of reach: over sockets, in real time.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use collect::clock::Clock;

use super::*;

/// Handles each connection in a thread of its own. Returns a kubeconfig for it.
fn hub(folder: &Folder, handle: impl Fn(TcpStream) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    folder.kubeconfig(port)
}

/// A hub that answers requests for its version, and no other.
pub fn silent_hub(folder: &Folder) -> String {
    hub(folder, |mut stream| {
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap_or_default();
        if request[..read].starts_with(b"GET /version") {
            let body = r#"{"gitVersion": "v1.36.1"}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
        // Until the client closes the connection.
        while stream.read(&mut request).is_ok_and(|read| read > 0) {}
    })
}

#[test]
fn an_answer_without_an_end_is_given_up_and_reported() {
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n", "X-More: yes\r\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", " "),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "1\r\n \r\n",
        ),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 100000\r\n\r\n", " "),
    ] {
        let folder = Folder::new();
        let asks_for_compression = Arc::new(AtomicBool::new(false));
        let has_asked = Arc::clone(&asks_for_compression);
        let kubeconfig = hub(&folder, move |mut stream| {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            has_asked.fetch_or(request.contains("accept-encoding"), Ordering::Relaxed);
            let _ = stream.write_all(head.as_bytes());
            stream
                .set_read_timeout(Some(Duration::from_millis(20)))
                .expect("a timeout");
            // Until the client closes the connection.
            while !matches!(stream.read(&mut [0]), Ok(0)) && stream.write_all(piece.as_bytes()).is_ok() {}
        });
        let clock = Clock::system();
        let start = clock.now();
        let json = folder.flag("json");
        expect(
            4,
            format!("run --kubeconfig {kubeconfig} --request-timeout 1s --json {json}"),
        );
        let seconds = clock.now().duration_since(start).as_secs();
        assert!(seconds < 30, "{head}: {seconds} s");
        assert_eq!(folder.json("json")["decision"], "inconclusive", "{head}");
        // A few compressed bytes may unpack to many.
        assert!(!asks_for_compression.load(Ordering::Relaxed));
    }
}

#[test]
fn a_hub_gets_as_much_time_as_the_flag_says() {
    let folder = Folder::new();
    let run = format!("run --kubeconfig {}", silent_hub(&folder));
    let advice = "or give a slow hub more time with --request-timeout";
    expect_output(
        4,
        format!("{run} --request-timeout 1s"),
        &["no answer came for 1 s", advice],
    );
    let config = folder.config("requestTimeout: 2s");
    expect_output(4, format!("{run} --config {config}"), &["no answer came for 2 s"]);
}

#[test]
fn a_hub_out_of_reach_is_one_message_and_leaves_reports() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let run = "run --kubeconfig unreachable.kubeconfig";
    let done = call(format!("{run} --json {json} --junit {junit}"));
    assert_eq!((done.code, done.out.as_str()), (Some(4), ""), "{}", done.err);
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    assert_contains(&done.err, &["context here", "try https://"]);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "inconclusive");
    for verdict in report["verdicts"].as_array().expect("verdicts") {
        // The user expects no number of profiles.
        let is_judged = verdict["rule"] != "identity/expected-profiles";
        assert!(!is_judged || verdict["verdict"] == "inconclusive", "{verdict:#}");
    }
    assert_contains(&folder.text("report.xml"), &["<error "]);
    refused(format!("{run} --context there"), &["there"]);
    expect_output(4, "run", &["--kubeconfig"]);
}
