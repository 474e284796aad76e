#!/usr/bin/env python3
"""How fast recorded schedules are replayed, in how much memory, and how exactly: five patterns of up to 1,024 ranks, and
the three analytics and an all-to-all on two networks.

Times are the fastest of five replays in one process. Memory is the process's peak less that of the same process with
the smallest schedule; a plot of it against the number of operations goes to bench/results/replay_memory.svg.

Each run of the applications is recorded on both networks, and replayed on its own, which gives its clocks again, and on
the other one, beside what was emulated there. The two runs also compute differently long: the ratio of their computing
is shown beside that of their whole times.
"""

import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

from lib import ours
from lib.systems import idle
from lib.figures import RESULTS, Figures
from lib.wire import ROOT, cargo

PROGRAM = ROOT / "target" / "release" / "examples" / "replay_speed"
PATTERNS = ["pairwise all-to-all", "linear all-to-all by requests", "ring", "incast from any", "unexpected, in reverse"]
RANKS = [64, 128, 256, 512, 1024]
#: The cluster of the recordings, and the same with processors that take no time: then messages alone are compared.
CLUSTER, IDLE = "kisti-2006", "idle"
NETWORKS = ["myrinet", "infiniband"]
#: By the name of the experiment: the workload and its parameters. The all-to-all computes nothing: it is run once.
WORKS = {
    "pagerank": 'kind = "pagerank", slaves = 3, scale = 15',
    "als": 'kind = "als", slaves = 3, scale = 0.3, rank = 8, lambda = 0.1, iterations = 10',
    "bayes": 'kind = "bayes", slaves = 3, documents = 500',
    "alltoall": 'kind = "collective", function = "alltoall", size = "64 KiB", nodes = 4',
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8, help="of the applications")
    options = parser.parse_args()
    ours.build()
    cargo("build", "--package", "crosstalk-model", "--example", "replay_speed")
    figures = Figures("replay")
    rows = {pattern: [row(pattern, ranks) for ranks in RANKS] for pattern in PATTERNS}
    largest = rows[PATTERNS[0]][-1]
    figures.add("pairwise all-to-all, 1,024 ranks: time", largest["seconds"], "s", n=1)
    slowest = min((one for all in rows.values() for one in all), key=rate)
    of = f"{slowest['pattern']}, {slowest['ranks']} ranks"
    figures.add("slowest pattern: operations a second", rate(slowest), "/s", n=1, of=of)
    for pattern, all in rows.items():
        # Beyond the smallest, which takes the program's own memory with it: an exponent of 1 is linear.
        few, many = all[-3], all[-1]
        used = lambda one: max(one["peak_bytes"] - all[0]["peak_bytes"], 1)
        more = lambda one: work(one) - work(all[0])
        exponent = math.log(used(many) / used(few)) / math.log(more(many) / more(few))
        figures.add(f"{pattern}: exponent of memory", exponent, "", n=2, bytes_each=used(many) / more(many))
    (RESULTS / "replay_memory.svg").write_text(plot(rows))
    applications(options.runs, figures)
    figures.finish()


def applications(runs, figures):
    """The schedules of real runs, on the network of the recording and on the other one."""
    found = {(cluster, work): [] for cluster in (CLUSTER, IDLE) for work in WORKS if cluster == IDLE or work != "alltoall"}
    replays = 0
    apart = 0.0
    for index in range(runs):
        with tempfile.TemporaryDirectory(prefix="crosstalk-replay-") as name:
            folder = Path(name)
            idle_cluster(folder)
            for cluster in (CLUSTER, IDLE):
                here, there = (f"{cluster}-{network}" for network in NETWORKS)
                schedules = recorded(folder, cluster, index)
                for work in WORKS:
                    if not {(work, here), (work, there)} <= schedules.keys() or (cluster, work) not in found:
                        continue
                    replays += 2
                    own = [replayed(folder, schedules[work, system], system) for system in (here, there)]
                    apart = max(apart, *(one["most_apart"] for one in own))
                    found[cluster, work].append((replayed(folder, schedules[work, here], there)["replayed"], own[1]["recorded"]))
    figures.add("on its own network: clocks apart, most", apart * 1e9, "ns", n=replays)
    for (cluster, work), pairs in found.items():
        name = work if cluster == CLUSTER else f"{work}, messages alone,"
        for part in ("total", "compute", "wait") if cluster == CLUSTER else ("total",):
            values = [(replay[part], emulated[part]) for replay, emulated in pairs if emulated[part] > 0]
            if len(values) < 6:
                figures.missing(f"{name} on another network: {part}", f"{len(values)} of {runs} runs were faithful on both")
            else:
                figures.pairs("emulation", f"{name} on another network: {part}", values)


