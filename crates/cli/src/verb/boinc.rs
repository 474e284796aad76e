//! `crosstalk boinc-project`, and the hidden verb that its hosts run.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crosstalk_boinc::app::run;
use crosstalk_boinc::collatz::measure_rate;
use crosstalk_boinc::project::{
    Counts, Directory, RequestedSettings, Server, ServerAddress, Url, WorkingDirectory,
};
use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::count_in_words;
use serde_json::json;
use std::sync::atomic::Ordering;

use crate::args::BoincProjectArgs;
use crate::out::Out;
use crate::signal;

/// The address of a new project.
const LISTEN: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8470);

/// How often the counts are printed.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Runs `crosstalk boinc-project`: serves a project until all work is done or the user interrupts.
pub fn project(args: &BoincProjectArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let requested = requested(args)?;
    let settings = requested.for_new_project()?;
    let url: Option<Url> = args.url.as_deref().map(str::parse).transpose()?;
    let endpoint = |last_address: Option<SocketAddr>| {
        ServerAddress::new(args.listen.or(last_address).unwrap_or(LISTEN.into()), url.clone())
    };
    if let (Some(listen), None) = (args.listen, &url) {
        // Before the directory is made.
        Url::of_listener(listen)?;
    }
    // Not everybody may read it.
    let program = File::open("/proc/self/exe")
        .map_err(|e| Fault::environment(format!("cannot read this program, which hosts are to run: {e}")))?;
    let mut entered = WorkingDirectory::enter(&args.dir)?;
    let mut listening = None;
    let open = Directory::open(entered.folder(), || {
        // A project keeps its settings, so it is created only after its address is known to be free.
        listening = Some(endpoint(None)?);
        Ok(settings.with_task_length(settings.task, measure_rate()))
    })
    .map_err(|fault| entered.name_fault(fault))?;
    requested.check_agreement(open.settings(), &args.dir)?;
    let listening = listening.map_or_else(|| endpoint(open.last_address), Ok)?;
    entered.drop_privileges();
    let server = Server::new(open, listening, &program).map_err(|fault| entered.name_fault(fault))?;
    let attach = server.attachment();
    out.say(&format!(
        "A BOINC project at {0}\naccount key: {1}\nattach a client of this machine: boinccmd --project_attach {0} {1}\n\
         one with a port of its own: boinccmd --host 127.0.0.1:PORT --passwd PASSWORD --project_attach {0} {1}\n\
         (PASSWORD is what its gui_rpc_auth.cfg says)",
        attach.url, attach.key
    ));
    out.record(&json!({ "event": "listening", "url": attach.url, "key": attach.key }));
    let mut reported = (Counts::default(), Instant::now());
    let served = server.serve(&interrupted, |counts, done| {
        if counts != reported.0 && (reported.1.elapsed() >= REPORT_INTERVAL || done) {
            report(out, counts);
            reported = (counts, Instant::now());
        }
        !(done && args.until_done)
    });
    served.map_err(|fault| entered.name_fault(fault))?;
    let (counts, done) = server.counts();
    out.record(&json!({ "result": "boinc-project", "done": done, "counts": counts }));
    let cut_short = interrupted.load(Ordering::SeqCst);
    Ok(if cut_short { ExitCode::from(FaultKind::Interrupted.exit_code()) } else { ExitCode::SUCCESS })
}

/// Does a work unit, in a slot directory of a BOINC client.
pub fn app() -> Result<ExitCode, Fault> {
    run(Path::new(".")).map(|end| ExitCode::from(end.exit_code()))
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
        count_in_words(counts.answered as usize, "work unit"),
        count_in_words(counts.out as usize, "result"),
        counts.failed,
        counts.lost,
        count_in_words(counts.hosts as usize, "host"),
    ));
    out.record(&json!({ "event": "counts", "counts": counts }));
}
