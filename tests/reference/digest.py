"""Digests of numbers: what a result is, whatever its functions and files are called.

A digest is the SHA-256 of the canonical text of nested lists of numbers and texts. Whole numbers and fractions are
exact, floats are rounded to nine significant digits and to a multiple of 1e-12.
"""

import hashlib
import json
from fractions import Fraction
from platform import libc_ver
from typing import Any

import numpy as np
import scipy
import threadpoolctl

Frozen = dict[str, Any]
"""What is stored of a case: `sha256`, and a few readable numbers."""


def canonical(value: Any) -> str:
    """Return the canonical text of a number, a text, nothing, or a list of such."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | str):
        return json.dumps(value)
    if isinstance(value, int | Fraction):
        return str(value)
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical, value))}]"
    raise TypeError(f"a digest covers numbers and texts, got {type(value).__name__}")


def freeze(numbers: Any, /, **readable: Any) -> Frozen:
    """Return the digest of `numbers`, with readable numbers beside it that help to see what changed."""
    digest = hashlib.sha256(canonical(numbers).encode()).hexdigest()
    return {"sha256": digest, **{name: json.loads(canonical(_floats(value))) for name, value in readable.items()}}


def platform() -> dict[str, Any]:
    """Return what the last bits of floats depend on: libraries, and the instructions of the processor that they use."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    kernels = {pool["internal_api"]: pool.get("architecture") for pool in threadpoolctl.threadpool_info()}
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "libc": " ".join(libc_ver()),
        "blas": kernels.get("openblas"),
        "instructions": sorted(name for name, there in features.items() if there),
    }


def _rounded(value: float) -> str:
    """A float that is a whole number is that number: a column may hold 3 or 3.0."""
    if not np.isfinite(value):
        return json.dumps(str(value))
    text = f"{round(value, 12):.9g}"
    return str(int(float(text))) if float(text).is_integer() else text


def _floats(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_floats(one) for one in value]
    return float(value) if isinstance(value, Fraction) else value
