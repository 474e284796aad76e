//! Compiles the BPF programs, where there is a clang. Without one the crate is
//! built all the same, and says at run time what it lacks.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each is `bpf/NAME.bpf.c` and becomes `NAME.o`.
const PROGRAMS: [&str; 3] = ["stages", "service", "redirect"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = env::var("OUT_DIR").expect("cargo says where to");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    for program in PROGRAMS {
        compile(&clang, program, &Path::new(&out).join(format!("{program}.o")));
    }
}

/// `bpf/NAME.bpf.c` as an object.
fn compile(clang: &str, program: &str, object: &Path) {
    let source = format!("bpf/{program}.bpf.c");
    let compiled = Command::new(clang)
        .args(["-target", "bpf", "-O2", "-g", "-Wall", "-Werror", "-c", &source, "-o"])
        .arg(object)
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{clang} ended with {status} on {source}"),
        // No clang: an empty object stands for none. Something that is never there has always
        // changed, so that it is looked for again with the next build.
        Err(_) => {
            println!("cargo::rerun-if-changed=bpf/no-clang");
            fs::write(object, []).expect("writes");
        }
    }
}
