"""A client of an app in the same process, for tests that write down one request after another."""

import asyncio
from typing import Any

import httpx
from fastapi import FastAPI


class Client:
    """Requests to an app; headers: sent with each."""

    def __init__(self, app: FastAPI, headers: dict[str, str] | None = None) -> None:
        self.app, self.headers = app, headers or {}

    def request(self, method: str, path: str, **sent: Any) -> httpx.Response:
        async def answered() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://here", headers=self.headers) as client:
                return await client.request(method, path, **sent)

        return asyncio.run(answered())

    def get(self, path: str, **sent: Any) -> httpx.Response:
        return self.request("GET", path, **sent)

    def post(self, path: str, **sent: Any) -> httpx.Response:
        return self.request("POST", path, **sent)
