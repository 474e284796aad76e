//! Compiles the programs in C that have ends of a wire, each where its library's headers are.
//! Without them the crate is built all the same, and says at run time what it lacks.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Program (`ends/NAME.c`) → what pkg-config calls its library.
const PROGRAMS: [(&str, &str); 2] = [("dpdk", "libdpdk"), ("rdma", "libibverbs")];

fn main() {
    println!("cargo::rerun-if-changed=ends");
    println!("cargo::rerun-if-env-changed=CC");
    for (name, library) in PROGRAMS {
        build(name, library);
    }
}

fn build(name: &str, library: &str) {
    let out = env::var("OUT_DIR").expect("cargo says where to");
    let (program, source) = (Path::new(&out).join(name), format!("ends/{name}.c"));
    let Some(flags) = flags(library) else {
        // Something that is never there has always changed, so that the library is looked for
        // again with the next build.
        println!("cargo::rerun-if-changed=ends/no-headers");
        fs::write(&program, []).expect("writes");
        return;
    };
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&cc);
    command.args(["-O2", "-Wall", &source, "-o"]).arg(&program).args(flags);
    let status = command.status().unwrap_or_else(|e| panic!("{cc} does not start: {e}"));
    assert!(status.success(), "{cc} ended with {status} on {source}");
}

/// What the compiler is told of a library, on processors that the programs are written for.
fn flags(library: &str) -> Option<Vec<String>> {
    if env::var("CARGO_CFG_TARGET_ARCH").ok()? != "x86_64" {
        return None;
    }
    let told = Command::new("pkg-config").args(["--cflags", "--libs", library]).output().ok()?;
    let text = String::from_utf8(told.stdout).ok().filter(|_| told.status.success())?;
    Some(text.split_whitespace().map(String::from).collect())
}
