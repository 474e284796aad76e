//! Options of `groups`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use crosstalk_groups::watch::Mechanism;
use crosstalk_groups::{ProfileKind, WhenFull};

use super::tune::GroupsTuneArgs;

#[derive(Args)]
pub struct GroupsArgs {
    #[command(subcommand)]
    pub verb: GroupsVerb,
}

#[derive(Subcommand)]
pub enum GroupsVerb {
    /// Make groups that stay until they are removed; needs root.
    #[command(after_help = "Examples:
  crosstalk groups create lab lab/alice lab/bob  an LRU for each
  crosstalk groups create db --profile guaranteed --memory 4GiB --cpus 2
  crosstalk groups create lab/eve --memory 1GiB --memory-limit 2GiB --user eve
  crosstalk groups create batch --profile besteffort --memory-limit 4GiB --when-full warn
  crosstalk groups create user --count 16 --processes 500  user-0 to user-15

v1 limits memory and protects none: it has no memory.low and memory.min, which is then reported. All \
groups are made, or none. They stand at the top; in v1 those of memory stand in the memory group of the command that \
makes the first one. A limit there holds for all groups together, and is printed.")]
    Create(GroupsCreateArgs),
    /// Change groups while programs run in them; needs root.
    #[command(after_help = "Examples:
  crosstalk groups set lab --memory-limit 4GiB
  crosstalk groups set lab/alice lab/bob --user alice
  crosstalk groups set db --profile guaranteed --memory 4GiB --cpus 2
  crosstalk groups set lab --memory-limit none --processes none

What is not named stays. Programs in the groups go on. All groups are changed, or none. Another profile keeps the \
memory, the limit and the processors that it has a place for.

A memory limit below what a group uses pushes pages out, which is reported. If the kernel cannot push out enough, as \
without swap, the command fails and nothing changes. Fewer processes than there are: those run on, new ones fail.")]
    Set(GroupsSetArgs),
    /// List the groups, with what they may have and what they use.
    #[command(after_help = "Example:\n  crosstalk groups list --json")]
    List,
    /// Show what groups use: CPU, memory, working set, refaults, waits.
    #[command(after_help = "Examples:
  crosstalk groups show
  crosstalk groups show lab  lab, and the groups in it
  crosstalk groups show --watch
  crosstalk groups show --watch --protect lab/alice  and what that does to all; needs root
  crosstalk groups show --working-set lab/alice  what it needs; takes one to two minutes, and root

It counts for half a second, or every second. CPU is in processors, refaults are a second: pages that had been pushed out and \
were needed again. The working set is the memory without file pages that were not used lately. Waits are \
the shares of the time in which some task waited for the CPU, for memory and for devices. The delay is the \
run-queue latency: how long a thread that is ready waits until it gets a processor, the mean of all times that one \
got it. It is that of up to 256 threads, without those that began or ended meanwhile. With create --processes the \
brackets have the threads of all processes, and their limit. Refused are starts of processes and threads beyond a \
limit, killed are processes that were killed because memory was full.

A protected group has CPU weight 10000, as those that it is in. In v2 the memory that it has is taken last \
(memory.low); v1 has no such thing, so that there besteffort groups are limited to the memory that they use. Where such a \
group needs more, its processes may be killed. With the page stand the medians of both states. All is set \
back at the end.

--working-set measures what each group needs: those named, or all that hold no other one, all at once. It pushes \
out a 20th of the group's file pages (and with swap of its other memory), and waits for two windows. What is needed \
comes back, and counts as refaults. It ends when three steps have come back, when a quarter of the memory \
has, or when tasks wait for memory for 10 % of a step. No limit stays changed, and nothing is killed. What is used \
less often than once in a window counts as unused: choose a window that is longer than the work's cycle.")]
    Show(GroupsShowArgs),
    /// Put each program that users start into its group, before it runs; needs root.
    #[command(after_help = "Examples:
  crosstalk groups watch                   who has a group of that name gets it
  crosstalk groups watch --rules lab.toml  by rules
  crosstalk groups watch --for '10 min' --verbose

It runs in the foreground, until it is interrupted. What a program starts is in its group, too, and stays there: \
rules hold for programs that are started outside of groups. So a rule for a program does nothing where the shell \
is in a group already. Programs of root and of system users (below 1000), and what runs in units of systemd or \
in containers, stay where they are; login sessions do not. Programs in groups stay there when it ends.

Programs are held by fanotify until they are moved. Where a host has no fanotify, process events are the \
fallback: programs are moved when they run already, and short ones have often ended before. Some are found when they \
run already, by a search after some seconds: programs on network and FUSE file systems, which are named at the start, \
on mounts that are not older than 0.1 s, of other mount namespaces, of files without a mount (memfd), and those that \
are started by their loader (ld.so). Short ones of these have ended before. Nobody waits longer than 1 s for a watcher that was killed \
or stopped.

A group that a rule with create = true makes stays while processes are in it: when the watch ends it is removed if it is \
empty, that of a login session within a minute. Both are printed. The command watches once for each registry. If it is killed \
itself, nobody is watched any more: run it as a service. More: docs/how-to/pack-users.md.")]
    Watch(GroupsWatchArgs),
    /// End groups by rule when memory is full, and name them, before the kernel chooses a process; needs root.
    #[command(after_help = "Examples:
  crosstalk groups keep  until interrupted
  crosstalk groups keep --available '10 %' --json

It acts when a group is at its memory limit and nothing can be pushed out, or when less than 5 % of the \
machine's memory is available. A share above 10 % is refused if less is available from the beginning on. A group that is full itself is ended. Of a full group that holds others, and \
of the machine, the first of these is: the besteffort group with the most memory, then the burstable one \
that is most above its request. For memory that is shared a guaranteed group is never ended, nor a burstable one within its \
request. At its own limit a burstable group is ended also if its request is the limit, and a guaranteed one with \
create --when-full end. create --when-full sets another rule. All processes of an ended group are killed (SIGKILL); \
the group stays, and exec --group prints the rule by which its command was ended. One without processes is not ended.

A group is full when less than this is left of its limit, file pages not counted: in v2 a 32nd, but 2 MiB to 64 MiB; in v1 a \
16th, but 2 MiB to 256 MiB; of a limit below 8 MiB a quarter. In v2 its programs are \
slowed down there (memory.high). In v1 they wait at the limit until a group is ended, some milliseconds \
later; a system call that needs memory meanwhile fails (memory.oom_control). If the kernel chose a process all \
the same, that is reported. If the command is killed or stopped, the kernel chooses again after 4 s at the latest. If its two reapers \
(crosstalk-reap) are killed with it, programs of a full group wait until exec --group, groups list or crosstalk clean \
is run.")]
    Keep(GroupsKeepArgs),
    /// Remove groups, with those in them.
    #[command(after_help = "Examples:
  crosstalk groups remove lab/alice
  crosstalk groups remove --all --kill

While processes are in a group, it is removed only with --kill; --all --kill asks first on a terminal. \
The kernel first takes the memory that is charged to the group; what it cannot take is reported.")]
    Remove(GroupsRemoveArgs),
    /// Find how to group users: how many groups, who is with whom, and limits; needs root.
    #[command(after_help = "Examples:
  crosstalk groups tune --mix streaming --memory 512MiB
  crosstalk groups tune --mix ./my.mix --users 32 --memory 2GiB
  crosstalk groups tune --commands jobs.txt --memory 2GiB
  crosstalk groups tune --users 4 -- ./job --input data

It runs all users again and again, each time in other groups: at most 30 runs to search, then fresh pairs of \
runs, plain and grouped, which decide by their 95 % interval: the groups are faster or slower, both are equivalent within \
2 %, or it is not decided. It takes about as long as all users together, 54 times (30 runs and 12 pairs); after the first \
run it prints how long.

No run finds files that an earlier one has cached. Files of commands that were cached before stay so, and no group pays \
for them: it says so if it notices, and --drop-caches prevents it.

It ends with the commands that make the groups, with all limits that they had. Interrupted, it keeps the runs that were \
made, without a verdict.")]
    Tune(GroupsTuneArgs),
}

