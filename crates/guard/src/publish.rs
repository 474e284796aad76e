//! Where metrics are published: in a file that is replaced whole, or over HTTP to whoever asks.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::process::spawn_thread;

use super::metrics::CONTENT_TYPE;

/// No text of metrics is larger.
const LARGEST: u64 = 1 << 20;
/// Longer than what anybody asks with.
const LONGEST: usize = 8 << 10;
/// So many are answered at a time.
const AT_ONCE: usize = 16;
/// Who asks more slowly is not answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// The place.
#[derive(Debug)]
pub enum Publisher {
    /// A file.
    File(PathBuf),
    /// Whoever asks at this address gets the text.
    Address(SocketAddr, Arc<Mutex<String>>),
}

impl Publisher {
    /// `HOST:PORT` is an address, where the port is a number. What is half of one is refused, as is nothing at
    /// all; everything else is a file.
    ///
    /// # Errors
    /// Where nobody can listen there, or the file cannot be written.
    pub fn new(place: &str) -> Result<Self, Fault> {
        let at = format!("--metrics {place}");
        let digits = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let half = match place.trim() {
            "" => Some(("expected an address or a file, found nothing", "127.0.0.1:9273".into())),
            port if digits(port) => Some(("a port needs its address", format!("127.0.0.1:{port}"))),
            host if host.parse::<IpAddr>().is_ok() => {
                Some(("an address needs its port", format!("{host}:9273")))
            }
            _ => None,
        };
        if let Some((why, whole)) = half {
            let remedy = format!("--metrics {whole}, or a file's path with a `/`: --metrics ./{place}");
            return Err(Fault::usage(why).at(at).remedy(remedy));
        }
        if place.rsplit_once(':').is_none_or(|(host, port)| host.contains('/') || !digits(port)) {
            may_be_replaced(Path::new(place))?;
            let publisher = Publisher::File(place.into());
            publisher.publish("# EOF\n")?;
            return Ok(publisher);
        }
        let found = place.to_socket_addrs().ok().and_then(|mut found| found.next());
        let address = found.ok_or_else(|| {
            Fault::usage("there is no such address here, or its port is above 65535")
                .at(&at)
                .remedy("write it in numbers, as in 127.0.0.1:9273, or a file's path with a `/`")
        })?;
        let listener = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = listener.map_err(|e| {
            Fault::environment(format!("cannot listen there: {e}"))
                .at(at)
                .remedy("choose another port, or 0 for any")
        })?;
        let text = Arc::new(Mutex::new("# EOF\n".to_string()));
        let shared = Arc::clone(&text);
        spawn_thread("metrics", move || {
            listener.incoming().flatten().for_each(|stream| serve(stream, &shared))
        })?;
        Ok(Publisher::Address(address, text))
    }

    /// Publishes the text from now on.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn publish(&self, text: &str) -> Result<(), Fault> {
        match self {
            Publisher::Address(_, shared) => {
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = text.into()
            }
            Publisher::File(path) => {
                replace(path, text).map_err(|e| {
                    Fault::environment(format!("cannot write metrics: {e}"))
                        .at(path.display().to_string())
                        .remedy("name a file in a folder that is there, can be written to and has room")
                })?;
            }
        }
        Ok(())
    }
}

/// A file is replaced, and taken away at the end: it must be one that a guard has left, or none.
fn may_be_replaced(path: &Path) -> Result<(), Fault> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    // A device is not opened, and of a long file no more is read than is needed.
    let ends = |text: &[u8]| text.ends_with(b"# EOF\n");
    let is_text = found.is_file() && found.len() <= LARGEST && fs::read(path).is_ok_and(|text| ends(&text));
    if is_text {
        return Ok(());
    }
    Err(Fault::usage("it holds something other than metrics, which would be replaced")
        .at(format!("--metrics {}", path.display()))
        .remedy("name a file that is not there yet"))
}

/// Whoever reads the file finds the old text or the new one. In a folder that others may write to, what
/// they have put next to it is neither followed nor written to.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut temporary = path.to_path_buf().into_os_string();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let created = || OpenOptions::new().write(true).create_new(true).open(&temporary);
    // One that a killed guard of the same number has left.
    let mut file = created().or_else(|_| fs::remove_file(&temporary).and_then(|()| created()))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

