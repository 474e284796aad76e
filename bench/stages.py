#!/usr/bin/env python3
"""What following messages through the kernel costs, and how much of their time it explains.

Our latency probe with `--stages` and without, against one serving end, in interleaved pairs of
short runs. Of the runs with stages: the share of messages that were followed from end to end,
and the share of their round trips that no stage explains, around p50 and around p99.
"""

import argparse
import os
import sys

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import ratio
from lib.wire import Server, Wire, output

SIZE = 64


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("stages are seen by root only")
    ours.build()
    wire = Wire()
    part = (options.transport, options.mode) != ("tcp,udp", "blocking,polling")
    figures = Figures("stages", part=part, wire=wire.kind, size=SIZE, seconds=options.seconds, pin=options.pin)
    for transport in options.transport.split(","):
        for mode in options.mode.split(","):
            print(f"{transport}, {mode}, {SIZE} B, over {wire.kind}, processors {options.pin}; load {load()}")
            bench = Bench(wire, transport, mode, options)
            with bench.server():
                pairs = interleaved(bench.followed, bench.plain, options.pairs, options.seed)
            report(figures, f"{transport} {mode}", pairs)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--transport", default="tcp,udp")
    parser.add_argument("--mode", default="blocking,polling")
    parser.add_argument("--pin", default="0,1", help="processors of both ends")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def load():
    """How busy the machine was over the last minute."""
    return round(os.getloadavg()[0], 1)


class Bench:
    """One transport and mode."""

    def __init__(self, wire, transport, mode, options):
        self.wire, self.seconds = wire, options.seconds
        self.cpus = options.pin.split(",")
        self.address = f"{wire.addresses[1]}:{ours.free_port()}"
        self.options = ["--transport", transport] + (["--poll"] if mode == "polling" else [])

    def server(self):
        return Server(self.wire.command(1, self.cpus[1], ours.serve("latency", self.address)), ours.settle)

    def run(self, *more):
        command = ours.measure("latency", self.address, SIZE, self.seconds, *self.options, *more)
        return ours.counted_readings(output(self.wire.command(0, self.cpus[0], command), self.seconds + 30))

    def plain(self):
        return self.run()

    def followed(self):
        return self.run("--stages")


def report(figures, which, pairs):
    for quantile in ("p50", "p99"):
        metric = f"round_trip_{quantile}"
        # No percentile is stated from too few messages: such a pair does not count.
        values = [tuple(ours.one(side, metric)[0] for side in pair) for pair in pairs]
        values = [pair for pair in values if None not in pair]
        if not values:
            figures.missing(f"{metric} {which}", "too few messages for this percentile in every pair")
            continue
        point, low, high = ratio(values)
        what = f"{metric} {which}: with stages / without"
        figures.add(f"{metric} {which}", point, "ratio", low, high, len(values), what, load=load())
    matched = [ours.one(followed, "matched") for followed, _ in pairs]
    of = sum(n for _, n in matched)
    share = sum(share * n for share, n in matched) / of
    figures.add(f"matched {which}", share, "share", n=of, what=f"messages followed from end to end, {which}")
    for band in ("p50", "p99"):
        found = [ours.one(followed, "unexplained", band=band)[0] for followed, _ in pairs]
        worst = max(share for share in found if share is not None)
        what = f"of the round trip around {band} no stage explains, {which}, worst run"
        figures.add(f"unexplained {band} {which}", worst, "share", n=len(pairs), what=what)


if __name__ == "__main__":
    main()
