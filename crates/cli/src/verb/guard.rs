//! `crosstalk guard`: foreground work stays as fast as agreed, background work gets the rest.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crosstalk_boinc::client::ClientSelector;
use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_guard::{Machine, Publisher, Rules, Target, Targets, explain, metrics, summary, view};
use crosstalk_host::cpu::allowed;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_policy::{Contract, Grade, Host, Pause, Report, watch};
use serde_json::json;

use crate::args::{Donating, GuardArgs};
use crate::out::{Out, print_error};
use crate::picture::Picture;
use crate::signal;
use crate::streams::never_wait_for_readers;

/// How long `--once` guards: until what is seen is more than a moment.
const ONCE: Duration = Duration::from_secs(2);
/// Time between two pictures, lines and texts.
const PICTURE: Duration = Duration::from_millis(250);
const LINE: Duration = Duration::from_secs(1);

/// Runs `crosstalk guard`.
pub fn main(args: &GuardArgs, out: &Out) -> Result<ExitCode, Fault> {
    // A guard that waited for a reader of its output would not guard meanwhile.
    never_wait_for_readers()?;
    let interrupted = signal::interrupted()?;
    let paused = signal::pause_flag()?;
    let rules = args.rules.as_deref().map(Rules::read).transpose()?.unwrap_or_default();
    let slowdown = args.slowdown.as_deref().or(rules.slowdown.as_deref()).unwrap_or("1%");
    let contract = Contract::agreed(slowdown, rules.busy, allowed().len().max(1))?;
    let limit = args.duration.as_deref().map(duration).transpose()?.or(args.once.then_some(ONCE));
    let publisher = args.metrics.as_deref().map(Publisher::new).transpose()?;
    if let Some(Publisher::Address(address, _)) = &publisher {
        out.say(&format!("metrics at http://{address}/metrics"));
    }
    let ledger = Ledger::open(&Launcher::current())?;
    let mut machine = Machine::new(Targets::new(targets(args), rules), &ledger)?;
    let mut reporter = Reporter::new(args, out, contract.slowdown, publisher);
    // To set up takes its time, which does not count.
    let began = machine.now();
    let over =
        |now: Duration| interrupted.load(Ordering::SeqCst) || limit.is_some_and(|limit| now >= began + limit);
    let sums = watch(&mut machine, contract, &over, &mut |report| {
        if paused.swap(false, Ordering::SeqCst) {
            reporter.picture.erase();
            print_error(
                "a guard that stops would leave background work as it is now: it goes on (Ctrl-C ends it)",
            );
        }
        reporter.report(report);
    });
    // Everything is put back before anything is said of it.
    drop(machine);
    reporter.end();
    let sums = sums?;
    out.say(&summary(&sums));
    out.record(&json!({ "result": "guard", "slowdown": contract.slowdown, "sums": sums }));
    let resisting = ledger.undo_failures();
    if !resisting.is_empty() {
        let left: Vec<String> = resisting.iter().map(Fault::sentence).collect();
        return Err(Fault::environment(format!("not everything could be put back: {}", left.join("; ")))
            .remedy("it is written down; where it can be set: crosstalk clean"));
    }
    let as_asked = limit.is_none() || !interrupted.load(Ordering::SeqCst);
    Ok(if as_asked { ExitCode::SUCCESS } else { ExitCode::from(FaultKind::Interrupted.exit_code()) })
}

