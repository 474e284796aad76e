//! A file over HTTPS by the system's `curl`, else its `wget`: no library of ours speaks TLS. The bytes are counted
//! and hashed as they arrive.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use sha2::{Digest, Sha256};

/// The programs that can fetch, with their arguments; the address follows.
const PROGRAMS: [(&str, &[&str]); 2] = [
    (
        "curl",
        &[
            "-sSfL",
            "--proto",
            "=https,http",
            "--connect-timeout",
            "20",
            "--speed-limit",
            "1",
            "--speed-time",
            "60",
        ],
    ),
    ("wget", &["-nv", "-O-", "--tries=1", "--timeout=60"]),
];

/// The most that is quoted of what a program complains, in bytes.
const LONGEST_COMPLAINT: u64 = 4096;

/// Writes what is at `url` to `to`, at most `size` bytes.
///
/// # Errors
/// An environment fault where it cannot be fetched or written, or is not `size` bytes of this SHA-256.
pub fn download(url: &str, size: Bytes, sha256: &str, to: &mut dyn Write) -> Result<(), Fault> {
    let mut transfer = Transfer::start(url)?;
    let Some(mut bytes) = transfer.0.stdout.take() else {
        return Err(Fault::environment("cannot read what is fetched").at(url));
    };
    let mut received = Received { hash: Sha256::new(), bytes: 0 };
    let copied = received.copy(&mut bytes, size, to);
    drop(bytes);
    if received.bytes <= size.0 {
        // A file that cannot be written says more than a program whose reader has gone.
        copied.map_err(|e| unwritable_fault(&e))?;
        transfer.end(url)?;
    }
    received.check(url, size, sha256)
}

/// The fault that a file cannot be written.
pub fn unwritable_fault(e: &io::Error) -> Fault {
    let remedy = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some room there, or name another --dir"
        }
        _ => "name another --dir",
    };
    Fault::environment(format!("cannot write the file: {e}")).remedy(remedy)
}

/// A program that fetches; it ends when this is dropped.
struct Transfer(Child);

impl Transfer {
    fn start(url: &str) -> Result<Self, Fault> {
        for (program, arguments) in PROGRAMS {
            let mut command = Command::new(program);
            command.args(arguments).arg("--").arg(url);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            match command.spawn() {
                Ok(child) => return Ok(Transfer(child)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Fault::environment(format!("cannot start {program}: {e}"))),
            }
        }
        Err(Fault::environment("neither curl nor wget is installed").remedy("apt-get install curl"))
    }

    /// Waits for its end, whose bytes have all been read.
    fn end(mut self, url: &str) -> Result<(), Fault> {
        let mut complaint = String::new();
        if let Some(stderr) = self.0.stderr.take() {
            // Without its complaint it has still failed.
            let _ = stderr.take(LONGEST_COMPLAINT).read_to_string(&mut complaint);
        }
        let status = self.0.wait().map_err(|e| Fault::environment(e.to_string()).at(url))?;
        if status.success() {
            return Ok(());
        }
        let why = complaint.lines().map(str::trim).rfind(|line| !line.is_empty());
        let why = why.map_or_else(|| status.to_string(), str::to_string);
        Err(Fault::environment(format!("cannot fetch it: {why}"))
            .at(url)
            .remedy("check this machine's network and proxy (https_proxy), then repeat the command"))
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What has arrived so far.
struct Received {
    hash: Sha256,
    bytes: u64,
}

impl Received {
    /// Copies all, but no more than one chunk beyond `size`; an error is one of writing, or of a pipe.
    fn copy(&mut self, from: &mut dyn Read, size: Bytes, to: &mut dyn Write) -> io::Result<()> {
        let mut chunk = vec![0; 1 << 16];
        while self.bytes <= size.0 {
            let read = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.hash.update(&chunk[..read]);
            self.bytes += read as u64;
            to.write_all(&chunk[..read])?;
        }
        to.flush()
    }

    fn check(self, url: &str, size: Bytes, sha256: &str) -> Result<(), Fault> {
        let differs = |expected: String, found: String| {
            Fault::environment(format!(
                "expected {expected}, found {found}: it is not the file of the catalogue"
            ))
            .at(url)
            .remedy("nothing of it was kept; repeat the command, and if it stays so fetch the file by hand")
        };
        if self.bytes != size.0 {
            let found = if self.bytes > size.0 { "more".into() } else { self.bytes.to_string() };
            return Err(differs(format!("{} bytes", size.0), found));
        }
        let found: String = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found == sha256 { Ok(()) } else { Err(differs(format!("SHA-256 {sha256}"), found)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk without any room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn received(bytes: &[u8], size: u64) -> Received {
        let mut received = Received { hash: Sha256::new(), bytes: 0 };
        received.copy(&mut &*bytes, Bytes(size), &mut io::sink()).expect("copies");
        received
    }

    #[test]
    fn the_published_digest_of_abc_is_that_of_abc_alone() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(received(b"abc", 3).check("u", Bytes(3), abc), Ok(()));
        let fault = received(b"abd", 3).check("u", Bytes(3), abc).expect_err("differs");
        assert!(fault.message.contains(abc) && fault.remedy.is_some(), "{fault}");
        let fault = received(b"ab", 3).check("u", Bytes(3), abc).expect_err("is short");
        assert!(fault.message.contains("expected 3 bytes, found 2"), "{fault}");
        let fault = received(b"abcd", 3).check("u", Bytes(3), abc).expect_err("is long");
        assert!(fault.message.contains("found more"), "{fault}");
    }

    #[test]
    fn an_endless_answer_is_not_read_to_its_end() {
        let mut received = Received { hash: Sha256::new(), bytes: 0 };
        received.copy(&mut io::repeat(0), Bytes(1 << 20), &mut io::sink()).expect("ends");
        assert!(received.bytes <= (1 << 20) + (1 << 16));
    }

    #[test]
    fn a_full_disk_is_a_fault_with_its_remedy() {
        let mut received = Received { hash: Sha256::new(), bytes: 0 };
        let error = received.copy(&mut &b"abc"[..], Bytes(3), &mut Full).expect_err("is full");
        assert!(unwritable_fault(&error).remedy.is_some_and(|remedy| remedy.contains("free some room")));
    }
}
