"""Engines warn about each other's versions; no thread hears it while it reads."""

import warnings

import pytest

from inbounds.sources.open import silence_engine


def test_engines_stay_quiet_while_any_thread_wants_them_to():
    """One begins first and ends first, while the other is still inside."""
    first, second = silence_engine(), silence_engine()
    with first:
        second.__enter__()
    warnings.warn("of another version", UserWarning, stacklevel=1)
    second.__exit__(None, None, None)
    with pytest.raises(UserWarning):
        warnings.warn("of another version", UserWarning, stacklevel=1)
