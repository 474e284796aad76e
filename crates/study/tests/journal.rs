//! Journals as they are found on disk: whole, cut short, damaged, resumed.

use crosstalk_core::Fault;
use crosstalk_core::record::{Line, Observation, Status};
use crosstalk_study::journal::{JournalPosition, RecordedRun, lines, read_journal};
use crosstalk_study::samples::Run;
use proptest::prelude::*;

/// Every kind of line and of observation, as the first version wrote it.
const FIRST: &str = include_str!("golden/journal-1.ndjson");
/// The same in the second, whose lines carry checksums.
const SECOND: &str = include_str!("golden/journal-2.ndjson");
/// The same in the third, whose lines also carry the run and their number.
const GOLDEN: &str = include_str!("golden/journal-3.ndjson");

fn read(text: &[u8]) -> Result<Run, Fault> {
    read_journal(lines(text))
}

#[test]
fn every_schema_opens_and_earlier_ones_give_a_warning() {
    let mut first = read(FIRST.as_bytes()).expect("opens");
    assert!(first.warnings.remove(0).contains("crosstalk.journal/1), whose lines carry no checksums"));
    let mut second = read(SECOND.as_bytes()).expect("opens");
    assert!(second.warnings.remove(0).contains("crosstalk.journal/2), whose lines are not numbered"));
    assert_eq!(first, second);
    let run = read(GOLDEN.as_bytes()).expect("opens");
    assert_eq!(first, run);
    assert_eq!((run.seed, run.quick, run.version.as_str()), (1, true, "0.1.0"));
    assert_eq!(run.command, "crosstalk run kosmos --quick");
    assert_eq!((run.began, run.ended), (1_770_000_000.0, 1_770_000_009.5));
    assert_eq!(run.end, "all of 1 question decided after 2 blocks");
    assert!(run.finished);
    assert_eq!(run.metrics.len(), 3);
    let statuses: Vec<Status> = run.attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [Status::Finished, Status::Failed, Status::Finished, Status::Started]);
    assert_eq!(run.attempts[1].failure, Some("node 2 is gone".into()));
    assert!(!run.attempts[2].fidelity.as_ref().expect("was watched").faithful());
    assert!(
        matches!(run.attempts[0].readings[1].observation, Observation::Histogram(ref h) if h.count() == 3)
    );
    assert!(matches!(run.attempts[0].readings[2].observation, Observation::Series(ref s) if s.len() == 3));
    assert_eq!(run.warnings, Vec::<String>::new());
}

#[test]
fn a_journal_cut_anywhere_opens_with_what_came_before() {
    let whole = read(GOLDEN.as_bytes()).expect("opens");
    let first = GOLDEN.find('\n').expect("has lines");
    for cut in first + 1..GOLDEN.len() {
        let run = read(&GOLDEN.as_bytes()[..cut]).unwrap_or_else(|fault| panic!("cut at {cut}: {fault}"));
        assert!(run.attempts.len() <= whole.attempts.len());
        let half = GOLDEN.as_bytes()[cut - 1] != b'\n' && GOLDEN.as_bytes()[cut] != b'\n';
        assert_eq!(run.warnings.len(), usize::from(half), "cut at {cut}: {:?}", run.warnings);
    }
}

#[test]
fn a_damaged_line_is_named_and_the_others_stand() {
    let text = FIRST.replacen("\"value\":1.25", "\"value\":null", 1);
    let mut run = read(text.as_bytes()).expect("opens");
    run.warnings.remove(0);
    assert_eq!(run.attempts[0].readings.len(), 2);
    assert_eq!(run.attempts[0].status, Status::Started, "what is there of it does not count");
    assert!(
        run.warnings[0].contains("damage to the journal in 1 place") && run.warnings[0].contains(":6"),
        "{:?}",
        run.warnings
    );
}

