//! A Rust file as words and signs: without comments, literals and tests, and its paths.

/// A path as it is written, and what it is called from there on.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// `super`, `b`, `B`; ends in `*` where all of it is meant.
    pub path: Vec<String>,
    /// The name that it has in this file.
    pub name: String,
    /// Whether others may use it from here.
    pub public: bool,
}

/// What a file's text says of others.
#[derive(Debug, Default)]
pub struct Text {
    /// Everything that is imported.
    pub imports: Vec<Import>,
    /// Paths of more than one word elsewhere.
    pub inline: Vec<Vec<String>>,
    /// Words outside of imports that begin no path: names that are used.
    pub words: Vec<String>,
    /// Modules that only tests have.
    pub test_modules: Vec<String>,
}

impl Text {
    /// Reads a file.
    pub fn of(source: &str) -> Text {
        let mut text = Text::default();
        let tokens = text.without_tests(tokens(source));
        let mut at = 0;
        while at < tokens.len() {
            let after = tokens.get(at + 1).map(String::as_str);
            if tokens[at] == "use" && after != Some("<") {
                let public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                let end = (at..tokens.len()).find(|end| tokens[*end] == ";").unwrap_or(tokens.len());
                tree(&tokens[at + 1..end], &[], public, &mut text.imports);
                at = end;
            } else if is_word(&tokens[at]) {
                let path = path(&tokens[at..]);
                let begins = at == 0 || !["::", "."].contains(&tokens[at - 1].as_str());
                at += 2 * path.len() - 2;
                match (begins, path.len()) {
                    (true, 1) => text.words.extend(path),
                    (true, _) => text.inline.push(path),
                    (false, _) => {}
                }
            }
            at += 1;
        }
        text
    }

    /// Leaves out every item under `#[cfg(test)]`.
    fn without_tests(&mut self, tokens: Vec<String>) -> Vec<String> {
        let mut kept = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let is_attribute = tokens[at] == "#" && tokens.get(at + 1).is_some_and(|t| t == "[");
            let end = if is_attribute { closing(&tokens, at + 1) } else { at };
            let inside = &tokens[at..=end.min(tokens.len() - 1)];
            let has = |word: &str| inside.iter().any(|token| token == word);
            if is_attribute && has("cfg") && has("test") && !has("not") {
                at = self.item(&tokens, end + 1) + 1;
                continue;
            }
            kept.extend_from_slice(inside);
            at = end + 1;
        }
        kept
    }

    /// The last token of the item that begins at `at`; a module of its own is noted.
    fn item(&mut self, tokens: &[String], at: usize) -> usize {
        let mut at = at;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "mod" if tokens.get(at + 2).is_some_and(|token| token == ";") => {
                    self.test_modules.push(tokens[at + 1].clone());
                }
                ";" => return at,
                "{" => return closing(tokens, at),
                "(" | "[" => at = closing(tokens, at),
                _ => {}
            }
            at += 1;
        }
        at
    }
}

/// Where the bracket at `open` closes.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The words that `::` joins from the first on.
fn path(tokens: &[String]) -> Vec<String> {
    let mut path = vec![tokens[0].clone()];
    while let [.., _] = path.as_slice()
        && let [join, next, ..] = &tokens[2 * path.len() - 1..]
        && join == "::"
        && is_word(next)
    {
        path.push(next.clone());
    }
    path
}

/// What a tree of imports (`a::{self, b::C as D}`) means.
fn tree(tokens: &[String], before: &[String], public: bool, out: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => {}
            "{" => {
                let end = closing(tokens, at);
                parts(&tokens[at + 1..end]).for_each(|part| tree(part, &path, public, out));
                return;
            }
            "as" => {
                let name = tokens.get(at + 1).cloned().unwrap_or_default();
                out.push(Import { path, name, public });
                return;
            }
            "self" if !path.is_empty() => {}
            word => path.push(word.to_string()),
        }
        at += 1;
    }
    let name = path.last().cloned().unwrap_or_default();
    out.push(Import { path, name, public });
}

/// What commas part, outside of brackets.
fn parts(tokens: &[String]) -> impl Iterator<Item = &[String]> {
    let mut depth = 0;
    let parts = tokens.split(move |token| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    });
    parts.filter(|part| !part.is_empty())
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and signs.
fn tokens(source: &str) -> Vec<String> {
    let mut rest = source;
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_string());
            }
            length
        });
        rest = &rest[length..];
    }
    tokens
}

/// How long the comment or literal is that `text` begins with.
fn skipped(text: &str) -> Option<usize> {
    let until =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    if text.starts_with("//") {
        return Some(until("\n", 0));
    }
    if text.starts_with("/*") {
        return Some(until("*/", 2));
    }
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r').filter(|_| prefix < 2) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return Some(until(&format!("\"{}", "#".repeat(hashes)), prefix + 1 + hashes + 1));
        }
    }
    match unprefixed.chars().next() {
        Some('"') if prefix < 2 => Some(prefix + quoted(&unprefixed[1..], '"') + 1),
        Some('\'') if prefix == 0 => letter(text),
        _ => None,
    }
}

/// How long a literal in these quotes is, its end included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// How long a character's literal is; a lifetime is none, and its mark is skipped.
fn letter(text: &str) -> Option<usize> {
    let mut chars = text[1..].chars();
    match (chars.next()?, chars.next()) {
        ('\\', _) => Some(1 + quoted(&text[1..], '\'')),
        (c, Some('\'')) => Some(2 + c.len_utf8()),
        _ => Some(1),
    }
}
