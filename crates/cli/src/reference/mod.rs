//! The reference as Markdown pages: the command line, the study file and the workloads, each read from
//! the code that they describe. `crosstalk docs DIR` writes them; a test holds the committed ones against it.

mod command_line;
mod markdown;
mod study_file;
mod workloads;

use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;

/// One page of the reference.
pub struct Page {
    /// Its file, from the reference's folder: `command-line/run.md`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl Page {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Page { path: path.into(), text: text.into() }
    }
}

/// Every page.
///
/// # Errors
/// Where a part of the study file stands on no page, or on two.
pub fn pages(registry: &Registry) -> Result<Vec<Page>, Fault> {
    let mut all = command_line::pages();
    all.extend(study_file::pages(&crosstalk_study::study_schema())?);
    all.extend(workloads::pages(registry));
    all.push(index(&all));
    Ok(all)
}

/// The list of all pages.
fn index(pages: &[Page]) -> Page {
    let mut text = String::from(
        "# Reference\n\nThese pages are written from the code by `crosstalk docs docs/reference`. A test holds \
         them to it, so change the code and not the page.\n",
    );
    let parts = [
        ("command-line/", "Command line"),
        ("study-file/", "Study file"),
        ("workloads/", "Workloads, conditions and observers"),
    ];
    for (folder, title) in parts {
        text += &format!("\n## {title}\n\n");
        for page in pages.iter().filter(|page| page.path.starts_with(folder)) {
            let heading = page.text.lines().next().unwrap_or_default().trim_start_matches("# ");
            text += &format!("- [{heading}]({})\n", page.path);
        }
    }
    text += "\nThe JSON Schemas of all files, for editors and programs, are in [../schema](../schema).\n";
    Page::new("README.md", text)
}
