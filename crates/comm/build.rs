//! Compiles the endpoints of a wire that are written in C, each if its library's headers are there.
//! Without the headers the crate is built without it, and says so at run time.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Program (`endpoints/NAME.c`) → its library's name for pkg-config.
const PROGRAMS: [(&str, &str); 2] = [("dpdk", "libdpdk"), ("rdma", "libibverbs")];

fn main() {
    println!("cargo::rerun-if-changed=endpoints");
    println!("cargo::rerun-if-env-changed=CC");
    for (name, library) in PROGRAMS {
        build(name, library);
    }
}

fn build(name: &str, library: &str) {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let (program, source) = (Path::new(&out).join(name), format!("endpoints/{name}.c"));
    let Some(flags) = flags(library) else {
        // A file that does not exist counts as changed, so that the next build looks for the
        // library again.
        println!("cargo::rerun-if-changed=endpoints/no-headers");
        fs::write(&program, []).expect("writes");
        return;
    };
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&cc);
    command.args(["-O2", "-Wall", &source, "-o"]).arg(&program).args(flags);
    let status = command.status().unwrap_or_else(|e| panic!("{cc} does not start: {e}"));
    assert!(status.success(), "{cc} ended with {status} on {source}");
}

/// The compiler's flags for a library; `None` if it is missing, or for other processors than x86-64.
fn flags(library: &str) -> Option<Vec<String>> {
    if env::var("CARGO_CFG_TARGET_ARCH").ok()? != "x86_64" {
        return None;
    }
    let output = Command::new("pkg-config").args(["--cflags", "--libs", library]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.split_whitespace().map(String::from).collect())
}
