"""The application on Spark's master: opened, watched over, closed.

The settings are what somebody who wants Spark to be fast, but not for one program
alone, gives it; what `open` says in `conf` goes before them. The application has a
JVM of its own, which ends with it.
"""

import os
import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

import jvm
from failure import Failure
from tasks import PROPERTY, EventLog

#: How long the event log may lag behind the last job, in seconds.
LAG = 10.0
#: How long a master may take until it listens, in seconds: those of ours do already.
REACH = 5.0
#: How often executors are looked for, in seconds.
LOOK = 0.1
#: How often it is looked whether executors are still there, in seconds.
WATCH = 1.0


class Cluster:
    def __init__(self):
        self.context = self.session = self.log = self.scratch = None
        self.executors, self.counted = [], 0
        #: Why the application was given up, if it was.
        self.lost = None

    def open(self, request):
        """Opens the application and waits for its executors."""
        if self.context is not None:
            raise Failure("an application is open already", remedy="send `close` first")
        master, wanted = request.text("master"), request.whole("executors", 1, least=1)
        patience = request.number("patience", 60, least=0.1)
        deadline = time.monotonic() + patience
        conf, self.scratch = settings(master, request.object("conf"))
        reach(master, time.monotonic() + min(patience, REACH))
        # A JVM that waits for a master cannot be told to stop waiting.
        timer = threading.Timer(deadline - time.monotonic(), jvm.end)
        timer.daemon = True
        timer.start()
        try:
            jvm.start(conf, self.scratch)
            context = SparkContext(conf=conf)
            timer.cancel()
        except Exception as error:
            timer.cancel()
            jvm.end()
            if time.monotonic() < deadline:
                raise
            raise Failure(f"the master {master} did not take the application within {patience:g} s",
                          remedy="look whether a Spark master of the same version answers there") from error
        self.context, self.session = context, SparkSession(context)
        try:
            self._await(wanted, deadline, patience)
        except Exception:
            self.end()
            raise
        path = self._event_log()
        kept = request.text("keep", "") and os.path.join(request.text("keep"), f"{os.path.basename(path)}.gz")
        self.log = EventLog(path, kept)
        return {"executors": self.executors, "event_log": kept or path}

    def _await(self, wanted, deadline, patience):
        """Waits until so many executors have come."""
        while len(self._present()) < wanted:
            if time.monotonic() > deadline:
                came = len(self._present())
                raise Failure(
                    f"{came} of {wanted} executors came within {patience:g} s",
                    remedy="look whether the workers run and have the cores and the memory that were asked for",
                )
            time.sleep(LOOK)
        self.executors = self._present()

    def _present(self):
        """The executors that are there. A local master is its own."""
        local = self.context.master.startswith("local")
        listed = self.context._jsc.sc().statusStore().executorList(True)
        listed = [listed.apply(place) for place in range(listed.size())]
        found = [{"id": one.id(), "host": one.hostPort().rpartition(":")[0]} for one in listed]
        return sorted((one for one in found if local or one["id"] != "driver"), key=lambda one: one["id"])

    def _event_log(self):
        log = self.context._jsc.sc().eventLogger()
        return urlsplit(log.get().logWriter().logPath()).path

    @contextmanager
    def watched(self):
        """While a request is served: gives up where an executor is lost, for the
        others could do its work, and the times would be of another cluster."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), daemon=True)
        thread.start()
        try:
            yield
            self._look()
            if self.lost:
                raise Failure(self.lost)
        finally:
            over.set()
            thread.join(timeout=WATCH)

    def _watch(self, over):
        while not over.wait(WATCH) and not self.lost:
            try:
                self._look()
                if self.lost:
                    self.context.cancelAllJobs()
            except Exception:
                # The JVM has gone: who uses it will say so.
                return

    def _look(self):
        present = {one["id"] for one in self._present()}
        gone = [one for one in self.executors if one["id"] not in present]
        if gone:
            self.lost = f"the executor {gone[0]['id']} on {gone[0]['host']} was lost"

    @contextmanager
    def counting(self):
        """Counts the tasks of the jobs within, from 0."""
        self.counted += 1
        self.context.setLocalProperty(PROPERTY, str(self.counted))
        try:
            yield
        finally:
            self.context.setLocalProperty(PROPERTY, None)

    def nodes(self):
        """The sums of the tasks that were counted last, by executor: see tasks.py."""
        # A job's end is posted before its action returns, and the log is flushed
        # with it: what is posted must only have been written.
        self.context._jsc.sc().listenerBus().waitUntilEmpty(int(1000 * LAG))
        return self.log.of(str(self.counted))

    def is_lost(self):
        """Whether the application has gone, though nobody closed it."""
        if self.context is None:
            return False
        try:
            return self.lost is not None or self.context._jsc.sc().isStopped()
        except Exception:
            return True

    def close(self):
        """Stops the application, and its JVM with it."""
        if self.context is not None:
            try:
                self.context.stop()
            except Exception:
                # A JVM that has gone needs no stopping.
                pass
        self.end()
        return {}

    def end(self):
        """Ends the JVM at once."""
        self.context = self.session = self.log = self.lost = None
        jvm.end()


def settings(master, said):
    """The configuration, and the directory for everything temporary."""
    scratch = said.get("spark.local.dir")
    if not isinstance(scratch, str) or not scratch.startswith("/"):
        raise Failure("`conf`: expected an absolute path as spark.local.dir, for everything temporary")
    events = os.path.join(scratch, "events")
    os.makedirs(events, exist_ok=True)
    conf = {
        "spark.app.name": "crosstalk",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        # A pass of `bayes` has more generated classes than Spark keeps by itself:
        # every pass would compile them anew, and none would ever be warm.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # A table that is sent everywhere is waited for as long as the attempt may take,
        # and not for five minutes, in which large inputs are not even counted.
        "spark.sql.broadcastTimeout": "-1",
        # A small file, too, is read by all cores. One task would read it on one node, and
        # Spark runs what comes after where its input is: all work would stay there.
        "spark.sql.files.openCostInBytes": "1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": os.path.join(scratch, "warehouse"),
        # One file, plain, to be read while it grows.
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{events}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    if master.startswith("local"):
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf |= {name: spelt(value) for name, value in said.items()}
    return SparkConf(loadDefaults=False).setMaster(master).setAll(list(conf.items())), scratch


def spelt(value):
    """As Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def reach(master, deadline):
    """Waits until something listens where the master should, for Spark would wait
    a minute, whatever its settings."""
    if master.startswith("local"):
        return
    place = urlsplit(master)
    if place.scheme != "spark" or not place.hostname or not place.port:
        raise Failure(f"`master`: expected spark://HOST:PORT or local[N], found {master}")
    while True:
        left = deadline - time.monotonic()
        try:
            socket.create_connection((place.hostname, place.port), timeout=max(left, 0.01)).close()
            return
        except OSError as error:
            if left <= LOOK:
                why = error.strerror or "no answer"
                raise Failure(f"no Spark master listens at {master}: {why}",
                              remedy="look whether the master has started, and on which address") from error
            time.sleep(LOOK)
