//! External work for machines without BOINC: it takes what it gets of one resource, for as long
//! as it may.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `donated` | cores | processor time that its threads got a second, from when it was steady |
//! | `donated_rounds` | /s | rounds of its work in that time |
//!
//! | `mix` | a round |
//! |---|---|
//! | `cpu` | a million steps of a generator of random numbers, in registers |
//! | `cache` | 64 Ki changes in random places of 1 MiB, each thread its own |
//! | `memory` | 32 MiB copied to another place |
//! | `disk` | 1 MiB written to a file, and handed to the device (fdatasync(2)) |
//! | `network` | 1 MiB through a TCP connection over the loopback, to a second thread |

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use rustix::process::setpriority_process;

use super::witness::Counts;
use crosstalk_work::Declared;
use crosstalk_work::Lasting;
use crosstalk_work::alone;
use crosstalk_work::threads;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "threads",
        "1",
        "a number (0: nothing is taken), or `quarter`, `half`, `all`, `twice`, `four times` the processors",
    ),
    Parameter::new("mix", "cpu", "what it takes: `cpu`, `cache`, `memory`, `disk` or `network`"),
    Parameter::new("priority", "lowest", "`lowest` (nice 19, as BOINC runs its tasks) or `normal`"),
]]);

/// The workload.
pub const BURNER: Lasting<Spec> = Lasting(Declared {
    name: "burner",
    title: "External work: takes what it gets of a resource",
    parameters: PARAMETERS,
    read: |params| {
        params.only(PARAMETERS)?;
        let mix = params.choice("mix", &Mix::ALL.map(Mix::name))?;
        Ok(Spec {
            threads: threads(params, "threads", 0)?,
            mix: Mix::ALL.into_iter().find(|known| known.name() == mix).unwrap_or(Mix::Cpu),
            lowest: params.choice("priority", &["lowest", "normal"])? == "lowest",
        })
    },
    deploy: |_| Deployment {
        nodes: 1,
        timing: Timing::Real,
        metrics: vec![
            Metric::new("donated", "cores", Better::Higher),
            Metric::new("donated_rounds", "/s", Better::Higher),
        ],
        effort: Effort::waiting(0.3),
    },
    needs: |_| vec![Need::found("processors", "this machine's")],
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let burner = Burner { spec, scratch: part.scratch.clone() };
        Ok(alone(|out, cancelled| burner.burn(out, cancelled)))
    },
});

/// What is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    Cpu,
    Cache,
    Memory,
    Disk,
    Network,
}

impl Mix {
    const ALL: [Mix; 5] = [Mix::Cpu, Mix::Cache, Mix::Memory, Mix::Disk, Mix::Network];

    fn name(self) -> &'static str {
        match self {
            Mix::Cpu => "cpu",
            Mix::Cache => "cache",
            Mix::Memory => "memory",
            Mix::Disk => "disk",
            Mix::Network => "network",
        }
    }
}

/// How much of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    threads: usize,
    mix: Mix,
    lowest: bool,
}

struct Burner {
    spec: Spec,
    scratch: PathBuf,
}

/// How often somebody looks whether all threads are at work.
const GLANCE: Duration = Duration::from_millis(5);

/// The lowest priority (nice(1)).
const LOWEST: i32 = 19;

impl Burner {
    fn burn(self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        let Spec { threads, mix, lowest } = self.spec;
        let crew = Crew { rounds: AtomicU64::new(0), cpu: AtomicU64::new(0), at_work: AtomicUsize::new(0) };
        let over = AtomicBool::new(false);
        let stop = || cancelled.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let work = |number: usize| -> Result<(), Fault> {
            if lowest {
                // A priority is a thread's own on Linux (setpriority(2), NOTES).
                let _ = setpriority_process(None, LOWEST);
            }
            let path = self.scratch.join(format!("burner-{number}"));
            let failed =
                |e: io::Error| Fault::attempt(format!("the external work `{}` fails: {e}", mix.name()));
            let worked = rounds(mix, &path)
                .map_err(failed)
                .and_then(|mut round| crew.work(&stop, || round().map_err(failed)));
            if worked.is_err() {
                over.store(true, Ordering::Relaxed);
            }
            worked
        };
        thread::scope(|scope| {
            let crowd: Vec<_> = (0..threads).map(|number| scope.spawn(move || work(number))).collect();
            while crew.at_work.load(Ordering::Relaxed) < threads && !stop() {
                thread::sleep(GLANCE);
            }
            let (began, rounds, cpu) = (Instant::now(), crew.rounds(), crew.cpu());
            let told = if stop() { Ok(()) } else { out.steady() };
            while !stop() && told.is_ok() {
                thread::sleep(GLANCE);
            }
            let taken = began.elapsed().as_secs_f64();
            let (rounds, cpu) = (crew.rounds() - rounds, crew.cpu() - cpu);
            over.store(true, Ordering::Relaxed);
            let broke = |_| Err(Fault::attempt("a thread of the external work broke off"));
            crowd.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(broke))?;
            told?;
            out.take(Reading::value("donated", cpu as f64 * 1e-9 / taken, Origin::Measured), 1)?;
            out.take(Reading::value("donated_rounds", rounds as f64 / taken, Origin::Measured), rounds)
        })
    }
}

