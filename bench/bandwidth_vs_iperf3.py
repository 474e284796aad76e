#!/usr/bin/env python3
"""A TCP stream of 64 KiB writes beside iperf3: same wire, same processors, the same
congestion control at both hosts, interleaved pairs of their own for each control.

Both count at the receiver, over the whole run: iperf3 leaves nothing out, so
our figure here is the mean of all intervals, warm-up included. Each side reports
which congestion control its kernel used, and how many segments it retransmitted. Both
leave Nagle's algorithm on, so that a write's last part fills a segment with the next one's first.
"""

import argparse
import json
import statistics
import sys

from lib import ours
from lib.figures import Figures, number
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZE = 65536
CONTROLS = "reno,cubic,bbr"
#: Why a ratio under BBR is reported and not promised.
BBR = """  Nothing is promised under BBR. It paces its segments by timers, at the rate that it estimates the path to deliver,
  and hardly reacts to loss. On a wire within one machine that estimate follows when each program sleeps and wakes.
  On two processors its segments overtake each other, and are retransmitted though they have arrived; the receiver
  reports these as duplicates. With both programs on one processor (--pin 0,0) hardly any is retransmitted."""


def main():
    options = arguments()
    ours.build()
    wire = Wire()
    figures = Figures(
        "bandwidth_vs_iperf3",
        options.congestion != CONTROLS,
        wire=wire.kind,
        size=SIZE,
        seconds=options.seconds,
        pin=options.pin,
    )
    for control in options.congestion.split(","):
        metric = f"bandwidth {control}"
        if control not in usable(wire):
            figures.missing(metric, f"{control} is not among {', '.join(usable(wire))}, which this kernel has and allows")
            continue
        print(f"tcp, writes of {SIZE} B, over {wire.kind}, processors {options.pin}, {control}")
        bench = Bench(wire, control, options)
        pairs = interleaved(bench.ours, bench.iperf3, options.pairs, options.seed)
        again = {f"{whose}_retransmitted": statistics.median(seen) for whose, seen in bench.again.items()}
        again |= {f"{whose}_duplicates": share for whose, share in bench.duplicates().items()}
        figures.pairs("iperf3", metric, pairs, congestion=control, **again)
        if control == "bbr":
            print(BBR)
        for whose, rates in zip(("ours", "iperf3"), zip(*pairs)):
            low, high = (number(rate * 1e-9) for rate in (min(rates), max(rates)))
            segments, twice = number(again[f"{whose}_retransmitted"]), again[f"{whose}_duplicates"]
            of_them = "" if twice is None else f"; {twice:.0%} of all had arrived before"
            print(f"  {whose}: {low} to {high} Gbit/s; {segments} segments retransmitted, median of the runs{of_them}")
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30, help="under each congestion control")
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument("--pin", default="0,1", help="processors of client and server, or none")
    parser.add_argument("--congestion", default=CONTROLS, help="controls, one after the other, of both hosts")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def usable(wire):
    """The congestion controls that both programs may set: as root, all that the kernel has."""
    which = "available" if wire.kind == "veth" else "allowed"
    with open(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control") as setting:
        return setting.read().split()


class Bench:
    """One congestion control; each side returns bits a second received."""

    def __init__(self, wire, congestion, options):
        self.wire, self.seconds, self.congestion = wire, options.seconds, congestion
        self.again = {"ours": [], "iperf3": []}
        #: Segments that the sender's kernel has retransmitted, and those that the receiver had already.
        self.counted = {"ours": [0, 0], "iperf3": [0, 0]}
        self.cpus = [None, None] if options.pin == "none" else options.pin.split(",")

    def run(self, whose, server, client):
        server, before = self.wire.command(1, self.cpus[1], server), self.counters()
        with Server(server, ours.settle):
            text = output(self.wire.command(0, self.cpus[0], client), self.seconds + 30)
        self.counted[whose] = [sum(n) - old for *n, old in zip(self.counted[whose], self.counters(), before)]
        return text

    def counters(self):
        """The sender's kernel's: retransmitted segments, and those that the receiver reported as duplicates
        (DSACK, RFC 2883). On the loopback other connections count, too."""
        text = output(self.wire.command(0, None, ["cat", "/proc/net/snmp", "/proc/net/netstat"]), 10)
        rows = [line.split() for line in text.splitlines()]
        found = {}
        for names, values in zip(rows[::2], rows[1::2]):
            found |= zip(names[1:], values[1:])
        return [int(found[name]) for name in ("RetransSegs", "TCPDSACKRecvSegs")]

    def duplicates(self):
        """The share of each side's retransmitted segments that had arrived before; None of none."""
        share = lambda all, twice: min(twice / all, 1) if all and self.wire.kind == "veth" else None
        return {whose: share(*counted) for whose, counted in self.counted.items()}

    def ours(self):
        address = f"{self.wire.addresses[1]}:{ours.free_port()}"
        client = ours.measure("bandwidth", address, SIZE, self.seconds, "--congestion", self.congestion)
        text = self.run("ours", ours.serve("bandwidth", address), client)
        labels = next(reading["labels"] for reading, _ in ours.counted_readings(text) if reading["metric"] == "bandwidth")
        self.check("crosstalk", [labels.get("congestion"), labels.get("receiver_congestion")])
        found = ours.readings(text)
        self.again["ours"].append(found["retransmitted"])
        series = found["bandwidth_series"]
        return sum(series) / len(series)

    def iperf3(self):
        address, port = self.wire.addresses[1], ours.free_port()
        client = ["iperf3", "-c", address, "-p", port, "-l", SIZE, "-t", self.seconds, "-J"]
        client += ["-C", self.congestion]
        text = self.run("iperf3", ["iperf3", "-s", "-1", "-B", address, "-p", port], client)
        end = json.loads(text)["end"]
        self.check("iperf3", [end["sender_tcp_congestion"], end["receiver_tcp_congestion"]])
        self.again["iperf3"].append(end["sum_sent"]["retransmits"])
        return end["sum_received"]["bits_per_second"]

    def check(self, program, used):
        """Ends the bench if sender and receiver did not use the congestion control that is compared."""
        if used != [self.congestion] * 2:
            sys.exit(f"{program}: expected {self.congestion} at sender and receiver, found {' and '.join(map(str, used))}")


if __name__ == "__main__":
    main()
