#!/usr/bin/env python3
"""One way over one wire, interleaved: what polling saves, what bypassing the kernel's
protocols does, and a plain loop through DPDK beside our program that speaks it.

Medians of 64 B frames, in blocks: each block runs everything once, in random order. A
frame of the peer takes a pair of devices in a network namespace of its own.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import ours
from lib.figures import Figures
from lib.wire import ROOT

#: What is measured: name → parameters of `wire`.
OURS = {
    f"{transport} {mode} {ends}": {"transport": transport, "mode": mode, "ends": ends}
    for transport, mode in [("udp", "blocking"), ("udp", "polling"), ("af-xdp", "polling"),
                            ("dpdk-af-packet", "polling"), ("dpdk-af-xdp", "polling"),
                            ("dpdk-memif", "polling"), ("shared", "polling")]
    for ends in ["one-thread", "two-processes"]
}
PEER = "plain DPDK loop"
#: metric → (numerator, denominator)
RATIOS = {
    "bypass / polling, one thread": ("dpdk-af-xdp polling one-thread", "udp polling one-thread"),
    "bypass in one thread / blocking between two": ("dpdk-af-xdp polling one-thread", "udp blocking two-processes"),
    "AF_XDP / polling, one thread": ("af-xdp polling one-thread", "udp polling one-thread"),
    "shared memory / blocking, between two": ("shared polling two-processes", "udp blocking two-processes"),
    "memif / blocking, between two": ("dpdk-memif polling two-processes", "udp blocking two-processes"),
    "polling / blocking, between two": ("udp polling two-processes", "udp blocking two-processes"),
    "polling / blocking, one thread": ("udp polling one-thread", "udp blocking one-thread"),
    "bypass / polling, between two": ("dpdk-af-xdp polling two-processes", "udp polling two-processes"),
    "af-packet / polling, one thread": ("dpdk-af-packet polling one-thread", "udp polling one-thread"),
    "our AF_XDP / DPDK's, one thread": ("af-xdp polling one-thread", "dpdk-af-xdp polling one-thread"),
    "our AF_XDP / DPDK's, between two": ("af-xdp polling two-processes", "dpdk-af-xdp polling two-processes"),
    "our DPDK / plain loop": ("dpdk-af-packet polling one-thread", PEER),
}


def main():
    options = arguments()
    ours.build()
    with tempfile.TemporaryDirectory() as folder:
        peer = build_peer(Path(folder))
        blocks = measure(options, peer)
    figures = Figures("wire_bypass", part=options.only != "", size=options.size, seconds=options.seconds)
    for metric, (above, below) in options.ratios.items():
        if above not in blocks[0] or below not in blocks[0]:
            figures.missing(metric, "needs cc and libdpdk-dev")
            continue
        figures.pairs("peer" if below == PEER else "other", metric, [(block[above], block[below]) for block in blocks])
    for name in blocks[0]:
        values = sorted(block[name] for block in blocks)
        figures.add(f"one way, {name}", values[len(values) // 2], "s", n=len(values))
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each run")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--only", default="", help="ratios in whose names this stands")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.ratios = {name: both for name, both in RATIOS.items() if options.only in name}
    return options


def measure(options, peer):
    """A list of blocks: name → median one way, in seconds."""
    order = random.Random(options.seed)
    runs = {name: lambda settings=settings: wire(settings, options) for name, settings in OURS.items()
            if peer or not name.startswith("dpdk")}
    if peer:
        runs[PEER] = lambda: loop(peer, options)
    if options.only:
        wanted = {name for both in options.ratios.values() for name in both}
        runs = {name: once for name, once in runs.items() if name in wanted}
    blocks = []
    for block in range(options.blocks):
        names = list(runs)
        order.shuffle(names)
        blocks.append({name: runs[name]() for name in names})
        if sys.stderr.isatty():
            print(f"\r  block {block + 1} of {options.blocks}", end="", file=sys.stderr, flush=True)
    return blocks


def wire(settings, options):
    settings = {**settings, "size": options.size, "duration": f"{options.seconds} s"}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    text = run([*map(str, ours.PROBE), "wire", *words])
    for line in json.loads(text.splitlines()[-1])["readings"]:
        if line["reading"]["metric"] == "one_way":
            return median(line["reading"]["histogram"]["counts"]) * 1e-9
    sys.exit(f"no one_way:\n{text}")


def median(counts):
    """Of (value, how often), ascending."""
    left = sum(count for _, count in counts) / 2
    for value, count in counts:
        left -= count
        if left <= 0:
            return value
    sys.exit("an empty histogram")


def build_peer(folder):
    """The plain loop, compiled; None where DPDK is not here."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], capture_output=True, text=True)
    if not shutil.which("cc") or flags.returncode != 0:
        return None
    program = folder / "dpdk_loop"
    subprocess.run(["cc", "-O2", ROOT / "bench/peers/dpdk_loop.c", "-o", program, *flags.stdout.split()], check=True)
    return program


#: In a network namespace of its own, which goes with the shell, on the processor that ours takes.
LOOP = """
ip link add w0 type veth peer name w1 && ip link set w0 up && ip link set w1 up &&
exec taskset -c "$(nproc --all | awk '{print $1 - 1}')" "$@"
"""


def loop(program, options):
    # About as long as ours.
    rounds = int(options.seconds * 3e5)
    return float(run(["unshare", "--net", "sh", "-c", LOOP, "loop", str(program), "net_af_packet", "w0", "w1",
                      str(options.size), str(rounds)]))


def run(words):
    found = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if found.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {found.returncode}:\n{found.stdout}{found.stderr}")
    return found.stdout


if __name__ == "__main__":
    main()
