"""Side by side with a peer: the wire, the pairs, the statistics, the result.

Each pair is one run of ours and one of the peer's in random order, right after
each other, so that whatever else the machine does meets both. The datum of a
pair is the logarithm of ours over theirs; the interval inverts Wilcoxon's
signed-rank test (Hodges and Lehmann 1963), as the `stats` room does.
"""

import atexit
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Wire:
    """Two places joined by a wire: network namespaces and a veth pair as root,
    else the loopback. Taken away at exit, also on signals."""

    def __init__(self):
        self.names = [f"ctb{os.getpid()}{end}" for end in "ab"]
        self.addresses = ["10.213.7.1", "10.213.7.2"]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        atexit.register(self.close)
        remove_stale()
        self.kind = "veth" if os.geteuid() == 0 and self.raise_veth() else "loopback"
        if self.kind == "loopback":
            self.close()
            self.addresses = ["127.0.0.1", "127.0.0.1"]

    def raise_veth(self):
        a, b = self.names
        commands = [
            f"ip netns add {a}",
            f"ip netns add {b}",
            f"ip -n {a} link add wire type veth peer name wire netns {b}",
        ]
        for name, address in zip(self.names, self.addresses):
            commands += [
                f"ip -n {name} address add {address}/30 dev wire",
                f"ip -n {name} link set wire up",
                f"ip -n {name} link set lo up",
            ]
        return all(run_quietly(command) for command in commands)

    def close(self):
        for name in self.names:
            run_quietly(f"ip netns delete {name}")

    def command(self, end, cpu, words):
        """`words` as they run at one end (0 measures, 1 serves), on a processor."""
        place = ["ip", "netns", "exec", self.names[end]] if self.kind == "veth" else []
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        return place + pin + [str(word) for word in words]


def remove_stale():
    """Takes away what a bench left that was killed without a chance to."""
    try:
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, timeout=20).stdout
    except OSError:
        return
    for name, pid in re.findall(r"^(ctb(\d+)[ab])\b", listed, re.MULTILINE):
        if not Path(f"/proc/{pid}").exists():
            run_quietly(f"ip netns delete {name}")


def run_quietly(command):
    try:
        return subprocess.run(command.split(), capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


class Server:
    """A program that serves while the block runs."""

    def __init__(self, command, ready):
        self.command, self.ready = command, ready

    def __enter__(self):
        # Where a bench is killed, its servers go with it.
        with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            with_us + self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        atexit.register(self.process.kill)
        self.ready()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        atexit.unregister(self.process.kill)


def output(command, seconds):
    """What a program prints; ends this program with its complaint where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def interleaved(ours, theirs, pairs, seed):
    """Runs `pairs` pairs in random order; a list of (ours, theirs)."""
    if pairs < 6:
        sys.exit(f"an interval of 95 % needs 6 pairs, found {pairs}")
    order = random.Random(seed)
    results = []
    for index in range(pairs):
        sides = [(0, ours), (1, theirs)]
        order.shuffle(sides)
        pair = [None, None]
        for side, measure in sides:
            pair[side] = measure()
        results.append(tuple(pair))
        if sys.stderr.isatty():
            print(f"\r  pair {index + 1} of {pairs}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def critical(n, tail):
    """The largest c with P(W < c) <= tail, W the signed-rank statistic of n."""
    ways = [1]
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    below, c = 0, 0
    while (below + ways[c]) / 2**n <= tail:
        below += ways[c]
        c += 1
    return c


def ratio(pairs, error=0.05):
    """Ours over theirs: point, lower and upper end at `error` on both sides together."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(len(logs)) for j in range(i + 1))
    cut = critical(len(logs), error / 2)
    if cut == 0:
        return math.exp(middle(walsh)), 0.0, math.inf
    return tuple(math.exp(v) for v in (middle(walsh), walsh[cut - 1], walsh[-cut]))


def middle(ordered):
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def row(peer, metric, pairs, at_most=None, at_least=None):
    """One line of the result. A bound counts where the interval's end keeps it."""
    point, low, high = ratio(pairs)
    must, reached = None, None
    if at_most is not None:
        must, reached = f"<= {at_most}", high <= at_most
    if at_least is not None:
        must, reached = f">= {at_least}", low >= at_least
    ours, theirs = (middle(sorted(side)) for side in zip(*pairs))
    line = {
        "peer": peer, "metric": metric, "pairs": len(pairs),
        "ratio": point, "low": low, "high": high, "must": must, "reached": reached,
        "ours": ours, "theirs": theirs,
    }
    verdict = "" if must is None else f", must be {must}: {'reached' if reached else 'NOT reached'}"
    print(f"{metric}: {point:.3f} ({low:.3f} to {high:.3f}) of {peer}'s in {len(pairs)} pairs{verdict}")
    return line


def write(name, wire, rows, **conditions):
    """Keeps the result in bench/results/NAME.json."""
    path = ROOT / "bench" / "results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"name": name, **row, "wire": wire.kind, **conditions} for row in rows]
    path.write_text(json.dumps(lines, indent=1) + "\n")
    print(f"written to {path.relative_to(ROOT)}")
    return all(row["reached"] is not False for row in rows)
