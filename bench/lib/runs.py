"""Whole runs of the program, and what they leave in their journals."""

import json
import os
import time
from pathlib import Path

from lib.ours import CROSSTALK
from lib.specs import whole

STUDIES = Path(__file__).resolve().parent.parent / "studies"


def run(study, out, *options):
    """The command that runs a study into a directory and prints its result as JSON."""
    return [str(CROSSTALK), "--json", "run", str(study), "--out", str(out), *options]


def result(text):
    """The last line of what such a command printed."""
    return json.loads(text.splitlines()[-1])


def journal(directory):
    """The whole lines of a run's journal; a torn last one is left out."""
    path = Path(directory) / "journal.ndjson"
    if not path.exists():
        return []
    lines = []
    for line in path.read_text(errors="replace").split("\n")[:-1]:
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines


def planned_and_taken(arguments, out, limit):
    """Runs a study. What `crosstalk plan` says just before that its whole budget takes,
    what it takes (s), how it ends, and what it says."""
    code, text = whole([str(CROSSTALK), "--json", "plan", *arguments], 60)
    if code != 0:
        raise SystemExit(text)
    planned = result(text)["seconds"]["most"]
    began = time.monotonic()
    code, text = whole(run(arguments[0], out, *arguments[1:]), limit)
    return planned, time.monotonic() - began, code, text


def samples(directory):
    return [line for line in journal(directory) if line["line"] == "sample"]


def left_behind(mark, seconds):
    """The processes that carry `mark` in their environment and are still there
    after so many seconds, by process id."""
    until = time.monotonic() + seconds
    while (found := carrying(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def carrying(mark):
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            continue
        if int(process) != os.getpid() and mark.encode() in environment:
            found.append(int(process))
    return found
