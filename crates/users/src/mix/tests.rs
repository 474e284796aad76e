use super::*;
use crate::test::{test, tests};
use proptest::prelude::*;
use std::fs;

fn fault(text: &str) -> String {
    Mix::parse(text, "my.mix").expect_err("a line is wrong").to_string()
}

#[test]
fn the_bundled_mixes_have_aim7s_numbers_of_kinds_and_hits() {
    let numbers = |name| {
        let mix = Mix::find(name).expect("is bundled");
        (mix.hits().len(), mix.hits().iter().map(|(_, hits)| *hits).sum::<u32>())
    };
    assert_eq!(
        ["shared", "compute", "dbase", "fserver"].map(numbers),
        [(53, 780), (26, 820), (23, 550), (31, 595)]
    );
    let used = |name| {
        bundled()
            .any(|mix| Mix::find(mix).expect("is bundled").hits().iter().any(|(test, _)| test.name == name))
    };
    assert!(tests().iter().all(|test| used(test.name)), "every kind of test is in a mix");
}

#[test]
fn a_workfile_is_read_as_it_is() {
    let text = "# a comment\nFILESIZE: 100k\nPOOLSIZE 2M\n\n  30\tadd_int  \n5 disk_rr # random reads\n";
    let mix = Mix::parse(text, "my.mix").expect("reads");
    let hits: Vec<_> = mix.hits().iter().map(|(test, hits)| (test.name, *hits)).collect();
    assert_eq!(hits, [("add_int", 30), ("disk_rr", 5)]);
    assert_eq!(mix.file_size(1), Bytes((100 << 10) + (2 << 20)));
    assert_eq!(mix.file_size(4), Bytes((100 << 10) + (2 << 18)));
}

#[test]
fn a_mix_may_say_what_users_do() {
    let text = "# three kinds\n2 users stream 200%  # all of it\n1 user reread 24M\n\n 2\tusers  run  ./job 'a b' # 1\n";
    let mix = Mix::parse(text, "my.mix").expect("reads");
    let stream = Activity::Stream(Size::Share(2.0));
    let reread = Activity::Reread(Size::Bytes(Bytes(24 << 20)));
    let run = Activity::Run("./job 'a b' # 1".into());
    let all = [&stream, &stream, &reread, &run, &run].map(Clone::clone);
    assert_eq!(mix.activities(None).expect("as it is"), all);
    assert_eq!(mix.activities(Some(3)).expect("one of each"), [stream, reread, run]);
    assert!(mix.activities(Some(2)).expect_err("too few").to_string().contains("users"));
    assert_eq!(Size::Share(2.0).on(Some(Bytes(8))), Some(Bytes(16)));
    assert_eq!(Mix::find("shared").and_then(|mix| mix.activities(Some(4))), Ok(Vec::new()));
    for (name, users) in [("readers", 16), ("streaming", 16), ("uneven", 16), ("shared", 0)] {
        assert_eq!(Mix::find(name).and_then(|mix| mix.activities(None)).map(|all| all.len()), Ok(users));
    }
}

