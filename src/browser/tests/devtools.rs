//! A browser that does what a test tells it, by the Chrome DevTools Protocol over a pipe.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser that says nothing for longer hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// A browser with one page open.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    session: String,
    next: u64,
    /// What the browser told beside its answers, the last last.
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it and opens a file.
    pub fn open(program: &Path, page: &Path) -> Self {
        let profile = TempDir::new().expect("a folder");
        // The browser reads commands from its file 3, and answers on 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 1>&2"])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        let (sender, output) = channel();
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            let mut line = Vec::new();
            while lines.read_until(0, &mut line).is_ok_and(|read| read > 0) {
                let told = serde_json::from_slice(line.strip_suffix(&[0]).unwrap_or(&line));
                if told.is_err() || sender.send(told.expect("JSON")).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let mut browser = Self {
            input: process.stdin.take().expect("a pipe"),
            process,
            output,
            session: String::new(),
            next: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call(
            "Page.navigate",
            json!({"url": format!("file://{}", page.display())}),
        );
        browser.wait_for("document.readyState === 'complete'");
        browser
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        loop {
            let told = self.output.recv_timeout(LONGEST);
            let told = told.unwrap_or_else(|error| panic!("{method}: the browser says nothing: {error}"));
            if told["id"] != json!(id) {
                self.events.push_back(told);
                continue;
            }
            assert!(told["error"].is_null(), "{method}: {}", told["error"]);
            return told["result"].clone();
        }
    }

    /// What an expression in the page is.
    pub fn value(&mut self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}),
        );
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true: the browser answers only then.
    pub fn wait_for(&mut self, expression: &str) {
        let asked = format!(
            "new Promise(function (done) {{ (function look() {{ \
             if ({expression}) {{ done(true); }} else {{ setTimeout(look, 20); }} }})(); }})"
        );
        assert_eq!(self.value(&asked), json!(true));
    }

    /// Gives files to the page's file input, as a user does who chooses them.
    pub fn choose(&mut self, input: &str, files: &[&Path]) {
        let document = self.call("DOM.getDocument", json!({}));
        let node = self.call(
            "DOM.querySelector",
            json!({"nodeId": document["root"]["nodeId"], "selector": input}),
        );
        self.call(
            "DOM.setFileInputFiles",
            json!({"files": files, "nodeId": node["nodeId"]}),
        );
    }

    /// Clicks on a link that opens a tab, looks at what it shows, and closes it.
    pub fn in_tab<T>(&mut self, link: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        self.value(&format!("document.querySelector({link:?}).click()"));
        let mut looks = 0..1000;
        let tab = loop {
            assert!(looks.next().is_some(), "{link} opens no tab");
            self.value("new Promise(function (done) { setTimeout(done, 20); })");
            let targets = self.call("Target.getTargets", json!({}));
            let targets = targets["targetInfos"].as_array().expect("targets");
            let opened = targets.iter().find(|target| {
                target["type"] == json!("page")
                    && target["url"].as_str().is_some_and(|url| url.starts_with("blob:"))
            });
            if let Some(opened) = opened {
                break opened["targetId"].clone();
            }
        };
        let attached = self.call("Target.attachToTarget", json!({"targetId": tab, "flatten": true}));
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let page = std::mem::replace(&mut self.session, session);
        self.wait_for("location.protocol === 'blob:' && document.readyState === 'complete'");
        let seen = look(self);
        self.session = page;
        self.call("Target.closeTarget", json!({"targetId": tab}));
        seen
    }

    /// The parameters of all events of that kind until now.
    pub fn events(&self, method: &str) -> Vec<&Value> {
        let of_kind = self
            .events
            .iter()
            .filter(|event| event["method"] == json!(method));
        of_kind.map(|event| &event["params"]).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It has gone already if a test failed for that.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
