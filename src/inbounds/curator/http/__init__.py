"""The curator over HTTP. Routes parse a request and call the curator; there is no other logic here."""

from inbounds.curator.http.app import app

__all__ = ["app"]
