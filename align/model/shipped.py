"""Models found by name: ``models/NAME`` of a checkout or an installed package, and those the user fetched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from align.core.errors import InputError

_PACKAGE = Path(__file__).resolve().parent.parent

# In an installed package the models lie inside it, in a checkout beside it.
FOLDERS = (_PACKAGE / "models", _PACKAGE.parent / "models")

# The weights that serve where nothing is known of a language pair.
DEFAULT = "default"

MODEL, WEIGHTS = "model.json", "weights.json"

# The variable that names another folder for models that are fetched.
VARIABLE = "LIAISON_MODELS"


def user_folder() -> Path | None:
    """Return the folder of the models that this user fetched; None where the user has no home.

    It is ``liaison/models`` in the folder for data of the user (``XDG_DATA_HOME``, ``LOCALAPPDATA`` on
    Windows), or what ``LIAISON_MODELS`` names. It need not be there.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        data = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    else:
        data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    # A path that is not absolute is to be ignored, says the XDG specification; "~" stays where no home is.
    return Path(data, "liaison", "models") if os.path.isabs(data) else None


def known_models() -> list[Path]:
    """Return the folders of the models that are found by name, those that are shipped first."""
    return _known(MODEL)


def known_weights() -> list[Path]:
    """Return the folders of the weights without tables that are found by name, as :func:`known_models`."""
    return _known(WEIGHTS)


def is_shipped(name: str) -> bool:
    """Tell whether a name is that of something shipped."""
    return any((folder / name / file).is_file() for folder in FOLDERS for file in (MODEL, WEIGHTS))


def _known(file: str) -> list[Path]:
    """Return the folders with such a file by name; of one name the first."""
    own = user_folder()
    found: dict[str, Path] = {}
    for folders in (FOLDERS, () if own is None else (own,)):
        there = {
            path.parent.name: path.parent for folder in folders[::-1] for path in folder.glob(f"*/{file}")
        }
        found |= {name: there[name] for name in sorted(there) if name not in found}
    return list(found.values())


def find_model(name: str | Path) -> Path:
    """Return the folder of a model: ``name`` where it is a folder, else the known model of that name.

    ``fr-en`` is the model ``en-fr`` where there is no other (:func:`is_turned`).

    Raises
    ------
    InputError
        If there is neither.
    """
    path = Path(name)
    found = _find(path, MODEL) or _find_turned(path)
    if found is not None:
        return found
    if _find(path, WEIGHTS) is not None:
        raise InputError(
            f"{name}: weights without statistics of a text, where a model is needed; run the pipeline on a "
            f"bitext (train.weights={name}) and take the model it leaves in latest/train"
        )
    if (near := _near(path, MODEL)) is not None:
        raise InputError(f"{name}: is no model, but {near} is; give that folder")
    if path.is_dir():
        raise InputError(f"{path / MODEL}: missing, so {path} is no model; give the folder of a model")
    known = _names(MODEL)
    raise InputError(
        f"{name}: no such model; give a folder with a {MODEL}, a known model ({known}), or default, which "
        "goes by the given text alone"
    )


def is_turned(name: str | Path) -> bool:
    """Tell whether a name means a known model of the same languages the other way round."""
    return _find(Path(name), MODEL) is None and _find_turned(Path(name)) is not None


def bare_weights(name: str | Path) -> Path | None:
    """Return the folder of the weights without tables that a name means, None where it means no such."""
    return None if _find(Path(name), MODEL) is not None else _find(Path(name), WEIGHTS)


def model_of_languages(languages: tuple[str, str] | None) -> str:
    """Return the name of the known model of two languages, either way, or that of the default weights."""
    if languages is None:
        return DEFAULT
    known = {path.name.lower(): path.name for path in known_models()[::-1]}
    name, turned = ("-".join(codes).lower() for codes in (languages, languages[::-1]))
    return known.get(name) or known.get(turned) or DEFAULT


def first_model() -> str:
    """Return the name of the first model that is found by name, that of the default weights without any."""
    return next((path.name for path in known_models()), DEFAULT)


def find_weights(name: str | Path) -> Path:
    """Return the folder of weights or of a model, as :func:`find_model` does; of one name the weights."""
    found = _find(Path(name), WEIGHTS, MODEL) or _find_turned(Path(name))
    if found is None:
        if (near := _near(Path(name), WEIGHTS, MODEL)) is not None:
            raise InputError(f"{name}: holds no weights, but {near} does; give that folder")
        known = _names(WEIGHTS, MODEL)
        raise InputError(
            f"{name}: no such weights; give a folder with a {WEIGHTS} or {MODEL}, or known ones ({known})"
        )
    return found


def _names(*files: str) -> str:
    return ", ".join(path.name for file in files for path in _known(file)) or "none"


def _near(path: Path, *files: str) -> Path | None:
    """Return the model of a run, given another folder or a file of it; None where there is none."""
    roots = (path, path / "latest", path.parent, path.parent / "latest", path.parent.parent)
    near = [path.parent, *(root / "train" for root in roots)]
    return next(
        (each for each in near if path.exists() and any((each / file).is_file() for file in files)), None
    )


def _find(path: Path, *files: str) -> Path | None:
    """Return a path where it is a folder with one of the files, else the known folder that it names."""
    if any((path / file).is_file() for file in files):
        return path
    if _is_name(path):
        return next((each for file in files for each in _known(file) if each.name == path.name), None)
    return None


def _find_turned(path: Path) -> Path | None:
    """Return the known model that a name means turned round: en-fr for fr-en."""
    source, hyphen, target = path.name.partition("-")
    return _find(path.with_name(f"{target}-{source}"), MODEL) if hyphen and _is_name(path) else None


def _is_name(path: Path) -> bool:
    # "models/en-fr" is what the documentation writes: it must work outside a checkout too.
    return bool(path.parts) and path.parts in ((path.name,), ("models", path.name))
