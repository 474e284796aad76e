//! Compiles the BPF programs, where there is a clang. Without one the crate is
//! built all the same, and says at run time what it lacks.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = env::var("OUT_DIR").expect("cargo says where to");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let object = Path::new(&out).join("stages.o");
    let compiled = Command::new(&clang)
        .args(["-target", "bpf", "-O2", "-g", "-Wall", "-Werror", "-c", "bpf/stages.bpf.c", "-o"])
        .arg(&object)
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{clang} ended with {status} on bpf/stages.bpf.c"),
        // No clang: an empty object stands for none. Something that is never there has always
        // changed, so that it is looked for again with the next build.
        Err(_) => {
            println!("cargo::rerun-if-changed=bpf/no-clang");
            fs::write(&object, []).expect("writes");
        }
    }
}
