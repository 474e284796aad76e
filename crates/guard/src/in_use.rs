//! Whether the user works with a program of own work: its window has the focus, and it computes.

use std::path::Path;
use std::time::Duration;

use crosstalk_host::clock::parse_schedstat;

use super::steady::Steady;
use crate::focus::Focus;
use crosstalk_cgroup::process;

/// What a program that is in use uses at least, in processors: one that only blinks uses less.
const LEAST: f64 = 0.01;

/// The own program whose window has the focus.
#[derive(Debug)]
pub(super) struct InUse {
    focus: Option<Focus>,
    /// Who started this: the terminal that draws what the guard tells is in use for that.
    started: Vec<u32>,
    /// Who has it, and what of that process tells how long its first thread has run, which deals with the user
    /// in most programs; none of who is external, or has started this.
    watched: Option<(u32, Option<Steady>)>,
    /// How long it had run, and when.
    ran: Option<(Duration, u64)>,
}

impl InUse {
    pub(super) fn find() -> Self {
        InUse { focus: Focus::find(), started: ancestors(std::process::id()), watched: None, ran: None }
    }

    /// Whether it has been used since this was last asked. `external` tells who is.
    pub(super) fn look(&mut self, now: Duration, external: impl Fn(u32) -> bool) -> bool {
        let has = self.focus.as_ref().and_then(Focus::pid);
        if has != self.watched.as_ref().map(|(pid, _)| *pid) {
            let open = |pid| Steady::open(Path::new(&format!("/proc/{pid}/schedstat")));
            let own = |pid: &u32| !self.started.contains(pid) && !external(*pid);
            self.watched = has.map(|pid| (pid, Some(pid).filter(own).and_then(open)));
            self.ran = None;
        }
        let file = self.watched.as_mut().and_then(|(_, file)| file.as_mut());
        let ran = file.and_then(|file| file.told(|text| Some(parse_schedstat(text)?.run_ns)));
        let before = std::mem::replace(&mut self.ran, ran.map(|ran| (now, ran)));
        let used = |(at, before): (Duration, u64)| {
            let seconds = now.saturating_sub(at).as_secs_f64().max(1e-3);
            ran.unwrap_or(0).saturating_sub(before) as f64 * 1e-9 / seconds
        };
        before.is_some_and(|before| used(before) >= LEAST)
    }
}

/// The process, and all from which it descends.
fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| process::one(*pid).map(|process| process.parent).filter(|parent| *parent > 0);
    std::iter::successors(Some(pid), parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Instant;

    const LOOK: Duration = Duration::from_millis(50);
    const SLEEPS: &str = "exec sleep 60";

    /// Whether a shell is in use that has the focus and does this, at two looks.
    fn in_use(script: &str, external: bool, starts: bool) -> bool {
        let mut shell = Command::new("sh").args(["-c", script]).spawn().expect("starts");
        // What a program does until it sleeps is use.
        let (stat, begins) = (format!("/proc/{}/stat", shell.id()), Instant::now());
        while script == SLEEPS && !fs::read_to_string(&stat).is_ok_and(|text| text.contains("(sleep) S")) {
            assert!(begins.elapsed() < Duration::from_secs(30), "it does not begin");
            sleep(LOOK);
        }
        let started = if starts { vec![shell.id()] } else { ancestors(std::process::id()) };
        let mut focused = InUse { focus: Some(Focus::always(shell.id())), started, watched: None, ran: None };
        let began = Instant::now();
        let mut looks = [0; 2].map(|_| {
            sleep(LOOK);
            focused.look(began.elapsed(), |pid| external && pid == shell.id())
        });
        looks[1] |= (0..20).any(|_| {
            // A loaded host may not have let it run yet.
            sleep(LOOK);
            focused.look(began.elapsed(), |pid| external && pid == shell.id())
        });
        shell.kill().expect("is ours");
        shell.wait().expect("is ours");
        assert!(!looks[0], "one look says nothing");
        assert!(!focused.look(began.elapsed() + LOOK, |_| false), "it has ended");
        looks[1]
    }

    #[test]
    fn an_own_program_that_has_the_focus_and_computes_is_in_use() {
        let computes = "while :; do :; done";
        assert!(in_use(computes, false, false));
        assert!(!in_use(SLEEPS, false, false), "it only has the focus");
        assert!(!in_use(computes, true, false), "it is external");
        assert!(!in_use(computes, false, true), "it draws what the guard says");
    }

    #[test]
    fn ancestors_go_up_to_the_first() {
        let all = ancestors(std::process::id());
        assert!(all.len() > 1 && all[0] == std::process::id(), "{all:?}");
    }
}
