use super::*;

fn users() -> Vec<User> {
    let user = |name: &str, id| User { name: name.into(), id };
    vec![user("root", 0), user("redis", 103), user("alice", 1000), user("DOM\\bob", 1001)]
}

fn parse(rules: &str) -> Result<Rules, Fault> {
    Rules::parse(&format!("schema = \"crosstalk.watch/1\"\n{rules}"), "r.toml", &users())
}

fn chosen(rules: &Rules, uid: u32, session: Option<&str>, program: &str) -> Option<String> {
    let users = users();
    let user = users.iter().find(|user| user.id == uid).map(|user| user.name.as_str());
    let (_, group) = rules.choose(&Starter { uid, user, session }, || Some(program.into()))?;
    Some(group.to_string())
}

#[test]
fn the_first_rule_that_fits_counts() {
    let shell = Path::new("/bin/sh").canonicalize().expect("is there");
    let shell = shell.to_str().expect("is text");
    let rules = parse(
        "[[rule]]\nuser = \"alice\"\nprogram = \"/bin/sh\"\ngroup = \"shells\"\n\
         [[rule]]\nsession = true\ngroup = \"s-{session}\"\ncreate = true\n\
         [[rule]]\nuser = \"*\"\ngroup = \"lab/{user}\"\n",
    )
    .expect("is consistent");
    let chosen = |uid, session, program| chosen(&rules, uid, session, program);
    assert_eq!(chosen(1000, None, shell).as_deref(), Some("shells"), "links are followed");
    assert_eq!(chosen(1000, Some("4"), shell).as_deref(), Some("shells"));
    assert_eq!(chosen(1000, Some("4"), "/usr/bin/env").as_deref(), Some("s-4"));
    assert_eq!(chosen(1000, None, "/usr/bin/env").as_deref(), Some("lab/alice"));
    assert_eq!(chosen(1001, None, shell).as_deref(), Some("lab/uid-1001"), "an odd name");
    assert_eq!(chosen(4711, None, shell).as_deref(), Some("lab/uid-4711"), "in no passwd");
    for nobody in [0, 103, 999, 65_534, u32::MAX] {
        assert_eq!(chosen(nobody, Some("1"), shell), None, "{nobody}");
        assert!(!rules.concern(nobody));
    }
}

#[test]
fn a_rule_for_one_user_concerns_no_other() {
    let rules = parse("[[rule]]\nuser = 1000\ngroup = \"lab\"\n").expect("is consistent");
    assert!(rules.concern(1000) && !rules.concern(1001));
    assert_eq!(chosen(&rules, 1000, None, "/bin/x").as_deref(), Some("lab"));
    assert_eq!(chosen(&rules, 1001, None, "/bin/x"), None);
}

