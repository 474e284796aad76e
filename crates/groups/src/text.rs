//! Words that several commands print.

/// So many processes.
pub fn processes_in_words(count: u64) -> String {
    if count == 1 { "1 process".into() } else { format!("{count} processes") }
}
