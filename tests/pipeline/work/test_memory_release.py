"""What a stage left is given back."""

import sys
from functools import lru_cache
from types import ModuleType

from pipeline.work.memory_release import give_back

NAMES = ("pipeline.stages.test_one.part", "pipeline.work.test_other")


def test_what_stages_cache_is_forgotten_and_nothing_else(monkeypatch):
    calls = []
    for name in NAMES:
        module = ModuleType(name)
        module.cached = lru_cache(maxsize=1)(calls.append)
        monkeypatch.setitem(sys.modules, name, module)
        module.cached(name)
    give_back()
    for name in NAMES:
        sys.modules[name].cached(name)
    assert calls == [
        "pipeline.stages.test_one.part",
        "pipeline.work.test_other",
        "pipeline.stages.test_one.part",
    ]
