"""Fixtures of the pipeline's tests."""

import pytest

from tests.pipeline.site import Site


@pytest.fixture
def site(monkeypatch):
    """A local web server whose faults the test sets."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Site()
    yield server
    server.close()
