"""The service as a process: silent connections are closed, and workers end with whoever started them."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from inbounds.curator.http import serve

ALONE = """
import os, sys, time
from inbounds.workers import WorkerPool
if __name__ == "__main__":
    pool = WorkerPool(1)
    worker = pool.take()
    worker._wait_until_ready()
    print(worker._process.pid, flush=True)
    worker.call(time.sleep, (600,))
"""


async def answered(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: here\r\nX-"])
def test_a_connection_that_stays_silent_is_closed(monkeypatch, begun):
    monkeypatch.setattr(serve, "HEADER_SECONDS", 0.1)

    async def visit():
        config = serve.uvicorn.Config(answered, port=0, lifespan="off", **serve.OPTIONS)
        server = serve.uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        port = server.servers[0].sockets[0].getsockname()[1]
        silent = await asyncio.open_connection("127.0.0.1", port)
        silent[1].write(begun)
        whole = await asyncio.open_connection("127.0.0.1", port)
        whole[1].write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await whole[0].readline()).startswith(b"HTTP/1.1 200")
        assert await asyncio.wait_for(silent[0].read(), 30) == b""
        for _, writer in (silent, whole):
            writer.close()
        await server.shutdown()

    asyncio.run(visit())


def test_a_worker_ends_when_its_parent_is_killed(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        if not is_running(worker):
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    raise AssertionError("the worker went on")


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
