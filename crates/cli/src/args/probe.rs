//! Options of the instruments.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ExportArgs, SystemArgs};

#[derive(Args)]
pub struct ProbeArgs {
    #[command(subcommand)]
    pub kind: Probe,
}

/// The instruments of `crosstalk probe`.
#[derive(Subcommand)]
pub enum Probe {
    /// Measure the round trip of one message at a time, against its size.
    #[command(after_help = "Examples:
  crosstalk probe latency -l '64 B,4 KiB' --poll
  crosstalk probe latency --listen            on one host …
  crosstalk probe latency --to 10.0.0.2 -t 5  … and on the other")]
    Latency(LatencyArgs),
    /// Measure the latency of messages under load, against their rate.
    #[command(after_help = "Examples:
  crosstalk probe load
  crosstalk probe load --transport udp -r 1000,20000,50000")]
    Load(LoadArgs),
    /// Measure the bandwidth of streams.
    #[command(after_help = "Examples:
  crosstalk probe bandwidth --transport udp -l '1400 B' -b 1G
  crosstalk probe bandwidth --listen                      on one host …
  crosstalk probe bandwidth --to 10.0.0.2 -t 10 -i 1 -P 4  … and on the other
  crosstalk probe bandwidth --to 10.0.0.2 -R -C reno       from the server to here, under Reno")]
    Bandwidth(BandwidthArgs),
    /// Measure the time of an MPI function, against the size of its messages.
    #[command(after_help = "Examples:
  crosstalk probe collective allreduce
  crosstalk probe collective pingpong -l '0 B,1 KiB,1 MiB' -t 1
  crosstalk probe collective alltoall -n 4 --system kisti-2006-infiniband
  crosstalk probe collective alltoall -n 4 --system kisti-2006-myrinet --mpi mvapich-0.9.4

All functions: crosstalk show workloads/collective")]
    Collective(CollectiveArgs),
    /// Measure the time of a load from memory, against the size of the working set.
    #[command(after_help = "Example:\n  crosstalk probe memory --set size='32 KiB,1 MiB,64 MiB'")]
    Memory(MachineArgs),
    /// Measure the time to hand a cache line from one core to another, for every pair.
    #[command(after_help = "Example:\n  crosstalk probe cores --set cpus=0,1")]
    Cores(MachineArgs),
    /// Measure the costs of a system call, a timer and a wake-up.
    #[command(after_help = "Example:\n  crosstalk probe kernel")]
    Kernel(MachineArgs),
    /// Measure how fast a core computes, relative to the machine of the recorded studies.
    #[command(after_help = "Example:\n  crosstalk probe speed")]
    Speed(MachineArgs),
    /// Measure the time of a read from each PCI Express device.
    #[command(after_help = "Example:\n  crosstalk probe pcie --set device=0000:00:03.0")]
    Pcie(MachineArgs),
    /// Measure the one-way time over a wire: kernel sockets, AF_XDP and DPDK.
    #[command(after_help = "Examples:
  crosstalk probe wire                     compare all that this host has
  crosstalk probe wire --set mode=polling --set ends=one-thread
  crosstalk probe wire --set transport=dpdk-af-xdp --set size=1024")]
    Wire(MachineArgs),
    /// Measure the jobs that more and more users do, until more of them bring nothing: AIM7's ramp; needs root.
    #[command(after_help = "Examples:
  crosstalk probe users                              to the peak, in steps that adapt
  crosstalk probe users --mix fserver --to 64 --step 8
  crosstalk probe users --set isolation=group --set groups=4 --from 4

The workload: crosstalk show workloads/users")]
    Users(UsersArgs),
}

#[derive(Args)]
pub struct UsersArgs {
    /// Take their jobs from this mix: `shared`, `compute`, `dbase`, `fserver`, or a file of `HITS test_name` lines.
    #[arg(long, default_value = "shared")]
    pub mix: String,
    /// Begin with this many users.
    #[arg(long, default_value_t = 1)]
    pub from: usize,
    /// End with this many users.
    #[arg(long, default_value_t = 256)]
    pub to: usize,
    /// Add this many users each time [default: steps that adapt].
    #[arg(long)]
    pub step: Option<usize>,
    /// Do this share of each job's whole work.
    #[arg(long, default_value_t = 0.03)]
    pub work: f64,
    #[command(flatten)]
    pub machine: MachineArgs,
}

#[derive(Args)]
pub struct LatencyArgs {
    /// Poll the socket instead of sleeping in the kernel.
    #[arg(long)]
    pub poll: bool,
    /// Split each message's time into stages, by the kernel's tracepoints; needs root.
    #[arg(long)]
    pub stages: bool,
    #[command(flatten)]
    pub wire: WireArgs,
}