#[test]
fn what_means_everybody_or_a_service_is_refused_with_its_line() {
    for (rule, said, remedy) in [
        ("group = \"lab\"", "everybody", "name a user"),
        ("user = \"*\"\ngroup = \"lab\"", "everybody into `lab`", "{user}"),
        ("session = true\ngroup = \"lab\"", "everybody into `lab`", "{user}"),
        ("group = \"{user}\"", "fits everybody", "user = \"*\""),
        ("user = \"root\"\ngroup = \"lab\"", "root or a system user", "from 1000 on"),
        ("user = 0\ngroup = \"lab\"", "root or a system user", "from 1000 on"),
        ("user = \"redis\"\ngroup = \"lab\"", "root or a system user", "unit"),
        ("user = 65534\ngroup = \"lab\"", "root or a system user", "from 1000 on"),
        ("user = \"alise\"\ngroup = \"lab\"", "unknown user", "did you mean `alice`?"),
        ("user = \"alice\"\ngroup = \"../x\"", "expected a name", "letter or a digit"),
        ("user = \"alice\"\ngroup = \"{name}\"", "placeholder", "{user}"),
        ("user = \"alice\"\ngroup = \"s{session}\"", "login sessions", "session = true"),
        ("program = \"sh\"\ngroup = \"lab\"", "expected a path from / on", "command -v"),
        ("program = \"/no/such\"\ngroup = \"lab\"", "/no/such", "command -v"),
        ("program = \"/tmp\"\ngroup = \"lab\"", "is no file", "command -v"),
        (
            "user = \"alice\"\ngroup = \"lab\"\nmemory = \"1 GiB\"",
            "a group that the rule makes",
            "create = true",
        ),
        (
            "user = 1000\ngroup = \"lab\"\ncreate = true\nprocesses = 0",
            "processes: expected 1 to",
            "no limit",
        ),
        (
            "user = 1000\ngroup = \"lab\"\ncreate = true\nprocesses = 4294967295",
            "processes: expected 1 to 4194304",
            "no limit",
        ),
        (
            "user = 1000\ngroup = \"lab\"\ncreate = true\nprofile = \"guaranteed\"",
            "profile: a guaranteed group needs the memory",
            "memory = \"2 GiB\"",
        ),
        (
            "user = 1000\ngroup = \"lab\"\ncreate = true\nprofile = \"besteffort\"\ncpus = 1.0",
            "cpus: a besteffort group has no request",
            "profile = \"burstable\"",
        ),
    ] {
        let fault = parse(&format!("\n[[rule]]\n{rule}\n")).expect_err(rule);
        assert_eq!(fault.place.as_deref(), Some("r.toml:3"), "{rule}: {fault}");
        assert!(fault.message.contains(said), "{rule}: {fault}");
        assert!(fault.remedy.as_deref().is_some_and(|text| text.contains(remedy)), "{rule}: {fault}");
    }
}

#[test]
fn values_are_named_as_in_the_file() {
    for (line, said) in [
        (
            "memory_limit = \"4 KiB\"",
            "r.toml:2: memory_limit: expected at least 1 MiB: no program runs in less",
        ),
        ("cpus = nan", "r.toml:2: cpus: expected 0.01 to 8192 processors, found NaN"),
    ] {
        let rule = format!("[[rule]]\nuser = 1000\ngroup = \"lab\"\ncreate = true\n{line}\n");
        assert_eq!(parse(&rule).expect_err(line).to_string(), said);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_what_is_expected() {
    for (text, said) in [
        ("", "expected the schema `crosstalk.watch/1`, found nothing"),
        ("schema = \"crosstalk.watch/9\"\n", "found `crosstalk.watch/9`"),
        ("schema = \"crosstalk.watch/1\"\n", "there is no rule"),
        ("schema = \"crosstalk.watch/1\"\n[[rule]]\nuser = \"alice\"\n", "group"),
        ("schema = \"crosstalk.watch/1\"\n[[rule]]\ngroup = \"x\"\ncolour = 1\n", "r.toml:4"),
        ("schema = \"crosstalk.watch/1\"\n[[rule]]\ngroup = 3\n", "expected text, found the number `3`"),
    ] {
        let fault = Rules::parse(text, "r.toml", &users()).expect_err(text);
        assert!(fault.to_string().contains(said) && fault.remedy.is_some(), "{text}: {fault}");
    }
}

#[test]
fn without_a_file_users_get_the_groups_of_their_names() {
    let names = |names: &[&str]| -> Vec<GroupName> {
        names.iter().map(|name| name.parse().expect("is a name")).collect()
    };
    let rules =
        Rules::by_names(&names(&["lab", "lab/alice", "redis", "uid-1001"]), &users()).expect("has some");
    assert_eq!(rules.len(), 2);
    assert_eq!(chosen(&rules, 1000, None, "/bin/x").as_deref(), Some("lab/alice"));
    assert_eq!(chosen(&rules, 1001, None, "/bin/x").as_deref(), Some("uid-1001"));
    let fault = Rules::by_names(&names(&["lab", "redis"]), &users()).expect_err("a system user's is none");
    assert!(fault.remedy.is_some_and(|said| said.contains("groups create alice")));
    let fault = Rules::by_names(&names(&["alice", "lab/alice"]), &users()).expect_err("which?");
    assert!(fault.message.contains("alice and lab/alice"), "{fault}");
}
