"""Figures as the benches write them, one file a bench in bench/results/: a list of

`{name, metric, what, unit, value, low, high, n, must, reached, command, revision, …}`

`low` and `high` are the ends of the 95 % interval, null where there is none;
`reached` is null where nothing must be reached, or where nothing was measured,
and then `value` is null and `why` says why. `bench/promises.toml` holds what
must be reached.
"""

import json
import math
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from lib.signed_rank import middle, ratio
from lib.wire import ROOT

PROMISES = tomllib.loads((ROOT / "bench" / "promises.toml").read_text())
RESULTS = ROOT / "bench" / "results"


class Figures:
    """The figures of one bench; `conditions` are written beside each, with the command
    and the revision they come from. What the file has of others stays until they are
    measured again; at the end of a bench that was asked for all, and not for a `part`,
    what is left of others goes."""

    def __init__(self, name, part=False, **conditions):
        command = shlex.join([f"bench/{name}.py", *sys.argv[1:]])
        self.name, self.rows = name, []
        self.conditions = {**conditions, "command": command, "revision": revision()}
        self.part = part
        self.others = json.loads(self.path().read_text()) if self.path().exists() else []
        #: Set where what measures failed, so that its figures do not tell all.
        self.failed = False

    def add(self, metric, value, unit, low=None, high=None, n=None, what=None, **more):
        """A measured figure, judged by the end of its interval where it has one."""
        promise = PROMISES.get(self.name, {}).get(metric, {})
        must = promise.get("must")
        reached = None if must is None else keeps(must, value if low is None else low, value if high is None else high)
        # An interval without an end, of too few pairs, keeps no promise, and is not written down.
        if high is not None and math.isinf(high):
            low = high = None
        row = {
            "name": self.name, "metric": metric, "what": promise.get("what", what or metric), "unit": unit,
            "value": value, "low": low, "high": high, "n": n, "must": must, "reached": reached,
        }
        self.keep({**row, **more, **self.conditions})
        print(line(row), flush=True)

    def pairs(self, peer, metric, pairs, **more):
        """The ratio of ours over theirs in (ours, theirs) pairs."""
        point, low, high = ratio(pairs)
        ours, theirs = (middle(sorted(side)) for side in zip(*pairs))
        what = f"{metric}: ours / {peer}'s"
        self.add(metric, point, "ratio", low, high, len(pairs), what, peer=peer, ours=ours, theirs=theirs, **more)

    def missing(self, metric, why):
        """A figure that cannot be measured here."""
        promise = PROMISES.get(self.name, {}).get(metric, {})
        row = {
            "name": self.name, "metric": metric, "what": promise.get("what", metric), "unit": None,
            "value": None, "low": None, "high": None, "n": 0, "must": promise.get("must"), "reached": None,
            "why": why,
        }
        self.keep({**row, **self.conditions})
        print(f"{row['what']}: not measured here: {why}", flush=True)

    def keep(self, row):
        """Written down at once: a bench of hours that is cut off keeps what it has."""
        self.rows.append(row)
        measured = {known["metric"] for known in self.rows}
        self.write([other for other in self.others if other["metric"] not in measured] + self.rows)

    def write(self, rows):
        RESULTS.mkdir(parents=True, exist_ok=True)
        new = self.path().with_suffix(".new")
        new.write_text(json.dumps(rows, indent=1) + "\n")
        new.replace(self.path())

    def path(self):
        return RESULTS / f"{self.name}.json"

    def finish(self):
        """Ends the bench, with 1 where a figure is not reached."""
        if not self.part:
            self.write(self.rows)
        print(f"written to {self.path().relative_to(ROOT)}")
        sys.exit(1 if self.failed or any(row["reached"] is False for row in self.rows) else 0)


def revision():
    """The commit that is measured; with a plus where files have changed since."""
    said = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    changed = said("status", "--porcelain", "--", "crates", "studies", "fabrics", "systems", "mixes")
    return said("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def keeps(must, low, high):
    """Whether all from `low` to `high` is as it must be: `<= x`, `>= x` or `x to y`."""
    if must.startswith("<="):
        return high <= float(must[2:])
    if must.startswith(">="):
        return low >= float(must[2:])
    least, most = (float(end) for end in must.split(" to "))
    return least <= low and high <= most


def line(row):
    """One figure for people."""
    judged = "" if row["must"] is None else f", must be {bound(row)}: {'reached' if row['reached'] else 'NOT reached'}"
    return f"{row['what']}: {quantity(row)}{judged}"


def for_people(unit):
    """What to multiply a value with, and the unit that it then has."""
    known = {"share": (100, " %"), "bytes": (1e-9, " GB"), "ratio": (1, ""), "relative": (1, ""), "count": (1, "")}
    return known.get(unit, (1, f" {unit}"))


def bound(row):
    """What must be reached, in the same unit as the value."""
    scale, unit = for_people(row["unit"])
    words = [word if word in ("<=", ">=", "to") else number(float(word) * scale) for word in row["must"].split()]
    return " ".join(words) + unit


def quantity(row):
    """Value, interval and unit, in the units of people."""
    scale, unit = for_people(row["unit"])
    text = f"{number(row['value'] * scale)}"
    if row["low"] is not None or row["high"] is not None:
        ends = [number(row[end] * scale) if row[end] is not None else "…" for end in ("low", "high")]
        text += f" ({ends[0]} to {ends[1]})"
    return text + unit


def number(value):
    """Four digits; small numbers of things as they are."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}" if abs(value) >= 1 or abs(value) < 1e-3 else f"{value:.4f}"
