"""A link that takes its time: hands packets from one network namespace to another, and holds
those of one direction up.

Usage: python -m lib.relay FROM TO SECONDS SIZE, with the namespaces' names. It makes a device
`far` in each (10.213.8.1 and 10.213.8.2), which go with it. Prints "up" when they are there; when
it is asked to end (SIGTERM), how long it held each UDP packet of SIZE bytes, in seconds.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time

ADDRESSES = ["10.213.8.1", "10.213.8.2"]
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
UDP = 17


def main():
    names, seconds, size = sys.argv[1:3], float(sys.argv[3]), int(sys.argv[4])
    ends = [device(name, address) for name, address in zip(names, ADDRESSES)]
    held, over = [], []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    print("up", flush=True)
    while not over:
        for end in select.select(ends, [], [], 0.1)[0]:
            packet, came = os.read(end, 65536), time.monotonic_ns()
            if end == ends[0] and packet[9] == UDP and len(packet) == size:
                time.sleep(seconds)
                held.append((time.monotonic_ns() - came) * 1e-9)
            os.write(ends[1] if end == ends[0] else ends[0], packet)
    print(json.dumps(held))


def device(namespace, address):
    """The descriptor of a new device in a namespace."""
    with open(f"/run/netns/{namespace}") as place:
        if ctypes.CDLL(None).setns(place.fileno(), CLONE_NEWNET):
            sys.exit(f"cannot enter the namespace {namespace}")
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", b"far", IFF_TUN | IFF_NO_PI))
    for words in (f"address add {address}/30 dev far", "link set far up"):
        subprocess.run(["ip", *words.split()], check=True)
    return descriptor


if __name__ == "__main__":
    main()
