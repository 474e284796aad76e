#!/usr/bin/env python3
"""What named groups cost: 1,000 of them made and removed, without processes, by a command each, and what
is left of them; and what `crosstalk exec --group` adds to a command that does nothing, in interleaved
pairs with the same command started without it.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from lib import ours
from lib.figures import Figures
from lib.named import TREES, registry
from lib.pairs import interleaved
from lib.signed_rank import quantile

COMMAND = "/bin/true"


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("groups are made by root only")
    ours.build()
    figures = Figures("groups", groups=options.groups, **ours.given())
    with registry() as environment:
        made_and_removed(figures, environment, options)
        added(figures, environment, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=10, help="of making and removing")
    parser.add_argument("--pairs", type=int, default=200, help="of commands")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def run(command, environment):
    """Seconds that a command takes, which prints nothing to us. It must succeed."""
    words = [str(word) for word in command]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawn(words[0], words, environment, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status != 0:
        sys.exit(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return took


def directories():
    """All named groups of this host, and what they stand in."""
    return {path for parent in TREES.glob("**/crosstalk-groups") for path in [parent, *parent.glob("**/")]}


def made_and_removed(figures, environment, options):
    before, seconds, kept = directories(), [], 0
    for number in range(options.rounds):
        name = f"bench-{os.getpid()}-{number}"
        made = run([ours.CROSSTALK, "groups", "create", name, "--count", options.groups], environment)
        removed = run([ours.CROSSTALK, "groups", "remove", "--all"], environment)
        seconds.append((made, removed))
        kept += len(directories() - before)
        kept += sum(path.is_file() for path in Path(environment["XDG_RUNTIME_DIR"]).glob("**/*.*json"))
    slowest = max(made + removed for made, removed in seconds)
    figures.add("made and removed", slowest, "s", n=options.rounds, seconds=seconds)
    figures.add("left behind", kept, "count", n=options.rounds)


def added(figures, environment, options):
    name = f"bench-{os.getpid()}"
    run([ours.CROSSTALK, "groups", "create", name], environment)
    command = [ours.CROSSTALK, "exec", "--group", name, "--", COMMAND]
    grouped, plain = lambda: run(command, environment), lambda: run([COMMAND], environment)
    grouped(), plain()
    pairs = interleaved(grouped, plain, options.pairs, options.seed)
    differences = [grouped - plain for grouped, plain in pairs]
    for metric, share in (("exec --group added", 0.5), ("exec --group added, p95", 0.95)):
        point, low, high = quantile(differences, share)
        what = f"a command's start and end in a named group, over the same without, {share:.0%} of {len(pairs)} pairs"
        figures.add(metric, point, "s", low, high, len(pairs), what)
    run([ours.CROSSTALK, "groups", "remove", name], environment)


if __name__ == "__main__":
    main()