/// What the threads have done.
struct Crew {
    rounds: AtomicU64,
    /// Nanoseconds that they ran.
    cpu: AtomicU64,
    /// Threads that have done a round.
    at_work: AtomicUsize,
}

impl Crew {
    fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    fn cpu(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed)
    }

    /// One thread's part.
    fn work(
        &self,
        stop: &dyn Fn() -> bool,
        mut round: impl FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        round()?;
        self.at_work.fetch_add(1, Ordering::Relaxed);
        let mut before = Counts::own().cpu;
        while !stop() {
            round()?;
            let now = Counts::own().cpu;
            self.cpu.fetch_add(now - before, Ordering::Relaxed);
            self.rounds.fetch_add(1, Ordering::Relaxed);
            before = now;
        }
        Ok(())
    }
}

type Round = Box<dyn FnMut() -> io::Result<()>>;

const MEBIBYTE: usize = 1 << 20;

/// A thread's rounds.
fn rounds(mix: Mix, path: &Path) -> io::Result<Round> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    Ok(match mix {
        Mix::Cpu => Box::new(move || {
            black_box((0..1_000_000).fold(0, |sum: u64, _| sum ^ random()));
            Ok(())
        }),
        Mix::Cache => {
            let mut table = vec![0_u64; MEBIBYTE / 8];
            Box::new(move || {
                for _ in 0..1 << 16 {
                    let place = random() as usize >> 20;
                    let length = table.len();
                    table[place % length] += 1;
                }
                Ok(())
            })
        }
        Mix::Memory => {
            let (mut from, mut to) = (vec![1_u8; 32 * MEBIBYTE], vec![0_u8; 32 * MEBIBYTE]);
            Box::new(move || {
                black_box(&mut to).copy_from_slice(black_box(&from));
                std::mem::swap(&mut from, &mut to);
                Ok(())
            })
        }
        Mix::Disk => {
            let mut file = File::create(path)?;
            let (block, mut written) = (vec![7_u8; MEBIBYTE], 0);
            Box::new(move || {
                file.write_all(&block)?;
                file.sync_data()?;
                written += 1;
                if written % 64 == 0 {
                    file.seek(SeekFrom::Start(0))?;
                }
                Ok(())
            })
        }
        Mix::Network => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let mut near = TcpStream::connect(listener.local_addr()?)?;
            let (mut far, _) = listener.accept()?;
            // It ends when the near end is closed.
            thread::spawn(move || {
                let mut into = vec![0; 1 << 16];
                while far.read(&mut into).is_ok_and(|length| length > 0) {}
            });
            let block = vec![7_u8; MEBIBYTE];
            Box::new(move || near.write_all(&block))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Params;

    /// Stops what lasts a little after it is steady.
    struct Until<'a> {
        cancelled: &'a AtomicBool,
        told: Vec<Reading>,
    }

    impl Sink for Until<'_> {
        fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
            self.told.push(reading);
            Ok(())
        }

        fn steady(&mut self) -> Result<(), Fault> {
            thread::sleep(Duration::from_millis(100));
            self.cancelled.store(true, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn every_mix_works_until_it_is_told_to_stop() {
        assert!(BURNER.lasts());
        for mix in Mix::ALL {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let cancelled = AtomicBool::new(false);
            let mut until = Until { cancelled: &cancelled, told: Vec::new() };
            let spec = (BURNER.0.read)(&Params::default().with("mix", mix.name()).with("threads", 2))
                .expect("is one");
            let burner = Burner { spec, scratch: folder.path().into() };
            burner.burn(&mut until, &cancelled).expect("lasts");
            let names: Vec<&str> = until.told.iter().map(|reading| reading.metric.as_str()).collect();
            assert_eq!(names, ["donated", "donated_rounds"], "{}", mix.name());
            let donated = until.told[0].number().expect("a number");
            assert!(
                donated >= 0.0 && donated < 1.2 * crosstalk_host::cpu::allowed().len() as f64,
                "{donated}"
            );
        }
    }

    #[test]
    fn nobody_takes_nothing() {
        let spec = (BURNER.0.read)(&Params::default().with("threads", 0)).expect("is one");
        let cancelled = AtomicBool::new(false);
        let mut until = Until { cancelled: &cancelled, told: Vec::new() };
        Burner { spec, scratch: "/there/is/none".into() }.burn(&mut until, &cancelled).expect("lasts");
        let told: Vec<Option<f64>> = until.told.iter().map(Reading::number).collect();
        assert_eq!(told, [Some(0.0); 2]);
    }

    #[test]
    fn a_disk_that_cannot_be_written_to_is_told() {
        let spec = (BURNER.0.read)(&Params::default().with("mix", "disk")).expect("is one");
        let burner = Burner { spec, scratch: "/there/is/none".into() };
        let cancelled = AtomicBool::new(false);
        let fault = burner.burn(&mut Vec::new(), &cancelled).expect_err("has no folder");
        assert!(fault.message.contains("disk"), "{fault}");
    }
}