impl Drop for Publisher {
    fn drop(&mut self) {
        // Numbers of a guard that has ended would be taken for those of now.
        if let Publisher::File(path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// Answers on a thread of its own, within bounded time: who is slow keeps nobody else waiting.
fn serve(mut stream: TcpStream, text: &Arc<Mutex<String>>) {
    // Two hold the text anyway.
    if Arc::strong_count(text) < AT_ONCE + 2 {
        let text = Arc::clone(text);
        // Whoever has gone away, or finds no thread, is not answered.
        let _ = thread::Builder::new().spawn(move || answer(stream, &text));
        return;
    }
    // Nobody is waited for. What is asked is read as far as it is there, since else the kernel would throw the answer
    // away with it; that fits into any socket's buffer.
    let _ = stream.set_nonblocking(true);
    let _ = stream.read(&mut [0; LONGEST]);
    let body = format!("{AT_ONCE} others are being answered: ask again in a second\n");
    let _ = say(&mut stream, "503 Service Unavailable", "text/plain", &body);
    let _ = stream.shutdown(Shutdown::Write);
}

fn say(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let words: Vec<&str> = std::str::from_utf8(&request).unwrap_or_default().split(' ').take(2).collect();
    let (status, kind, body) = match words[..] {
        ["GET", "/" | "/metrics"] => {
            ("200 OK", CONTENT_TYPE, text.lock().unwrap_or_else(PoisonError::into_inner).clone())
        }
        ["GET", _] => ("404 Not Found", "text/plain", "metrics are at /metrics\n".into()),
        _ => ("400 Bad Request", "text/plain", "ask with: GET /metrics\n".into()),
    };
    say(&mut stream, status, kind, &body)
}

/// What is asked, up to the empty line.
fn request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let (until, mut all, mut part) = (Instant::now() + PATIENCE, Vec::new(), [0; 1024]);
    while all.len() < LONGEST && Instant::now() < until {
        let read = stream.read(&mut part)?;
        all.extend_from_slice(&part[..read]);
        if read == 0 || all.windows(4).any(|four| four == b"\r\n\r\n") {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).expect("listens");
        // What is too long may be answered, and the connection gone, before all of it is sent.
        let _ = stream.write_all(request).and_then(|()| stream.shutdown(Shutdown::Write));
        let mut text = String::new();
        // What is left unread of a request that is too long resets the connection.
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn whoever_asks_gets_the_text() {
        let publisher = Publisher::new("127.0.0.1:0").expect("listens");
        publisher.publish("a 1\n# EOF\n").expect("is kept");
        let Publisher::Address(address, _) = &publisher else { panic!("an address") };
        let address = *address;
        let answer = ask(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n# EOF\n"),
            "{answer}"
        );
        assert!(ask(address, b"GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, b"\xff\xff").starts_with("HTTP/1.1 400"));
        ask(address, &[b'x'; 100_000]);
        let silent: Vec<_> =
            (0..AT_ONCE / 2).map(|_| TcpStream::connect(address).expect("listens")).collect();
        assert!(ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with("# EOF\n"), "it goes on");
        drop(silent);
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("guard.prom");
        let publisher = Publisher::new(&path.display().to_string()).expect("can be written");
        publisher.publish("a 1\n# EOF\n").expect("writes");
        assert_eq!(fs::read_to_string(&path).expect("reads"), "a 1\n# EOF\n");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 1);
        drop(publisher);
        assert!(!path.exists(), "no numbers of a guard that has ended");
        fs::write(&path, "precious\n").expect("writes");
        let fault = Publisher::new(&path.display().to_string()).expect_err("is somebody's");
        assert!(fault.to_string().contains("something other"), "{fault}");
        assert_eq!(fs::read_to_string(&path).expect("reads"), "precious\n");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("links");
        Publisher::new(&link.display().to_string()).expect_err("is a link");
        Publisher::new("/dev/null").expect_err("is a device");
        assert!(link.is_symlink() && Path::new("/dev/null").exists());
        fs::write(&path, "a 1\n# EOF\n").expect("writes");
        drop(Publisher::new(&path.display().to_string()).expect("a guard that was killed has left it"));
        let fault = Publisher::new("/no/such/folder/x.prom").expect_err("no such folder");
        assert!(fault.to_string().contains("/no/such/folder/x.prom") && fault.remedy.is_some(), "{fault}");
        for half in ["", " ", "9273", "127.0.0.1", "::1"] {
            let fault = Publisher::new(half).expect_err("is half of a place");
            assert!(fault.remedy.is_some_and(|remedy| remedy.contains(":9273")), "{half}");
        }
        let fault = Publisher::new("no-such-host.invalid:9273").expect_err("no such host");
        assert!(fault.to_string().contains("no such address"), "{fault}");
        let fault = Publisher::new("127.0.0.1:99999").expect_err("no such port");
        assert!(fault.to_string().contains("above 65535"), "{fault}");
        let named = Publisher::new("localhost:0").expect("is this host");
        assert!(matches!(&named, Publisher::Address(address, _) if address.ip().is_loopback()));
    }
}
