//! `crosstalk boinc-project`, what its hosts run, and what gives a client back what it had.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crosstalk_boinc::app::run;
use crosstalk_boinc::collatz::measure_rate;
use crosstalk_boinc::project::{
    Counts, Directory, Endpoint, RequestedSettings, Server, Url, WorkingDirectory,
};
use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::counted;
use serde_json::json;
use std::sync::atomic::Ordering;

use crate::args::BoincProjectArgs;
use crate::out::Out;
use crate::signal;

/// Where a new project listens.
const LISTEN: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8470);

/// How often people are reported how far it is.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

pub fn project(args: &BoincProjectArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let requested = requested(args)?;
    let settings = requested.settings()?;
    let url: Option<Url> = args.url.as_deref().map(str::parse).transpose()?;
    let endpoint = |last_address: Option<SocketAddr>| {
        Endpoint::new(args.listen.or(last_address).unwrap_or(LISTEN.into()), url.clone())
    };
    if let (Some(listen), None) = (args.listen, &url) {
        // Before the directory is made.
        Url::of(listen)?;
    }
    // Not everybody may read it.
    let program = File::open("/proc/self/exe")
        .map_err(|e| Fault::environment(format!("cannot read this program, which hosts are to run: {e}")))?;
    let mut entered = WorkingDirectory::enter(&args.dir)?;
    let mut listening = None;
    let open = Directory::open(entered.folder(), || {
        // A project's settings stand for good: it is made when it can be found.
        listening = Some(endpoint(None)?);
        Ok(settings.lasting(settings.task, measure_rate()))
    })
    .map_err(|fault| entered.named(fault))?;
    requested.agrees(open.settings(), &args.dir)?;
    let listening = listening.map_or_else(|| endpoint(open.last_address), Ok)?;
    entered.settle();
    let server = Server::new(open, listening, &program).map_err(|fault| entered.named(fault))?;
    let attach = server.attach();
    out.say(&format!(
        "A BOINC project at {0}\naccount key: {1}\nattach a client of this machine: boinccmd --project_attach {0} {1}\n\
         one with a port of its own: boinccmd --host 127.0.0.1:PORT --passwd PASSWORD --project_attach {0} {1}\n\
         (PASSWORD is what its gui_rpc_auth.cfg says)",
        attach.url, attach.key
    ));
    out.tell(&json!({ "event": "listening", "url": attach.url, "key": attach.key }));
    let mut reported = (Counts::default(), Instant::now());
    let served = server.run(&interrupted, |counts, done| {
        if counts != reported.0 && (reported.1.elapsed() >= REPORT_INTERVAL || done) {
            report(out, counts);
            reported = (counts, Instant::now());
        }
        !(done && args.until_done)
    });
    served.map_err(|fault| entered.named(fault))?;
    let (counts, done) = server.counts();
    out.tell(&json!({ "result": "boinc-project", "done": done, "counts": counts }));
    let cut_short = interrupted.load(Ordering::SeqCst);
    Ok(if cut_short { ExitCode::from(FaultKind::Interrupted.exit_code()) } else { ExitCode::SUCCESS })
}

/// What the client runs in a slot directory.
pub fn app() -> Result<ExitCode, Fault> {
    run(Path::new(".")).map(|end| ExitCode::from(end.code()))
}

fn requested(args: &BoincProjectArgs) -> Result<RequestedSettings, Fault> {
    Ok(RequestedSettings {
        units: args.units,
        task: time(args.task.as_deref(), "--task")?,
        quorum: args.quorum,
        one_host: args.one_host,
        deadline: time(args.deadline.as_deref(), "--deadline")?,
        ahead: args.ahead,
        checks: args.checks,
    })
}

fn time(text: Option<&str>, place: &str) -> Result<Option<f64>, Fault> {
    text.map(|text| text.parse::<Seconds>().map(|time| time.0).map_err(|fault| fault.at(place))).transpose()
}

fn report(out: &Out, counts: Counts) {
    out.say(&format!(
        "{} answered, {} out, {} failed, {} lost, {}",
        counted(counts.answered as usize, "work unit"),
        counted(counts.out as usize, "result"),
        counts.failed,
        counts.lost,
        counted(counts.hosts as usize, "host"),
    ));
    out.tell(&json!({ "event": "counts", "counts": counts }));
}
