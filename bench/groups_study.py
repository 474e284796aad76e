#!/usr/bin/env python3
"""`crosstalk run groups`, quick, whole until its first look, and with version 2 alone in a virtual
machine (`tools/vm`): how long they take, what each part of a container brings, and what users in
groups cost each other.

Needs root, and Docker for its arm. The whole takes an hour, the virtual machine a quarter of one.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.wire import ROOT

#: Longer than any takes (s).
LIMIT = 2 * 3600
RUNS = ["quick", "whole", "version-2"]
#: The figure's name → the claim whose number it is, and whether that is turned over to be a gain.
CLAIMS = {
    "limits: gain": ("limits", True),
    "private LRU: gain": ("lru", True),
    "limits, one streamed file: gain": ("limits-shared-file", True),
    "private LRU, one streamed file: gain": ("lru-shared-file", True),
    "Docker: gain": ("docker", True),
    "a streamer's cost, grouped": ("streamer-grouped", False),
    "a streamer's cost, plain": ("streamer-plain", False),
    "cost without pressure": ("cost", False),
    "a group a user": ("group-a-user", False),
    "bias of the sum": ("bias", False),
}
#: The modules and files of the virtual machine, and its script.
MACHINE = ["--memory", "4096M", "--disk", "4096", "--seconds", "1700", "--kernel", "cgroup_no_v1=all"]
MODULES = ["virtio_blk", "virtio_pci", "ext4", "crc32c_generic", "overlay"]
SCRIPT = """
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /etc /data
echo root:x:0:0:root:/:/bin/sh >/etc/passwd
echo root:x:0: >/etc/group
/usr/sbin/mke2fs -q -t ext4 /dev/vda && mount -t ext4 /dev/vda /data && cd /data
export TMPDIR=/data
crosstalk --json run groups --runs 1 --out /data/run
"""


def main():
    options = arguments()
    ours.build()
    figures = Figures("groups_study", part=set(options.runs) != set(RUNS))
    for name in options.runs:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(options.keep or directory) / name
            version_2(figures) if name == "version-2" else here(figures, name, out)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", nargs="+", default=RUNS, choices=RUNS)
    parser.add_argument("--keep", help="leave the runs' directories here")
    return parser.parse_args()


def here(figures, name, out):
    first = tomllib.loads((ROOT / "studies" / "groups.toml").read_text())["looks"][0]
    arguments = ["groups", "--quick"] if name == "quick" else ["groups", f"--looks={first}"]
    planned, taken, code, text = runs.planned_and_taken(arguments, out, LIMIT)
    if code != 0:
        raise SystemExit(f"{name} ended with {code}:\n{text[-2000:]}")
    findings = runs.result(text)["findings"]
    figures.add(f"{name}: time", taken, "s", n=1, planned=planned)
    figures.add(f"{name}: sentence decided", int(findings["headline"]["decided"]), "count", n=1)
    claims = {claim["name"]: claim for claim in findings["claims"]}
    for metric, (claim, gain) in CLAIMS.items():
        found = claims.get(claim, {}).get("found") or {}
        if found.get("interval") is None:
            continue
        ends = [found["value"], *found["interval"]]
        value, low, high = [ends[0] ** -1, ends[2] ** -1, ends[1] ** -1] if gain else ends
        figures.add(f"{name}: {metric}", value, "ratio", low, high, found["n"])
    for claim in findings["claims"]:
        print(f"  {claim['verdict']:>18}  {claim['statement']}")
    print(f"  {findings['headline']['text']}")


def version_2(figures):
    """Whether the study ends with its report, and which of its cells had no attempt."""
    metric = "version-2: ends with its report"
    make = shutil.which("mke2fs", path="/usr/sbin:/sbin:/usr/bin")
    if make is None:
        figures.missing(metric, "mke2fs is missing (e2fsprogs)")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write(SCRIPT.replace("/usr/sbin/mke2fs", make))
        script.flush()
        words = [ROOT / "tools" / "vm", "run", *MACHINE, "--file", f"{ours.CROSSTALK}=bin/crosstalk", "--file", make]
        words += [word for module in MODULES for word in ("--module", module)]
        ended = subprocess.run([*words, script.name], capture_output=True, text=True, check=False)
    if ended.returncode == 4:
        figures.missing(metric, ended.stderr.splitlines()[0])
        return
    last = next((line for line in reversed(ended.stdout.splitlines()) if line.startswith("{")), None)
    findings = json.loads(last)["findings"] if last else None
    cells = findings["cells"] if findings and ended.returncode == 0 else []
    protected = [cell for cell in cells if cell["levels"].get("isolation") == "protection" and cell["finished"]]
    figures.add(metric, int(bool(protected)), "count", n=1)
    if findings is None:
        print(ended.stdout[-2000:], ended.stderr[-2000:])
        return
    empty = [f"{cell['experiment']} {cell['levels']}" for cell in findings["cells"] if not cell["finished"]]
    print(f"  cells without an attempt: {empty or 'none'}")


if __name__ == "__main__":
    main()
