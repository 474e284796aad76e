#!/usr/bin/env python3
"""`crosstalk groups watch`: how many of 10,000 programs are moved into their group before they run, with their
memory; whether any is moved that has its group by inheritance, or that no rule is for; what it adds to a start,
in interleaved pairs with the same start where nothing is watched; its CPU time; how long anybody waits when the
watcher is killed or stopped at random moments; and what the fallback, process events, does of all that.

All of it happens in two mount namespaces: in one programs are watched, in the other they are not.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from lib import ending, ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import quantile
from lib.starters import Namespace, Starter

TREES = Path("/sys/fs/cgroup")
USER = 47_110
#: Starters at once.
SIDE_BY_SIDE = 8
HELD = 16 << 20


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("only root sees which programs others start")
    ending.by_signals()
    ours.build()
    figures = Figures("watch", load=os.getloadavg()[0], **ours.given())
    with scene() as here:
        moved(figures, here, options)
        charged(figures, here)
        added(figures, here, options)
        cost(figures, here, options)
        stranded(figures, here, options)
        fallback(figures, here, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000, help="that are to be moved")
    parser.add_argument("--others", type=int, default=4000, help="that inherit their group; and so many without a rule")
    parser.add_argument("--late", type=int, default=400, help="that the fallback is to move while they run")
    parser.add_argument("--pairs", type=int, default=1000, help="of starts where the group is inherited")
    parser.add_argument("--moves", type=int, default=200, help="pairs of starts where the program is moved")
    parser.add_argument("--seconds", type=float, default=30, help="of 100 starts a second")
    parser.add_argument("--moments", type=int, default=200, help="of kills and stops")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Scene:
    """A group of the bench's own, and two mount namespaces."""

    def __init__(self, folder):
        self.folder, self.name = Path(folder), f"bench-{os.getpid()}"
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        self.watched, self.plain = Namespace(), Namespace()
        self.crosstalk("groups", "create", self.name)
        found = [parent / self.name for parent in TREES.glob("**/crosstalk-groups")]
        self.group = [directory for directory in found if directory.exists()]

    def crosstalk(self, *words):
        subprocess.run([ours.CROSSTALK, *words], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def close(self):
        self.crosstalk("groups", "remove", "--all", "--kill")
        self.watched.close(), self.plain.close()

    @contextmanager
    def watch(self, *options):
        """A watcher that watches. At its end it has `result`."""
        watch = Watch(self, options)
        try:
            yield watch
        finally:
            watch.end()

    @contextmanager
    def starters(self, count=1, watched=True, inherits=True, user=USER):
        namespace = self.watched if watched else self.plain
        group = self.group if inherits and user == USER else []
        all_of_them = [Starter(namespace, user, inherits, group) for _ in range(count)]
        try:
            yield all_of_them
        finally:
            for starter in all_of_them:
                starter.close()


class Watch:
    def __init__(self, scene, options):
        rules = scene.folder / "rules.toml"
        rules.write_text(f'schema = "crosstalk.watch/1"\n[[rule]]\nuser = {USER}\ngroup = "{scene.name}"\n')
        words = scene.watched.command([ours.CROSSTALK, "--json", "groups", "watch", "--rules", rules, *options])
        self.said = scene.folder / "said"
        with self.said.open("w") as said, (scene.folder / "complaints").open("w") as complaints:
            self.process = subprocess.Popen(words, stdout=said, stderr=complaints, env=scene.environment)
        self.result = None
        wait_until(lambda: '"watching"' in self.said.read_text())

    def watcher(self):
        """The process that answers; None while there is none."""
        try:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            named = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "crosstalk-watch\n"]
        except OSError:
            return None
        return int(named[0]) if named else None

    def cpu(self):
        """Seconds of CPU time of both processes, all threads."""
        both = [self.process.pid, self.watcher()]
        tasks = [task for pid in both for task in Path(f"/proc/{pid}/task").iterdir()]
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def end(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait() != 0:
            sys.exit("groups watch failed")
        self.result = json.loads(self.said.read_text().splitlines()[-1])


@contextmanager
def scene():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        here = Scene(folder)
        try:
            yield here
        finally:
            here.close()


def wait_until(holds):
    until = time.monotonic() + 60
    while not holds():
        if time.monotonic() > until:
            sys.exit("something did not happen within a minute")
        time.sleep(0.005)


def moved(figures, here, options):
    """Each program reads its own groups when it begins. The watcher's count of moves says which are its work: those
    that inherit their group would have it without a watcher."""
    with here.watch() as watch:
        due = in_group(here, options.programs, inherits=False)
    figures.add("programs moved", due / options.programs, "share", n=options.programs, placed=due, watch=watch.result)
    with here.watch() as watch:
        inherit = in_group(here, options.others)
        foreign = in_group(here, options.others, user=USER + 1)
    touched = sum(watch.result[count] for count in ("moved", "late", "before", "missed"))
    figures.add("programs that inherit", inherit / options.others, "share", n=options.others, watch=watch.result)
    figures.add("false moves", max(foreign, touched), "count", n=2 * options.others, foreign=foreign, watch=watch.result)


def in_group(here, programs, **who):
    """How many of so many programs see themselves in the group, of many starters at once."""
    with here.starters(SIDE_BY_SIDE, **who) as starters:
        for starter in starters:
            starter.send("placed", programs // SIDE_BY_SIDE, here.name, len(here.group))
        return sum(int(starter.answer()[0]) for starter in starters)


def charged(figures, here):
    """Programs that hold memory: what the group is charged with, over what they have."""
    with here.watch():
        programs = []
        for _ in range(20):
            words = ["setpriv", "--reuid", USER, "--clear-groups", "tail", "-c", HELD]
            program = subprocess.Popen(here.watched.command(words), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            program.stdin.write(bytes(HELD))
            program.stdin.flush()
            programs.append(program)
        have = lambda: sum(anonymous(program.pid) for program in programs)
        wait_until(lambda: have() >= len(programs) * HELD)
        group = next(filter(None, (memory_of(directory) for directory in here.group)))
        figures.add("memory charged", group / have(), "share", n=len(programs), group=group)
        for program in programs:
            program.kill(), program.wait()


def anonymous(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def memory_of(directory):
    """Bytes of programs' memory in a group; None in a tree that does not account for it."""
    try:
        lines = (directory / "memory.stat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.split()[0] in ("anon", "total_rss")), None)


def added(figures, here, options):
    for metric, inherits, pairs in (("inherited", True, options.pairs), ("moved", False, options.moves)):
        with here.watch() as watch:
            with here.starters(inherits=inherits) as [one], here.starters(watched=False, inherits=inherits) as [other]:
                for starter in (one, other):
                    starter.start()
                both = interleaved(one.start, other.start, pairs, options.seed)
        differences = [watched - plain for watched, plain in both]
        for name, share in ((f"added, {metric}", 0.5), (f"added, {metric}, p95", 0.95)):
            point, low, high = quantile(differences, share)
            what = f"a program's start and end where it is watched, over the same where not, {metric}, {share:.0%}"
            figures.add(name, point, "s", low, high, len(both), what, held=watch.result["held"])


def cost(figures, here, options):
    """CPU time while 100 programs a second start in the group."""
    with here.watch() as watch, here.starters() as [starter]:
        before, began, count = watch.cpu(), time.monotonic(), 0
        while (now := time.monotonic() - began) < options.seconds:
            starter.start()
            count += 1
            time.sleep(max(0, count / 100 - (time.monotonic() - began)))
        share = (watch.cpu() - before) / now
    figures.add("processor at 100 starts a second", share, "share", n=count, rate=count / now)


def stranded(figures, here, options):
    """The longest that a start took while the watcher was killed and stopped at random moments."""
    rng = random.Random(options.seed)
    longest, starts, signals = [], 0, []
    with here.watch() as watch:
        with here.starters(2) as inherit, here.starters(2, inherits=False) as move:
            for _ in range(options.moments):
                number = rng.choice([signal.SIGKILL, signal.SIGSTOP])
                wait_until(lambda: watch.watcher() is not None)
                for starter in inherit + move:
                    starter.send("until", 0.8)
                time.sleep(rng.uniform(0, 0.2))
                if (pid := watch.watcher()) is not None:
                    os.kill(pid, number)
                    signals.append(number.name)
                answers = [starter.answer() for starter in inherit + move]
                starts += sum(int(count) for count, _ in answers)
                longest.append(max(seconds for _, seconds in answers))
    figures.add(
        "longest wait", max(longest), "s", n=len(signals), starts=starts, restarts=watch.result["restarts"],
        killed=signals.count("SIGKILL"), stopped=signals.count("SIGSTOP"), longest=longest,
    )


def fallback(figures, here, options):
    """Process events report a program when it runs already: short ones, and ones that stay for a second."""
    by = ("--by", "process-events")
    with here.watch(*by) as watch:
        in_time = in_group(here, options.programs, inherits=False)
    label = "process events (the fallback)"
    total, result = options.programs, watch.result
    what = f"{label}: short programs in their group when they begin"
    figures.add("process events, in time", in_time / total, "share", n=total, what=what, watch=result)
    what = f"{label}: short programs moved before they end"
    figures.add("process events, moved", result["moved"] / total, "share", n=total, what=what)
    with here.watch(*by), here.starters(inherits=False) as [starter]:
        starter.send("followed", options.late, here.name, len(here.group))
        there = starter.answer()
    what = f"{label}: programs that stay, in their group within a second"
    figures.add("process events, in the end", len(there) / options.late, "share", n=options.late, what=what)
    late = [seconds for seconds in there if seconds > 0]
    for share in (0.5, 0.95) if late else ():
        point, low, high = quantile(late, share)
        what = f"{label}: from the first output of a program that is late to its group, {share:.0%}"
        figures.add(f"process events, late, {share:.0%}", point, "s", low, high, len(late), what)


if __name__ == "__main__":
    main()