def idle_cluster(folder):
    """A catalogue with the cluster whose processors take no time."""
    text = (ROOT / "systems" / f"{CLUSTER}.toml").read_text()
    (folder / "systems").mkdir()
    (folder / "systems" / f"{IDLE}.toml").write_text(idle(text))


def recorded(folder, cluster, seed):
    """Runs each application once on both networks; the files of their schedules."""
    systems = [f"{cluster}-{network}" for network in NETWORKS]
    lines = ['schema = "crosstalk.study/1"', 'title = "Recorded"', "looks = [1]", f"seed = {seed + 1}"]
    for work, parameters in WORKS.items():
        lines += [
            f"[experiment.{work}]", f"work.w = {{ {parameters}, record = true }}",
            'conditions = { system = "$system", boards = "one" }', f"factors = {{ system = {json.dumps(systems)} }}",
        ]
    (folder / "s.toml").write_text("\n".join(lines) + "\n")
    run = [ours.CROSSTALK, "run", "./s.toml", "--testbed", "local", "--catalogue", ".", "--out", cluster, "--quiet"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True, timeout=300)
    files = (folder / cluster / "artifacts").glob("*.schedule")
    faithful = [file for file in files if not file.name.endswith(".unfaithful.schedule")]
    of = lambda work, system: [f for f in faithful if f.name.startswith(kind(work)) and f"-on-{system}-" in f.name]
    return {(work, system): of(work, system)[0] for work in WORKS for system in systems if of(work, system)}


def kind(work):
    return "collective" if work == "alltoall" else work


def replayed(folder, file, system):
    words = [ours.CROSSTALK, "--json", "replay", file, "--system", system, "--catalogue", folder]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def row(pattern, ranks):
    """One pattern and size, in a process of its own, so that its peak is its own."""
    done = subprocess.run([PROGRAM, pattern, str(ranks)], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def work(one):
    """Operations; of a collective, which is one operation a rank, its messages."""
    return max(one["operations"], one["messages"])


def rate(one):
    return work(one) / one["seconds"]


def plot(rows):
    """Memory against operations, both logarithmic, with a line of slope one."""
    points = {name: [(work(one), one["peak_bytes"]) for one in all] for name, all in rows.items()}
    every = [point for all in points.values() for point in all]
    low_x, high_x = math.floor(math.log10(min(x for x, _ in every))), math.ceil(math.log10(max(x for x, _ in every)))
    low_y, high_y = math.floor(math.log10(min(y for _, y in every))), math.ceil(math.log10(max(y for _, y in every)))
    left, top, width, height = 70, 20, 420, 300
    at_x = lambda x: left + (math.log10(x) - low_x) / (high_x - low_x) * width
    at_y = lambda y: top + height - (math.log10(y) - low_y) / (high_y - low_y) * height
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 240}" height="{top + height + 60}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>',
    ]
    for power in range(low_x, high_x + 1):
        parts.append(f'<text x="{at_x(10**power)}" y="{top + height + 18}" text-anchor="middle">{si(10**power)}</text>')
    for power in range(low_y, high_y + 1):
        parts.append(f'<text x="{left - 8}" y="{at_y(10**power) + 4}" text-anchor="end">{si(10**power)}B</text>')
    for index, (name, all) in enumerate(points.items()):
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in all)
        colour = colours[index % len(colours)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + width + 10}" y="{top + 16 + 18 * index}" fill="{colour}">{name}</text>')
    first = min(every)
    steep = [(x, first[1] * x / first[0]) for x in (first[0], 10**high_x)]
    line = " ".join(f"{at_x(x):.1f},{max(at_y(y), top):.1f}" for x, y in steep)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#999" stroke-dasharray="4 4"/>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">operations</text>')
    parts.append(f'<text x="{left + width + 10}" y="{top + height}" fill="#777">dashed: in proportion</text></svg>\n')
    return "\n".join(parts)


def si(number):
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:g} {unit}"
    return f"{number:g} "


if __name__ == "__main__":
    main()
