//! `crosstalk probe users`: more and more users, until more of them bring nothing.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::units::human;
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::Readings;
use crosstalk_users::ramp::{Level, Ramp};
use serde_json::json;

use super::once::{Measurement, export, limit, once_here, units};
use crate::args::UsersArgs;
use crate::out::Out;
use crate::signal;

/// Runs `crosstalk probe users`.
pub fn main(args: &UsersArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.machine.export.check()?;
    let params = Params::default().with("mix", args.mix.as_str()).with("work", args.work);
    let measurement = Measurement { kind: "users", params }.with(&args.machine.settings)?;
    if measurement.params.get("users").is_some() {
        return Err(Fault::usage("the ramp chooses the number of users")
            .at("--set users")
            .remedy("give --from and --to instead"));
    }
    let mut ramp = Ramp::new(args.from, args.to, args.step)?;
    let mut all = Readings::new();
    let work = measurement.params.float("work", args.work)?;
    out.say(&format!("each job does {} of its work; one run a level", human(work, "%")));
    while let Some(users) = ramp.next() {
        let at = Value::Int(i64::try_from(users).unwrap_or(i64::MAX));
        let level = Measurement { kind: "users", params: measurement.params.clone().with("users", at) };
        limit(&level)?;
        let readings = once_here(&level, &interrupted)?;
        let of = |metric: &str| {
            let found = readings.iter().find(|(reading, _)| reading.metric == metric);
            found.and_then(|(reading, _)| reading.number()).unwrap_or(f64::NAN)
        };
        let level = Level { users, jobs_per_minute: of("jobs_per_minute") };
        out.say(&line(&level, of("jti"), of("makespan")));
        out.record(&json!({
            "event": "level", "users": users, "jobs_per_minute": level.jobs_per_minute,
            "jobs_per_minute_per_user": level.per_user(), "jti": of("jti"), "makespan": of("makespan"),
        }));
        all.extend(readings.into_iter().map(|(reading, n)| (reading.label("users", users), n)));
        ramp.add(level);
    }
    let (peak, crossover) = (ramp.peak(), ramp.crossover());
    if let Some(peak) = peak {
        out.say(&format!("peak: {} jobs a minute at {} users", rounded(peak.jobs_per_minute), peak.users));
    }
    // Smaller jobs are more jobs a minute: the crossover is AIM7's only with whole ones.
    let whole = work == 1.0;
    out.say(&match crossover.filter(|_| whole) {
        Some(level) => format!("crossover: at {} users each does less than one job a minute", level.users),
        None if whole => "crossover: not reached: each user does more than one job a minute".into(),
        None => "crossover: only with --work 1".into(),
    });
    let peak = peak.map(|level| json!({ "users": level.users, "jobs_per_minute": level.jobs_per_minute }));
    let more = json!({ "peak": peak, "crossover": crossover.filter(|_| whole).map(|level| level.users), "work": work });
    export(&measurement, &all, &args.machine.export, &units(&measurement)?, &more, out)?;
    Ok(ExitCode::SUCCESS)
}

/// A level for people.
fn line(level: &Level, jti: f64, makespan: f64) -> String {
    format!(
        "{:>6} users  {:>10} jobs/min  {:>9} a user  JTI {:>3.0} %  {makespan:.2} s",
        level.users,
        rounded(level.jobs_per_minute),
        rounded(level.per_user()),
        100.0 * jti,
    )
}

/// A rate for people: whole jobs, or one digit of few.
fn rounded(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}
