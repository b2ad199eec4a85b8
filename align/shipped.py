"""The models that come with the library: ``models/NAME`` of a checkout or of an installed package."""

from __future__ import annotations

from pathlib import Path

from align.errors import InputError

_PACKAGE = Path(__file__).resolve().parent

# In an installed package the models lie inside it, in a checkout beside it.
FOLDERS = (_PACKAGE / "models", _PACKAGE.parent / "models")


def shipped_models() -> list[Path]:
    """Return the folders of the shipped models, by name."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if (path / "model.json").is_file():
                    found.setdefault(path.name, path)
    return [found[name] for name in sorted(found)]


def find_model(name: str | Path) -> Path:
    """Return the folder of a model: ``name`` where it is a folder, else the shipped model of that name.

    Raises
    ------
    InputError
        If there is neither.
    """
    path = Path(name)
    if (path / "model.json").is_file():
        return path
    shipped = {each.name: each for each in shipped_models()}
    # "models/en-fr" is what the documentation writes: it must work outside a checkout too.
    if path.parts and path.parts in ((path.name,), ("models", path.name)) and path.name in shipped:
        return shipped[path.name]
    if path.is_dir():
        raise InputError(f"{path / 'model.json'}: missing, so {path} is no model; give the folder of a model")
    known = ", ".join(shipped) or "none"
    raise InputError(f"{name}: no such model; give a folder with a model.json, or a shipped model ({known})")