#[derive(Args)]
pub struct GroupsCreateArgs {
    /// Names, such as lab, and lab/alice for a group in it.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// What the groups may have, as Kubernetes' classes.
    #[arg(long, value_enum, default_value = "burstable")]
    pub profile: ProfileName,
    /// Memory of each that others do not take, such as `2 GiB` [default: none].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// Largest memory of each: more is swapped out where there is swap, else a process is killed [default:
    /// --memory if guaranteed, else no limit].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory_limit: Option<String>,
    /// Processors of each, such as `1.5`: its share beside other groups [default: as one processor].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub cpus: Option<f64>,
    /// Most processes and threads in each, against fork bombs [default: no limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_194_304), allow_negative_numbers = true)]
    pub processes: Option<u32>,
    /// Let this user put programs into them, too [default: only the user that makes them].
    #[arg(long)]
    pub user: Option<String>,
    /// What `groups keep` does when their memory is full, or what they share [default: end; if guaranteed, kernel].
    #[arg(long, value_enum, value_name = "RULE")]
    pub when_full: Option<WhenFullName>,
    /// Make N groups: NAME-0 to NAME-(N-1) [default: NAME itself].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub count: Option<u32>,
}

#[derive(Args)]
pub struct GroupsSetArgs {
    /// Names of groups.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// What the groups may have, as Kubernetes' classes [default: as before].
    #[arg(long, value_enum)]
    pub profile: Option<ProfileName>,
    /// Memory of each that others do not take, such as `2 GiB`, or none [default: as before].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory: Option<String>,
    /// Largest memory of each, or none [default: as before].
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub memory_limit: Option<String>,
    /// Processors of each, such as `1.5`, or none [default: as before].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub cpus: Option<String>,
    /// Most processes and threads in each, or none [default: as before].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub processes: Option<String>,
    /// Let this user put programs into them, too, and nobody else, or none [default: as before].
    #[arg(long)]
    pub user: Option<String>,
    /// What `groups keep` does when their memory is full, or what they share [default: as before].
    #[arg(long, value_enum, value_name = "RULE")]
    pub when_full: Option<WhenFullName>,
}

