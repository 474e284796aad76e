use super::*;
use proptest::prelude::*;

const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n";

fn process(name: &str, user: u32) -> Process {
    Process { pid: 7, name: name.into(), user, session: 5, groups: "0::/a/b".into(), ..Process::default() }
}

/// With the line that every file begins with.
fn parse(text: &str) -> Result<Rules, Fault> {
    Rules::parse(&format!("schema = \"{SCHEMA}\"\n{text}"), USERS)
}

fn rules(text: &str) -> Rules {
    parse(text).expect("reads")
}

#[test]
fn what_no_rule_fits_is_foreground_work() {
    let rules = rules("[[background]]\ncommand = \"ffmpeg*\"\nuser = \"anna\"\n");
    assert!(rules.background(&process("ffmpeg-7", 1000)));
    assert!(!rules.background(&process("ffmpeg-7", 0)));
    assert!(!rules.background(&process("vi", 1000)));
    assert!(!rules.foreground(&process("vi", 1000)), "no rule says so");
}

#[test]
fn foreground_wins_where_rules_of_both_kinds_fit() {
    let rules = rules(
        "[[background]]\ncommand = \"ab\"\nuser = 1000\n[[foreground]]\nuser = \"anna\"\n[[background]]\ncommand = \"a*\"",
    );
    assert!(!rules.background(&process("ab", 1000)) && rules.foreground(&process("ab", 1000)));
    assert!(rules.background(&process("ac", 0)) && !rules.foreground(&process("ac", 0)));
}

#[test]
fn the_old_words_are_read_too() {
    let rules = rules("[[external]]\ncommand = \"a\"\n[[own]]\ncommand = \"b\"");
    assert!(rules.background(&process("a", 0)) && rules.foreground(&process("b", 0)));
}

#[test]
fn a_contract_that_makes_no_sense_is_reported_by_its_key() {
    for (text, key) in [("slowdown = \"0 %\"", "slowdown"), ("busy = -1.0", "busy")] {
        let fault = parse(text).expect_err(key);
        assert!(fault.message.starts_with(&format!("{key}: expected")), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains(&format!("{key} = "))), "{key}");
    }
}

#[test]
fn what_is_wrong_is_reported() {
    let refused = |text: &str| parse(text).expect_err("refused").to_string();
    assert!(refused("[[background]]\n").contains("says nothing"));
    assert!(refused("[[background]]\nuser = \"ana\"").contains("did you mean `anna`?"));
    assert!(refused("[[background]]\ncomand = \"x\"").contains("comand"));
    assert!(!rules("").name_background());
    for never in [
        "command = \"\"",
        "command = \"a\\u0000\"",
        "command = \"a-name-of-16-byte\"",
        "command = \"*longer-than-fifteen*\"",
        "group = \"\"",
        "group = \"batch\"",
    ] {
        let fault = parse(&format!("[[background]]\n{never}")).expect_err(never);
        assert!(fault.message.contains("no process ever fits") && fault.remedy.is_some(), "{fault}");
    }
    rules("[[background]]\ncommand = \"fifteen-bytes-a*\"\ngroup = \"*/batch\"");
    for text in ["schema = \"crosstalk.guard/9\"", "[[background]]\ncommand = \"a\""] {
        let fault = Rules::parse(text, USERS).expect_err("refused");
        assert!(fault.remedy.is_some_and(|said| said.contains("crosstalk.guard/1")), "{text}");
    }
}

#[test]
fn what_is_no_toml_is_reported_by_its_line_and_in_short() {
    let fault = parse(&format!("\n[[foreground]]\n{}", "x".repeat(100_000))).expect_err("refused");
    assert!(fault.message.starts_with("line 4: ") && fault.message.len() < 200, "{fault}");
    let fault = parse("[[foreground]]\nsession = \"x\"").expect_err("refused");
    assert!(fault.message.starts_with("line 3: ") && fault.remedy.is_some(), "{fault}");
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, text) in
        [("*", ""), ("a*c", "abc"), ("a*c", "ac"), ("*b*", "abc"), ("a*b*c", "a-b-b-c"), ("ab", "ab")]
    {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a*c", "ab"), ("ab*ba", "aba"), ("a", "ab"), ("*x*", "abc")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,60}", pattern in "[a*é]{0,8}", name in "[aé]{0,8}") {
        let _ = Rules::parse(&text, &text);
        let _ = parse(&format!("[[background]]\ncommand = \"{pattern}\"\nuser = \"{name}\""));
        matches(&pattern, &name);
    }
}
