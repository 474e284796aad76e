#!/usr/bin/env python3
"""1,000 work units through random kills of real BOINC clients and of the project that serves them.

The project and the clients are killed (SIGKILL) in random order at random moments and started again; the
application's processes are killed with the client or left behind, at random.

The project's journal is compared with the clients' own logs: which results they computed, with what CPU time
(their logs of jobs), and which reports the project acknowledged to them (their logs of messages). Every work
unit must be credited once, to a result that a client computed. Every acknowledged report must be in the
journal, and every report in the journal must have been computed and acknowledged. The journal's sums must be
those of the clients, although these reported some results more than once because of the kills.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from lib import ours
from lib.boinc import Client, clear, crash
from lib.figures import Figures
from lib.loads import until

#: Marks all processes of this run, the application's too.
MARK = "CROSSTALK_BENCH_BOINC"


def main():
    options = arguments()
    figures = Figures("boinc_project", units=options.units, clients=options.clients, task=options.task)
    if not shutil.which("boinc"):
        figures.missing("lost", "no BOINC client here: apt-get install --no-install-recommends boinc-client")
        figures.finish()
    ours.build()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory(prefix="crosstalk-boinc-") as folder:
        bench = Bench(Path(folder), options)
        try:
            bench.run()
            bench.settle()
            report(figures, bench)
        finally:
            bench.end()
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--task", default="200 ms", help="of one core, that a work unit takes")
    parser.add_argument("--clients", type=int, default=4, help="a client sees one task end a second")
    parser.add_argument("--ncpus", type=int, default=4, help="tasks that each client runs at a time")
    parser.add_argument("--patience", type=float, default=3600, help="seconds until the bench is given up")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.kills = collections.Counter()
        self.project = self.url = None
        self.mark = folder.name
        self.clients = [Client(folder / f"client-{n}", options.ncpus, {MARK: self.mark}) for n in range(options.clients)]
        self.seconds = None
        self.done = False

    def run(self):
        options = self.options
        self.start_project()
        attach = json.loads((self.folder / "project" / "attach.json").read_text())
        self.url = attach["url"]
        for client in self.clients:
            client.start()
            client.attach(self.url, attach["key"])
        began = time.monotonic()
        # Spread over the time that the work takes, by how much of it is done.
        left = sorted(random.uniform(0.01, 0.95) * options.units for _ in range(options.kills))
        # As many of the project as of clients, in random order.
        which = random.sample(["client", "project"] * options.kills, 2 * options.kills)
        urged = 0
        while time.monotonic() - began < options.patience:
            answered = self.answered()
            if answered is not None and left and answered >= left[0]:
                left.pop(0)
                self.kill(which.pop())
            if answered == options.units and not left:
                self.done = True
                break
            if time.monotonic() - urged > 5:
                urged = time.monotonic()
                for client in self.clients:
                    client.urge(self.url)
            time.sleep(random.uniform(0.1, 0.4))
        self.seconds = time.monotonic() - began

    def start_project(self):
        options, attach = self.options, self.folder / "project" / "attach.json"
        attach.unlink(missing_ok=True)
        words = [ours.CROSSTALK, "boinc-project", self.folder / "project"]
        if not (self.folder / "project" / "journal.ndjson").exists():
            words += ["--listen", "127.0.0.1:0", "--units", options.units, "--task", options.task, "--ahead", 4]
            words += ["--deadline", "120 s"]
        self.project = self.start(words, self.folder / "project.log")
        until(lambda: attach.exists() or self.project.poll() is not None, 60)
        if self.project.poll() is not None or not attach.exists():
            sys.exit("the project does not start:\n" + (self.folder / "project.log").read_text())

    def start(self, words, log):
        with open(log, "ab") as file:
            return subprocess.Popen(
                [str(word) for word in words], stdout=file, stderr=file, stdin=subprocess.DEVNULL,
                cwd=self.folder, env={**os.environ, MARK: self.mark},
            )

    def kill(self, which):
        """As a crash does; then it is started again."""
        self.kills[which] += 1
        if which == "project":
            crash(self.project)
            time.sleep(random.uniform(0, 1))
            self.start_project()
            return
        client = random.choice(self.clients)
        crash(client.process)
        if random.random() < 0.5:
            # With its tasks, as when a machine goes down; else they are left behind.
            clear(f"{Client.MARK}={client.folder}")
        time.sleep(random.uniform(0, 1))
        client.start()

    def answered(self):
        try:
            with urllib.request.urlopen(self.url + "status", timeout=10) as reply:
                return json.load(reply)["counts"]["answered"]
        except OSError:
            return None

    def end(self):
        for process in [client.process for client in self.clients] + [self.project]:
            if process:
                crash(process)
        clear(f"{MARK}={self.mark}")

    def settle(self):
        """Waits until no client has a result any more: the last acknowledgement has arrived."""
        def idle():
            for client in self.clients:
                client.urge(self.url)
            time.sleep(2)
            return not any(client.has_tasks() for client in self.clients)
        if until(idle, 180) is None:
            sys.exit("the clients do not get rid of their results")

    def project_counts(self):
        """What the project reports: its sums, and unit -> the result that has its answer."""
        with urllib.request.urlopen(self.url + "status", timeout=10) as reply:
            counts = json.load(reply)["counts"]
        with urllib.request.urlopen(self.url + "answers", timeout=10) as reply:
            answers = [line.split()[:2] for line in reply.read().decode().splitlines()]
        return counts, answers

    def reported(self):
        """Result -> its line in the journal, of those that were reported."""
        journal = self.folder / "project" / "journal.ndjson"
        lines = map(json.loads, journal.read_text().splitlines())
        return {f"c_{line['unit']}_{line['instance']}": line for line in lines if line["line"] == "reported"}


def report(figures, bench):
    """Compares the project's journal with the clients' own logs."""
    units = bench.options.units
    counts, answers = bench.project_counts()
    reported = bench.reported()
    acknowledged, computed = collections.Counter(), {}
    for client in bench.clients:
        acknowledged += client.acknowledged()
        computed |= client.computed()
    credited = collections.Counter(int(unit) for unit, _ in answers)
    valid = {name: line for name, line in reported.items() if line["outcome"] == "valid"}
    differing = collections.defaultdict(set)
    for line in valid.values():
        differing[line["unit"]].add(line["answer"])

    without = [unit for unit in range(units) if not credited[unit]]
    forgotten = [name for name in acknowledged if name not in reported]
    twice = sum(count - 1 for count in credited.values()) + sum(unit >= units for unit in credited)
    # A result that was computed and acknowledged once must be once in every sum.
    twice += abs(counts["valid"] - len([name for name in valid if name in acknowledged]))
    strange = [name for name in valid if name not in computed or abs(computed[name] - valid[name]["cpu"]) > 1e-3]
    in_logs = sum(computed.get(name, 0.0) for name in valid)
    in_journal = counts["cpu"] - sum(line["cpu"] for name, line in reported.items() if name not in valid)
    for what, names in [("without an answer", without), ("acknowledged and lost", forgotten), ("strange", strange)]:
        if names:
            print(f"{what}: {names[:20]}")
    add = lambda metric, value, unit="count": figures.add(metric, value, unit, n=units)
    add("lost", len(without) + len(forgotten))
    add("counted twice", twice + len(strange))
    add("answers that differ", sum(len(answers) > 1 for answers in differing.values()))
    add("kills", bench.kills["client"] + bench.kills["project"])
    figures.add("processor time credited", in_journal / in_logs, "ratio", n=len(valid), what="CPU time in the journal / in the clients' own logs of jobs")
    figures.add("reported again", sum(client.reports() for client in bench.clients) - len(reported), "count", what="reports of results that were reported before")
    figures.add("kills of the client", bench.kills["client"], "count", what="of these, the client's")
    figures.add("given again", counts["sent"] - units, "count", what="results beyond the first of a work unit")
    figures.add("late", counts["lost"], "count", what="results not reported in time")
    figures.add("failed", counts["failed"], "count", what="results without an answer")
    figures.add("time", bench.seconds, "s", what="from attaching to the last answer")
    figures.failed |= not bench.done


if __name__ == "__main__":
    main()
