//! Which program the user works with: the one whose window has the focus, as the window manager tells an X11
//! display (`_NET_ACTIVE_WINDOW` of the Extended Window Manager Hints 1.5). Whose window that is the display
//! server itself tells, of programs of this machine (`QueryClientIds` of the X Resource extension 1.2). A
//! Wayland compositor tells nobody.
//!
//! The display is asked by a thread of its own: a server that does not answer holds nobody up. Nor is one believed:
//! it may be another user's, or another machine's.

mod server;

use std::io::{self, Error};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use x11rb_protocol::protocol::res::{ClientIdMask, ClientIdSpec, QueryClientIdsRequest, QueryVersionRequest};
use x11rb_protocol::protocol::xproto::{
    AtomEnum, GetPropertyRequest, InternAtomRequest, QueryExtensionRequest, Window,
};

use server::{Answer, Server};

/// Between two questions: people change windows no more often.
const EVERY: Duration = Duration::from_millis(250);
/// A display that is not there, or has gone, is looked for again so much later.
const AGAIN: Duration = Duration::from_secs(5);
/// No process has this number.
const NOBODY: u32 = 0;

/// The display that is asked, until this is dropped.
#[derive(Debug)]
pub struct Focus(Arc<AtomicU32>);

impl Focus {
    /// Of the display that `DISPLAY` names; `None` where it names none, or no thread can be had.
    pub fn find() -> Option<Self> {
        std::env::var_os("DISPLAY").filter(|name| !name.is_empty())?;
        Self::of(None)
    }

    /// Of this display, or of the one that `DISPLAY` names.
    fn of(display: Option<String>) -> Option<Self> {
        let told = Arc::new(AtomicU32::new(NOBODY));
        let asks = Arc::downgrade(&told);
        thread::Builder::new().name("focus".into()).spawn(move || ask_on(display.as_deref(), &asks)).ok()?;
        Some(Focus(told))
    }

    /// One that always tells this process.
    #[cfg(test)]
    pub fn always(pid: u32) -> Self {
        Focus(Arc::new(AtomicU32::new(pid)))
    }

    /// The process whose window has the focus, if it is one of this machine.
    pub fn pid(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|pid| *pid != NOBODY)
    }
}

/// Asks until nobody wants to know.
fn ask_on(display: Option<&str>, told: &Weak<AtomicU32>) {
    while told.strong_count() > 0 {
        if let Ok(mut found) = Display::open(display) {
            while let (Some(told), Ok(pid)) = (told.upgrade(), found.focused()) {
                told.store(pid.unwrap_or(NOBODY), Ordering::Relaxed);
                drop(told);
                thread::sleep(EVERY);
            }
        }
        if let Some(told) = told.upgrade() {
            told.store(NOBODY, Ordering::Relaxed);
        }
        thread::sleep(AGAIN);
    }
}

/// A display that is connected.
struct Display {
    server: Server,
    root: Window,
    active: u32,
    /// The opcode of the X Resource extension.
    resources: u8,
}

impl Display {
    fn open(name: Option<&str>) -> io::Result<Self> {
        let (mut server, setup, screen) = Server::connect(name)?;
        let root = setup.roots.get(screen).ok_or_else(|| Error::other("it has no such screen"))?.root;
        let must =
            |answer: io::Result<Option<Answer>>| answer?.ok_or_else(|| Error::other("it does not know that"));
        let extension = must(server.ask(QueryExtensionRequest { name: b"X-Resource".into() }, 0))?;
        let resources = Some(extension.byte(9)).filter(|_| extension.byte(8) == 1);
        let resources = resources.ok_or_else(|| Error::other("it does not tell whose windows are"))?;
        must(server.ask(QueryVersionRequest { client_major: 1, client_minor: 2 }, resources))?;
        let name = b"_NET_ACTIVE_WINDOW";
        let atom = must(server.ask(InternAtomRequest { only_if_exists: false, name: name.into() }, 0))?;
        Ok(Display { server, root, active: atom.word(8), resources })
    }

