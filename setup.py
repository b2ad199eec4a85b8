"""Puts what is shipped in ``models/`` into the package, as ``align/models``; all else: pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("default",)


class BuildWithModels(build_py):
    """Copies the shipped models after the modules; an editable install finds them in the checkout."""

    def run(self) -> None:
        """Build."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        for name in SHIPPED:
            target = Path(self.build_lib) / "align" / "models" / name
            shutil.copytree(Path("models") / name, target, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithModels})
