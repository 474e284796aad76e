//! Escapes text for GitHub's Markdown, in ASCII only.

/// The ASCII form of characters that Crosstalk's sentences use.
const PLAIN: [(char, &str); 17] = [
    ('×', "x"),
    ('–', "-"),
    ('−', "-"),
    ('…', "..."),
    ('µ', "u"),
    ('μ', "u"),
    ('±', "+/-"),
    ('÷', "/"),
    ('→', "->"),
    ('≤', "<="),
    ('≥', ">="),
    ('≈', "~"),
    ('∞', "inf"),
    ('·', "-"),
    ('’', "'"),
    ('“', "\""),
    ('”', "\""),
];

/// One line of text: markup is escaped, line breaks become spaces, and other characters become character references. Text
/// between backticks becomes code.
pub fn text(words: &str) -> String {
    let parts: Vec<&str> = words.split('`').collect();
    // An unpaired backtick is text.
    if parts.len().is_multiple_of(2) {
        return escaped(words);
    }
    let part = |(index, part): (usize, &&str)| if index % 2 == 0 { escaped(part) } else { code(part) };
    parts.iter().enumerate().map(part).collect()
}

fn escaped(words: &str) -> String {
    let chars: Vec<char> = words.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let inside_word =
            |j: Option<usize>| j.and_then(|j| chars.get(j)).is_some_and(|c| c.is_alphanumeric());
        match c {
            // An underscore within a word is no markup.
            '_' if inside_word(i.checked_sub(1)) && inside_word(Some(i + 1)) => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(*c);
            }
            '<' => out += "&lt;",
            '>' if i == 0 => out += "&gt;",
            '&' => out += "&amp;",
            ' '..='~' => out.push(*c),
            c if c.is_whitespace() => out.push(' '),
            c if c.is_control() => out.push('?'),
            c => out += &plain(*c).map_or_else(|| format!("&#{};", *c as u32), escaped),
        }
    }
    out
}

/// A command as a code block. Its fence is longer than any run of backticks inside. A command with other characters than
/// ASCII needs references, and so is HTML.
pub fn command(words: &str) -> String {
    if !words.chars().all(|c| (' '..='~').contains(&c)) {
        return format!("<pre><code>{}</code></pre>\n", references(words));
    }
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{words}\n{fence}\n")
}

/// A word as code within a line. It is HTML, so that no backtick can end it.
pub fn code(words: &str) -> String {
    format!("<code>{}</code>", references(words).replace('|', "&#124;"))
}

fn references(words: &str) -> String {
    words
        .chars()
        .map(|c| match c {
            '&' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '$' => format!("&#{};", c as u32),
            ' '..='~' => c.to_string(),
            c if c.is_whitespace() || c.is_control() => " ".into(),
            c => format!("&#{};", c as u32),
        })
        .collect()
}

fn plain(c: char) -> Option<&'static str> {
    PLAIN.iter().find(|(from, _)| *from == c).map(|(_, to)| *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_and_ascii_is_kept() {
        assert_eq!(text("1.26 × (1.22–1.30)"), "1.26 x (1.22-1.30)");
        assert_eq!(text("a|b *c* <script>"), "a\\|b \\*c\\* &lt;script>");
        assert_eq!(text("> quoted"), "&gt; quoted");
        assert_eq!(text("run_time _x_"), "run_time \\_x\\_");
        assert_eq!(text("add `aa = [1, 2]`, x_y_"), "add <code>aa = &#91;1, 2&#93;</code>, x_y\\_");
        assert_eq!(text("a ` *b*"), "a \\` \\*b\\*");
        assert_eq!(text("30 µs ≤ 1\n日"), "30 us &lt;= 1 &#26085;");
    }

    #[test]
    fn a_command_stays_whole() {
        assert_eq!(command("crosstalk run kosmos"), "```sh\ncrosstalk run kosmos\n```\n");
        assert!(command("echo ````").starts_with("`````sh\n"));
        assert_eq!(command("run é"), "<pre><code>run &#233;</code></pre>\n");
        assert_eq!(code("a`|b"), "<code>a&#96;&#124;b</code>");
    }
}
