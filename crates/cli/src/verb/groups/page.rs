//! `crosstalk groups show --watch`: a page that is drawn every second. On a terminal keys choose a group, and switch
//! its protection off and on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_groups::{Comparison, GroupName, Measure, Protection};
use crosstalk_host::ledger::Keys;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_report::wrap;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use super::cost::Cost;
use super::effect::{sentences, side_by_side};
use super::frame::Content;
use super::keys::{Key, keys};
use super::names::parse;
use super::view::{GroupReading, Snapshot, event, rows};
use crate::args::GroupsShowArgs;
use crate::out::Out;
use crate::picture::Picture;
use crate::signal;
use crate::streams::output_has_no_reader;

/// The time over which each page counts.
const COUNTED: Duration = Duration::from_secs(1);
/// How often to look for an interruption and for keys.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Shows it every second, until it is interrupted.
pub fn watch(args: &GroupsShowArgs, out: &Out) -> Result<(), Fault> {
    let within = parse(&args.names)?;
    let interrupted = signal::interrupted()?;
    let mut before = Snapshot::take(&within)?;
    let paused = signal::pause_flag()?;
    let mut page = Page::open(args, out)?;
    while page.wait(&interrupted, &paused)? {
        let after = Snapshot::take(&within)?;
        page.show(after.since(&before))?;
        before = after;
    }
    page.leave();
    out.record(&json!({
        "result": "groups",
        "groups": page.counted.len(),
        "over": COUNTED.as_secs_f64(),
        "comparison": page.compared(),
        "own_processors": page.cost.processors(),
    }));
    Ok(())
}

struct Page<'a> {
    out: &'a Out,
    cost: Cost,
    /// On a terminal.
    picture: Option<Picture<'a>>,
    /// The columns and lines of the terminal for which it was drawn.
    screen: (usize, usize),
    counted: Vec<GroupReading>,
    /// The group that is protected, or will be.
    chosen: Option<GroupName>,
    comparison: Comparison,
    /// Whether the next count has both states in it.
    is_mixed: bool,
    /// What went wrong last.
    fault: Option<Fault>,
    // Dropped in this order.
    protection: Option<Protection>,
    keys: Option<Keys>,
    ledger: Option<Ledger>,
}

impl<'a> Page<'a> {
    fn open(args: &GroupsShowArgs, out: &'a Out) -> Result<Self, Fault> {
        let chosen: Option<GroupName> = args.protect.as_deref().map(str::parse).transpose()?;
        let ledger = (Picture::is_possible(out) || chosen.is_some())
            .then(|| Ledger::open(&Launcher::current()))
            .transpose()?;
        let mut page = Page {
            out,
            cost: Cost::from_now(),
            picture: None,
            screen: out.screen(),
            counted: Vec::new(),
            chosen,
            comparison: Comparison::default(),
            is_mixed: false,
            fault: None,
            protection: None,
            keys: None,
            ledger,
        };
        page.take_terminal()?;
        if page.chosen.is_some() {
            page.switch();
            page.fault.take().map_or(Ok(()), Err)?;
        }
        Ok(page)
    }

    /// Waits for the next page. Returns false if it is to end.
    fn wait(&mut self, interrupted: &AtomicBool, paused: &AtomicBool) -> Result<bool, Fault> {
        let until = Instant::now() + COUNTED;
        while Instant::now() < until {
            if interrupted.load(Ordering::SeqCst) || output_has_no_reader() {
                return Ok(false);
            }
            if paused.swap(false, Ordering::SeqCst) {
                self.pause()?;
            }
            if self.keys.is_some() && self.screen != self.out.screen() {
                self.draw();
            }
            let mut buffer = [0; 256];
            match &self.keys {
                Some(keys) => {
                    let pressed = keys.pressed(POLL_INTERVAL, &mut buffer).to_vec();
                    if !pressed.is_empty() && !self.press(&pressed) {
                        return Ok(false);
                    }
                }
                None => thread::sleep(POLL_INTERVAL),
            }
        }
        Ok(true)
    }

    /// Pauses this program, as Ctrl-Z asks. The shell gets its terminal back meanwhile. The lease of the protection ends
    /// by itself.
    fn pause(&mut self) -> Result<(), Fault> {
        self.keys = None;
        let _ = kill_process(getpid(), Signal::STOP);
        self.is_mixed = true;
        self.take_terminal()
    }

    /// Takes the terminal's keys, if it draws on a terminal that is this program's to read.
    fn take_terminal(&mut self) -> Result<(), Fault> {
        if Picture::is_possible(self.out) {
            self.keys = self.ledger.as_ref().map(Ledger::keys).transpose()?.flatten();
            let whole = self.keys.as_ref().map(|_| Picture::of_screen(self.out));
            self.picture = Some(whole.unwrap_or(Picture::new(self.out)));
        }
        Ok(())
    }

    /// Sets the terminal back, and leaves there what was found.
    fn leave(&mut self) {
        if self.keys.take().is_some() {
            self.protected().iter().for_each(|line| self.out.say(line));
        }
    }

