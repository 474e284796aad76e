//! Closed cases, and any interleaving of requests, repeats, crashes and replays.

use super::*;
use proptest::prelude::*;

fn state(settings: Settings) -> State {
    let mut state = State::new(settings);
    for host in 1..=3 {
        state.apply_line(&Line::Host { host, name: format!("host {host}") }).expect("comes");
    }
    state
}

fn give(state: &mut State, host: u64, now: f64) -> Option<ResultId> {
    let line = state.next_result_line(host, now)?;
    state.apply_line(&line).expect("may be result");
    match line {
        Line::Sent { result, .. } => Some(result),
        _ => panic!("gives {line:?}"),
    }
}

fn upload(state: &mut State, result: ResultId, answer: &str) {
    state
        .apply_line(&Line::Uploaded { result, outcome: Outcome::Valid { answer: answer.into() } })
        .expect("arrives");
}

fn report(state: &mut State, result: ResultId, failure: Option<&str>) -> bool {
    let host = (1..=3).find(|host| state.was_given_to(result, *host)).expect("was result");
    let line = state.report_line(host, result, failure.map(str::to_string), 1.0, 5.0);
    line.iter().for_each(|line| state.apply_line(line).expect("is taken"));
    line.is_some()
}

fn few(units: u64) -> Settings {
    Settings { units: Some(units), deadline: 100.0, ..Settings::default() }
}

#[test]
fn with_a_quorum_of_one_the_first_valid_result_is_the_answer() {
    let mut state = state(few(1));
    let result = give(&mut state, 1, 0.0).expect("there is one");
    assert_eq!(give(&mut state, 2, 0.0), None);
    upload(&mut state, result, "a");
    assert!(!state.is_done());
    assert!(report(&mut state, result, None));
    assert!(state.is_done() && state.answers().eq([(result, "a")]));
    assert!(!report(&mut state, result, None), "a second report changes nothing");
    assert_eq!((state.counts().valid, state.counts().out), (1, 0));
}

#[test]
fn a_result_is_reported_by_the_host_that_has_it_and_by_no_other() {
    let mut state = state(Settings { quorum: 2, ..few(1) });
    let result = give(&mut state, 1, 0.0).expect("there is one");
    give(&mut state, 2, 0.0).expect("to another");
    upload(&mut state, result, "a");
    for failure in [None, Some("it failed".to_string())] {
        assert_eq!(state.report_line(2, result, failure.clone(), 1.0, 5.0), None, "{failure:?}");
    }
    assert!(state.report_line(1, result, None, 1.0, 5.0).is_some());
}

#[test]
fn a_quorum_is_of_different_hosts_that_agree() {
    let mut state = state(Settings { quorum: 2, ..few(1) });
    let first = give(&mut state, 1, 0.0).expect("there is one");
    assert_eq!(give(&mut state, 1, 0.0), None, "not another to the same host");
    let second = give(&mut state, 2, 0.0).expect("to another");
    for (result, answer) in [(first, "a"), (second, "b")] {
        upload(&mut state, result, answer);
        report(&mut state, result, None);
    }
    assert!(!state.is_done(), "they disagree");
    let third = give(&mut state, 3, 0.0).expect("one more");
    upload(&mut state, third, "b");
    report(&mut state, third, None);
    assert!(state.answers().eq([(second, "b")]), "the first that agrees");
}

#[test]
fn one_host_may_agree_with_itself_where_that_is_said() {
    let mut state = state(Settings { quorum: 2, one_host: true, ..few(1) });
    for _ in 0..2 {
        let result = give(&mut state, 1, 0.0).expect("there is one");
        upload(&mut state, result, "a");
        report(&mut state, result, None);
    }
    assert!(state.is_done());
}

#[test]
fn a_result_that_is_late_is_given_again_and_counts_once_when_it_comes_after_all() {
    let mut state = state(few(1));
    let first = give(&mut state, 1, 0.0).expect("there is one");
    assert_eq!(state.overdue_lines(100.0), []);
    for line in state.overdue_lines(100.1) {
        state.apply_line(&line).expect("is lost");
    }
    let second = give(&mut state, 1, 101.0).expect("again");
    assert_ne!(first, second);
    upload(&mut state, first, "a");
    assert!(report(&mut state, first, None));
    assert!(state.answers().eq([(first, "a")]) && state.is_unneeded(second));
    upload(&mut state, second, "b");
    assert!(report(&mut state, second, None), "is acknowledged");
    assert!(state.answers().eq([(first, "a")]), "the answer stays");
    assert_eq!((state.counts().answered, state.counts().lost, state.counts().out), (1, 1, 0));
}

