#!/usr/bin/env python3
"""`crosstalk guard` at work: own work beside external work that is guarded, and alone, in
interleaved pairs of one run.

| part | what |
|---|---|
| cpu | computing on one, all and twice as many threads as processors, beside 50 and 100 spinning threads a processor |
| database | sysbench's transactions on MariaDB beside 50 spinning threads a processor |
| service | the same beside 50 a processor that stand in a group below another at the top, as services do: the idle class does not reach from there |
| bandwidth | loads that depend on each other, and copying, both beyond any cache, beside copying |
| memory | in a parent group of 1 GB: 600 MB of file pages or of memory, beside reading or writing twice the parent's memory |
| idle | what is donated of the processors that own work leaves, by 1, 50 and 100 threads a processor |
| reaction | own work's first second, external work's return, the guard's own CPU time |
| client | computing on all processors beside a real BOINC client that stands where a service does and never suspends by itself: unguarded, and under guard |
| kills | `kill -9` of the guard at random moments: what stays frozen or changed |

External work is started by `crosstalk exec --external`. Own work is fixed (rounds of peers/load.c),
or of a fixed time (transactions). Needs root.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

from lib.boinc import donating
from lib.loads import CORES, GROUPS, MIB, Bed, Counter, Guard, begin, begun, cpu_time, directories, external
from lib.loads import foreign, knobs, placed, running, until
from lib.pairs import interleaved
from lib.signed_rank import quantile
from lib.wire import Server, output, run_quietly

#: Until external work runs and the guard knows what it does, in seconds.
SETTLE = 2.5
#: Pairs of runs that are long.
LONG_PAIRS = 20
#: Own threads, by name.
OWN = {"one thread": 1, "all processors": CORES, "twice the processors": 2 * CORES}
#: How often the guard's own cost is measured.
COSTS = 6
#: Beyond the cache of any machine.
BEYOND = 512 * MIB
#: What a group has in which memory is short, and own work's part of it.
PARENT, OWN_PAGES = 1 << 30, 600 * MIB
#: What external work may have there that takes no page from own work.
OTHERS_PAGES = "256 MiB"


def main():
    options = arguments()
    wanted, figures = begin("guard", options.only, PARTS, "part")
    bed = Bed()
    for part in wanted:
        PARTS[part](figures, bed, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="some of the parts, with commas")
    parser.add_argument("--pairs", type=int, default=60, help=f"of transactions {LONG_PAIRS} at most")
    parser.add_argument("--seconds", type=float, default=2, help="that own work takes alone")
    parser.add_argument("--transactions", type=int, default=30, help="seconds of them, at a time")
    parser.add_argument("--starts", type=int, default=100, help="of own work, in `reaction`")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


@contextlib.contextmanager
def guarded(command, slowdown, settle=SETTLE, before=()):
    """External work under guard, that has settled; the guard, whose sums are there afterwards.
    `before` has both begin where it says."""
    with running([*before, *command]):
        begun("bench")
        with Guard("bench", slowdown, before) as guard:
            time.sleep(settle)
            guard.folders = directories("bench")
            yield guard


@contextlib.contextmanager
def service_group():
    """A group below another at the top while the block runs: its name and its directories."""
    above = f"crosstalk-bench-{os.getpid()}.slice"
    with foreign(above), foreign(f"{above}/service") as folders:
        yield f"/{above}/service", folders


@contextlib.contextmanager
def guarded_service(command, slowdown):
    """The same of external work in such a group."""
    with service_group() as (name, folders), running(placed(folders, command)):
        with Guard(name, slowdown) as guard:
            time.sleep(SETTLE)
            guard.folders = folders
            yield guard


def slowed(figures, metric, own, begins, slowdown, options):
    """Own work's time beside external work that `begins`, guarded, over its time alone; what is donated
    meanwhile."""
    donated, costs = [], []

    def beside():
        with begins() as guard:
            used, began = cpu_time(guard.folders), time.monotonic()
            taken = own()
            donated.append((cpu_time(guard.folders) - used) / (time.monotonic() - began))
        costs.append(guard.sums["cpu"] / guard.sums["seconds"])
        return taken

    pairs = interleaved(beside, own, options.pairs, options.seed)
    figures.pairs("alone", metric, pairs, agreed=slowdown, cost=max(costs))
    told = f"{metric}: processors donated meanwhile, median"
    figures.add(f"donated, {metric}", statistics.median(donated), "processors", n=len(donated), what=told)


def cpu(figures, bed, options):
    for name, threads in OWN.items():
        rounds = bed.rounds("compute", options.seconds, t=threads)
        for each in (50, 100):
            own = lambda: bed.timed("compute", rounds, t=threads)
            begins = lambda: guarded(external("bench", bed.load("compute", t=each * CORES)), "1%")
            slowed(figures, f"computing, {name}, beside {each} a processor", own, begins, "1%", options)


def service(figures, bed, options):
    for name, threads in OWN.items():
        rounds = bed.rounds("compute", options.seconds, t=threads)
        own = lambda: bed.timed("compute", rounds, t=threads)
        begins = lambda: guarded_service(bed.load("compute", t=50 * CORES), "1%")
        slowed(figures, f"computing, {name}, beside 50 a processor in a service", own, begins, "1%", options)


def database(figures, bed, options):
    programs = ["sysbench", "mariadbd", "mariadb-install-db", "mariadb"]
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        for metric in ("transactions", "p99 of transactions"):
            figures.missing(metric, f"{', '.join(missing)} not installed")
        return
    database = Database(bed.folder / "mariadb", options.transactions)
    with Server(database.command(), database.ready):
        database.prepare()
        command = external("bench", bed.load("compute", t=50 * CORES))

        def beside():
            with guarded(command, "1%"):
                return database.run()

        # One transaction in a hundred is slower than the p99: in a short run those of its start alone.
        both = interleaved(beside, database.run, min(options.pairs, LONG_PAIRS), options.seed)
        figures.pairs("alone", "transactions", [(ours["rate"], theirs["rate"]) for ours, theirs in both])
        figures.pairs("alone", "p99 of transactions", [(ours["p99"], theirs["p99"]) for ours, theirs in both])


class Database:
    """A MariaDB server as the workload `oltp` starts it: a directory and a socket of its own."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds
        # A socket's path must be short (unix(7)).
        self.place = tempfile.TemporaryDirectory(prefix="crosstalk-")
        self.socket = Path(self.place.name) / "s"

    def command(self):
        install = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
        output([*install, "--user=root", f"--datadir={self.folder}"], 300)
        words = ["mariadbd", "--no-defaults", "--skip-networking", "--user=root", "--innodb-buffer-pool-size=64M"]
        return [*words, f"--datadir={self.folder}", f"--socket={self.socket}", f"--pid-file={self.folder}/pid"]

    def ready(self):
        if until(lambda: subprocess.run(self.client("SELECT 1"), capture_output=True).returncode == 0, 60) is None:
            sys.exit("MariaDB does not begin")

    def client(self, words):
        return ["mariadb", "--no-defaults", "--user=root", f"--socket={self.socket}", f"--execute={words}"]

    def prepare(self):
        output(self.client("CREATE DATABASE crosstalk"), 60)
        output(self.sysbench("--threads=4", "prepare"), 300)
        self.run()

    def sysbench(self, *words):
        tables = ["--tables=4", "--table-size=10000", "--percentile=99"]
        where = [f"--mysql-socket={self.socket}", "--mysql-user=root", "--mysql-db=crosstalk"]
        return ["sysbench", "oltp_read_write", "--db-driver=mysql", *where, *tables, *words]

    def run(self):
        text = output(self.sysbench("--threads=8", f"--time={self.seconds}", "--events=0", "run"), self.seconds + 120)
        number = lambda pattern: float(re.search(pattern, text)[1])
        p99 = number(r"99th percentile:\s+([0-9.]+)") * 1e-3
        return {"rate": number(r"transactions:.*\(([0-9.]+) per sec"), "p99": p99}


