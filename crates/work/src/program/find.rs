//! The program that a command line names: where it is, and why it cannot be run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::quote::shell_word;

/// Words of the shell itself: its commands and reserved words.
const SHELLS: [&str; 34] = [
    "!", ".", ":", "[[", "alias", "bg", "case", "cd", "declare", "eval", "exec", "exit", "export", "fg",
    "for", "function", "if", "jobs", "let", "local", "popd", "pushd", "read", "set", "shift", "source",
    "time", "trap", "ulimit", "umask", "unset", "until", "while", "{",
];
/// Characters that mean something to a shell.
const SYNTAX: &[char] = &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '~', '"', '\'', '\n'];
/// As much of a script's first line as the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE: usize = 256;

/// Folders of programs for administrators, such as servers. Debian's users do not have them in PATH.
const ADMINISTRATORS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Where the program is: as execvp(3) would find it, or else among the administrators' programs.
///
/// # Errors
/// When it is not there, or may not be executed.
pub fn find(program: &str) -> Result<PathBuf, Fault> {
    find_with(&std::env::var_os("PATH").unwrap_or_default(), program)
}

/// The same with this PATH.
fn find_with(path: &OsStr, program: &str) -> Result<PathBuf, Fault> {
    find_in(program, path).or_else(|fault| {
        let theirs = std::env::join_paths(ADMINISTRATORS).unwrap_or_default();
        if program.contains('/') { Err(fault) } else { find_in(program, &theirs).map_err(|_| fault) }
    })
}

/// The program of a command line.
///
/// # Errors
/// Where it cannot be run. Where the line is one for a shell, the remedy says what to write.
pub fn find_program_of(argv: &[String]) -> Result<PathBuf, Fault> {
    find(&argv[0]).map_err(|fault| match suggestion(argv) {
        Some(suggestion) if !Path::new(&argv[0]).exists() => {
            Fault::environment(format!("`{}` is no program: {}", argv[0], suggestion.why))
                .of_parameter("argv")
                .remedy(format!("write -- {}", suggestion.instead))
        }
        _ => fault,
    })
}

/// What to write instead of a command line that names no program, and why.
struct Suggestion {
    why: &'static str,
    instead: String,
}

fn suggestion(argv: &[String]) -> Option<Suggestion> {
    let first = &argv[0];
    let name = first.split('=').next().unwrap_or_default();
    let variable = first.contains('=')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let quoted = || argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let (why, instead) = if variable && argv.len() > 1 {
        ("no shell is asked, which would set the variable", format!("env {}", quoted()))
    } else if first.contains(SYNTAX) || SHELLS.contains(&first.as_str()) {
        // One word is a shell's line as it is; of several each was quoted already.
        let line = if argv.len() == 1 { first.clone() } else { argv.join(" ") };
        ("it is for a shell, and none is asked", format!("sh -c {}", shell_word(&line)))
    } else if first.contains(char::is_whitespace) && argv.len() == 1 {
        ("its words are quoted as one", first.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        return None;
    };
    Some(Suggestion { why, instead })
}

fn find_in(program: &str, path: &OsStr) -> Result<PathBuf, Fault> {
    if program.contains('/') {
        return executable(Path::new(program), path);
    }
    let mut refused = None;
    for directory in std::env::split_paths(path) {
        let candidate = directory.join(program);
        match executable(&candidate, path) {
            Ok(found) => return Ok(found),
            Err(fault) if candidate.is_file() => refused = refused.or(Some(fault)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| {
        Fault::environment(format!("`{program}` cannot be found in PATH ({})", path.to_string_lossy()))
            .of_parameter("argv")
            .remedy("install it on every node, or give the path to it, such as \"./my-job\"")
    }))
}

fn executable(file: &Path, path: &OsStr) -> Result<PathBuf, Fault> {
    let shown = file.display();
    let fault = |message: String| Fault::environment(message).of_parameter("argv");
    let Ok(facts) = fs::metadata(file) else {
        return Err(fault(format!("`{shown}` cannot be found"))
            .remedy("check the path; it must be there on every node"));
    };
    if !facts.is_file() {
        return Err(fault(format!("`{shown}` is not a program")));
    }
    if facts.permissions().mode() & 0o111 == 0 {
        return Err(fault(format!("`{shown}` may not be executed")).remedy(format!("chmod +x {shown}")));
    }
    match first_line(file) {
        Some(line) => interpreted(file, &line, path).map(|()| file.to_path_buf()),
        None => Ok(file.to_path_buf()),
    }
}

/// What follows `#!` in a script's first line.
fn first_line(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    // A file that may be executed but not read: the kernel decides.
    File::open(file).ok()?.take(FIRST_LINE as u64).read_to_end(&mut start).ok()?;
    let text = String::from_utf8_lossy(start.strip_prefix(b"#!")?).into_owned();
    text.split('\n').next().map(str::to_string)
}

/// Whether what the first line of a script names is there.
fn interpreted(file: &Path, line: &str, path: &OsStr) -> Result<(), Fault> {
    let shown = file.display();
    let fault = |message: String| Fault::environment(message).at(format!("{shown}:1"));
    if line.ends_with('\r') {
        let named = line.trim();
        return Err(fault(format!(
            "the script's lines end in CR and LF, so that its interpreter is `{named}\\r`, which is not there"
        ))
        .remedy(format!("sed -i 's/\\r$//' {shown}")));
    }
    let mut words = line.split_whitespace();
    let Some(interpreter) = words.next() else {
        return Err(fault("the script's first line names no interpreter".into()).remedy("write #!/bin/sh"));
    };
    let missing = |named: &str| {
        Err(fault(format!("the script's interpreter `{named}` cannot be found"))
            .remedy("install it, or correct the script's first line"))
    };
    if !Path::new(interpreter).exists() {
        return missing(interpreter);
    }
    // env(1) looks for its first word in PATH, where that is no option or variable.
    let by_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    match words.next().filter(|word| by_env && !word.starts_with('-') && !word.contains(['=', '/'])) {
        Some(named) if !std::env::split_paths(path).any(|folder| folder.join(named).exists()) => {
            missing(named)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