fn duration(text: &str) -> Result<Duration, Fault> {
    let seconds = text.parse::<Seconds>().map_err(|fault| fault.at("--for"))?.0;
    if !(0.1..=1e9).contains(&seconds) {
        return Err(Fault::usage(format!("expected 0.1 s to 1e9 s, found {text}"))
            .at("--for")
            .remedy("leave --for out to guard until interrupted"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn targets(args: &GuardArgs) -> Vec<Target> {
    let groups = args.background.iter().cloned().map(Target::Group);
    let way = ClientSelector { address: args.boinc_address, password: args.boinc_password_file.clone() };
    let programs = args.programs.iter().map(|Donating::Boinc| Target::Boinc(way.clone()));
    let all = groups.chain(args.pid.iter().copied().map(Target::Process)).chain(programs);
    // One that is named twice is meant once.
    all.fold(Vec::new(), |mut known, target| {
        if !known.contains(&target) {
            known.push(target);
        }
        known
    })
}

/// What people read when it changes: how far the guard goes and why background work is paused,
/// whether foreground work is at work, and whether there is background work.
type State = (Grade, Option<Pause>, bool, bool);
/// The same where foreground work comes to use so many processors more or fewer, and this share of what it used.
const OTHER: (f64, f64) = (0.5, 0.25);

/// Reports to people, to programs and to readers of metrics.
struct Reporter<'a> {
    out: &'a Out,
    /// Draws pictures instead of printing lines.
    pictures: bool,
    picture: Picture<'a>,
    budget: f64,
    publisher: Option<Publisher>,
    said: Option<(State, f64, Duration)>,
    /// What was said last.
    words: String,
    /// Whether foreground work was sampled for long enough.
    seen: bool,
    published: Option<Duration>,
    /// Whether it was reported that metrics cannot be published.
    unpublished: bool,
}

impl<'a> Reporter<'a> {
    fn new(args: &GuardArgs, out: &'a Out, budget: f64, publisher: Option<Publisher>) -> Self {
        Reporter {
            out,
            pictures: Picture::is_possible(out) && !args.explain && !args.once,
            picture: Picture::new(out),
            budget,
            publisher,
            said: None,
            words: String::new(),
            seen: false,
            published: None,
            unpublished: false,
        }
    }

    fn report(&mut self, report: &Report<'_>) {
        if !report.notes.is_empty() {
            self.picture.erase();
        }
        for note in report.notes {
            self.out.say(note);
            self.out.record(&json!({ "event": "note", "at": report.at.as_secs_f64(), "text": note }));
        }
        // The first snapshot sees nothing yet.
        self.seen |= report.snapshot.covers > 0.0 || !report.snapshot.background_there;
        if !self.seen {
            return;
        }
        let every = if self.pictures { PICTURE } else { LINE };
        if self.published.is_none_or(|last| report.at.saturating_sub(last) >= every) {
            self.published = Some(report.at);
            self.publish(report);
            if self.pictures {
                self.draw(report);
            }
        }
        if !self.pictures {
            self.say(report);
        }
    }

    /// A line when something has changed, at most one a second.
    fn say(&mut self, report: &Report<'_>) {
        let why = &report.decision.why;
        let now = (report.decision.grade, why.pause, why.busy, report.snapshot.background_there);
        let foreground = report.snapshot.foreground_cpu;
        let differs = |before: f64| (foreground - before).abs() >= OTHER.0.max(OTHER.1 * before);
        let due = self.said.is_none_or(|(state, before, at)| {
            (state != now || differs(before)) && report.at.saturating_sub(at) >= LINE
        });
        if due {
            self.said = Some((now, foreground, report.at));
            let words = explain(report.decision, report.snapshot, report.largest, self.budget);
            if words != self.words {
                self.out.say(&format!("{:>7.1} s  {words}", report.at.as_secs_f64()));
            }
            self.words = words;
        }
    }

    fn publish(&mut self, report: &Report<'_>) {
        let Report { at, snapshot, decision, largest, sums, .. } = report;
        self.out.record(&json!({
            "event": "guard", "at": at.as_secs_f64(), "grade": decision.grade, "run": decision.run,
            "grant": decision.grant, "why": decision.why, "foreground_cpu": snapshot.foreground_cpu,
            "background_cpu": snapshot.background_cpu, "largest": largest, "refaults": snapshot.refaults, "cost": snapshot.cost, "sums": sums,
        }));
        if let Some(publisher) = &self.publisher
            && let Err(fault) = publisher.publish(&metrics::text(decision, snapshot, sums, self.budget))
        {
            // Foreground work stays guarded whether or not anybody reads of it; the place may come back.
            if !self.unpublished {
                print_error(&fault.to_string());
            }
            self.unpublished = true;
        }
    }

    fn draw(&mut self, report: &Report<'_>) {
        let lines = view(report, self.budget, self.out.width());
        self.picture.draw(&lines);
    }

    fn end(&mut self) {
        self.picture.erase();
    }
}
