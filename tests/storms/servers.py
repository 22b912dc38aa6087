"""A PostgreSQL server for tests and storms."""

import os
import shutil
import socket
import subprocess
from pathlib import Path


def find_free_port() -> int:
    """Find a port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class PostgresServer:
    """A PostgreSQL server of our own, from Debian's packages, on a free local port."""

    def __init__(self, programs: Path, home: Path) -> None:
        self._programs, self._home, self._root = programs, home, os.geteuid() == 0
        if self._root:
            shutil.chown(home, "postgres")
        self.port = find_free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        self.start()

    @property
    def _data(self) -> str:
        return str(self._home / "data")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._home}"
        options += " -c recovery_init_sync_method=syncfs"  # a busy disk takes minutes to sync every file by itself
        self._run("pg_ctl", "-D", self._data, "-l", str(self._home / "log"), "-w", "-t", "110", "-o", options, "start")

    def stop_at_once(self) -> None:
        """As in a crash: nothing is written any more, the next start recovers from the log."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def make_database(self, name: str, template: str = "template1") -> str:
        """Make a database, anew if there is one of the name; return its URL."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url.rsplit("/", 1)[0] + f"/{name}"

    def end_sessions(self) -> int:
        """End all sessions but our own; return how many."""
        import psycopg

        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        with psycopg.connect(self.url, autocommit=True) as server:
            return len(server.execute(f"{ended} AND backend_type = 'client backend'").fetchall())

    def _run(self, program: str, *words: str) -> None:
        before = ["runuser", "-u", "postgres", "--"] if self._root else []
        command = [*before, str(self._programs / program), *words]
        subprocess.run(command, check=True, capture_output=True, cwd=self._home, timeout=120)
