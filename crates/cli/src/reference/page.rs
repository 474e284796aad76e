//! One page of the reference.

/// A page of the generated reference.
pub struct Page {
    /// Its file, relative to the reference's folder: `command-line/run.md`.
    pub path: String,
    /// Its Markdown.
    pub text: String,
}

impl Page {
    /// A page with this text at this path.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Page { path: path.into(), text: text.into() }
    }
}
