//! `crosstalk boinc-project`, what its hosts run, and what gives a client back what it had.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::ledger::allowed;
use crosstalk_tenancy::boinc::give_back;
use crosstalk_work::tool::boinc::app::run;
use crosstalk_work::tool::boinc::collatz::pace;
use crosstalk_work::tool::boinc::project::{Counts, Home, Open, Server, Settings};
use serde_json::json;
use std::sync::atomic::Ordering;

use crate::args::{BoincProjectArgs, Words};
use crate::out::Out;
use crate::signal;

/// Where a new project listens.
const LISTEN: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8470);

/// How often people are told how far it is.
const TOLD: Duration = Duration::from_secs(10);

pub fn project(args: &BoincProjectArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let wanted = settings(args)?;
    let open = Home::open(&args.dir, || Ok(wanted.lasting(wanted.task, pace())))?;
    agree(args, &wanted, &open)?;
    let listen = args.listen.or(open.listened).unwrap_or(LISTEN.into());
    let url = url(args, listen)?;
    let server = Server::new(open, listen, url.as_deref(), Path::new("/proc/self/exe"))?;
    let attach = server.attach();
    out.say(&format!(
        "A BOINC project at {0}\naccount key: {1}\nattach a client of this machine: boinccmd --project_attach {0} {1}",
        attach.url, attach.key
    ));
    out.tell(&json!({ "event": "listening", "url": attach.url, "key": attach.key }));
    let mut told = (Counts::default(), Instant::now());
    server.run(&interrupted, |counts, done| {
        if counts != told.0 && (told.1.elapsed() >= TOLD || done) {
            tell(out, counts);
            told = (counts, Instant::now());
        }
        !(done && args.until_done)
    })?;
    let (counts, done) = server.counts();
    out.tell(&json!({ "result": "boinc-project", "done": done, "counts": counts }));
    let cut_short = interrupted.load(Ordering::SeqCst);
    Ok(if cut_short { ExitCode::from(FaultKind::Interrupted.exit_code()) } else { ExitCode::SUCCESS })
}

/// What the client runs in a slot directory.
pub fn app() -> Result<ExitCode, Fault> {
    run(Path::new(".")).map(|end| ExitCode::from(end.code()))
}

/// What the undo ledger runs for a client that was led.
pub fn cores(args: &Words) -> Result<ExitCode, Fault> {
    give_back(&args.words, allowed()).map(|()| ExitCode::SUCCESS)
}

fn settings(args: &BoincProjectArgs) -> Result<Settings, Fault> {
    let usual = Settings::default();
    let settings = Settings {
        units: args.units,
        task: time(args.task.as_deref(), "--task", usual.task)?,
        quorum: args.quorum.unwrap_or(usual.quorum),
        one_host: args.one_host,
        deadline: time(args.deadline.as_deref(), "--deadline", usual.deadline)?,
        ahead: args.ahead.unwrap_or(usual.ahead),
        checks: args.checks.unwrap_or(usual.checks),
        ..usual
    };
    settings.check().map(|()| settings)
}

fn time(text: Option<&str>, place: &str, usual: f64) -> Result<f64, Fault> {
    text.map_or(Ok(usual), |text| text.parse::<Seconds>().map(|time| time.0).map_err(|fault| fault.at(place)))
}

/// A fault where an old project is to become another.
fn agree(args: &BoincProjectArgs, wanted: &Settings, open: &Open) -> Result<(), Fault> {
    let made = open.settings();
    let pairs = [
        ("--units", args.units.is_some() && wanted.units != made.units),
        ("--task", args.task.is_some() && wanted.task != made.task),
        ("--quorum", args.quorum.is_some() && wanted.quorum != made.quorum),
        ("--one-host", args.one_host && !made.one_host),
        ("--deadline", args.deadline.is_some() && wanted.deadline != made.deadline),
        ("--ahead", args.ahead.is_some() && wanted.ahead != made.ahead),
        ("--checks", args.checks.is_some() && wanted.checks != made.checks),
    ];
    match pairs.iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((place, _)) => {
            Err(Fault::usage(format!("the project in {} was made with another value", args.dir.display()))
                .at(*place)
                .remedy("leave the option out, or make another project in another directory"))
        }
    }
}

/// What hosts are told, where it is not where the project listens.
fn url(args: &BoincProjectArgs, listen: SocketAddr) -> Result<Option<String>, Fault> {
    let Some(url) = &args.url else {
        if listen.ip().is_unspecified() {
            return Err(Fault::usage("hosts cannot be told where to find a project that listens everywhere")
                .at("--listen")
                .remedy(format!("add for example --url http://my.host:{}/project/", listen.port())));
        }
        return Ok(None);
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    // What a client takes for a project's address.
    let sound = rest.split('/').next().is_some_and(|host| host.contains('.'))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>&\"".contains(c));
    if !sound || !url.ends_with("/project/") {
        return Err(Fault::usage(format!("expected an address that BOINC takes, found `{url}`"))
            .at("--url")
            .remedy(
                "write for example http://my.host:8470/project/: a dot in the host, and /project/ at the end",
            ));
    }
    Ok(Some(url.clone()))
}

fn tell(out: &Out, counts: Counts) {
    out.say(&format!(
        "{} work units answered, {} results out, {} failed, {} lost, {} hosts",
        counts.answered, counts.out, counts.failed, counts.lost, counts.hosts
    ));
    out.tell(&json!({ "event": "counts", "counts": counts }));
}
