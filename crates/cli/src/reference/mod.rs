//! The reference as Markdown pages: command line, study file and workloads. They are generated from the code.
//! `crosstalk docs DIR` writes them; a test compares the committed ones.

mod command_line;
mod markdown;
mod mix_file;
mod page;
mod study_file;
mod workloads;

use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;

use page::Page;

/// Every page of the generated reference.
///
/// # Errors
/// If a part of the study file has no page, or two.
pub fn pages(registry: &Registry) -> Result<Vec<Page>, Fault> {
    let mut all = command_line::pages();
    all.extend(study_file::pages(&crosstalk_study::study_schema())?);
    all.extend(workloads::pages(registry));
    all.push(mix_file::page());
    all.push(index(&all));
    Ok(all)
}

/// The list of all pages.
fn index(pages: &[Page]) -> Page {
    let mut text = String::from(
        "# Reference\n\nThese pages are generated from the code by `crosstalk docs docs/reference`, and a test \
         compares them. So change the code, not the page.\n",
    );
    let parts = [
        ("command-line/", "Command line"),
        ("study-file/", "Study file"),
        ("workloads/", "Workloads, conditions and observers"),
        ("mix-file.md", "Mix file"),
    ];
    for (folder, title) in parts {
        text += &format!("\n## {title}\n\n");
        for page in pages.iter().filter(|page| page.path.starts_with(folder)) {
            let heading = page.text.lines().next().unwrap_or_default().trim_start_matches("# ");
            text += &format!("- [{heading}]({})\n", page.path);
        }
    }
    text += "\nJSON Schemas of all files, for editors and programs, are in [../schema](../schema).\n";
    Page::new("README.md", text)
}
