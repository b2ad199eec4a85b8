"""Puts into the packages what lies beside them in a checkout: shipped models, their registry and the sample.

``models/NAME`` becomes ``align/models/NAME``, ``data/sample`` becomes ``pipeline/sample``; all else is in
pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("default", "en-fr")
FOLDERS = {
    "data/sample": "pipeline/sample",
    **{f"models/{name}": f"align/models/{name}" for name in SHIPPED},
}


class BuildWithData(build_py):
    """Copies the folders after the modules; an editable install finds them in the checkout."""

    def run(self) -> None:
        """Build."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        for source, target in FOLDERS.items():
            shutil.copytree(source, Path(self.build_lib) / target, dirs_exist_ok=True)
        shutil.copy("models/registry.toml", Path(self.build_lib) / "align" / "models")


setup(cmdclass={"build_py": BuildWithData})
