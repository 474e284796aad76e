"""sysbench's transactions on MariaDB, beside background work."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lib.arms import measured, row
from lib.guarded import held
from lib.loads import CORES, in_background, until
from lib.wire import Server, output


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
        command = in_background("bench", bed.load("compute", t=50 * CORES))
        blocks = measured("transactions", database.run, held(command, "1%"), options)
        for metric, key in (("transactions", "rate"), ("p99 of transactions", "p99")):
            pairs = [(block["guard"].foreground[key], block["alone"].foreground[key]) for block in blocks]
            figures.pairs("alone", metric, pairs, agreed="1%")
        row(figures, "transactions", blocks, seconds=lambda run: 1 / run["rate"])
        row(figures, "p99 of transactions", blocks, seconds=lambda run: run["p99"])


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
