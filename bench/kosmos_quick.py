#!/usr/bin/env python3
"""`crosstalk run kosmos --quick`: how long it takes and whether its headline is
decided; then the same study at a smaller scale, killed (kill -9) at many random
moments: nothing that was measured is lost, nothing is left running, and it
resumes to its end.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.specs import whole

#: A killed run has this long until its last process is gone, in seconds.
SOON = 2.0


def main():
    options = arguments()
    ours.build()
    figures = Figures("kosmos_quick")
    quick(figures)
    if options.kills:
        kills(figures, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--scale", type=int, default=12, help="of the graph in the killed runs")
    parser.add_argument("--span", type=float, default=2.5, help="kill within so many seconds of each start")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def quick(figures):
    with tempfile.TemporaryDirectory() as directory:
        planned, seconds, code, text = runs.planned_and_taken(["kosmos", "--quick"], Path(directory) / "run", 400)
    if code != 0:
        sys.exit(f"the run ended with {code}:\n{text[-2000:]}")
    findings = runs.result(text)["findings"]
    headline, attempts = findings["headline"], findings["run"]["attempts"]
    unfaithful = sum(cell["unfaithful"] or 0 for cell in findings["cells"])
    figures.add("seconds", seconds, "s", n=1)
    figures.add("planned / taken", planned / seconds, "ratio", n=1)
    print(f"  {headline['text']}")
    figures.add(
        "decided sentences", int(headline["decided"]), "count", n=1, headline=headline["text"],
        attempts=attempts, not_faithful=unfaithful,
    )


def kills(figures, options):
    """Kills, resumes, and begins anew when a run comes to its end meanwhile."""
    moment = random.Random(options.seed)
    mark = f"CROSSTALK_BENCH={os.getpid()}.{time.monotonic_ns()}"
    done = lost = left = ended = 0
    with tempfile.TemporaryDirectory() as directory:
        number, kept = 0, []
        while done < options.kills:
            out = Path(directory) / f"run-{number}"
            killed = start_and_kill(out, options, mark, moment.uniform(0.0, options.span))
            done += killed
            left += len(runs.left_behind(mark, SOON))
            now = runs.samples(out)
            lost += missing(kept, now)
            ended += not killed
            number, kept = (number, now) if killed else (number + 1, [])
        # The last one is brought to its end.
        out = Path(directory) / f"run-{number}"
        code, text = whole(command(out, options), 300, marked(mark))
        if code != 0:
            print(text[-2000:], file=sys.stderr)
        lost += missing(kept, runs.samples(out))
        left += len(runs.left_behind(mark, SOON))
    figures.add("samples lost", lost, "count", n=done, runs_ended=ended, kept=len(kept), scale=options.scale)
    figures.add("processes left", left, "count", n=done)
    figures.add("resumed to its end", int(code == 0), "count", n=1)


def command(out, options):
    """Begins a run, or resumes it where it left a journal."""
    if (out / "journal.ndjson").exists():
        return [str(ours.CROSSTALK), "--json", "resume", str(out)]
    return runs.run("kosmos", out, "--quick", "--set", f"graph.pagerank.scale={options.scale}")


def marked(mark):
    return dict([mark.split("=", 1)])


def start_and_kill(out, options, mark, seconds):
    """Whether the kill came before the run's own end."""
    if out.exists() and not (out / "journal.ndjson").exists():
        # Killed before it had a journal: there is nothing to lose, and nothing to resume.
        out = clear(out)
    child = subprocess.Popen(
        command(out, options), env={**os.environ, **marked(mark)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    try:
        _, complaint = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        child.stderr.close()
        return True
    if child.returncode != 0:
        sys.exit(f"the run ended with {child.returncode} by itself:\n{complaint[-2000:]}")
    return False


def clear(out):
    subprocess.run(["rm", "-r", str(out)], check=True)
    return out


def missing(kept, now):
    """How many of the samples kept before are not where they were."""
    return sum(old != new for old, new in zip(kept, now)) + max(0, len(kept) - len(now))


if __name__ == "__main__":
    main()
