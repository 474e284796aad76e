#!/usr/bin/env python3
"""MPI functions over TCP beside Open MPI's and MPICH's: two ranks, a namespace and a processor each, on one wire.

Each side times loops of calls in the same way (bench/peers/collectives.c, and the workload `collective` with
begin=in-turn), in interleaved pairs. A ratio is the peer's time over ours: above 1, ours is faster. The best of the
peers counts for each function and size.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import ranks
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import middle, ratio
from lib.ranks import times
from lib.wire import ROOT, Wire, output

FUNCTIONS = "pingpong,sendrecv,exchange,bcast,reduce,allreduce,reduce_scatter,gather,scatter,allgather,alltoall,barrier"
SECONDS = 0.2
SIZES = [4, 64, 1024, 8192, 65536, 1048576]
#: MPICH with libfabric, which `tools/venv mpi` installs: Debian's takes memory for a wire, or none.
MPICH = ROOT / ".tools" / "venv-mpi" / "bin"


def main():
    options = arguments()
    ranks.build()
    wire = Wire()
    if wire.kind != "veth":
        sys.exit("collectives: run it as root: ranks are in network namespaces")
    part = options.functions != FUNCTIONS or options.seconds < SECONDS
    figures = Figures("collectives", part=part, wire=wire.kind, seconds=options.seconds)
    with tempfile.TemporaryDirectory(prefix="crosstalk-collectives-") as folder:
        peers = found(Path(folder), wire)
        if not peers:
            for metric in ("geometric mean", "worst"):
                figures.missing(f"best peer's time / ours, {metric}", "neither Open MPI nor MPICH is here")
        best = {}
        for function in options.functions.split(","):
            for name, peer in peers.items():
                measure = lambda run: (lambda: run(function, options.seconds))
                theirs = measure(lambda *run: over_wire(name, wire, peer.run, *run))
                pairs = interleaved(measure(lambda function, seconds: ranks.run(wire, function, sizes(function), seconds).times), theirs, options.pairs, f"{function} {name}")
                for size in pairs[0][0]:
                    ratios = [theirs[size] / mine[size] for mine, theirs in pairs]
                    known = best.get((function, size))
                    if known is None or statistics.median(ratios) < statistics.median(known[1]):
                        best[function, size] = (name, ratios)
        for (function, size), (name, ratios) in best.items():
            point, low, high = ratio([(value, 1.0) for value in ratios])
            figures.add(f"{function} of {size} B: {name}'s time / ours", point, "ratio", low, high, len(ratios))
        if best:
            judge(best, figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each size")
    parser.add_argument("--functions", default=FUNCTIONS)
    return parser.parse_args()


def judge(best, figures):
    """The geometric mean over functions and sizes, pair by pair, and the worst of them."""
    means = [statistics.geometric_mean(of_pair) for of_pair in zip(*(ratios for _, ratios in best.values()))]
    point, low, high = ratio([(value, 1.0) for value in means])
    figures.add("best peer's time / ours, geometric mean", point, "ratio", low, high, len(means))
    middles = {key: middle(sorted(ratios)) for key, (_, ratios) in best.items()}
    worst = min(middles, key=middles.get)
    ratios = best[worst][1]
    point, low, high = ratio([(value, 1.0) for value in ratios])
    figures.add("best peer's time / ours, worst", point, "ratio", low, high, len(ratios), of=f"{worst[0]} of {worst[1]} B")


def crossed(wire):
    """Bytes that have crossed the wire."""
    words = ["ip", "-n", wire.names[0], "-s", "-j", "link", "show", "wire"]
    stats = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)[0]["stats64"]
    return stats["rx"]["bytes"] + stats["tx"]["bytes"]


def over_wire(name, wire, run, function, seconds):
    """The times of a peer, whose messages must have crossed the wire."""
    before = crossed(wire)
    found = run(function, seconds)
    if crossed(wire) - before < max(3 * max(sizes(function)), 10_000):
        sys.exit(f"{name} has passed the wire by: its messages went through memory")
    return found


def sizes(function):
    if function == "barrier":
        return [0]
    # A number for each of two ranks.
    return sorted({max(size, 8) for size in SIZES}) if function == "reduce_scatter" else SIZES


class OpenMpi:
    """Open MPI over TCP. Its launcher is a script that enters the other namespace."""

    def __init__(self, folder, wire):
        self.program, self.wire = folder / "openmpi", wire
        compile_with("mpicc.openmpi", self.program)
        self.launcher = launcher(folder / "openmpi-start", wire)

    def run(self, function, seconds):
        settings = {
            "plm_rsh_agent": self.launcher, "pml": "ob1", "btl": "self,tcp", "btl_tcp_if_include": "wire",
            "oob_tcp_if_include": "wire", "mpi_yield_when_idle": 0,
        }
        words = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--host", ",".join(self.wire.addresses)]
        for name, value in settings.items():
            words += ["--mca", name, value]
        words += ["sh", "-c", f'exec taskset -c "$OMPI_COMM_WORLD_RANK" "$0" "$@"', self.program, function, seconds]
        return times(output(self.wire.command(0, None, [*words, *sizes(function)]), 180))


class Mpich:
    """MPICH over TCP."""

    def __init__(self, folder, wire):
        self.program, self.wire = folder / "mpich", wire
        compile_with(MPICH / "mpicc", self.program)
        self.launcher = launcher(folder / "mpich-start", wire)

    def run(self, function, seconds):
        words = [
            "env", "MPIR_CVAR_CH4_NETMOD=ofi", "FI_PROVIDER=tcp",
            MPICH / "mpiexec", "-launcher", "ssh",
            "-launcher-exec", self.launcher, "-iface", "wire", "-hosts", ",".join(self.wire.addresses), "-n", 2,
            "sh", "-c", 'exec taskset -c "$PMI_RANK" "$0" "$@"', self.program, function, seconds,
        ]
        return times(output(self.wire.command(0, None, [*words, *sizes(function)]), 180))


def found(folder, wire):
    """The peers that are here, by name."""
    peers = {}
    if shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi"):
        peers["Open MPI"] = OpenMpi(folder, wire)
    if (MPICH / "mpicc").exists():
        peers["MPICH"] = Mpich(folder, wire)
    return peers


def compile_with(compiler, program):
    source = ROOT / "bench" / "peers" / "collectives.c"
    done = subprocess.run([compiler, "-O2", "-o", program, source], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{compiler} failed: {done.stderr[-2000:]}")


def launcher(path, wire):
    """A script that replaces ssh: it drops options, takes the host, and runs the rest in its namespace."""
    spaces = "".join(f"{address}) space={name};;\n" for address, name in zip(wire.addresses, wire.names))
    path.write_text(
        "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n"
        f"case $host in\n{spaces}*) echo \"unknown host $host\" >&2; exit 4;;\nesac\n"
        'exec ip netns exec "$space" sh -c "$*"\n'
    )
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    main()
