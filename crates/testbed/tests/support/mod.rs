//! Shared by tests and examples: the hidden verbs, and an agent that answers each line with
//! one line.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crosstalk_core::testbed::AgentStream;
use crosstalk_host::process::wait_readable;

/// Runs the hidden verb that this program was started with, if there is one.
pub fn hidden_verb() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (verb, rest) = args.split_first()?;
    match verb.as_str() {
        "agent" => Some(agent()),
        "hold" => Some(crosstalk_testbed::holder_main(rest)),
        "reap" => Some(crosstalk_host::reaper_main(rest)),
        _ => None,
    }
}

/// Answers each line of standard input.
fn agent() -> ExitCode {
    let mut sink = Sink::default();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::from(4) };
        let words: Vec<_> = line.split(' ').collect();
        let answer = match words[..] {
            ["hello"] => "hello".into(),
            ["host"] => read("/proc/sys/kernel/hostname"),
            ["congestion"] => read("/proc/sys/net/ipv4/tcp_congestion_control"),
            ["processes"] => processes().to_string(),
            ["die"] => std::process::exit(3),
            ["leave", "a", "child"] => leave_a_child(),
            ["listen"] => sink.listen(),
            ["taken"] => sink.taken(),
            ["send", address, bytes] => send(address, bytes),
            ["knock", ref addresses @ ..] => knock(addresses),
            _ => "what?".into(),
        };
        println!("{answer}");
    }
    ExitCode::SUCCESS
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(|e| e.to_string(), |text| text.trim().into())
}

fn processes() -> usize {
    let numbers = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let entries = std::fs::read_dir("/proc").expect("/proc is there");
    entries.flatten().filter(|e| e.file_name().to_str().is_some_and(numbers)).count()
}

/// Starts a process that outlives its agent. Returns its process id.
fn leave_a_child() -> String {
    let script = "sleep 100 >/dev/null 2>&1 & echo $!";
    let output = std::process::Command::new("sh").args(["-c", script]).output().expect("sh starts");
    String::from_utf8_lossy(&output.stdout).trim().into()
}

/// Receives one stream in the background.
#[derive(Default)]
struct Sink {
    thread: Option<std::thread::JoinHandle<usize>>,
}

impl Sink {
    fn listen(&mut self) -> String {
        let listener = TcpListener::bind("0.0.0.0:0").expect("binds");
        let port = listener.local_addr().expect("is bound").port();
        self.thread = Some(std::thread::spawn(move || {
            let came = wait_readable(&[&listener], Some(Duration::from_secs(5))).expect("waits");
            assert!(came[0], "nobody connected");
            let (mut stream, _) = listener.accept().expect("accepts");
            let mut all = Vec::new();
            stream.read_to_end(&mut all).expect("reads");
            stream.write_all(b"!").expect("thanks");
            all.len()
        }));
        port.to_string()
    }

    fn taken(&mut self) -> String {
        self.thread.take().map_or_else(|| "none".into(), |t| t.join().expect("ends").to_string())
    }
}

/// Sends `bytes` to `address`. Returns the seconds until they were acknowledged.
fn send(address: &str, bytes: &str) -> String {
    let to = address.parse().expect("an address");
    let block = vec![7; bytes.parse().expect("a number")];
    let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(5)).expect("connects");
    stream.set_nodelay(true).expect("is set");
    let began = Instant::now();
    stream.write_all(&block).expect("sends");
    stream.shutdown(std::net::Shutdown::Write).expect("ends");
    stream.read_exact(&mut [0]).expect("is thanked");
    began.elapsed().as_secs_f64().to_string()
}

/// Connects to a closed port of each address. A refusal means that it was reached. Returns the first one that was not.
fn knock(addresses: &[&str]) -> String {
    let reached = |to: &str| {
        let to = (to.parse::<IpAddr>().expect("an address"), 9).into();
        let answer = TcpStream::connect_timeout(&to, Duration::from_secs(2)).map(drop);
        answer.err().filter(|e| e.kind() != ErrorKind::ConnectionRefused)
    };
    let failed = addresses.iter().find_map(|to| Some((to, reached(to)?)));
    failed.map_or_else(|| "all answer".into(), |(to, error)| format!("{to}: {error}"))
}

/// The stream to such an agent.
pub struct AgentSession {
    reader: BufReader<Box<dyn Read + Send>>,
    writer: Box<dyn Write + Send>,
}

impl From<AgentStream> for AgentSession {
    fn from(stream: AgentStream) -> Self {
        AgentSession { reader: BufReader::new(stream.reader), writer: stream.writer }
    }
}

impl AgentSession {
    /// Sends a line without waiting for the answer.
    pub fn say(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).expect("the agent reads");
    }

    /// The next answer; empty if the agent has ended.
    pub fn answer(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("the agent answers");
        line.trim().into()
    }

    /// Sends a line and waits for the answer.
    #[allow(dead_code, reason = "each of the programs that share this file uses a part of it")]
    pub fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.answer()
    }
}
