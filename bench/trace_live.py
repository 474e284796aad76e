#!/usr/bin/env python3
"""`crosstalk trace` at Redis and PostgreSQL from Debian, under their own load tools, on the
loopback: how much of the client's own latency the stages account for, what share of requests
is followed, and what tracing costs, with tracing on and off in interleaved pairs: latency at
half the saturation, throughput elsewhere.

At half the saturation pgbench offers transactions at a rate (half of what it reaches
without one); redis-benchmark has no rate: there one connection stands for light load, in a
closed loop, where every nanosecond that tracing costs is seen.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, output

#: What attaching takes, at most, before a load begins.
ATTACH = 1.0
#: The load at which the client sends at half of the highest rate.
HALF = "half the saturation"


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("tracing takes root")
    ours.build()
    load = os.getloadavg()[0]
    figures = Figures("trace_live", part=options.part, seconds=options.seconds, machine_load=round(load, 1))
    for service in (Redis, Postgres):
        if service.name in options.service.split(","):
            missing = [program for program in service.programs() if not shutil.which(program)]
            if missing:
                figures.missing(f"accounted {service.name}", f"{', '.join(missing)} not installed")
                continue
            with tempfile.TemporaryDirectory(prefix="crosstalk-") as folder:
                measure(service(folder, options.seconds), figures, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=3, help="of each load")
    parser.add_argument("--service", default="redis,postgres")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.part = options.service != "redis,postgres"
    return options


def measure(service, figures, options):
    with Server(service.command(), service.ready):
        service.prepare()
        for name, load in service.loads():
            print(f"{service.name}, {name}")
            accounts, costs = [], []

            def traced():
                found, trace = with_trace(service.port, options.seconds, load)
                accounts.append((mean_of(trace), found["latency"]))
                costs.append((trace["followed"] / trace["requests"], trace["cost"]["seconds_a_request"] or 0))
                return found

            # At a fixed rate throughput is the same whatever tracing costs: latency shows it.
            metric, field = ("latency", "latency") if name == HALF else ("throughput", "rate")
            runs = interleaved(traced, load, options.pairs, options.seed)
            pairs = [(ours[field], theirs[field]) for ours, theirs in runs]
            figures.pairs("untraced", f"{metric} {service.name}, {name}", pairs)
            figures.pairs(service.tool, f"accounted {service.name}, {name}", accounts)
            least = min(share for share, _ in costs)
            figures.add(f"followed {service.name}, {name}", least, "share", n=len(costs), what=f"{service.name}, {name}: requests followed, least")
            cost = sorted(cost for _, cost in costs)[len(costs) // 2]
            figures.add(f"programs' time {service.name}, {name}", cost, "s", n=len(costs), what=f"{service.name}, {name}: our programs' time a request, median")


def with_trace(port, seconds, load):
    """A load's figures, and what was seen of it."""
    command = [ours.CROSSTALK, "--json", "trace", "--port", port, "--for", f"{seconds + 60} s"]
    tracer = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(ATTACH)
        found = load()
        tracer.send_signal(signal.SIGINT)
        text, _ = tracer.communicate(timeout=30)
    finally:
        tracer.kill()
        tracer.wait()
    return found, json.loads(text.splitlines()[-1])


def mean_of(trace):
    """The mean time of requests from their client's sending to its having read the answer."""
    return next(account["mean"] for account in trace["accounts"] if account["scope"] == "client")


class Redis:
    name, tool = "redis", "redis-benchmark"

    def __init__(self, folder, seconds):
        self.folder, self.seconds, self.port = folder, seconds, ours.free_port()

    @staticmethod
    def programs():
        return ["redis-server", "redis-benchmark"]

    def command(self):
        words = ["--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder]
        return ["redis-server", *map(str, words)]

    def ready(self):
        until_connected(self.port)

    def prepare(self):
        """How many requests take about as long as was asked for."""
        self.count = {}
        for connections in (1, 50):
            self.count[connections] = 20000
            self.count[connections] = max(20000, int(self.run(connections)["rate"] * self.seconds))

    def loads(self):
        return [("one connection", lambda: self.run(1)), ("saturated", lambda: self.run(50))]

    def run(self, connections):
        words = ["-p", self.port, "-t", "get", "--csv", "-c", connections, "-n", self.count[connections]]
        text = output(["redis-benchmark", *map(str, words)], 120)
        row = next(line for line in text.splitlines() if line.startswith('"GET"'))
        rate, latency = (float(field.strip('"')) for field in row.split(",")[1:3])
        return {"rate": rate, "latency": latency * 1e-3}


class Postgres:
    name, tool = "postgres", "pgbench"
    clients = 4

    def __init__(self, folder, seconds):
        self.folder, self.seconds, self.port = Path(folder), seconds, ours.free_port()

    @staticmethod
    def bin(program):
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
        return str(found[-1]) if found else program

    @classmethod
    def programs(cls):
        return [cls.bin("initdb"), cls.bin("pgbench"), "runuser"]

    def as_owner(self, *words):
        return ["runuser", "-u", "postgres", "--", *map(str, words)]

    def command(self):
        shutil.chown(self.folder, "postgres")
        data = self.folder / "data"
        output(self.as_owner(self.bin("initdb"), "-D", data, "-A", "trust", "--no-sync"), 120)
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", self.bin("postgres"), "-D", str(data), "-p", str(self.port), *settings]

    def ready(self):
        until_connected(self.port)
        asked = [self.bin("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "60"]
        until = time.monotonic() + 60
        while subprocess.run(asked, timeout=90).returncode and time.monotonic() < until:
            time.sleep(0.05)

    def prepare(self):
        output(self.bench("-i", "-s", "1", "-q"), 120)
        self.half = self.run()["rate"] / 2

    def loads(self):
        return [(HALF, lambda: self.run(self.half)), ("saturated", self.run)]

    def bench(self, *words):
        return [self.bin("pgbench"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", *map(str, words), "postgres"]

    def run(self, rate=None):
        words = ["-n", "-S", "-M", "prepared", "-c", self.clients, "-T", self.seconds]
        # With progress (never, in so short a time) each transaction is timed; else its latency is
        # the elapsed time over their number, with what pgbench itself does in between.
        words += ["--rate", f"{rate:.0f}"] if rate else ["-P", 1000]
        text = output(self.bench(*words), self.seconds + 60)
        number = lambda pattern: float(re.search(pattern, text)[1])
        latency = number(r"latency average = ([0-9.]+) ms")
        if rate:
            # With a rate, latency counts from when a transaction was due.
            latency -= number(r"schedule lag: avg ([0-9.]+)")
        return {"rate": number(r"tps = ([0-9.]+)"), "latency": latency * 1e-3}


def until_connected(port):
    until = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                sys.exit(f"nobody listens on port {port}")
            time.sleep(0.05)


if __name__ == "__main__":
    main()
