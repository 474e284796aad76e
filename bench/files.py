#!/usr/bin/env python3
"""The file system's rates in virtual time beside their closed forms, and corrupted writes that its check has to find.

Each cell is an attempt of the whole program, on three networks of 2005 without a library, whose parameters are read from
their files. The forms are written out here: a request or an answer has 32 bytes, and names or data. The error is that of
the rate, at the cell that is furthest from its form.

Corruptions: each kind in each test and layout, with so many seeds. Those that no attempt has found are counted, as are
attempts without a corruption that failed.
"""

import argparse
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.wire import ROOT

NETWORKS = {"ethernet": "ethernet-1g-2005", "myrinet": "myrinet-2000", "infiniband": "infiniband-4x-sdr"}
SYSTEM = "plain"
#: Files of each client, transfers of each block, and bytes of a transfer for each server.
FILES, TRANSFERS, SHARES = 40, 4, [64 << 10, 256 << 10]
#: Bytes a second, and seconds.
DISK = (50e6, 8e-3)
HEADER, PAGE = 32, 4096
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
INJECTED = ["data", "stripe-order", "lost-write"]


class Network:
    """The costs of messages of one network, by its file, in seconds."""

    def __init__(self, name):
        file = tomllib.loads((ROOT / "fabrics" / f"{name}.toml").read_text())
        assert not file.get("step"), f"{name}: costs that change with the size have another closed form"
        costs = {key: seconds(text) for key, text in file["costs"].items()}
        self.L, self.o, self.g, self.G, self.O = (costs[key] for key in "LogGO")

    def t(self, s):
        """End to end."""
        return 2 * self.o + self.L + (s - 1) * max(self.O, self.G)

    def n(self, s):
        """Between two messages of a card, or of the CPU that gives them to it."""
        return max(self.g + (s - 1) * self.G, self.o + (s - 1) * self.O)


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def name(index):
    return len(f"file.0.{index}")


def of_names(net, test, servers):
    """Operations a second of one client."""
    t, answer = net.t, net.t(HEADER)
    pieces = (servers - 1) * net.n(HEADER) + 2 * t(HEADER)
    each = {
        "create": lambda name: t(HEADER + name) + answer,
        "rename": lambda name: t(HEADER + 2 * name + len("renamed") - len("file")) + answer,
        "stat": lambda name: t(HEADER + name) + answer + pieces,
        "remove": lambda name: t(HEADER + name) + answer + pieces,
    }
    if test == "list":
        return 1 / (t(HEADER) + t(HEADER + sum(4 + name(index) for index in range(FILES))))
    return FILES / sum(each[test](name(index)) for index in range(FILES))


def of_data(net, share, servers, clients):
    """Bytes a second: one card, of the client or of the server, carries all."""
    s = HEADER + share
    if clients == 1:
        time = TRANSFERS * (net.t(HEADER) + (servers - 1) * net.n(s) + net.t(s))
    else:
        time = net.t(HEADER) + (clients * TRANSFERS - 1) * net.n(s) + net.t(s)
    return clients * TRANSFERS * servers * share / time


def of_disk(net, share):
    """One client, one server; the head moves once."""
    rate, latency = DISK
    time = TRANSFERS * (net.t(HEADER) + net.t(HEADER + share) + share / rate) + latency
    return TRANSFERS * share / time


