"""Run the studio on this machine, for the person who started it."""

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from inbounds.studio.app import app
from inbounds.studio.auth import ENTER, StudioAuth
from inbounds.studio.studio import Studio

ADDRESS = "127.0.0.1"


def open_socket(port: int) -> socket.socket:
    """Open a socket of this machine only; port 0 takes any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        raise ValueError(f"port must be free, got {port} ({error.strerror}); give another, or leave it out") from None
    return listener


def make_auth(port: int) -> StudioAuth:
    """Make the authentication of a studio at this port, for both names of this machine."""
    return StudioAuth(frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"}), f"inbounds-studio-{port}")


def run_studio(studio: Studio, *, port: int = 0, tell: Callable[[str], None], browse: bool = True) -> None:
    """Serve until interrupted. tell: called with the address and its one-time token. browse: open it in a browser."""
    with open_socket(port) as listener:
        port = listener.getsockname()[1]
        guard = make_auth(port)
        address = f"http://{ADDRESS}:{port}{ENTER}?token={guard.token}"
        studio.work.warm()
        tell(address)
        if browse:
            webbrowser.open(address)
        # no access log: it would hold the token
        server = uvicorn.Server(uvicorn.Config(app(studio, guard), log_level="warning", access_log=False))
        try:
            server.run(sockets=[listener])
        finally:
            studio.work.close()
