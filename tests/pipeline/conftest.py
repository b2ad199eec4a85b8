"""Fixtures of the pipeline's tests."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _server():
    """Load ``server.py``, which lies beside this file and in no package."""
    name = "liaison_test_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("server.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def site(monkeypatch):
    """A local web server whose faults the test sets."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = _server().Site()
    yield server
    server.close()