def bandwidth(figures, bed, options):
    command = external("bench", bed.load("stream", t=CORES, b=64 * MIB))
    for name, kind in (("loads", "chase"), ("copying", "stream")):
        rounds = bed.rounds(kind, options.seconds, b=BEYOND)
        own = lambda: bed.timed(kind, rounds, b=BEYOND)
        slowed(figures, f"{name}, beside copying", own, lambda: guarded(command, "5%"), "5%", options)


def memory(figures, bed, options):
    tree = GROUPS / "memory"
    if not (tree / "memory.limit_in_bytes").exists():
        for metric in ("file pages", "pages of memory", "killed for memory"):
            # On v2 groups of external work stand at the top, below no group that has a limit.
            figures.missing(metric, "no memory controller of v1 here, below whose groups external work's stand")
        return
    for left in tree.glob("crosstalk-bench-*"):
        # One that a killed bench left; others are busy.
        with contextlib.suppress(OSError):
            left.rmdir()
    before = kills_for_memory()
    with Parent(tree / f"crosstalk-bench-{os.getpid()}") as parent:
        small, large = bed.file("small", OWN_PAGES), bed.file("large", 2 * PARENT)
        if small and large:
            displaced(figures, "file pages", parent, bed, ("pages", small), ("scan", large), options)
        else:
            figures.missing("file pages", "the disk has no room for 2.6 GB")
        with swap() as why:
            if why:
                figures.missing("pages of memory", why)
            else:
                displaced(figures, "pages of memory", parent, bed, ("touch", None), ("sweep", None), options)
    told = "processes that the kernel killed meanwhile for want of memory"
    figures.add("killed for memory", kills_for_memory() - before, "count", what=told)