#[test]
fn failures_are_tried_again_until_there_are_too_many() {
    let mut state = state(Settings { errors: 3, ..few(2) });
    for _ in 0..2 {
        let result = give(&mut state, 1, 0.0).expect("again");
        assert_eq!(result.unit, 0);
        report(&mut state, result, Some("exit status 9"));
    }
    let result = give(&mut state, 1, 0.0).expect("again");
    assert!(report(&mut state, result, None), "without its output it failed, too");
    assert_eq!((state.counts().given_up, state.counts().failed), (1, 3));
    assert_eq!(give(&mut state, 1, 0.0).map(|result| result.unit), Some(1));
}

#[test]
fn lines_of_another_journal_are_refused() {
    let mut state = state(few(2));
    let never = ResultId { unit: 0, instance: 0 };
    let valid = Outcome::Valid { answer: "a".into() };
    for line in [
        Line::Uploaded { result: never, outcome: valid.clone() },
        Line::Reported { result: never, outcome: valid.clone(), cpu: 0.0, at: 0.0 },
        Line::Lost { result: never, at: 0.0 },
        Line::Host { host: 9, name: "x".into() },
        Line::Host { host: 4, name: "host 1".into() },
        Line::Sent { result: never, host: 9, at: 0.0, deadline: 1.0 },
        Line::Sent { result: ResultId { unit: 1, instance: 0 }, host: 1, at: 0.0, deadline: 1.0 },
        Line::Sent { result: ResultId { unit: 7, instance: 0 }, host: 1, at: 0.0, deadline: 1.0 },
    ] {
        assert!(state.clone().apply_line(&line).is_err(), "{line:?}");
    }
    let result = give(&mut state, 1, 0.0).expect("there is one");
    upload(&mut state, result, "a");
    assert!(state.clone().apply_line(&Line::Uploaded { result, outcome: valid.clone() }).is_err());
    report(&mut state, result, None);
    assert!(state.apply_line(&Line::Reported { result, outcome: valid, cpu: 0.0, at: 0.0 }).is_err());
}

/// What can happen.
#[derive(Debug, Clone)]
enum Step {
    /// A host requests work; the reply may get lost.
    Ask { host: u64, lost: bool },
    /// A host uploads the output of one of its results, right or wrong.
    Upload { host: u64, which: usize, right: bool },
    /// A host reports a result, once or again; the reply may get lost.
    Report { host: u64, which: usize, fails: bool, lost: bool },
    /// A host reports another host's result.
    Meddle { host: u64, with: u64, which: usize, fails: bool },
    /// A host loses its disk, and has no result any more.
    Forget { host: u64 },
    /// The project is killed; up to so many of its last lines that no host has seen are lost.
    Crash { cut: usize },
    /// Time passes.
    Wait { seconds: f64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let host = || 1_u64..=3;
    let step = prop_oneof![
        4 => (host(), any::<bool>()).prop_map(|(host, lost)| Step::Ask { host, lost }),
        4 => (host(), any::<usize>(), prop::bool::weighted(0.8))
            .prop_map(|(host, which, right)| Step::Upload { host, which, right }),
        4 => (host(), any::<usize>(), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(host, which, fails, lost)| Step::Report { host, which, fails, lost }),
        1 => (host(), host(), any::<usize>(), any::<bool>())
            .prop_map(|(host, with, which, fails)| Step::Meddle { host, with, which, fails }),
        1 => host().prop_map(|host| Step::Forget { host }),
        2 => (0_usize..4).prop_map(|cut| Step::Crash { cut }),
        1 => (0.0_f64..200.0).prop_map(|seconds| Step::Wait { seconds }),
    ];
    proptest::collection::vec(step, 0..120)
}

/// A project with its journal, and three hosts.
struct Simulation {
    settings: Settings,
    state: State,
    lines: Vec<Line>,
    /// How many lines a host may have seen.
    seen: usize,
    hosts: BTreeMap<u64, Vec<ResultId>>,
    answers: BTreeMap<u64, (ResultId, String)>,
    now: f64,
}

impl Simulation {
    fn new(settings: Settings) -> Self {
        let mut simulation = Simulation {
            settings,
            state: State::new(settings),
            lines: Vec::new(),
            seen: 0,
            hosts: BTreeMap::new(),
            answers: BTreeMap::new(),
            now: 0.0,
        };
        for host in 1..=3 {
            simulation.write(vec![Line::Host { host, name: format!("host {host}") }], true);
        }
        simulation
    }

    /// Writes lines; those that are `seen` by a host must never be lost.
    fn write(&mut self, lines: Vec<Line>, seen: bool) {
        lines.iter().for_each(|line| self.state.apply_line(line).expect("follows"));
        self.lines.extend(lines);
        if seen {
            self.seen = self.lines.len();
            self.remember();
        }
    }

