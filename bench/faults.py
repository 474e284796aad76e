#!/usr/bin/env python3
"""Delays that are put in on purpose, and the stage in which `probe latency --stages` finds them.

The other end is not ours (lib/other_end.py). Each fault is timed by somebody else than what
finds it: the scheduler, the kernel's own stamps on packets, a relay, another clock. Runs with the
fault and without one come in interleaved pairs; what was put in and what was found are of the same
run.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

from lib import ours, relay
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import ratio
from lib.wire import Wire, output, run_quietly

CPUS = [0, 1]
#: Bytes of headers: IPv4 and UDP.
HEADERS = 28


@dataclass
class Fault:
    """What is put in, where it must be found, and who times it."""

    name: str
    way: str
    stage: str
    truth: str
    rest: float = 0
    work: float = 0
    size: int = 64
    hogs: int = 0
    rate: str = ""
    flood: bool = False
    relay: float = 0


FAULTS = [
    Fault("sleeping receiver", "there", "socket queue", "rested", rest=0.01),
    Fault("slow application", "back", "application", "worked", work=0.01),
    Fault("hog", "there", "scheduling", "queued", hogs=2),
    Fault("slow link", "there", "driver and wire", "held", relay=0.01),
    Fault("shaped link", "back", "queueing discipline", "sent", size=1400, rate="500kbit"),
    Fault("saturated queue", "back", "queueing discipline", "sent", rate="20mbit", flood=True),
]


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("stages are seen by root only")
    ours.build()
    wire = Wire()
    wanted = options.fault.split(",")
    known = [fault.name for fault in FAULTS]
    if unknown := set(wanted) - set(known) - {"all"}:
        sys.exit(f"no such fault: {', '.join(unknown)}; there are: {', '.join(known)}")
    figures = Figures("faults", part=wanted != ["all"], wire=wire.kind, seconds=options.seconds)
    for fault in FAULTS:
        if wanted != ["all"] and fault.name not in wanted:
            continue
        bench = Bench(wire, fault, options.seconds)
        report(figures, fault, interleaved(lambda: bench.run(True), lambda: bench.run(False), options.pairs, 1))
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2, help="of each run")
    parser.add_argument("--fault", default="all", help="one of them, or several with commas")
    return parser.parse_args()


class Bench:
    def __init__(self, wire, fault, seconds):
        self.wire, self.fault, self.seconds = wire, fault, seconds

    def run(self, faulty):
        """Seconds that were put in, that were found in their stage, and in all others."""
        fault, over = self.fault, contextlib.ExitStack()
        with over:
            addresses = self.wire.addresses
            link = None
            if fault.relay:
                # The same link without a fault hands packets on at once.
                link = over.enter_context(self.relay(fault.relay if faulty else 0))
                addresses = relay.ADDRESSES
            if faulty:
                self.disturb(over)
            port = ours.free_port()
            rest, work = (fault.rest, fault.work) if faulty else (0, 0)
            words = [sys.executable, "-m", "lib.other_end", addresses[1], port, rest, work]
            other = over.enter_context(started(self.wire.command(1, CPUS[1], words), subprocess.PIPE, "up"))
            client = ours.measure(
                "latency", f"{addresses[1]}:{port}", fault.size, self.seconds, "--transport", "udp", "--stages"
            )
            readings = ours.counted_readings(output(self.wire.command(0, CPUS[0], client), self.seconds + 60))
            timed = json.loads(other.communicate(timeout=30)[0])
            if link:
                link.terminate()
                timed["held"] = json.loads(link.communicate(timeout=30)[0].splitlines()[-1])
        return self.seen(readings, timed)

    def seen(self, readings, timed):
        fault = self.fault
        # Of the same messages, however much they differ, the means must agree.
        counted = timed[fault.truth][int(ours.one(readings, "warm_up")[0]):]
        found, _ = split(fault, readings, "all")
        # What else happens on the machine meets few messages, and so not those around the median.
        _, others = split(fault, readings, "p50")
        return statistics.mean(counted), found, others

    def disturb(self, over):
        fault = self.fault
        for _ in range(fault.hogs):
            over.enter_context(started(["taskset", "-c", str(CPUS[1]), sys.executable, "-c", "while True: pass"]))
        if fault.rate:
            inside = f"ip netns exec {self.wire.names[1]} tc qdisc"
            if not run_quietly(f"{inside} add dev wire root tbf rate {fault.rate} burst 1600 limit 1000000"):
                sys.exit("the link cannot be shaped here")
            over.callback(run_quietly, f"{inside} delete dev wire root")
        if fault.flood:
            words = [sys.executable, "-m", "lib.flood", self.wire.addresses[0], "9"]
            over.enter_context(started(self.wire.command(1, CPUS[0], words)))

    def relay(self, seconds):
        words = [sys.executable, "-m", "lib.relay", *self.wire.names, str(seconds), str(self.fault.size + HEADERS)]
        return started(words, subprocess.PIPE, "up")


def split(fault, readings, band):
    """Seconds of the stage in which a fault is to be found, and of all others, of the messages in a band."""
    stages = [r for r, _ in readings if r["metric"] == "stage_time" and r["labels"]["band"] == band]
    here = lambda r: (r["labels"]["way"], r["labels"]["stage"]) == (fault.way, fault.stage)
    found = sum(r["value"] for r in stages if here(r))
    return found, sum(r["value"] for r in stages) - found


@contextlib.contextmanager
def started(command, stdout=subprocess.DEVNULL, first=None):
    """A program that runs while the block does; it has said `first`."""
    command = ["setpriv", "--pdeathsig", "KILL", *map(str, command)]
    here = os.path.dirname(os.path.abspath(__file__))
    process = subprocess.Popen(command, cwd=here, stdin=subprocess.DEVNULL, stdout=stdout, text=True)
    try:
        if first and process.stdout.readline().strip() != first:
            sys.exit(f"{' '.join(command)} does not come up")
        yield process
    finally:
        process.kill()
        process.wait()


def report(figures, fault, pairs):
    faulty = [with_it for with_it, _ in pairs]
    found = [(found, truth) for truth, found, _ in faulty]
    point, low, high = ratio(found)
    truth = sorted(truth for truth, _, _ in faulty)[len(faulty) // 2]
    name = f"{fault.name}: {fault.stage}, {fault.way}"
    load = round(os.getloadavg()[0], 1)
    figures.add(fault.name, point, "ratio", low, high, len(found), f"{name}: found / put in", truth=truth, load=load)
    # What all other stages take more than without the fault, beside it.
    elsewhere = [(put_in + others - usual, put_in) for (put_in, _, others), (_, _, usual) in pairs]
    point, low, high = (value - 1 for value in ratio([pair for pair in elsewhere if pair[0] > 0]))
    what = f"{fault.name}: what all other stages take more, of what was put in"
    figures.add(f"{fault.name}, elsewhere", point, "share", low, high, len(elsewhere), what)


if __name__ == "__main__":
    main()
