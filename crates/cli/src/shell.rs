//! Words as a shell reads them back, on one line.

/// The command line as it could be typed again: without the directory, which holds a run
/// by then, and for people.
pub fn command_line() -> String {
    let words = again(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()));
    std::iter::once("crosstalk".to_string())
        .chain(words.iter().map(|word| quoted(word)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words but `--json` and `--out`, up to a command of the user's.
fn again(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words.peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            "--out" => drop(words.next()),
            "--json" => {}
            _ if word.starts_with("--out=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// One word. What would move a cursor or end the line is spelled out, in the form
/// that bash, zsh and ksh read (POSIX.1-2024, 2.2.4).
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let spelled = |c: char| match c {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\\' | '\'' => format!("\\{c}"),
        c if c.is_control() => {
            c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(spelled).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_needs_another_directory() {
        let words = |text: &str| again(text.split(' ').map(String::from)).join(" ");
        assert_eq!(words("--json run kosmos --out runs/a --quick --out=b"), "run kosmos --quick");
        assert_eq!(
            words("run --nodes 2 --out x -- ./job --out y --json"),
            "run --nodes 2 -- ./job --out y --json"
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("--vary=fabric"), "--vary=fabric");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted("a\nb\u{1b}'\\"), "$'a\\nb\\x1b\\'\\\\'");
    }
}