    /// An answer that was seen stays the work unit's only one.
    fn remember(&mut self) {
        for (result, answer) in self.state.answers() {
            let found = (result, answer.to_string());
            let before = self.answers.entry(result.unit).or_insert_with(|| found.clone());
            assert_eq!(*before, found, "an answer changed");
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Ask { host, lost } => {
                self.write(self.state.overdue_lines(self.now), true);
                // Results that it should have and has not are sent again.
                let known = self.hosts.entry(host).or_default().clone();
                let again: Vec<ResultId> =
                    self.state.held_by(host).filter(|result| !known.contains(result)).collect();
                let new: Vec<Line> = self.state.next_result_line(host, self.now).into_iter().collect();
                let sent: Vec<ResultId> = new
                    .iter()
                    .map(|line| match line {
                        Line::Sent { result, .. } => *result,
                        line => panic!("gives {line:?}"),
                    })
                    .collect();
                self.write(new, !lost);
                if !lost {
                    self.hosts.entry(host).or_default().extend(again.into_iter().chain(sent));
                }
            }
            Step::Upload { host, which, right } => {
                let Some(result) = self.pick(host, which) else { return };
                if self.state.awaits_output(result) {
                    // Only one host errs: with three, no two might agree.
                    let answer = if right || host != 1 {
                        format!("answer {}", result.unit)
                    } else {
                        format!("wrong {host}")
                    };
                    self.write(vec![Line::Uploaded { result, outcome: Outcome::Valid { answer } }], true);
                }
            }
            Step::Report { host, which, fails, lost } => {
                let Some(result) = self.pick(host, which) else { return };
                let failure = fails.then(|| "it failed".to_string());
                let line = self.state.report_line(host, result, failure, 1.0, self.now);
                let lines: Vec<Line> = line.into_iter().collect();
                self.write(lines, !lost);
                if !lost {
                    self.hosts.entry(host).or_default().retain(|held| *held != result);
                }
            }
            Step::Meddle { host, with, which, fails } => {
                let Some(result) = self.pick(with, which).filter(|_| host != with) else { return };
                let failure = fails.then(|| "it failed".to_string());
                assert_eq!(self.state.report_line(host, result, failure, 1.0, self.now), None);
            }
            Step::Forget { host } => drop(self.hosts.remove(&host)),
            Step::Crash { cut } => {
                let kept = self.lines.len().saturating_sub(cut).max(self.seen);
                self.lines.truncate(kept);
                self.state = replay(self.settings, &self.lines);
            }
            Step::Wait { seconds } => self.now += seconds,
        }
    }

    fn pick(&self, host: u64, which: usize) -> Option<ResultId> {
        let held = self.hosts.get(&host)?;
        held.get(which.checked_rem(held.len())?).copied().filter(|result| self.state.was_given_out(*result))
    }

    /// All hosts work correctly until all is done.
    fn update_unit(&mut self) {
        for _ in 0..2000 {
            if self.state.is_done() {
                return;
            }
            self.now += 60.0;
            for host in 1..=3 {
                self.step(&Step::Ask { host, lost: false });
                for result in self.hosts.get(&host).cloned().unwrap_or_default() {
                    let which = self.hosts[&host].iter().position(|held| *held == result).expect("held");
                    self.step(&Step::Upload { host, which, right: true });
                    self.step(&Step::Report { host, which, fails: false, lost: false });
                }
            }
        }
        panic!("not done: {:?}", self.state.counts());
    }
}

fn replay(settings: Settings, lines: &[Line]) -> State {
    let mut state = State::new(settings);
    lines.iter().for_each(|line| state.apply_line(line).expect("follows"));
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_work_unit_has_one_answer_whatever_happens(steps in steps(), quorum in 1_u32..=2) {
        let settings = Settings { units: Some(6), quorum, deadline: 100.0, errors: 1000, ..Settings::default() };
        let mut simulation = Simulation::new(settings);
        for step in &steps {
            simulation.step(step);
            prop_assert_eq!(replay(settings, &simulation.lines), simulation.state.clone());
        }
        simulation.update_unit();
        let counts = simulation.state.counts();
        prop_assert_eq!((counts.answered, counts.given_up), (6, 0));
        let units: Vec<u64> = simulation.state.answers().map(|(result, _)| result.unit).collect();
        prop_assert_eq!(units, (0..6).collect::<Vec<_>>());
        // Each result is reported at most once, in all lines ever written.
        let reported: Vec<ResultId> = simulation.lines.iter().filter_map(|line| match line {
            Line::Reported { result, .. } => Some(*result),
            _ => None,
        }).collect();
        prop_assert_eq!(reported.iter().collect::<BTreeSet<_>>().len(), reported.len());
        if quorum == 2 {
            // A wrong answer never has two hosts that agree on it.
            for (result, answer) in simulation.state.answers() {
                prop_assert_eq!(answer, format!("answer {}", result.unit));
            }
        }
    }
}
