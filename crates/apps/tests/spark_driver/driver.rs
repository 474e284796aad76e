//! The driver, as its engine starts it and talks to it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::data::workspace;

/// Longer than any answer takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A driver that was started, and its directory for everything temporary.
pub struct Driver {
    child: Child,
    stream: TcpStream,
    lines: BufReader<TcpStream>,
    scratch: Scratch,
}

pub enum Scratch {
    /// Goes with its driver.
    Own(TempDir),
    /// Of the driver that nobody drops: always the same, emptied when the next one starts.
    Shared(PathBuf),
}

impl Scratch {
    pub fn own() -> Self {
        Scratch::Own(tempfile::tempdir().expect("a directory"))
    }

    fn shared() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-spark-driver");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Scratch::Shared(path)
    }

    fn path(&self) -> &Path {
        match self {
            Scratch::Own(dir) => dir.path(),
            Scratch::Shared(path) => path,
        }
    }
}

impl Driver {
    /// Starts one, where there are Spark and Java.
    pub fn start(scratch: Scratch) -> Option<Self> {
        let python = workspace().join(".tools/venv-spark/bin/python");
        if !python.is_file() {
            eprintln!("skipped: no Spark (tools/venv spark installs it)");
            return None;
        }
        if Command::new("java").arg("-version").output().is_err() {
            eprintln!("skipped: no Java (apt-get install openjdk-17-jre-headless)");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = listener.local_addr().expect("an address").port().to_string();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/spark/driver/driver.py");
        let child = Command::new(python)
            .arg("-B")
            .arg(script)
            .args([&port, "a key"])
            .spawn()
            .expect("the driver starts");
        let (stream, _) = listener.accept().expect("the driver connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let lines = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut driver = Driver { child, stream, lines, scratch };
        let hello = driver.hear();
        assert_eq!(hello["key"], "a key");
        assert!(hello["spark"].is_string() && hello["java"].is_string(), "{hello}");
        Some(driver)
    }

    /// One that has opened an application on a local master.
    pub fn open(scratch: Scratch) -> Option<Self> {
        let mut driver = Self::start(scratch)?;
        let request = driver.opening("local[2]", 120.0);
        let answer = driver.done(&request);
        assert_eq!(answer["executors"], json!([{"id": "driver", "host": "127.0.0.1"}]));
        assert!(answer["event_log"].is_string(), "{answer}");
        Some(driver)
    }

    pub fn opening(&self, master: &str, patience: f64) -> Value {
        // What is done once is done sooner without the optimising compiler.
        let conf = json!({
            "spark.local.dir": self.scratch.path(), "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        });
        json!({"do": "open", "master": master, "conf": conf, "executors": 1, "patience": patience})
    }

    pub fn say(&mut self, line: &str) {
        self.stream.write_all(line.as_bytes()).expect("the driver listens");
        self.stream.write_all(b"\n").expect("the driver listens");
    }

    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line in time");
        serde_json::from_str(&line).expect("JSON")
    }

    /// What a line is answered with in the end.
    pub fn answer(&mut self, line: &str) -> Value {
        self.say(line);
        loop {
            let answer = self.hear();
            if answer["is"] != "progress" {
                return answer;
            }
        }
    }

    pub fn done(&mut self, request: &Value) -> Value {
        let answer = self.answer(&request.to_string());
        assert_eq!(answer["is"], "done", "{answer}");
        answer
    }

    /// The reason for which a line fails, after which the driver is as before.
    pub fn reason(&mut self, line: &str) -> String {
        let answer = self.answer(line);
        assert_eq!((&answer["is"], &answer["fatal"]), (&json!("failed"), &Value::Null), "{answer}");
        answer["reason"].as_str().expect("a reason").to_string()
    }

    /// The processes that it has started.
    pub fn children(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let told: Vec<String> = tasks.flatten().map(of).collect();
        told.iter().flat_map(|pids| pids.split_whitespace()).map(String::from).collect()
    }

    /// Closes the connection, and waits until driver and JVM have ended.
    pub fn hang_up(mut self) {
        let (children, begin) = (self.children(), Instant::now());
        self.stream.shutdown(std::net::Shutdown::Both).expect("closes");
        let ended = |child: &mut Child| child.try_wait().expect("a child").is_some();
        let gone = |pid: &String| !Path::new("/proc").join(pid).exists();
        while !ended(&mut self.child) || !children.iter().all(gone) {
            assert!(begin.elapsed() < PATIENCE, "{children:?} are still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

/// The application in which the tests that want only an answer take, one after the other. It ends
/// when this process does, as its connection then closes.
pub fn shared() -> Option<MutexGuard<'static, Driver>> {
    static DRIVER: OnceLock<Option<Mutex<Driver>>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| Driver::open(Scratch::shared()).map(Mutex::new)).as_ref();
    if driver.is_none() {
        eprintln!("skipped: no Spark (see above)");
    }
    driver.map(|driver| driver.lock().unwrap_or_else(PoisonError::into_inner))
}
