#!/usr/bin/env python3
"""Claims made false on purpose, on the samples of real runs: how many of them a study calls true.

Each bundled study runs in its quick form. Then each of its claims that this run decided is made false, in turn: what it
expects is turned round, a published size is three times what was found, an order is reversed. (A peak is left as it is.) The run is analysed again with the false claim. A false direction must be refuted, and a false size must not be
reproduced. A claim that is set apart (calibration, implied, not comparable) is judged like the others here.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.specs import whole

STUDIES = ["kosmos", "latency", "groups", "infiniband", "volunteer"]
#: Kinds of claim, by the key that states one.
KINDS = ["ratio", "trend", "order", "peak", "threshold", "correlation"]
#: Verdicts of claims that a run decides; the others may be true or false.
DECIDED = {"reproduced", "direction-only", "not-reproduced", "implied", "calibration", "not-comparable"}
#: A false size is so many times what was found.
FACTOR = 3
#: Seconds of a quick run, and of an analysis.
LONGEST, ANALYSIS = 900, 60
SET_APART = ("calibration", "implied", "not_comparable", "published", "margin", "expect", "primary")


def main():
    options = arguments()
    ours.build()
    figures = Figures("false_claims", part=set(options.studies) != set(STUDIES))
    for study in options.studies:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(options.runs) / study if options.runs else quick(study, Path(folder) / "run")
            made = list(false_claims(directory, Path(folder) / "false"))
        report(figures, study, made)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", help="a folder that holds a run of each study, by its name, instead of running them")
    parser.add_argument("studies", nargs="*", default=STUDIES)
    return parser.parse_args()


def quick(study, directory):
    print(f"{study}: running its quick form", flush=True)
    code, text = whole(runs.run(study, directory, "--quick"), LONGEST)
    if not (directory / "findings.json").exists():
        sys.exit(f"crosstalk run {study} --quick ended with {code}:\n{text[-2000:]}")
    return directory


def false_claims(directory, copy):
    """(kind, whether its size is false, verdict, name) of each false claim."""
    findings = json.loads((directory / "findings.json").read_text())
    text = (directory / "study.toml").read_text()
    written = tomllib.loads(text)["claim"]
    shutil.copytree(directory, copy)
    for found in findings["claims"]:
        claim = written[found["name"]]
        kind = next(kind for kind in KINDS if kind in claim)
        if found["verdict"] not in DECIDED or found["found"] is None:
            continue
        for is_size, lines in falsified(kind, claim, found):
            (copy / "study.toml").write_text(with_claim(text, found["name"], lines))
            code, output = whole([str(ours.CROSSTALK), "--json", "report", str(copy)], ANALYSIS)
            if code not in (0, 1, 3):
                sys.exit(f"{found['name']}: crosstalk report ended with {code}:\n{output[-2000:]}")
            again = json.loads((copy / "findings.json").read_text())
            verdict = next(one for one in again["claims"] if one["name"] == found["name"])
            yield kind, is_size, verdict["verdict"], found["name"]


def falsified(kind, claim, found):
    """Each false form of a claim: whether its size is false, and its lines."""
    value = found["found"]["value"]
    if kind == "order":
        yield False, {"order.ascending": list(reversed(claim["order"]["ascending"]))}
    elif kind == "peak":
        return  # Which other levels there are is in the experiment, and a label's are in the run alone.
    else:
        bound = neutral = 1.0 if kind == "ratio" else 0.0
        stated = re.match(r"\s*([<>]=?)\s*(\S+)", claim.get("expect", ""))
        if stated:
            bound = float(stated.group(2).rstrip("%")) / (100 if stated.group(2).endswith("%") else 1)
        # On the side of the bound where the number is not.
        if abs(value - bound) > 0.02 * max(abs(bound), abs(neutral), 1e-12):
            yield False, {"expect": f'"{"<" if value > bound else ">"} {bound!r}"'}
        if kind == "ratio" and value > 0:
            far = value * FACTOR if value >= 1 else value / FACTOR
            yield True, {"expect": f'"{">" if value >= 1 else "<"} 1"', "published": repr(far), "margin": '"10 %"'}


def with_claim(text, name, lines):
    """The study with this claim changed: what sets it apart is gone, and it is judged by itself. The engines'
    lists of comparable claims are gone, too: a study may list there only claims that are set apart."""
    text = re.sub(r"^comparable = .*\n", "", text, flags=re.M)
    head = re.search(rf"^\[claim\.{re.escape(name)}\]\n", text, re.M)
    end = text.index("\n[", head.end()) + 1
    own = [line for line in text[head.end():end].splitlines() if not line.startswith(tuple(f"{key} =" for key in SET_APART))]
    added = [f"{key} = {value}" for key, value in lines.items() if "." not in key] + ["primary = false"]
    changed = text[:head.end()] + "\n".join([*own[:2], *added, *own[2:]]) + "\n" + text[end:]
    for key, value in lines.items():
        if "." in key:
            table, member = key.split(".")
            section = re.search(rf"^\[claim\.{re.escape(name)}\.{table}\]\n(?:[^\[].*\n|\n)*?{member} = (\[[^\]]*\])", changed, re.M)
            changed = changed[: section.start(1)] + json.dumps(value) + changed[section.end(1):]
    return changed


def report(figures, study, made):
    directions = [verdict for _, is_size, verdict, _ in made if not is_size]
    sizes = [verdict for _, is_size, verdict, _ in made if is_size]
    true = [name for _, _, verdict, name in made if verdict in ("reproduced", "implied")]
    for name in true:
        print(f"  {study}: the false claim {name} is called true")
    kinds = sorted({kind for kind, *_ in made})
    refuted = sorted({kind for kind, is_size, verdict, _ in made if not is_size and verdict == "not-reproduced"})
    print(f"  {study}: kinds of claim {', '.join(kinds)}; refuted where false: {', '.join(refuted)}", flush=True)
    figures.add(f"{study}: false claims called true", len(true), "claims", n=len(made))
    if directions:
        share = directions.count("not-reproduced") / len(directions)
        figures.add(f"{study}: false directions that are refuted", share, "share", n=len(directions))
    if sizes:
        share = sum(verdict != "reproduced" for verdict in sizes) / len(sizes)
        figures.add(f"{study}: false sizes that are not reproduced", share, "share", n=len(sizes))
    share = len(refuted) / len(kinds) if kinds else 0.0
    figures.add(f"{study}: kinds of claim of which a false one is refuted", share, "share", n=len(kinds))


if __name__ == "__main__":
    main()
