//! A connection to an X11 display server that may be anything: it is asked one thing at a time, and neither waited
//! for nor listened to for longer than that takes. (Libraries make room for whatever length a server claims, and
//! keep events that nobody asked for.)

use std::fs;
use std::io::{self, BufReader, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use x11rb_protocol::connect::Connect;
use x11rb_protocol::parse_display::{ConnectAddress, ParsedDisplay, parse_display};
use x11rb_protocol::protocol::xproto::Setup;
use x11rb_protocol::x11_utils::Request;
use x11rb_protocol::xauth::Family;

/// How long it is waited for, a question.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer, of which any that is asked for here has some fifty.
const LONGEST: usize = 4096;
/// Events that may come before an answer: changes of the keyboard are told to everybody, some hundred at a time.
const EVENTS: usize = 4096;
/// Displays of higher numbers have no port (6000 and the number).
const LAST: u16 = u16::MAX - 6000;
/// Longer than any file of cookies.
const COOKIES: u64 = 1 << 20;

/// How a server is reached.
trait Socket: Read + Write + Send {
    /// It is waited for so long from now on, whenever it is read or written.
    fn wait_for(&self, time: Duration) -> io::Result<()>;
}

impl Socket for UnixStream {
    fn wait_for(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

impl Socket for TcpStream {
    fn wait_for(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time)).and_then(|()| self.set_write_timeout(Some(time)))
    }
}

/// A socket that is listened to until then.
struct Timed {
    socket: Box<dyn Socket>,
    until: Instant,
}

impl Timed {
    fn over(socket: Box<dyn Socket>) -> Self {
        Timed { socket, until: Instant::now() }
    }

    /// A new question begins.
    fn begin(&mut self) {
        self.until = Instant::now() + PATIENCE;
    }

    fn wait(&self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { self.socket.wait_for(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// The connection.
pub(super) struct Server {
    stream: BufReader<Timed>,
    /// Of the last question.
    sequence: u16,
}

/// What a question was answered with: the first 32 bytes, and what follows.
pub(super) struct Answer(Vec<u8>);

impl Answer {
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// Four bytes in this machine's order; 0 where there are none.
    pub(super) fn word(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }
}

impl Server {
    /// The server of this display, or of the one that `DISPLAY` names; and what it says of itself and which
    /// screen is meant.
    pub(super) fn connect(display: Option<&str>) -> io::Result<(Self, Setup, usize)> {
        let display = parse_display(display).map_err(Error::other)?;
        if display.display > LAST {
            return Err(Error::other("there is no such display"));
        }
        let (stream, family, host) = reach(&display)?;
        let connect = if has_cookies() {
            Connect::new(family, &host, display.display).map_err(Error::other)?
        } else {
            Connect::with_authorization(Vec::new(), Vec::new())
        };
        let (server, setup) = Self::begin(stream, connect)?;
        Ok((server, setup, display.screen.into()))
    }

    fn begin(
        stream: Box<dyn Socket>,
        (mut connect, request): (Connect, Vec<u8>),
    ) -> io::Result<(Self, Setup)> {
        let mut stream = BufReader::new(Timed::over(stream));
        stream.get_mut().begin();
        stream.get_mut().write_all(&request)?;
        // No answer to this is longer than 256 KiB: its length has two bytes.
        loop {
            let read = stream.read(connect.buffer())?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if connect.advance(read) {
                break;
            }
        }
        let setup = connect.into_setup().map_err(Error::other)?;
        Ok((Server { stream, sequence: 0 }, setup))
    }

    /// Asks; `opcode` is the extension's, where it is a question of one. `None` where the server refuses.
    ///
    /// # Errors
    /// Where it has gone, or does not keep to the protocol.
    pub(super) fn ask(&mut self, question: impl Request, opcode: u8) -> io::Result<Option<Answer>> {
        self.stream.get_mut().begin();
        self.stream.get_mut().write_all(&question.serialize(opcode).0)?;
        self.sequence = self.sequence.wrapping_add(1);
        for _ in 0..EVENTS {
            let mut told = vec![0; 32];
            self.stream.read_exact(&mut told)?;
            let (kind, sequence) = (told[0], u16::from_ne_bytes([told[2], told[3]]));
            let mut answer = Answer(told);
            // Answers (1) tell how much follows, and one kind of events (35).
            let follows = if matches!(kind & 0x7f, 1 | 35) { answer.word(4) as usize } else { 0 };
            if follows > LONGEST / 4 {
                return Err(Error::other("it says more than it was asked"));
            }
            answer.0.resize(32 + 4 * follows, 0);
            self.stream.read_exact(&mut answer.0[32..])?;
            if kind <= 1 && sequence == self.sequence {
                return Ok((kind == 1).then_some(answer));
            }
        }
        Err(Error::other("it does not come to an answer"))
    }
}

/// Connects; what a cookie for that is kept for, too.
fn reach(display: &ParsedDisplay) -> io::Result<(Box<dyn Socket>, Family, Vec<u8>)> {
    let mut last = Error::from(ErrorKind::NotFound);
    for address in display.connect_instruction() {
        match reach_at(&address) {
            Ok(found) => return Ok(found),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn reach_at(address: &ConnectAddress<'_>) -> io::Result<(Box<dyn Socket>, Family, Vec<u8>)> {
    match address {
        ConnectAddress::Socket(path) => {
            Ok((Box::new(UnixStream::connect(path)?), Family::LOCAL, this_host()))
        }
        ConnectAddress::Hostname(name, port) => {
            let all = (*name, *port).to_socket_addrs()?;
            let mut reached = all.map(|address| TcpStream::connect_timeout(&address, PATIENCE));
            let stream = reached.find_map(Result::ok).ok_or(ErrorKind::NotFound)?;
            let (family, host) = match stream.peer_addr()?.ip() {
                ip if ip.is_loopback() => (Family::LOCAL, this_host()),
                std::net::IpAddr::V4(ip) => (Family::INTERNET, ip.octets().to_vec()),
                std::net::IpAddr::V6(ip) => (Family::INTERNET6, ip.octets().to_vec()),
            };
            Ok((Box::new(stream), family, host))
        }
        _ => Err(ErrorKind::Unsupported.into()),
    }
}

fn this_host() -> Vec<u8> {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim_end().into()
}

/// Whether there is a file of cookies which it makes sense to read.
fn has_cookies() -> bool {
    let named = std::env::var_os("XAUTHORITY").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".Xauthority"));
    let told = named.or_else(home).and_then(|path| fs::metadata(path).ok());
    told.is_some_and(|file| file.is_file() && file.len() <= COOKIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use x11rb_protocol::protocol::xproto::GetInputFocusRequest;

    /// A server that says all this, whatever it is asked.
    struct Says(io::Cursor<Vec<u8>>);

    impl Read for Says {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Says {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Socket for Says {
        fn wait_for(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }

    /// What the first question is answered with by one that says these parts.
    fn asked(says: &[&[u8]]) -> io::Result<Option<Answer>> {
        let says = Box::new(Says(io::Cursor::new(says.concat())));
        Server { stream: BufReader::new(Timed::over(says)), sequence: 0 }.ask(GetInputFocusRequest, 0)
    }

    /// 32 bytes that begin so, behind which so many words are said to follow.
    fn head(kind: u8, sequence: u16, follows: u32) -> Vec<u8> {
        let begin = [&[kind, 7][..], &sequence.to_ne_bytes(), &follows.to_ne_bytes()].concat();
        [begin, vec![0; 24]].concat()
    }

    #[test]
    fn an_answer_is_found_behind_events_and_what_was_asked_before() {
        let other =
            [head(34, 1, u32::MAX), head(35, 1, 1), vec![9; 4], head(1, 0, 0), head(0, 0, 0)].concat();
        let answer =
            asked(&[&other, &head(1, 1, 2), &[5; 8]]).expect("keeps to the protocol").expect("answers");
        assert_eq!((answer.byte(1), answer.word(32), answer.word(36)), (7, 0x0505_0505, 0x0505_0505));
        assert_eq!((answer.word(37), answer.byte(40)), (0, 0), "there is no more");
        assert!(asked(&[&head(0, 1, 9)]).expect("keeps to the protocol").is_none(), "it refuses");
    }

    #[test]
    fn a_server_is_not_believed_what_would_take_memory_or_time() {
        let fault = |says: &[&[u8]]| asked(says).err().expect("is none").to_string();
        assert!(fault(&[&head(1, 1, u32::MAX)]).contains("more than it was asked"));
        assert!(fault(&[&head(35, 1, 1 << 20)]).contains("more than it was asked"));
        let events = head(34, 1, 0).repeat(EVENTS);
        assert!(fault(&[&events, &head(1, 1, 0)]).contains("does not come"));
        assert!(asked(&[&head(1, 1, 2), &[5; 7]]).is_err(), "it goes in the midst");
    }

    #[test]
    fn a_server_that_answers_byte_by_byte_is_not_waited_for_longer() {
        let says = Box::new(Says(io::Cursor::new(vec![0; 9])));
        let mut late = Timed::over(says);
        assert!(late.read(&mut [0; 9]).is_err_and(|late| late.kind() == ErrorKind::TimedOut));
        late.begin();
        assert_eq!(late.read(&mut [0; 9]).expect("there is time"), 9);
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_is_an_answer_or_a_fault(says in prop::collection::vec(any::<u8>(), 0..400)) {
            let answer = asked(&[&says]);
            if let Ok(Some(answer)) = answer {
                prop_assert!(answer.0.len() <= says.len());
            }
            let stream = Box::new(Says(io::Cursor::new(says)));
            // That is another protocol, or ends before it has told what it must.
            prop_assert!(Server::begin(stream, Connect::with_authorization(Vec::new(), Vec::new())).is_err());
        }
    }
}
