"""What comes with the library: ``models/NAME`` of a checkout or of an installed package."""

from __future__ import annotations

from pathlib import Path

from align.core.errors import InputError

_PACKAGE = Path(__file__).resolve().parent.parent

# In an installed package the models lie inside it, in a checkout beside it.
FOLDERS = (_PACKAGE / "models", _PACKAGE.parent / "models")

# The weights that serve where nothing is known of a language pair.
DEFAULT = "default"

MODEL, WEIGHTS = "model.json", "weights.json"


def shipped_models() -> list[Path]:
    """Return the folders of the shipped models, by name."""
    return _shipped(MODEL)


def shipped_weights() -> list[Path]:
    """Return the folders of the shipped weights without tables, by name."""
    return _shipped(WEIGHTS)


def _shipped(file: str) -> list[Path]:
    """Return the folders with such a file by name; of one name the first."""
    found = {path.parent.name: path.parent for folder in FOLDERS[::-1] for path in folder.glob(f"*/{file}")}
    return [found[name] for name in sorted(found)]


def find_model(name: str | Path) -> Path:
    """Return the folder of a model: ``name`` where it is a folder, else the shipped model of that name.

    ``fr-en`` is the shipped model ``en-fr`` where there is no other (:func:`is_turned`).

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
            f"{name}: weights without statistics, with which no text can be aligned; run the pipeline on a "
            f"bitext (train.weights={name}) and take the model it leaves in latest/train"
        )
    if (near := _near(path, MODEL)) is not None:
        raise InputError(f"{name}: is no model, but {near} is; give that folder")
    if path.is_dir():
        raise InputError(f"{path / MODEL}: missing, so {path} is no model; give the folder of a model")
    known = _names(MODEL)
    raise InputError(f"{name}: no such model; give a folder with a {MODEL}, or a shipped model ({known})")


def is_turned(name: str | Path) -> bool:
    """Tell whether a name means a shipped model of the same languages the other way round."""
    return _find(Path(name), MODEL) is None and _find_turned(Path(name)) is not None


def bare_weights(name: str | Path) -> Path | None:
    """Return the folder of the weights without tables that a name means, None where it means no such."""
    return None if _find(Path(name), MODEL) is not None else _find(Path(name), WEIGHTS)


def model_of_languages(languages: tuple[str, str] | None) -> str:
    """Return the name of the shipped model of two languages, either way, or that of the default weights."""
    if languages is None:
        return DEFAULT
    known = {path.name.lower(): path.name for path in shipped_models()}
    name, turned = ("-".join(codes).lower() for codes in (languages, languages[::-1]))
    return known.get(name) or known.get(turned) or DEFAULT


def find_weights(name: str | Path) -> Path:
    """Return the folder of weights or of a model, as :func:`find_model` does; of one name the weights."""
    found = _find(Path(name), WEIGHTS, MODEL) or _find_turned(Path(name))
    if found is None:
        if (near := _near(Path(name), WEIGHTS, MODEL)) is not None:
            raise InputError(f"{name}: holds no weights, but {near} does; give that folder")
        known = _names(WEIGHTS, MODEL)
        raise InputError(
            f"{name}: no such weights; give a folder with a {WEIGHTS} or {MODEL}, or shipped ones ({known})"
        )
    return found


def _names(*files: str) -> str:
    return ", ".join(path.name for file in files for path in _shipped(file)) or "none"


def _near(path: Path, *files: str) -> Path | None:
    """Return the model of a run, given another folder or a file of it; None where there is none."""
    roots = (path, path / "latest", path.parent, path.parent / "latest", path.parent.parent)
    near = [path.parent, *(root / "train" for root in roots)]
    return next(
        (each for each in near if path.exists() and any((each / file).is_file() for file in files)), None
    )


def _find(path: Path, *files: str) -> Path | None:
    """Return a path where it is a folder with one of the files, else the shipped folder that it names."""
    if any((path / file).is_file() for file in files):
        return path
    if _is_name(path):
        return next((each for file in files for each in _shipped(file) if each.name == path.name), None)
    return None


def _find_turned(path: Path) -> Path | None:
    """Return the shipped model that a name means turned round: en-fr for fr-en."""
    source, hyphen, target = path.name.partition("-")
    return _find(path.with_name(f"{target}-{source}"), MODEL) if hyphen and _is_name(path) else None


def _is_name(path: Path) -> bool:
    # "models/en-fr" is what the documentation writes: it must work outside a checkout too.
    return bool(path.parts) and path.parts in ((path.name,), ("models", path.name))
