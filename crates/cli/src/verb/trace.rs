//! `crosstalk trace`: stages of the requests to a running service.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crosstalk_core::trace::Trace;
use crosstalk_core::units::{Seconds, human};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_report::trace::{page, text};
use crosstalk_trace::{Progress, Service, ServiceQuery, Traced, check_needs, find, perfetto, trace};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::args::TraceArgs;
use crate::out::{Out, is_dumb};
use crate::result_file::{writable, write};
use crate::signal;

/// The longest trace, in seconds.
const LONGEST: f64 = 24.0 * 3600.0;
/// The shortest trace, in seconds: in less the cost of tracing cannot be counted.
const SHORTEST: f64 = 0.1;

/// Runs `crosstalk trace`.
pub fn main(args: &TraceArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    let duration = duration(&args.duration)?;
    check_needs()?;
    let query = ServiceQuery { ports: args.port.clone(), pid: args.pid, group: args.cgroup.clone() };
    let service = find(&query)?;
    // The files are written at the end. They are checked before the trace begins.
    let files: Vec<&PathBuf> = [&args.html, &args.perfetto, &args.out].into_iter().flatten().collect();
    for (place, file) in files.iter().enumerate() {
        if files[..place].contains(file) {
            return Err(Fault::usage(
                "two of --html, --perfetto and --out name this file, expected one file for each",
            )
            .at(file.display().to_string())
            .remedy("name another file for one of them"));
        }
        writable(file)?;
    }
    let bar = bar(duration, &service, out);
    let traced = trace(&service, duration, &interrupted, &mut |progress| show(&bar, progress))?;
    bar.finish_and_clear();
    if traced.trace.requests == 0 {
        out.say(&format!(
            "no request was seen in {}: do clients send requests over TCP? (Unix sockets and UDP are not traced.)",
            human(traced.trace.seconds, "s")
        ));
    }
    output(args, &traced, out)?;
    let ended = traced.trace.ended.as_deref();
    Ok(if ended == Some("interrupted") {
        ExitCode::from(FaultKind::Interrupted.exit_code())
    } else {
        ExitCode::SUCCESS
    })
}

fn duration(text: &str) -> Result<Duration, Fault> {
    let seconds = text.parse::<Seconds>().map_err(|fault| fault.at("--for"))?.0;
    if !(SHORTEST..=LONGEST).contains(&seconds) {
        return Err(Fault::usage(format!("expected 0.1 s to 24 h, found {text}"))
            .at("--for")
            .remedy("write for example --for '10 s'"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The progress, on a terminal.
fn bar(duration: Duration, service: &Service, out: &Out) -> ProgressBar {
    if out.json || !std::io::stderr().is_terminal() || is_dumb() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(duration.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
        bar.set_style(style);
    }
    let ports: Vec<String> = service.target.ports.iter().map(u16::to_string).collect();
    bar.set_message(format!("tracing TCP port {}", ports.join(", ")));
    bar
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_position(progress.elapsed.as_millis() as u64);
    let seconds = human(progress.elapsed.as_secs_f64(), "s");
    bar.set_message(format!("{seconds}: {} requests followed", progress.requests));
}

/// Prints the result, and writes the requested files.
fn output(args: &TraceArgs, traced: &Traced, out: &Out) -> Result<(), Fault> {
    let trace = &traced.trace;
    let result = result(trace);
    out.say(&text(trace));
    // If one file cannot be written, the others and the result still are.
    let page = args.html.as_ref().map(|file| write(file, &page(trace)));
    let requests = args.perfetto.as_ref().map(|file| {
        let name = trace.service.first().map_or("service", |served| served.name.as_str());
        write(file, &perfetto(&traced.sample, name).to_string())?;
        out.say(&format!(
            "\n{} requests are in {}; open it at ui.perfetto.dev",
            traced.sample.len(),
            file.display()
        ));
        Ok(())
    });
    let result_file = args.out.as_ref().map(|file| write(file, &(result.to_string() + "\n")));
    out.record(&result);
    [page, requests, result_file].into_iter().flatten().collect()
}

fn result(trace: &Trace) -> Value {
    let mut result = json!(trace);
    result["result"] = "trace".into();
    result
}
