"""What went wrong, in one sentence."""

import re

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError


class Failure(Exception):
    """A reason, and what helps against it."""

    def __init__(self, reason, remedy=None):
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


def told(exception, cluster):
    """`reason`, and `remedy` and `fatal` where there is something to say, of
    whatever a request raised."""
    found = {"reason": reason(exception)}
    if getattr(exception, "remedy", None):
        found["remedy"] = exception.remedy
    if cluster.is_lost():
        # Whatever else fails then fails for this.
        found = {"reason": cluster.lost or found["reason"], "fatal": True}
        cluster.end()
    return found


def reason(exception):
    if isinstance(exception, Failure):
        return exception.reason
    if isinstance(exception, Py4JJavaError):
        return of_java(exception.java_exception)
    if isinstance(exception, (Py4JNetworkError, ConnectionError)):
        return "Spark's driver JVM has ended"
    if isinstance(exception, Py4JError):
        return f"Spark's driver JVM did not understand a call: {first_line(str(exception))}"
    # What PySpark translates into exceptions of its own.
    return first_line(str(exception)) or type(exception).__name__


def of_java(exception):
    """The first line that the deepest cause says which says anything, with its class
    where that does not tell by itself what is meant."""
    message = ""
    try:
        while exception is not None:
            said = first_line(exception.getMessage() or "")
            if said or not message:
                message, name = said, exception.getClass().getSimpleName()
            exception = exception.getCause()
    except (Py4JError, ConnectionError):
        return "Spark's driver JVM has ended"
    return message if name == "SparkException" and message else f"{name}: {message}".rstrip(": ")


def first_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return re.sub(r"\s+", " ", lines[0]) if lines else ""
