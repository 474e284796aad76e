//! The hidden verb `user-job`: jobs of one kind of test, and what they use.

use std::fs;
use std::io;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::Usage;
use crosstalk_users::common::CommonFiles;
use crosstalk_users::test::test;
use crosstalk_users::user::User;
use serde_json::json;

use crate::args::UserJobArgs;
use crate::out::Out;

/// Does the jobs one after another, and prints what they used, each on average.
pub fn main(args: &UserJobArgs, out: &Out) -> Result<ExitCode, Fault> {
    let test = test(&args.name)?;
    if !(args.work > 0.0 && args.work <= 1.0) {
        return Err(
            Fault::usage(format!("expected a share above 0 and up to 1, found {}", args.work)).at("--work")
        );
    }
    let file_size: Bytes = args.file_size.parse().map_err(|fault: Fault| fault.at("--file-size"))?;
    let fault = |e: io::Error| Fault::environment(e.to_string()).at(args.folder.display().to_string());
    // Programs are started in other folders, so their paths are absolute. A user's own files are named as given.
    let common = std::path::absolute(&args.folder).map_err(fault)?.join("common");
    let own = args.folder.join("own");
    [&common, &own].into_iter().try_for_each(fs::create_dir_all).map_err(fault)?;
    let files = CommonFiles::make(&common, file_size, args.work, &|| Ok(()))?;
    let mut user = User::new(own.clone(), files, args.work, file_size, (args.seed, 0));
    let before = Usage::so_far();
    (0..args.jobs).try_for_each(|_| (test.run)(&mut user))?;
    let used = Usage::so_far().since(before);
    [&common, &own].into_iter().try_for_each(fs::remove_dir_all).map_err(fault)?;
    let of_a_job = |all: f64| all / args.jobs.max(1) as f64;
    let (user, system) = (of_a_job(used.user.as_secs_f64()), of_a_job(used.system.as_secs_f64()));
    let faults = of_a_job(used.minor_faults as f64);
    out.say(&format!("{}: {user:.6} s user, {system:.6} s system, {faults:.1} page faults a job", test.name));
    out.record(&json!({
        "result": "user-job", "test": test.name, "jobs": args.jobs,
        "user_time": user, "system_time": system, "minor_faults": faults,
    }));
    Ok(ExitCode::SUCCESS)
}
