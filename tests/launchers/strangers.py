"""usage: strangers.py PROCESS...: who listens, and what strangers can do to it.

Fails when one of the processes listens at another address than 127.0.0.1, or answers a stranger.
"""

import os
import socket
import sys

LOCAL = {"tcp": "0100007F", "tcp6": "00000000000000000000000001000000"}
SAYINGS = [
    b"GET / HTTP/1.0\r\n\r\n",
    b"\x00\x3c\x85\xf7\x3c" + b"\x01\x0d\x00\x00\x00\x00\x00\x00\x00s2s/0/verdict",  # c10d's store
    b"s2s-store-1:\x04\x00\x00\x00none" + b"!" * 64,
    b"\xff" * 4096,
    b"s",
]


def sockets_of(process):
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def listeners(process):
    """(address, port) as /proc/net writes them."""
    own = set(sockets_of(process))
    for kind in ("tcp", "tcp6"):
        with open(f"/proc/{process}/net/{kind}") as lines:
            for line in list(lines)[1:]:
                words = line.split()
                if words[3] == "0A" and words[9] in own:
                    address, port = words[1].split(":")
                    yield address == LOCAL[kind], int(port, 16)


def main():
    ports = []
    for process in sys.argv[1:]:
        for is_local, port in listeners(process):
            assert is_local, f"process {process} listens at port {port} of more than 127.0.0.1"
            ports.append(port)
    assert ports, "nobody listens"
    held = []
    for port in ports:
        for saying in SAYINGS * 20:
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.settimeout(0.01)
            try:
                stranger.sendall(saying)
                heard = stranger.recv(100)
            except (TimeoutError, ConnectionError):
                heard = b""
            assert not heard, f"port {port} answers {saying!r} with {heard!r}"
            held.append(stranger)
    print(f"{len(ports)} listeners, {len(held)} strangers")


main()
