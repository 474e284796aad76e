"""The JVM of the driver: its start, and its end without traces."""

import os
import signal
import tempfile
import time
from pathlib import Path

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

#: How long a JVM may take to clean up before it is killed, in seconds.
GRACE = 2.0
#: A task carries how its data came to be, ten levels an iteration of ALS, and is
#: read by recursion: Java's own stack is too short for 10 iterations until that has
#: been compiled.
STACK = "-Xss32m"
LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


def start(conf, scratch):
    """Starts the JVM with the settings that it must have from its beginning.
    PySpark finds it from then on. Raises what PySpark raises if it ends early."""
    os.makedirs(scratch, exist_ok=True)
    log4j = Path(scratch, "log4j2.properties")
    log4j.write_text(LOG4J)
    options = f"{STACK} -Dlog4j2.configurationFile=file:{log4j} -Djava.io.tmpdir={scratch} -XX:-UsePerfData"
    for process, options in (("driver", options), ("executor", STACK)):
        name = f"spark.{process}.extraJavaOptions"
        conf.set(name, f"{options} {conf.get(name, '')}".strip())
    # What a local executor calls its node; on a machine with several addresses it
    # would choose.
    host = conf.get("spark.driver.host", "127.0.0.1")
    os.environ |= {"SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host}
    # Where PySpark and Spark's scripts put what they need for a moment.
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    SparkContext._ensure_initialized(gateway=launch_gateway(conf))


def end():
    """Ends the JVM, also one that is still starting, and forgets it. Does nothing
    where there is none. It may be called from any thread, whatever the JVM does."""
    ends = time.monotonic() + GRACE
    sign = signal.SIGTERM
    while running := children():
        for child in running:
            try:
                os.kill(child, sign)
            except ProcessLookupError:
                pass
        sign = signal.SIGKILL if time.monotonic() > ends else 0
        time.sleep(0.02)
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    SparkContext._active_spark_context = None
    if gateway is not None:
        gateway.proc.wait()
        # Closes the connections to a JVM that is not there: nothing to hear.
        gateway.close(keep_callback_server=False)


def children():
    """Processes that this one started and that run: the JVM, or the script that
    becomes it. One that has ended is left to who started it, PySpark, which would
    wait for ever for one that is not there any more."""
    found = []
    for tasks in Path("/proc/self/task").glob("*/children"):
        try:
            found += map(int, tasks.read_text().split())
        except OSError:
            continue
    return [child for child in found if runs(child)]


def runs(child):
    try:
        status = Path(f"/proc/{child}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