    /// Does what keys say. Returns false if it is to end.
    fn press(&mut self, pressed: &[u8]) -> bool {
        for key in keys(pressed) {
            match key {
                Key::End => return false,
                Key::Protect => self.switch(),
                Key::Up => self.choose(-1),
                Key::Down => self.choose(1),
            }
        }
        self.draw();
        true
    }

    /// Chooses the group that is so many rows below.
    fn choose(&mut self, rows: isize) {
        let at = self.counted.iter().position(|one| Some(&one.standing.name) == self.chosen.as_ref());
        let last = self.counted.len().saturating_sub(1);
        let next = at.map_or(0, |at| at.saturating_add_signed(rows).min(last));
        if let Some(one) = self.counted.get(next).filter(|_| at != Some(next)) {
            self.chosen = Some(one.standing.name.clone());
            self.fault = None;
            self.protection = None;
            self.comparison = Comparison::default();
            self.is_mixed = true;
        }
    }

    /// Switches protection of the chosen group on, or off.
    fn switch(&mut self) {
        self.fault = None;
        let (Some(name), Some(ledger)) = (&self.chosen, &self.ledger) else {
            self.fault = Some(Fault::usage("no group is chosen").remedy("choose one: ↑ ↓"));
            return;
        };
        self.is_mixed = true;
        if self.protection.take().is_some() {
            return;
        }
        match Protection::new(std::slice::from_ref(name), ledger) {
            Ok(protection) => self.protection = Some(protection),
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn show(&mut self, counted: Vec<GroupReading>) -> Result<(), Fault> {
        self.counted = counted;
        if let (Some(protection), Some(ledger)) = (&mut self.protection, &self.ledger)
            && let Err(fault) = protection.renew(ledger)
        {
            self.protection = None;
            self.fault = Some(fault);
        }
        if let Some(keys) = &self.keys {
            keys.hold();
        }
        let (is_on, is_mixed) = (self.protection.is_some(), std::mem::take(&mut self.is_mixed));
        for one in &self.counted {
            if !is_mixed {
                self.comparison.add(is_on, &one.standing.name, one.rates);
            }
            let mut line = event(&one.standing, &one.numbers, Some(&one.rates));
            if self.chosen.is_some() {
                line["protection"] = is_on.into();
            }
            self.out.record(&line);
        }
        self.draw();
        Ok(())
    }

    fn draw(&mut self) {
        self.screen = self.out.screen();
        let chosen = self.counted.iter().position(|one| Some(&one.standing.name) == self.chosen.as_ref());
        let mut rows = rows(&self.counted.iter().collect::<Vec<_>>());
        let mut foot = self.protected();
        foot.push(format!("This page takes {:.1} % of a processor", self.cost.processors() * 100.0));
        if self.keys.is_some() {
            for (number, line) in rows.iter_mut().enumerate() {
                let is_chosen = number.checked_sub(1).is_some_and(|row| Some(row) == chosen);
                line.insert_str(0, if is_chosen { "> " } else { "  " });
            }
            foot.push("↑ ↓ choose a group   p protection on, off   q end".into());
        }
        let Some(picture) = &mut self.picture else {
            rows.iter().chain(&foot).for_each(|line| self.out.say(line));
            return self.out.say("");
        };
        let head = rows.drain(..1).collect();
        picture.draw(&Content { head, rows, chosen, foot }.frame(self.screen.0, self.screen.1));
    }

    /// What protection is on, and what both states do, side by side.
    fn protected(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(name) = &self.chosen {
            lines.push(String::new());
            lines.push(match &self.protection {
                Some(protection) => format!("Protection of {name} is on: {}", protection.what.join("; ")),
                None => format!("Protection of {name} is off"),
            });
            lines.extend(side_by_side(
                self.counted.iter().filter(|one| one.standing.name == *name),
                &self.comparison,
            ));
            let said = sentences(name, &self.others(name), &self.comparison);
            match self.picture {
                Some(_) => lines.extend(said.iter().flat_map(|line| wrap(line, self.screen.0))),
                None => lines.extend(said),
            }
        }
        lines.extend(self.fault.as_ref().map(|fault| format!("crosstalk: {fault}").replace('\n', "; ")));
        lines
    }

    /// The groups that may pay for a group's protection: those with processes, without those that it is in or that are
    /// in it.
    fn others(&self, name: &GroupName) -> Vec<&GroupName> {
        let has_processes = self.counted.iter().filter(|one| one.numbers.processes > 0);
        let names = has_processes.map(|one| &one.standing.name);
        names.filter(|other| *other != name && !other.is_in(name) && !name.is_in(other)).collect()
    }

    /// The medians of both states and what differs, as JSON. Each interval holds by itself.
    fn compared(&self) -> Vec<Value> {
        let of = |one: &GroupReading| {
            let name = &one.standing.name;
            let medians = |is_on| self.comparison.medians(is_on, name);
            let change = |measure| self.comparison.change(name, measure, 1);
            let changes: Vec<_> = Measure::ALL.into_iter().filter_map(change).collect();
            json!({ "name": name, "off": medians(false), "on": medians(true), "changes": changes })
        };
        if self.chosen.is_some() { self.counted.iter().map(of).collect() } else { Vec::new() }
    }
}