def kills_for_memory():
    """How many processes the kernel has killed for want of memory since it runs."""
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return next(int(number) for key, number in lines if key == "oom_kill")


def displaced(figures, metric, parent, bed, own, others, options):
    """Own work whose pages external work displaces, both in one group that has too little for both."""
    (kind, file), (theirs, their_file) = own, others
    more = {"f": file} if file else {}
    command = bed.load(theirs, b=2 * PARENT, **({"f": their_file} if their_file else {}))
    rounds = int(bed.rate(kind, before=parent.enter(), b=OWN_PAGES, **more) * options.seconds)

    def timed(**watched):
        if file:
            # Whoever reads a page first has it on its account.
            bed.forget(file)
        return bed.timed(kind, rounds, before=parent.enter(), b=OWN_PAGES, **more, **watched)

    @contextlib.contextmanager
    def without_traces(begun):
        """The pages of a group that has gone are its parent's, and would be in the way of whoever comes next."""
        with begun as it:
            yield it
        if their_file:
            bed.forget(their_file)

    # Its group of memory stands below that of whoever starts it, where the guard looks for it, too.
    in_parent = lambda command: guarded(external("bench", command), "5%", before=parent.enter())
    begins = lambda command: lambda: without_traces(in_parent(command))
    slowed(figures, metric, timed, begins(command), "5%", options)
    sign = bed.folder / "sign"

    def timed_first():
        """External work begins once own work's pages are there and it works on them."""
        counter = Counter(bed)
        both = Thread(target=lambda: (counter.await_more(), sign.touch()))
        both.start()
        try:
            return timed(c=counter.path)
        finally:
            both.join()
            sign.unlink()

    waits = ["sh", "-c", f'until [ -e {sign} ]; do sleep 0.01; done; exec "$@"', "sh", *command]
    slowed(figures, f"{metric}, own first", timed_first, begins(waits), "5%", options)

    @contextlib.contextmanager
    def unguarded(*more):
        with running([*parent.enter(), *external("bench", command, *more)]):
            begun("bench")
            time.sleep(SETTLE)
            yield

    def beside_none_that_runs():
        with without_traces(unguarded()), frozen(directories("bench")):
            return timed()

    def beside_none_that_takes_any():
        with without_traces(unguarded("--memory", OTHERS_PAGES)):
            return timed()

    # What no guard of memory can spare own work: that external work had it before, and all that is not memory.
    controls = {"runs": beside_none_that_runs, **({"takes any": beside_none_that_takes_any} if file else {})}
    for none, control in controls.items():
        pairs = interleaved(control, timed, min(options.pairs, LONG_PAIRS), options.seed)
        figures.pairs("alone", f"{metric}, beside none that {none}", pairs)