def of_synced_names(net):
    rate, latency = DISK
    each = lambda index: net.t(HEADER + name(index)) + net.t(HEADER) + latency + PAGE / rate
    return FILES / sum(each(index) for index in range(FILES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="of each corruption in each test and layout")
    options = parser.parse_args()
    ours.build()
    figures = Figures("files")
    with tempfile.TemporaryDirectory(prefix="crosstalk-files-") as folder:
        folder = Path(folder)
        cluster(folder)
        forms(folder, figures)
        corruptions(folder, options.seeds, figures)
    figures.finish()


def cluster(folder):
    """A catalogue with the cluster of 2006, without its libraries and with disks."""
    rate, latency = DISK
    disk = f'disk = {{ rate = "{8 * rate / 1e6:g} Mbit/s", latency = "{1e3 * latency:g} ms" }}'
    text = (ROOT / "systems" / "kisti-2006.toml").read_text()
    text = "\n".join(line for line in text.splitlines() if not line.startswith("mpi = "))
    text = text.replace('memory = "3 GB"', f'memory = "3 GB", {disk}')
    text = text.replace("[source]", '[source]\ndisk = { text = "Assumed." }')
    (folder / "systems").mkdir()
    (folder / "systems" / f"{SYSTEM}.toml").write_text(text + "\n")


def experiment(work, nodes, factors, ranks=1):
    """An experiment's lines, without its name."""
    on = f'system = "$system", boards = "one"' + (f", ranks = {ranks}" if ranks > 1 else "")
    systems = json.dumps([f"{SYSTEM}-{network}" for network in NETWORKS])
    factors = "".join(f", {factor} = {json.dumps(levels)}" for factor, levels in factors.items())
    return [
        f'work.files = {{ kind = "files", nodes = {nodes}, {work} }}',
        f"conditions = {{ {on} }}", f"factors = {{ system = {systems}{factors} }}",
    ]


def run(folder, title, experiments, blocks=1, seed=1):
    """Runs a study; its levels and status of each attempt, and its samples."""
    lines = ['schema = "crosstalk.study/1"', f'title = "{title}"', f"looks = [{blocks}]", f"seed = {seed}"]
    for key, of in experiments.items():
        lines += [f"[experiment.{key}]", *of]
    (folder / f"{title}.toml").write_text("\n".join(lines) + "\n")
    words = [ours.CROSSTALK, "run", f"./{title}.toml", "--testbed", "local", "--catalogue", ".", "--out", title, "--quiet"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=3000)
    journal = runs.journal(folder / title)
    attempts = [line for line in journal if line["line"] == "attempt" and line["status"] != "started"]
    return attempts, [line for line in journal if line["line"] == "sample"]


def forms(folder, figures):
    names = ["create", "stat", "list", "rename", "remove"]
    experiments, expected = {}, {}
    for servers in (1, 3):
        work = f'test = "$test", files = {FILES}, servers = {servers}'
        experiments[f"names-{servers}"] = experiment(work, servers + 1, {"test": names})
        expected[f"names-{servers}"] = lambda net, levels, servers=servers: of_names(net, levels["test"], servers)
    for servers, clients in ((1, 1), (3, 1), (1, 3)):
        for share in SHARES:
            transfer = servers * share
            work = f'test = "$test", servers = {servers}, transfer = "{transfer} B", block = "{TRANSFERS * transfer} B"'
            key = f"data-{servers}-{clients}-{share}"
            experiments[key] = experiment(work, servers + clients, {"test": ["write", "read"]})
            expected[key] = lambda net, _, share=share, servers=servers, clients=clients: of_data(net, share, servers, clients)
    share = SHARES[0]
    work = f'test = "$test", sync = "all", transfer = "{share} B", block = "{TRANSFERS * share} B"'
    experiments["disk"] = experiment(work, 2, {"test": ["write", "read"]})
    expected["disk"] = lambda net, _: of_disk(net, share)
    experiments["synced"] = experiment(f'test = "create", sync = "metadata", files = {FILES}', 2, {})
    expected["synced"] = lambda net, _: of_synced_names(net)

    attempts, samples = run(folder, "forms", experiments)
    cells = {line["attempt"]: line for line in attempts}
    networks = {f"{SYSTEM}-{network}": Network(file) for network, file in NETWORKS.items()}
    errors = {"operation_rate": [], "throughput": []}
    for sample in samples:
        if sample["metric"] in errors:
            cell = cells[sample["attempt"]]
            form = expected[cell["experiment"]](networks[cell["levels"]["system"]], cell["levels"])
            error = abs(sample["value"] / form - 1)
            errors[sample["metric"]].append((error, f"{cell['experiment']}, {cell['levels']}"))
    planned = {"operation_rate": 3 * (2 * len(names) + 1), "throughput": 3 * 2 * (3 * len(SHARES) + 1)}
    for metric, found in errors.items():
        if len(found) != planned[metric]:
            figures.failed = True
            figures.missing(f"{metric}: furthest from its closed form", f"{len(found)} of {planned[metric]} cells")
            continue
        error, cell = max(found)
        figures.add(f"{metric}: furthest from its closed form", error, "share", n=len(found), of=cell)


def corruptions(folder, seeds, figures):
    factors = {"test": ["write", "read"], "layout": ["shared", "file-per-process"], "inject": ["none", *INJECTED]}
    work = 'test = "$test", layout = "$layout", inject = "$inject", servers = 2'
    found = {inject: [0, 0] for inject in factors["inject"]}
    for seed in range(seeds):
        of_one = experiment(work, 4, factors)
        of_one[-1] = of_one[-1].replace(json.dumps([f"{SYSTEM}-{network}" for network in NETWORKS]), f'["{SYSTEM}-infiniband"]')
        attempts, _ = run(folder, f"injected-{seed}", {"data": of_one}, seed=seed + 1)
        # A failed attempt is tried again with the same seed: the first one counts.
        for line in (line for line in attempts if line["try"] == 1):
            counts = found[line["levels"]["inject"]]
            wrong = "wrong contents at offset" in line.get("reason", "")
            # Without a corruption any failure counts.
            counts[0] += wrong if line["levels"]["inject"] != "none" else line["status"] != "finished"
            counts[1] += 1
    for inject in INJECTED:
        seen, of = found[inject]
        figures.add(f"{inject}: corruptions found", seen / of, "share", n=of)
    failed, of = found["none"]
    figures.add("no corruption: attempts that failed", failed / of, "share", n=of)


if __name__ == "__main__":
    main()
