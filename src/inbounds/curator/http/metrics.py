"""Counts of requests by route and status, for operators. Nothing about data, questions or accounts."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Metrics:
    """Counts of the responses of this process. reopened: returns how many lost connections were opened again."""

    reopened: Callable[[], int] = int
    _counts: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    _failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, method: str, route: str, status: int) -> None:
        known = method if method in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS") else "other"
        with self._lock:
            self._counts[known, route, status] += 1

    def count_failure(self) -> None:
        """Count an unexpected error; its message is withheld."""
        with self._lock:
            self._failed += 1

    def text(self) -> str:
        """Return the counts in Prometheus' text format."""
        with self._lock:
            counts, failed = sorted(self._counts.items()), self._failed
        lines = ["# TYPE inbounds_requests_total counter"]
        lines += [
            f'inbounds_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
            for (method, route, status), count in counts
        ]
        more = {"failures": failed, "reconnections": self.reopened()}
        for name, count in more.items():
            lines += [f"# TYPE inbounds_{name}_total counter", f"inbounds_{name}_total {count}"]
        return "\n".join([*lines, ""])