#[test]
fn a_wrong_line_about_users_is_named() {
    for (line, expected) in [
        ("2 users read 24M", "expected what users do"),
        ("2 users", "expected what users do"),
        ("2 users run", "expected what users do"),
        ("0 users reread 24M", "expected a number of users from 1 to 10000, found `0`"),
        ("x users run true", "expected a number of users"),
        ("2 users reread 24", "expected a size with K or M, or a share with %, found `24`"),
        ("2 users stream 0%", "expected a share"),
        ("2 users stream nan%", "expected a share"),
        ("1 user reread 1048577M", "expected a size of at most 1048576M, found `1048577M`"),
        ("9000 users run true\n\n1001 users run false", "found 10001 up to here"),
        ("1 user run tr\0ue", "expected text, found a zero byte"),
        ("5 add_int\n2 users run true", "found both"),
    ] {
        let said = fault(line);
        assert!(said.starts_with("my.mix:") && said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn a_wrong_line_is_named_with_what_was_expected() {
    assert_eq!(
        fault("10 disk_rr\n10 disk_rrr\n"),
        "my.mix:2: unknown test `disk_rrr`\n  try: did you mean `disk_rr`?"
    );
    for hits in ["0", "-3", "1.5", "many", "99999999999"] {
        let said = fault(&format!("\n{hits} disk_rr"));
        assert!(said.starts_with("my.mix:2: expected a whole number of hits of at least 1, found"), "{said}");
    }
    for line in ["disk_rr", "10 disk_rr disk_rd", "10"] {
        assert!(fault(line).starts_with("my.mix:1: expected hits and a test, found"), "{line}");
    }
    assert!(fault("FILESIZE: 10\n1 disk_rr").contains("expected a size with K or M, found `10`"));
    assert!(
        fault("1 disk_rr\nPOOLSIZE: 18014398509481983K")
            .starts_with("my.mix:2: expected a size of at most 1048576M")
    );
    assert!(fault("5 add_int\n\n6 add_int").starts_with("my.mix:3: `add_int` is on line 1 already"));
    assert!(fault("# nothing\n").starts_with("my.mix: expected at least one line"));
}

#[test]
fn a_mix_is_found_by_name_or_file() {
    let unknown = Mix::find("shard").expect_err("there is none").to_string();
    assert!(unknown.contains("did you mean `shared`?"), "{unknown}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("own.mix");
    assert!(
        Mix::find(&path.display().to_string())
            .expect_err("is not there")
            .message
            .contains("cannot read the mix")
    );
    fs::write(&path, "1 sieve").expect("writes");
    assert_eq!(Mix::find(&path.display().to_string()).expect("reads").hits().len(), 1);
    // A pipe that nobody writes, and a device that never ends.
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe.mix"), 0o600.into())
        .expect("makes a pipe");
    for endless in [folder.path().join("pipe.mix"), "/dev/zero".into()] {
        let said = Mix::find(&endless.display().to_string()).expect_err("is no file").to_string();
        assert!(said.contains("expected a file, found a pipe, a device or a folder"), "{said}");
    }
}

fn any_mix() -> impl Strategy<Value = Mix> {
    let hits = proptest::sample::subsequence((0..tests().len()).collect::<Vec<_>>(), 1..=tests().len());
    hits.prop_flat_map(|kinds| {
        let count = kinds.len();
        (Just(kinds), proptest::collection::vec(1_u32..1000, count))
    })
    .prop_map(|(kinds, hits)| {
        let hits = kinds.into_iter().map(|kind| &tests()[kind]).zip(hits).collect();
        Mix(Content { file_size: Bytes(0), pool_size: Bytes(0), hits, users: Vec::new() })
    })
}

fn names(jobs: &[&'static Test]) -> Vec<&'static str> {
    jobs.iter().map(|test| test.name).collect()
}

proptest! {
    #[test]
    fn every_count_is_within_one_of_its_share(mix in any_mix(), count in 0_usize..500, seed: u64, user: u64) {
        let jobs = mix.jobs(count, seed, user);
        prop_assert_eq!(jobs.len(), count);
        let all: u32 = mix.hits().iter().map(|(_, hits)| hits).sum();
        for (test, hits) in mix.hits() {
            let found = jobs.iter().filter(|job| job.name == test.name).count();
            let share = count as f64 * f64::from(*hits) / f64::from(all);
            prop_assert!((found as f64 - share).abs() < 1.0, "{:?}: {} of {}", test, found, share);
        }
    }

    #[test]
    fn an_order_is_that_of_its_seed_and_user(seed: u64, user in 0_u64..1000, other in 1_u64..1000) {
        let mix = Mix::find("shared").expect("is bundled");
        let order = |seed, user| names(&mix.jobs(100, seed, user));
        prop_assert_eq!(order(seed, user), order(seed, user));
        prop_assert_ne!(order(seed, user), order(seed, user + other));
        prop_assert_ne!(order(seed, user), order(seed.wrapping_add(other), user));
        let sorted = |mut names: Vec<&'static str>| { names.sort_unstable(); names };
        prop_assert_eq!(sorted(order(seed, user)), sorted(order(seed, user + other)));
    }
}

#[test]
fn every_kind_of_the_mix_shared_comes_among_100_jobs() {
    let jobs = Mix::find("shared").expect("is bundled").jobs(100, 1, 0);
    for (kind, _) in Mix::find("shared").expect("is bundled").hits() {
        let comes = names(&jobs).contains(&kind.name);
        assert!(comes && test(kind.name).is_ok(), "{kind:?}");
    }
}
