"""A wire to PostgreSQL that is cut after a message of one's choice, whoever sent it.

It listens on this machine, passes on whole messages of the protocol, and counts them in both directions.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit


class Wire:
    """A wire to the server of a URL; `url` is that of the wire's own end. cuts: how often it was cut so far."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = str(parts.hostname), int(parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        here = f"{parts.username}@127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit((parts.scheme, here, parts.path, "sslmode=disable&gssencmode=disable", ""))
        self._lock, self._left, self.cuts = threading.Lock(), 0, 0
        self._open = list[socket.socket]()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *reason: object) -> None:
        self._listener.close()
        self.cut_all()

    def cut_after(self, messages: int) -> None:
        """Cut the connection that passes on the last of so many messages from now on; 0 to cut none."""
        with self._lock:
            self._left = messages

    def cut_all(self) -> None:
        """Cut all connections now."""
        with self._lock:
            several, self._open = self._open, []
        for one in several:
            _cut(one)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                try:
                    there = socket.create_connection(self._server)
                except OSError:
                    here.close()
                    continue
                for one in (here, there):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._open += [here, there]
                for ends, first in (((here, there), 0), ((there, here), 1)):
                    threading.Thread(target=self._pass_on, args=(*ends, first), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, tag: int) -> None:
        with suppress(OSError):
            for message in _messages(source, tag):
                sink.sendall(message)
                if self._is_last():
                    break
        _cut(source)
        _cut(sink)

    def _is_last(self) -> bool:
        with self._lock:
            if not self._left:
                return False
            self._left -= 1
            self.cuts += not self._left
            return not self._left


def _messages(source: socket.socket, tag: int) -> Iterator[bytes]:
    """Yield whole messages: a letter and a length that counts itself; the client's first one has no letter."""
    buffer = bytearray()
    while more := source.recv(65_536):
        buffer += more
        while len(buffer) >= tag + 4:
            length = tag + int.from_bytes(buffer[tag : tag + 4], "big")
            if len(buffer) < length:
                break
            yield bytes(buffer[:length])
            del buffer[:length]
            tag = 1


def _cut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
