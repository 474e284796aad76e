//! Compiles the program that speaks DPDK, where DPDK's headers are. Without them the
//! crate is built all the same, and says at run time what it lacks.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=dpdk/end.c");
    println!("cargo::rerun-if-env-changed=CC");
    let out = env::var("OUT_DIR").expect("cargo says where to");
    let program = Path::new(&out).join("dpdk-end");
    let Some(flags) = flags() else {
        // Something that is never there has always changed, so that DPDK is looked for again with
        // the next build.
        println!("cargo::rerun-if-changed=dpdk/no-headers");
        fs::write(&program, []).expect("writes");
        return;
    };
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(&cc)
        .args(["-O2", "-Wall", "-Werror", "dpdk/end.c", "-o"])
        .arg(&program)
        .args(flags)
        .status()
        .unwrap_or_else(|e| panic!("{cc} does not start: {e}"));
    assert!(status.success(), "{cc} ended with {status} on dpdk/end.c");
}

/// What the compiler is told of DPDK, on processors that the program is written for.
fn flags() -> Option<Vec<String>> {
    if env::var("CARGO_CFG_TARGET_ARCH").ok()? != "x86_64" {
        return None;
    }
    let told = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output().ok()?;
    let text = String::from_utf8(told.stdout).ok().filter(|_| told.status.success())?;
    Some(text.split_whitespace().map(String::from).collect())
}
