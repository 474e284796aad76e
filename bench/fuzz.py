#!/usr/bin/env python3
"""Hands spoilt texts to every reader of what others write (`fuzz/`), to as many readers at a time
as there are processors. Needs a nightly compiler and cargo-fuzz. What is found stays in
fuzz/artifacts/TARGET; new texts that reach new code stay in fuzz/target/corpus/TARGET, with
--keep in fuzz/corpus/TARGET.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

from lib.figures import Figures
from lib.wire import ROOT

FUZZ = ROOT / "fuzz"
#: The longest text, in bytes, and the longest time for one, in seconds.
LONGEST, PATIENCE = 1 << 16, 10
#: What libFuzzer ends with, by its documentation: any other than 0 and these is a panic.
SLOW = {70: "timeout", 71: "out of memory"}


def main():
    targets = [target["name"] for target in tomllib.loads((FUZZ / "Cargo.toml").read_text())["bin"]]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for each target [default: 600]")
    parser.add_argument("--target", action="append", choices=targets, help="only this one; may be repeated")
    parser.add_argument("--keep", action="store_true", help="add to the corpus what reaches new code")
    options = parser.parse_args()
    wanted = options.target or targets
    figures = Figures("fuzz", part=wanted != targets, seconds=options.seconds)
    if why := lacking():
        print(f"skipped: {why}")
        for metric in ("panics", "timeouts"):
            figures.missing(metric, why)
        figures.finish()
    panics, timeouts, texts = {}, {}, {}
    for target in wanted:
        cargo("build", target)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ended = pool.map(lambda target: fuzz(target, options.seconds, options.keep), wanted)
    for target, (code, texts[target]) in zip(wanted, ended):
        panics[target] = int(code != 0 and code not in SLOW)
        timeouts[target] = int(code in SLOW)
        print(f"{target}: {texts[target]} texts, {SLOW.get(code, 'panic') if code else 'nothing found'}", flush=True)
    figures.add("panics", sum(panics.values()), "count", n=len(wanted), by_target=panics)
    figures.add("timeouts", sum(timeouts.values()), "count", n=len(wanted), by_target=timeouts)
    figures.add("texts", sum(texts.values()), "count", n=len(wanted), what="texts that were read", by_target=texts)
    figures.finish()


def lacking():
    """What is not here, or nothing."""
    for words, what in ((("--version",), "nightly compiler"), (("fuzz", "--version"), "cargo-fuzz")):
        try:
            there = subprocess.run(["cargo", "+nightly", *words], capture_output=True).returncode == 0
        except FileNotFoundError:
            there = False
        if not there:
            return f"no {what}"
    return None


def fuzz(target, seconds, keep):
    """Runs a target: the code that it ends with, and how many texts it has read."""
    found, corpus = FUZZ / "target" / "corpus" / target, FUZZ / "corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    code, said = cargo(
        "run", target, str(found), str(corpus), "--", f"-max_total_time={seconds}", f"-max_len={LONGEST}",
        f"-timeout={PATIENCE}", "-rss_limit_mb=2048", "-print_final_stats=1",
    )
    if code != 0:
        print(said[-3000:], file=sys.stderr)
    if keep:
        cargo("run", target, str(corpus), str(found), "--", "-merge=1", "-max_len=1024")
    # cargo-fuzz ends with a code of its own and says libFuzzer's.
    status = re.search(r"exited with exit status: (\d+)", said) or re.search(r"exit code: (\d+)", said)
    texts = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    return (int(status[1]) if status else code), int(texts[1]) if texts else 0


def cargo(verb, target, *words):
    command = ["cargo", "+nightly", "fuzz", verb, target, *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout.decode(errors="replace")
    if verb == "build" and done.returncode != 0:
        sys.exit(f"{said[-3000:]}\nfuzz: {target} cannot be built")
    return done.returncode, said


if __name__ == "__main__":
    main()
