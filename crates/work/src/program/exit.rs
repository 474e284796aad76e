//! How a program ended, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crosstalk_core::Fault;

/// A fault unless the program ended with exit code 0. `said` returns what it wrote last.
pub fn check_exit(program: &str, status: ExitStatus, said: impl FnOnce() -> String) -> Result<(), Fault> {
    let how = match (status.code(), status.signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(number)) => format!("was killed by signal {number}{}", signal_name(number)),
        (None, None) => format!("ended with {status}"),
    };
    Err(Fault::attempt(format!("`{program}` {how}{}", quoted(&said())))
        .remedy("run the command by hand on one node, and see that it ends with exit code 0"))
}

/// The fault for a program that does not end.
pub fn hung_fault(program: &str, seconds: f64, said: &str) -> Fault {
    Fault::attempt(format!("not finished after {seconds:.1} s: `{program}` was killed{}", quoted(said)))
        .remedy("give it more time with --deadline, such as --deadline '5 min', or look for what hangs")
}

fn quoted(said: &str) -> String {
    if said.is_empty() {
        return "; it wrote nothing".to_string();
    }
    let indented: Vec<String> = said.lines().map(|line| format!("    {line}")).collect();
    format!("; the last it wrote:\n{}", indented.join("\n"))
}

/// The signals that end programs, as signal(7) names them.
fn signal_name(number: i32) -> &'static str {
    match number {
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL; out of memory?)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_quotes_what_was_said() {
        assert_eq!(check_exit("job", ExitStatus::from_raw(0), || "chatter".into()), Ok(()));
        let fault =
            check_exit("job", ExitStatus::from_raw(3 << 8), || "no such\nfile".into()).expect_err("failed");
        assert!(fault.message.starts_with("`job` ended with exit code 3"), "{fault}");
        assert!(fault.message.ends_with("\n    no such\n    file"), "{fault}");
    }

    #[test]
    fn a_signal_is_named() {
        let fault = check_exit("job", ExitStatus::from_raw(11), String::new).expect_err("failed");
        assert!(fault.message.contains("signal 11 (SIGSEGV)"), "{fault}");
    }
}