#[derive(Args)]
pub struct LoadArgs {
    /// Send this many messages a second, such as `1000,20000` [default: shares of the saturation].
    #[arg(short, long, value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// Let the server poll instead of sleeping in the kernel.
    #[arg(long)]
    pub poll: bool,
    #[command(flatten)]
    pub wire: WireArgs,
}

#[derive(Args)]
pub struct BandwidthArgs {
    /// Send this many streams at once, each with a thread on both sides.
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub parallel: u64,
    /// Let the server send and the client receive.
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Send each stream at this rate, such as `100 Mbit/s` or `100M` [default: as fast as it goes].
    #[arg(short = 'b', long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Print the bandwidth of each interval while it runs; at least 0.1 s [default: only the total].
    #[arg(short = 'i', long, value_name = "TIME")]
    pub interval: Option<String>,
    /// Use this congestion control at both hosts, over TCP, such as `reno` or `cubic` [default: the system's].
    #[arg(short = 'C', long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Send the rest of each write at once over TCP, without Nagle's delay.
    #[arg(short = 'N', long)]
    pub no_delay: bool,
    #[command(flatten)]
    pub wire: WireArgs,
}

#[derive(Args)]
pub struct CollectiveArgs {
    /// Time this function, such as `pingpong`, `exchange`, `bcast`, `allreduce`, `alltoall`, `barrier`.
    #[arg(value_name = "FUNCTION")]
    pub function: String,
    /// Run it on this many nodes.
    #[arg(short, long, value_name = "N", default_value_t = 2)]
    pub nodes: usize,
    /// Use messages, vectors or pieces of these sizes, such as `0 B,4 KiB` [default: 0 B to 4 MiB].
    #[arg(short = 'l', long, value_delimiter = ',')]
    pub size: Vec<String>,
    /// Measure each size for this long, in real time.
    #[arg(short, long, default_value = "0.15 s")]
    pub time: String,
    /// Emulate this system in virtual time [default: real time, between virtual nodes of this machine].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["fabric", "scale"])]
    pub system: Option<String>,
    #[command(flatten)]
    pub system_args: SystemArgs,
    /// Add the systems, fabrics and libraries in this folder; repeat it for several.
    #[arg(long, value_name = "DIR", requires = "system")]
    pub catalogue: Vec<PathBuf>,
    /// Shape the links between the virtual nodes to this fabric's rate.
    #[arg(long, default_value = "none")]
    pub fabric: String,
    /// Divide the fabric's rate by this, if this machine cannot hold it [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub scale: Option<f64>,
    #[command(flatten)]
    pub settings: SetArgs,
    #[command(flatten)]
    pub export: ExportArgs,
}

/// Options of instruments that measure between a client and a server.
#[derive(Args)]
pub struct WireArgs {
    /// Measure against the server at this address [default: two virtual nodes; port 7700].
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["listen", "fabric"])]
    pub to: Option<String>,
    /// Serve clients, one at a time, until interrupted [default: all addresses, port 7700].
    #[arg(long, value_name = "ADDR[:PORT]", num_args = 0..=1, default_missing_value = "[::]")]
    pub listen: Option<String>,
    /// Send over `tcp`, `io-uring` (TCP), `udp`; on one host also `unix` (a socket), `pipe`, `shared` (memory).
    #[arg(long, default_value = "tcp")]
    pub transport: String,
    /// Send messages of these sizes, such as `64 B,4 KiB` [default: the instrument's].
    #[arg(short = 'l', long, value_delimiter = ',')]
    pub size: Vec<String>,
    /// Pin client and server to these CPUs, such as `0,1` [default: not pinned].
    #[arg(long, value_delimiter = ',')]
    pub pin: Vec<usize>,
    /// Measure each size for this long.
    #[arg(short, long, default_value = "1 s")]
    pub time: String,
    /// Shape the link between the two virtual nodes to this fabric's rate.
    #[arg(long, default_value = "none")]
    pub fabric: String,
    /// Divide the fabric's rate by this, if this machine cannot hold it [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["to", "listen"])]
    pub scale: Option<f64>,
    #[command(flatten)]
    pub settings: SetArgs,
    #[command(flatten)]
    pub export: ExportArgs,
}

/// Options of instruments that measure one machine.
#[derive(Args)]
pub struct MachineArgs {
    #[command(flatten)]
    pub settings: SetArgs,
    #[command(flatten)]
    pub export: ExportArgs,
}

/// Parameters of an instrument, by name.
#[derive(Args)]
pub struct SetArgs {
    /// Set a parameter; `crosstalk show workloads/KIND` lists them.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}
