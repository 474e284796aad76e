"""The foreground beside a real BOINC client that stands where a service does and never suspends by itself."""

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from lib.arms import measured, promised, row
from lib.boinc import computing_client
from lib.guarded import SETTLE, Background, idle_class, service_group
from lib.loads import CORES, Guard, placed

#: Under guard, and as it comes.
GUARDED, UNGUARDED = "beside a BOINC client that is guarded", "beside a BOINC client"


def client(figures, bed, options):
    if not shutil.which("boinc"):
        figures.missing(GUARDED, "no BOINC client here: apt-get install --no-install-recommends boinc-client")
        return
    rounds = bed.rounds("compute", options.seconds, t=CORES)
    with contextlib.ExitStack() as over:
        folder = over.enter_context(tempfile.TemporaryDirectory(prefix="crosstalk-"))
        _, folders = over.enter_context(service_group())
        boinc = over.enter_context(computing_client(Path(folder), placed(folders, [])))
        foreground = lambda: bed.timed("compute", rounds, t=CORES)
        boinc.set_mode("never")
        blocks = measured(UNGUARDED, foreground, ways(boinc, folders, options.more), options)
    if options.more:
        figures.pairs("alone", UNGUARDED, [(block["nothing"].foreground, block["alone"].foreground) for block in blocks])
    promised(figures, GUARDED, blocks, "1%")
    row(figures, UNGUARDED, blocks)


def ways(boinc, folders, more):
    """In the idle class by one line, at the top of the tree, where nothing but the client is below; under
    guard; with `more` also as it comes. It computes only meanwhile."""
    above = [folder.parent for folder in folders]

    @contextlib.contextmanager
    def computing(held):
        boinc.set_mode("always")
        try:
            with held as guard:
                time.sleep(SETTLE)
                yield Background(folders, guard=guard)
        finally:
            boinc.set_mode("never")

    guard = lambda: Guard(["boinc", "--boinc-address", f"127.0.0.1:{boinc.port}"], "1%")
    held = {"exec": lambda: computing(idle_class(above)), "guard": lambda: computing(guard())}
    return {**held, "nothing": lambda: computing(contextlib.nullcontext())} if more else held
