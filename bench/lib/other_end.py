"""A serving end of the latency probe that is not ours: written from the protocol alone, over UDP.
It holds messages up on purpose, and times by itself what it does.

Usage: python -m lib.other_end ADDRESS PORT REST WORK. It prints "up" when it listens. It sleeps
REST seconds before it reads a message and WORK seconds before it replies, and once the measuring
end has gone prints an object of lists, in seconds, a number a message:

`rested`   in the socket: from the kernel's stamp of arrival (SO_TIMESTAMPNS) until the sleep is
           to end
`worked`   between receiving and replying
`queued`   waiting for a processor while the message was there, as the scheduler says (schedstat's
           run delay): all that it waited since it asked for the message; of what it waited
           before, no more than lies after the kernel's stamp of arrival
`sent`     in the queueing discipline: between the kernel's two stamps of the reply on its way out
           (SO_TIMESTAMPING: scheduled, software)
"""

import contextlib
import ctypes
import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

VERSION = 3
TOKEN = 7
STAMPNS, STAMPING, RECVERR = 35, 37, 11
#: SOF_TIMESTAMPING: TX_SOFTWARE, SOFTWARE, OPT_ID, TX_SCHED, OPT_TSONLY.
FLAGS = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 11
#: How long to wait for anything.
PATIENCE = 20


def main():
    address, port, rest, work = sys.argv[1], *map(float, sys.argv[2:])
    with socket.create_server((address, int(port))) as listener:
        listener.settimeout(PATIENCE)
        print("up", flush=True)
        control = listener.accept()[0]
    control.settimeout(PATIENCE)
    lines = control.makefile("rw")
    hear(lines)
    say(lines, answer="hello", version=VERSION, clock=clock())
    hear(lines)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as messages:
        messages.bind((address, 0))
        say(lines, answer="ready", token=TOKEN, udp=messages.getsockname()[1])
        found = serve(messages, control, rest, work)
    print(json.dumps(found))


def hear(lines):
    return json.loads(lines.readline())


def say(lines, **words):
    lines.write(json.dumps(words) + "\n")
    lines.flush()


def clock():
    """The name of this end's clock: the boot, and the time namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/time')}"


def serve(messages, control, rest, work):
    """Sends every datagram back until the measuring end sends something; returns what was timed."""
    for option, value in ((STAMPNS, 1), (STAMPING, FLAGS)):
        messages.setsockopt(socket.SOL_SOCKET, option, value)
    # A limit on each wait that needs no second system call.
    messages.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
    # Sleeps end when they are to, and not up to 50 µs later (prctl(2), PR_SET_TIMERSLACK).
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
    schedstat = os.open(f"/proc/self/task/{os.getpid()}/schedstat", os.O_RDONLY)
    delay = lambda: int(os.pread(schedstat, 64, 0).split()[1])
    rested, worked, queued, replies, stamps, sent, before = [], [], [], [], {}, 0, 0
    while True:
        awake = time.clock_gettime_ns(time.CLOCK_REALTIME) + int(rest * 1e9)
        if rest:
            time.sleep(rest)
        asked, asking = time.clock_gettime_ns(time.CLOCK_REALTIME), delay()
        try:
            message, extra, _, sender = messages.recvmsg(2048, 256)
        except (BlockingIOError, ConnectionRefusedError):
            if select.select([control], [], [], 0)[0]:
                break
            continue
        arrived, after = time.monotonic_ns(), delay()
        if len(message) == 8:
            # The greeting shows the address of the other end.
            messages.connect(sender)
        else:
            reply = bytearray(message)
            came = stamp_of(extra)
            rested.append(max(0, awake - came))
            queued.append(after - asking + min(asking - before, max(0, asked - came)))
            begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if work:
                time.sleep(work)
            worked.append(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun)
            struct.pack_into("<QQ", reply, 8, arrived, time.monotonic_ns())
            message = reply
            replies.append(sent)
        before = delay()
        with contextlib.suppress(ConnectionRefusedError):
            # The measuring end may have gone: the control connection shows it.
            messages.send(message)
        sent += 1
        drain(messages, stamps)
    drain(messages, stamps)
    whole = [stamps[reply] for reply in replies if len(stamps.get(reply, {})) == 2]
    found = {"rested": rested, "worked": worked, "queued": queued, "sent": [s[0] - s[1] for s in whole]}
    return {name: [value * 1e-9 for value in values] for name, values in found.items()}


def stamp_of(extra):
    """When the kernel took a datagram in, in nanoseconds of real time."""
    (data,) = [data for level, kind, data in extra if (level, kind) == (socket.SOL_SOCKET, STAMPNS)]
    seconds, nanoseconds = struct.unpack("qq", data)
    return seconds * 1_000_000_000 + nanoseconds


def drain(messages, stamps):
    """Takes the stamps of what was sent: number -> {0: left, 1: scheduled} in nanoseconds."""
    while True:
        try:
            _, extra, _, _ = messages.recvmsg(0, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        data = {(level, kind): data for level, kind, data in extra}
        seconds, nanoseconds = struct.unpack_from("qq", data[socket.SOL_SOCKET, STAMPING])
        which, number = struct.unpack_from("II", data[socket.SOL_IP, RECVERR], 8)
        stamps.setdefault(number, {})[which] = seconds * 1_000_000_000 + nanoseconds


if __name__ == "__main__":
    main()