@contextlib.contextmanager
def frozen(folders):
    """A group that stands still while the block runs."""
    ways = [("freezer.state", "FROZEN", "THAWED"), ("cgroup.freeze", "1", "0")]
    files = [(folder / name, *words) for folder in folders for name, *words in ways]
    file, stop, go_on = next(way for way in files if way[0].exists())
    file.write_text(stop)
    try:
        yield
    finally:
        file.write_text(go_on)


class Parent:
    """A group of v1's memory controller that has 1 GB, of pages and of swap as they come."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.path.mkdir()
        (self.path / "memory.limit_in_bytes").write_text(str(PARENT))
        return self

    def __exit__(self, *_):
        # What was in it has ended; its pages go with it.
        until(lambda: not (self.path / "cgroup.procs").read_text(), 10)
        with contextlib.suppress(OSError):
            (self.path / "memory.force_empty").write_text("0")
        self.path.rmdir()

    def enter(self):
        """The words that have a command begin in it."""
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh"]


@contextlib.contextmanager
def swap():
    """Swap in compressed memory (zram) while the block runs; why there is none."""
    run_quietly("modprobe zram")
    made = None
    if Path("/sys/class/zram-control").exists() and shutil.which("zramctl"):
        done = subprocess.run(["zramctl", "--find", "--size", "4G"], capture_output=True, text=True)
        made = done.stdout.strip() if done.returncode == 0 else None
    if not made or not (run_quietly(f"mkswap {made}") and run_quietly(f"swapon -p 100 {made}")):
        if made:
            run_quietly(f"zramctl --reset {made}")
        yield "no zram here: its module, or zramctl and mkswap, are missing"
        return
    try:
        yield None
    finally:
        subprocess.run(["swapoff", made], check=True)
        run_quietly(f"zramctl --reset {made}")


def idle(figures, bed, options):
    if CORES < 2:
        for by in ("", ", by 50 threads a processor", ", by 100 threads a processor"):
            figures.missing(f"donated of idle processors{by}", "one processor leaves none")
        return
    rounds = bed.rounds("compute", 3 * options.seconds)
    for each, number in ((1, options.pairs), (50, min(options.pairs, LONG_PAIRS)), (100, min(options.pairs, LONG_PAIRS))):
        command, pairs = external("bench", bed.load("compute", t=each * CORES)), []
        for _ in range(number):
            with guarded(command, "1%") as guard:
                used, began = cpu_time(guard.folders), time.monotonic()
                # One thread of own work leaves all processors but one.
                bed.timed("compute", rounds)
                pairs.append((cpu_time(guard.folders) - used, (time.monotonic() - began) * (CORES - 1)))
        beside = "" if each == 1 else f", by {each} threads a processor"
        figures.pairs("idle", f"donated of idle processors{beside}", pairs)


def reaction(figures, bed, options):
    counter, back = Counter(bed), []
    command = external("bench", bed.load("compute", t=50 * CORES, c=counter.path))
    own = lambda: bed.rate("compute", 1, t=CORES)

    def beside():
        with guarded(command, "1%"):
            before = counter.read()
            time.sleep(1)
            usual = counter.read() - before
            done = own()
            back.append(returned(counter, usual))
        return done

    pairs = interleaved(beside, own, options.starts, options.seed)
    told = "own work's first second, of what it does alone: 95 % of the starts reach"
    starts = [ours / theirs for ours, theirs in pairs]
    figures.add("first second", *reached(starts), n=len(starts), what=told)
    alone = [theirs for _, theirs in pairs]
    chance = [one / next_ for one, next_ in zip(alone, alone[1:])]
    told = "the same of own work alone, of what it does alone the next time: what chance makes of it"
    figures.add("first second, by chance", *reached(chance), n=len(chance), what=told)
    figures.pairs("alone", "first second, median", pairs)
    told = "from own work's end until external work has 80 % of its rate again, slowest"
    figures.add("external work is back", max(back), "s", n=len(back), what=told)
    for name in ("quiet", "at work"):
        costs, itself = [], []
        for _ in range(COSTS):
            # Once it has begun: its memory is made once.
            with guarded(command, "1%") as guard:
                used, began = guard.cpu(), time.monotonic()
                if name == "quiet":
                    time.sleep(20)
                else:
                    bed.rate("compute", 20)
                costs.append((guard.cpu() - used) / (time.monotonic() - began))
            itself.append(guard.sums["cost"] / guard.sums["seconds"])
        told = f"the guard's CPU time, of one processor, own work {name}, median"
        point, low, high = quantile(costs, 0.5)
        figures.add(f"own cost, {name}", point, "share", low, high, COSTS, told, itself=statistics.median(itself))


def reached(shares):
    """What 95 % of these reach, with its unit and interval."""
    point, low, high = quantile(shares, 0.05)
    return point, "share", low, high


def returned(counter, usual):
    """Seconds until external work does four fifths of what it usually does in a tenth of a second; 30 at most."""
    began = at = time.monotonic()
    while at - began < 30:
        before, at = counter.read(), time.monotonic()
        time.sleep(0.1)
        if counter.read() - before >= 0.8 * usual * (time.monotonic() - at):
            break
    return at - began


def client(figures, bed, options):
    metrics = {"beside a BOINC client": None, "beside a BOINC client that is guarded": "1%"}
    if not shutil.which("boinc"):
        for metric in metrics:
            figures.missing(metric, "no BOINC client here: apt-get install --no-install-recommends boinc-client")
        return
    rounds = bed.rounds("compute", options.seconds, t=CORES)
    own = lambda: bed.timed("compute", rounds, t=CORES)
    with ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory(prefix="crosstalk-"))
        _, folders = over.enter_context(service_group())
        donor = over.enter_context(donating(Path(folder), placed(folders, [])))

        def alone():
            donor.set_mode("never")
            return own()

        def beside(slowdown):
            donor.set_mode("always")
            with ExitStack() as over:
                if slowdown:
                    address = f"127.0.0.1:{donor.port}"
                    over.enter_context(Guard(["boinc", "--boinc-address", address], slowdown))
                time.sleep(SETTLE)
                return own()

        for metric, slowdown in metrics.items():
            pairs = interleaved(lambda: beside(slowdown), alone, min(options.pairs, LONG_PAIRS), options.seed)
            figures.pairs("alone", metric, pairs, agreed=slowdown)


def kills(figures, bed, options):
    """External work in a group of ours, in one that somebody else has made, and without a group, by
    turns. Own work uses all processors, so that it is frozen and thawed again and again."""
    load = bed.load("compute", t=CORES)
    with ExitStack() as over:
        over.enter_context(running(external("bench", load)))
        ours_, theirs = begun("bench"), over.enter_context(foreign(f"crosstalk-bench-{os.getpid()}"))
        over.enter_context(running(placed(theirs, load)))
        lone = over.enter_context(running(load)).pid
        over.enter_context(running(load))
        kinds = [
            ("bench", lambda: knobs(ours_)),
            (theirs[0].name, lambda: knobs(theirs)),
            (lone, lambda: (Path(f"/proc/{lone}/cgroup").read_text(), guests())),
        ]
        order, found, undone = random.Random(options.seed), 0, []
        for number in range(options.kills):
            target, state = kinds[number % len(kinds)]
            before = state()
            guard = Guard(target, "1%").start()
            time.sleep(order.uniform(0, 3))
            found += state() != before
            guard.kill()
            undone.append(until(lambda: state() == before, 10))
    changed = undone.count(None)
    figures.add("kills", options.kills, "count", what="kills of the guard at random moments")
    figures.add("kills that mattered", found, "count", what="of these, at which something was changed")
    told = "kills of the guard after which a knob is changed or something frozen 10 s later"
    figures.add("changed after kill -9", changed, "count", n=options.kills, what=told)
    if changed < options.kills:
        slowest = max(time_ for time_ in undone if time_ is not None)
        figures.add("undone after kill -9", slowest, "s", n=options.kills - changed, what="until all is as before, slowest")


def guests():
    """The groups in which a guard has processes that had none."""
    return sorted(str(path) for path in GROUPS.glob("*/crosstalk-guests-*"))


PARTS = {
    "cpu": cpu, "service": service, "database": database, "bandwidth": bandwidth, "memory": memory,
    "idle": idle, "reaction": reaction, "client": client, "kills": kills,
}


if __name__ == "__main__":
    main()
