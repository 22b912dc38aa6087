"""The curator over HTTP: routes parse and call, nothing else lives here."""

from inbounds.curator.http.app import app

__all__ = ["app"]
