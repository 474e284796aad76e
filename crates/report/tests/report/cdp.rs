//! A real browser driven over the Chrome DevTools Protocol, on a pipe: the
//! browser reads requests from descriptor 3 and writes replies to descriptor 4,
//! as JSON ended by a zero byte. Nothing listens on a port.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No reply takes longer, even on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A headless browser with one page.
pub struct Browser {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// Everything that the browser reported on its own, in order.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// A browser, or the reason why there is none.
    pub fn start() -> Result<Browser, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .flat_map(|dir| NAMES.map(|name| dir.join(name)))
            .find(|file| file.is_file())
            .ok_or("no Chromium found; install the package `chromium`")?;
        let profile = tempfile::tempdir().map_err(|e| e.to_string())?;
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
            .args(["--disable-component-update", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| e.to_string())?;
        let requests = child.stdin.take().ok_or("no pipe")?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let (send, replies) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let parsed = serde_json::from_slice(&message);
                if parsed.is_err() || send.send(parsed.unwrap_or_default()).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            child,
            requests,
            replies,
            session: None,
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Ok(browser)
    }

    /// One request and its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).expect("the browser takes requests");
        let id = self.last;
        let reply = self.wait(method, |message| message["id"] == id);
        assert!(reply["error"].is_null(), "{method}: {}", reply["error"]);
        reply["result"].clone()
    }

    /// Opens a file at a width, light or dark, and waits until it is loaded.
    pub fn open(&mut self, file: &Path, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", media);
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let loaded = |message: &Value| message["method"] == "Page.loadEventFired";
        if !self.events.iter().any(loaded) {
            self.wait("loading the page", loaded);
        }
    }

    /// The value of a script's expression, awaited.
    pub fn eval(&mut self, script: &str) -> Value {
        let params =
            json!({"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let reply = self.call("Runtime.evaluate", params);
        assert!(reply["exceptionDetails"].is_null(), "{script}: {}", reply["exceptionDetails"]);
        reply["result"]["value"].clone()
    }

    /// A key pressed and released.
    pub fn key(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            let code = if key == "Tab" { 9 } else { 0 };
            let params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Errors and warnings on the console, uncaught exceptions included.
    pub fn complaints(&self) -> Vec<&Value> {
        let kinds = ["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"];
        self.events.iter().filter(|e| kinds.iter().any(|kind| e["method"] == *kind)).collect()
    }

    /// Addresses asked for since the page was opened.
    pub fn requested(&self) -> Vec<String> {
        let requests = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        requests.filter_map(|e| e["params"]["request"]["url"].as_str()).map(str::to_string).collect()
    }

    /// The next message that is `wanted`; others are kept as events.
    fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self
                .replies
                .recv_timeout(left)
                .unwrap_or_else(|e| panic!("{what}: the browser is silent: {e}"));
            if wanted(&message) {
                return message;
            }
            self.events.push(message);
        }
    }
}

impl Drop for Browser {
    /// The browser's whole process group ends with it.
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