/// The number of a line that a warning names.
fn names(run: &Run, line: usize) -> bool {
    let place = format!("journal.ndjson:{line}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    run.warnings.iter().any(|warning| warning.split(&place).skip(1).any(ends))
}

#[test]
fn a_flipped_bit_anywhere_is_reported_and_its_line_does_not_count() {
    let whole = read(GOLDEN.as_bytes()).expect("opens");
    for place in 0..GOLDEN.len() {
        for bit in 0..8 {
            let mut bytes = GOLDEN.as_bytes().to_vec();
            bytes[place] ^= 1 << bit;
            let line = GOLDEN[..place].matches('\n').count() + 1;
            let run = read(&bytes).unwrap_or_else(|fault| panic!("{place}.{bit}: {fault}"));
            assert!(names(&run, line), "{place}.{bit}, line {line}: {:?}", run.warnings);
            for attempt in run.attempts.iter().filter(|a| a.status != Status::Started) {
                assert!(whole.attempts.contains(attempt), "{place}.{bit}: {attempt:?}");
            }
        }
    }
}

#[test]
fn an_attempt_that_lost_a_line_is_left_out_and_no_other() {
    let last = GOLDEN.lines().count();
    let lost: [(usize, &[u64]); 9] = [
        (1, &[]),
        (2, &[]),
        (5, &[0]),
        (6, &[0]),
        (9, &[0]),
        (10, &[1]),
        (11, &[1, 2]),
        (14, &[]),
        (last, &[]),
    ];
    for (line, left_out) in lost {
        let text: String = GOLDEN
            .lines()
            .enumerate()
            .map(|(n, text)| if n + 1 == line { "?\n".into() } else { format!("{text}\n") })
            .collect();
        let run = read(text.as_bytes()).expect("opens");
        assert!(names(&run, line), "line {line}: {:?}", run.warnings);
        let counted = |id: &u64| {
            run.attempts.iter().any(|a| a.id == *id && matches!(a.status, Status::Finished | Status::Failed))
        };
        let missing: Vec<u64> = (0..3).filter(|id| !counted(id)).collect();
        assert_eq!(missing, left_out, "line {line}");
    }
}

/// Which of the golden journal's attempts ended in this text, of those that ended in it.
fn ended(run: &Run) -> Vec<u64> {
    let whole = read(GOLDEN.as_bytes()).expect("opens");
    let ended = run.attempts.iter().filter(|a| matches!(a.status, Status::Finished | Status::Failed));
    ended.inspect(|a| assert!(whole.attempts.contains(a), "{a:?}")).map(|a| a.id).collect()
}

#[test]
fn a_line_that_is_missing_doubled_or_moved_is_reported_and_its_attempt_left_out() {
    let of = |lines: &[&str]| read((lines.join("\n") + "\n").as_bytes()).expect("opens");
    let lines: Vec<&str> = GOLDEN.lines().collect();
    let sample = |line: usize| lines[line - 1].contains("\"line\":\"sample\"");
    for number in 1..=lines.len() {
        let mut without = lines.clone();
        without.remove(number - 1);
        let run = of(&without);
        // Nobody can tell that a journal once went on.
        assert_eq!(run.warnings.is_empty(), number == lines.len(), "without {number}: {:?}", run.warnings);
        let damage = ended(&run).len() < 3;
        assert_eq!(
            names(&run, number) && run.warnings[0].contains("a line is missing before it"),
            number < lines.len()
        );
        assert!(damage || !sample(number), "without {number}");

        let mut doubled = lines.clone();
        doubled.insert(number, lines[number - 1]);
        let run = of(&doubled);
        assert!(names(&run, number + 1), "{number} twice: {:?}", run.warnings);
        assert!(ended(&run).len() < 3 || !sample(number), "{number} twice");

        let mut swapped = lines.clone();
        if number < lines.len() {
            swapped.swap(number - 1, number);
            let run = of(&swapped);
            assert!(names(&run, number) && names(&run, number + 1), "{number}: {:?}", run.warnings);
            assert!(ended(&run).len() < 3 || !sample(number) && !sample(number + 1), "{number} swapped");
        }
    }
}

#[test]
fn lines_of_another_run_are_reported_and_do_not_count() {
    let lines: Vec<Line> = lines(GOLDEN.as_bytes()).map(|line| line.expect("reads")).collect();
    let (mut position, mut other) = (JournalPosition::default(), Vec::new());
    for mut line in lines {
        if let Line::Run { at, .. } = &mut line {
            *at += 1.0;
        }
        other.extend(position.encode_next(&line).expect("writes"));
    }
    let (whole, run) = (read(GOLDEN.as_bytes()), read(&[GOLDEN.as_bytes(), &other].concat()).expect("opens"));
    assert_eq!(run.attempts, whole.expect("opens").attempts);
    assert!(run.warnings[0].contains("this line is of another run"), "{:?}", run.warnings);
    let count = GOLDEN.lines().count();
    assert!(names(&run, count + 1) && names(&run, count + 2), "{:?}", run.warnings);
}

#[test]
fn an_earlier_journal_goes_on_with_lines_that_are_checked() {
    let opening = lines(GOLDEN.as_bytes()).next().expect("a line").expect("reads");
    for earlier in [FIRST, SECOND] {
        let mut recording = RecordedRun::read(earlier.as_bytes()).expect("reads");
        let more: Vec<u8> =
            (0..3).flat_map(|_| recording.encode_next(opening.clone()).expect("writes")).collect();
        let run = read(&[earlier.as_bytes(), &more].concat()).expect("opens");
        assert_eq!(run.warnings.len(), 1, "{:?}", run.warnings);
        let third = more.split_inclusive(|b| *b == b'\n').nth(2).expect("three lines");
        let first = more.split_inclusive(|b| *b == b'\n').next().expect("three lines");
        let run = read(&[earlier.as_bytes(), first, third].concat()).expect("opens");
        assert!(names(&run, earlier.lines().count() + 2), "{:?}", run.warnings);
    }
}

#[test]
fn a_run_that_is_kept_as_it_is_written_is_the_one_that_is_read() {
    let all: Vec<Line> = lines(GOLDEN.as_bytes()).map(|line| line.expect("reads")).collect();
    let mut recording = RecordedRun::default();
    for (count, line) in all.into_iter().enumerate() {
        recording.encode_next(line).expect("writes");
        let text: Vec<&str> = GOLDEN.split_inclusive('\n').take(count + 1).collect();
        assert_eq!(*recording.run(), read(text.concat().as_bytes()).expect("opens"), "after {count} lines");
    }
}

#[test]
fn a_line_is_written_as_it_is_read() {
    let all: Vec<Line> = lines(GOLDEN.as_bytes()).map(|line| line.expect("reads")).collect();
    let mut position = JournalPosition::default();
    let again: Vec<u8> = all.iter().flat_map(|line| position.encode_next(line).expect("writes")).collect();
    assert_eq!(String::from_utf8(again).expect("UTF-8"), GOLDEN);
}

#[test]
fn samples_of_no_attempt_are_counted_and_reported() {
    let text = format!(
        "{FIRST}{}\n",
        r#"{"line":"sample","attempt":99,"metric":"x","value":1.0,"origin":"measured","at":0.0,"n":1}"#
    );
    assert!(read(text.as_bytes()).expect("opens").warnings[1].starts_with("1 sample of the journal belongs"));
}

#[test]
fn a_resumed_run_goes_on_in_the_same_journal() {
    let opening = FIRST.lines().next().expect("has lines");
    let again = r#"{"line":"attempt","attempt":0,"experiment":"graph","cell":0,"levels":{"slaves":1},"block":1,"try":2,"status":"started","at":1770000020.0}"#;
    let run = read(format!("{FIRST}{opening}\n{again}\n").as_bytes()).expect("opens");
    assert_eq!(run.attempts.len(), 5, "attempt 0 of the resumed run is another one");
    assert_eq!(run.attempts[0].readings.len(), 3);
    assert_eq!((run.end.as_str(), run.ended), ("", 1_770_000_020.0), "it goes on");
    assert!(!run.finished);
}

#[test]
fn what_is_no_journal_is_refused_with_a_remedy() {
    let no_run =
        read(b"{\"line\":\"end\",\"status\":\"finished\",\"why\":\"x\",\"at\":1}\n").expect_err("refused");
    assert!(no_run.remedy.is_some() && read(b"").is_err());
    let newer = FIRST.replacen("crosstalk.journal/1", "crosstalk.journal/4", 1);
    assert!(read(newer.as_bytes()).expect_err("refused").message.contains("crosstalk.journal/4"));
    let other = FIRST.lines().next().expect("has lines").replace("\"seed\":1", "\"seed\":2");
    assert!(read(format!("{FIRST}{other}\n").as_bytes()).expect_err("refused").message.contains("two runs"));
}

#[test]
fn a_stream_that_breaks_is_an_environment_fault() {
    let broken = [Err(Fault::environment("disk gone"))];
    assert_eq!(read_journal(broken.into_iter()).expect_err("breaks"), Fault::environment("disk gone"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let _ = read(&[GOLDEN.as_bytes(), &bytes].concat());
    }

    #[test]
    fn lines_in_any_order_never_panic(picks in prop::collection::vec(0usize..14, 0..60)) {
        let all: Vec<Line> = lines(GOLDEN.as_bytes()).map(|line| line.expect("reads")).collect();
        let opening = all[0].clone();
        let shuffled = picks.iter().map(|pick| Ok(all[pick % all.len()].clone()));
        let run = read_journal(std::iter::once(Ok(opening)).chain(shuffled)).expect("opens");
        let started = picks.iter().filter(|p| matches!(all[**p % all.len()], Line::Attempt { .. })).count();
        prop_assert!(run.attempts.len() <= started);
    }
}