    /// The process whose window has the focus.
    ///
    /// # Errors
    /// When the display has gone.
    fn focused(&mut self) -> io::Result<Option<u32>> {
        let asks = GetPropertyRequest {
            delete: false,
            window: self.root,
            property: self.active,
            type_: AtomEnum::WINDOW.into(),
            long_offset: 0,
            long_length: 1,
        };
        // The number of values, and the first.
        let window =
            self.server.ask(asks, 0)?.filter(|told| told.word(16) > 0).map_or(0, |told| told.word(32));
        if window == 0 {
            return Ok(None);
        }
        let one = ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID };
        let asks = QueryClientIdsRequest { specs: vec![one].into() };
        // A window that has gone meanwhile is an error. The number of clients; of the first (of its connection and
        // of what this is, before) how many bytes it is told in, and the process.
        let told = self.server.ask(asks, self.resources)?;
        Ok(told.filter(|told| told.word(8) > 0 && told.word(40) >= 4).map(|told| told.word(44)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::net::TcpListener;
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;
    use x11rb::connection::Connection;
    use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, PropMode, WindowClass};
    use x11rb::rust_connection::RustConnection;
    use x11rb::wrapper::ConnectionExt as _;

    /// A display server, which ends with its test.
    struct Server(Child);

    impl Drop for Server {
        fn drop(&mut self) {
            // It may have ended.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn within(seconds: u64, so: impl Fn() -> bool) -> bool {
        let until = Instant::now() + Duration::from_secs(seconds);
        loop {
            if so() || Instant::now() >= until {
                return Instant::now() < until;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn whose_window_has_the_focus_is_told_until_the_display_goes() {
        let name = format!(":{}", 100 + std::process::id() % 900);
        let started = Command::new("Xvfb")
            .args([&name, "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(server) = started.map(Server) else {
            eprintln!("skipped: there is no Xvfb here (apt-get install xvfb)");
            return;
        };
        assert!(within(20, || Display::open(Some(&name)).is_ok()), "the display server answers");
        let focus = Focus::of(Some(name.clone())).expect("a thread can be had");
        let (manager, screen) = RustConnection::connect(Some(&name)).expect("connects");
        let (root, window) =
            (manager.setup().roots[screen].root, manager.generate_id().expect("has numbers"));
        let looks = CreateWindowAux::new();
        manager
            .create_window(0, window, root, 0, 0, 9, 9, 0, WindowClass::INPUT_OUTPUT, 0, &looks)
            .expect("is sent");
        let active =
            manager.intern_atom(false, b"_NET_ACTIVE_WINDOW").expect("is sent").reply().expect("answers");
        let give = |window: Window| {
            let change =
                manager.change_property32(PropMode::REPLACE, root, active.atom, AtomEnum::WINDOW, &[window]);
            change.expect("is sent").check().expect("is done");
        };
        assert_eq!(focus.pid(), None, "no window has it yet");
        give(window);
        assert!(within(10, || focus.pid() == Some(std::process::id())), "{:?}", focus.pid());
        give(0x7fff_ffff);
        assert!(within(10, || focus.pid().is_none()), "a window that is not there");
        give(window);
        assert!(within(10, || focus.pid().is_some()), "it goes on");
        drop(server);
        assert!(within(10, || focus.pid().is_none()), "the display has gone");
    }

    #[test]
    fn a_display_that_does_not_answer_holds_nobody_up() {
        let deaf = TcpListener::bind("127.0.0.1:0").expect("a free port");
        // Display N listens at port 6000 + N.
        let number = deaf.local_addr().expect("has one").port() - 6000;
        let began = Instant::now();
        let focus = Focus::of(Some(format!("127.0.0.1:{number}"))).expect("a thread can be had");
        deaf.set_nonblocking(true).expect("may be set");
        let open = RefCell::new(Vec::new());
        let asked = || deaf.accept().map(|connection| open.borrow_mut().push(connection)).is_ok();
        assert!(within(10, asked), "it is asked");
        assert_eq!(focus.pid(), None);
        drop(focus);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}