/// Names of profiles.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// --memory is protected and the limit, and --cpus are share and limit.
    Guaranteed,
    /// --memory is protected, --memory-limit is the limit, and --cpus are the share.
    Burstable,
    /// nothing is protected, and the groups yield to others.
    #[value(name = "besteffort", alias = "best-effort")]
    BestEffort,
}

impl From<ProfileName> for ProfileKind {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Guaranteed => ProfileKind::Guaranteed,
            ProfileName::Burstable => ProfileKind::Burstable,
            ProfileName::BestEffort => ProfileKind::BestEffort,
        }
    }
}

/// Names of rules.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenFullName {
    /// the group may be ended as a whole.
    End,
    /// the group is reported; the kernel chooses a process.
    Warn,
    /// the kernel chooses a process.
    Kernel,
}

impl From<WhenFullName> for WhenFull {
    fn from(name: WhenFullName) -> Self {
        match name {
            WhenFullName::End => WhenFull::End,
            WhenFullName::Warn => WhenFull::Warn,
            WhenFullName::Kernel => WhenFull::Kernel,
        }
    }
}

#[derive(Args)]
pub struct GroupsKeepArgs {
    /// Share of the machine's memory below which it counts as full: 50 % at most.
    #[arg(long, value_name = "SHARE", default_value = "5 %", allow_hyphen_values = true)]
    pub available: String,
}

#[derive(Args)]
pub struct GroupsShowArgs {
    /// Groups, with those in them [default: all].
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show it every second, until interrupted.
    #[arg(long)]
    pub watch: bool,
    /// With --watch: protect this group from the others. The key p switches that off and on [default: off; the
    /// keys ↑ and ↓ choose a group, and p protects it].
    #[arg(long, value_name = "GROUP", requires = "watch")]
    pub protect: Option<String>,
    /// Measure what each group needs, by pushing out what is not used.
    #[arg(long, conflicts_with = "watch")]
    pub working_set: bool,
    /// With --working-set: pages that are used again within this time are needed.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "2 s",
        requires = "working_set",
        allow_hyphen_values = true
    )]
    pub window: String,
}

#[derive(Args)]
pub struct GroupsWatchArgs {
    /// A file of rules [default: each user who has a group of that name, such as alice or lab/alice].
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// End after this time, such as `10 min` [default: run until interrupted].
    #[arg(long = "for", value_name = "DURATION")]
    pub duration: Option<String>,
    /// How starts are seen [default: fanotify, else process-events].
    #[arg(long, value_enum)]
    pub by: Option<MechanismName>,
    /// Print a line for each program that is put into a group.
    #[arg(long, short)]
    pub verbose: bool,
}

/// Names of mechanisms.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MechanismName {
    /// a program waits until it is in its group.
    Fanotify,
    /// the fallback: a program is moved when it runs already.
    ProcessEvents,
}

impl From<MechanismName> for Mechanism {
    fn from(name: MechanismName) -> Self {
        match name {
            MechanismName::Fanotify => Mechanism::Fanotify,
            MechanismName::ProcessEvents => Mechanism::ProcessEvents,
        }
    }
}

#[derive(Args)]
pub struct GroupsRemoveArgs {
    /// Names of groups.
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub names: Vec<String>,
    /// Remove all groups.
    #[arg(long)]
    pub all: bool,
    /// Kill the processes in them.
    #[arg(long)]
    pub kill: bool,
    /// Do not ask before --all --kill [default: ask on a terminal].
    #[arg(long)]
    pub yes: bool,
}
