//! `crosstalk docs DIR`: the pages of the reference, generated from the code.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::Fault;
use serde_json::json;

use crate::args::DocsArgs;
use crate::out::Out;
use crate::{parts, reference};

/// Runs `crosstalk docs`.
pub fn main(args: &DocsArgs, out: &Out) -> Result<ExitCode, Fault> {
    let pages = reference::pages(&parts::registry())?;
    for page in &pages {
        write(&args.dir.join(&page.path), &page.text)?;
    }
    out.say(&format!("{} pages written to {}", pages.len(), args.dir.display()));
    out.record(&json!({ "result": "docs", "dir": args.dir, "pages": pages.len() }));
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).map_err(|e| {
        Fault::environment(format!("cannot write a page: {e}"))
            .at(path.display().to_string())
            .remedy("name a directory that you may write to")
    })
}
