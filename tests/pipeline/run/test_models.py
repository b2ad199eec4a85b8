"""Models fetched by name from a registry: from a web server or a folder, whoever made them."""

import hashlib
import io
import json
import socket
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from align.model import registry, shipped
from align.model.aligner import Aligner
from align.model.folder import Model
from align.model.registry import as_registry, parse_registry
from align.model.weights import Weights
from pipeline.run import models
from pipeline.run.liaison import main
from pipeline.stages.download import downloader
from pipeline.work import resources
from tests.align import toy
from tests.align.cli.test_models import LINKS, ROW
from tests.pipeline.stages.download.test_archives import member, packed_zip, tgz

LICENCE = "CC0-1.0"
CARD = b"| | AER % | precision |\n| --- | --- | --- |\n| [toys](x) | 5.1 | 97.2\x1b[2J |\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files of a small model, by their paths in its folder."""
    folder = tmp_path_factory.mktemp("made") / "toy"
    toy.toy_model().save(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of the user's models; nothing waits between two tries."""
    monkeypatch.setenv("LIAISON_MODELS", str(tmp_path / "mine"))
    monkeypatch.setattr(downloader.time, "sleep", lambda seconds: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine"


@pytest.fixture
def call(capsys):
    """Return a function that runs a command: words to (status, stdout, stderr)."""

    def run(*words):
        status = main(["models", *words])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def inside(files, folder="toy"):
    return {f"{folder}/{name}": data for name, data in files.items()}


def table(data, name="toy", **changes):
    """Return a registry that has one model, with some of its values changed."""
    values = {
        "languages": "en-fr",
        "licence": LICENCE,
        "url": f"{name}.tgz",
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    rows = [f"{key} = {json.dumps(value)}" for key, value in (values | changes).items() if value is not None]
    return "\n".join([f"[{name}]", *rows, ""]).encode()


@pytest.fixture
def offered(site):
    """Return a function that puts an archive and its registry on the server: to the registry's address."""

    def add(data, *, name="toy", faults=(), **changes):
        site.add(f"/models/{name}.tgz", data, faults=list(faults))
        return site.add("/models/registry.toml", table(data, name, **changes), content_type="text/plain")

    return add


def test_get_list_info_and_links(call, offered, files, home, capsys, monkeypatch):
    place = offered(tgz({**inside(files), "toy/MODEL.md": CARD, "toy/run.py": b"x", "README": b"x"}))
    line = f"toy\ten-fr\t0.0 MB\t{place.replace('registry.toml', 'toy.tgz')}\tto fetch\t{LICENCE}\n"
    assert call("list", "--registry", place)[1].endswith(line)
    status, out, _ = call("info", "toy", "--registry", place)
    assert (status, f"models get toy --registry {place}" in out, LICENCE in out) == (0, True, True)
    assert not home.exists()

    status, out, err = call("get", "toy", "--registry", place)
    assert (status, out) == (0, "")
    assert err.endswith(f"toy: in {home / 'toy'} ({LICENCE})\n")
    there = {str(path.relative_to(home / "toy")) for path in (home / "toy").rglob("*") if path.is_file()}
    assert there == {*files, "MODEL.md", "registry.toml"}
    assert [path.name for path in home.rglob("*.tgz*")] == []

    line = f"toy\ten-fr\t0.0 MB\t{home / 'toy'}\tfetched\t{LICENCE}\n"
    assert line in call("list", "--registry", place)[1]
    assert "to fetch" not in call("list", "--registry", place)[1]
    told = call("info", "toy")[1]
    assert all(text in told for text in (LICENCE, "AER % 5.1, precision 97.2 [2J", str(home / "toy")))
    assert Aligner.load("toy").model.languages == ("en", "fr")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ROW.encode()), encoding="utf-8"))
    assert main(["links", "--model", "toy"]) == 0
    assert capsys.readouterr().out == f"{LINKS}\n"


def test_what_is_there_is_not_fetched_again_unless_it_is_another_or_damaged(call, offered, files, home, site):
    place = offered(tgz(inside(files)))
    asked = []
    for _ in range(2):
        assert call("get", "toy", "--registry", place)[0] == 0
        asked.append(len(site.requests))
    assert asked == [2, 3]
    (home / "toy" / "weights.tsv").write_bytes(b"")
    assert "is there already" not in call("get", "toy", "--registry", place)[2]
    assert Model.load(home / "toy").checked
    place = offered(tgz({**inside(files), "toy/LICENSE": b"free"}))
    assert call("get", "toy", "--registry", place)[0] == 0
    assert (home / "toy" / "LICENSE").read_bytes() == b"free"
    (home / "toy" / "registry.toml").write_bytes(b"?")
    # As a kill may leave it.
    for part in ("replaced", "unpacked"):
        (home / ".downloads" / part / "toy" / "lexicon").mkdir(parents=True)
    assert call("get", "toy", "--registry", place)[0] == 0
    assert sorted(path.name for path in home.glob("[!.]*")) == ["toy"]
    assert not [part for part in ("replaced", "unpacked") if (home / ".downloads" / part / "toy").exists()]


def test_a_cut_download_is_gone_on_with(call, offered, files, home, site):
    data = tgz(inside(files))
    assert call("get", "toy", "--registry", offered(data, faults=[503, "cut:1000"]))[0] == 0
    assert [request.range for request in site.requests[1:]] == [None, None, "bytes=1000-"]
    assert (home / "toy" / "model.json").exists()


def test_a_server_that_cuts_whenever_it_is_tried(call, offered, files, home):
    status, _, err = call("get", "toy", "--registry", offered(tgz(inside(files)), faults=["cut:10"] * 9))
    assert (status, "the connection was cut after 10 of" in err) == (1, True)
    assert not (home / "toy").exists()


DAMAGED = {"toy/weights.tsv": b"dice\t1.0\n"}
WRONG = {
    "another hash": (lambda files: tgz(inside(files)), {"sha256": "0" * 64}, "tell whoever keeps the reg"),
    "more bytes": (lambda files: tgz(inside(files)), {"size": 100}, "sends more than 100 bytes; check the"),
    "a link": (
        lambda files: tgz(inside(files), odd=[member("toy/LICENSE", tarfile.SYMTYPE, "/etc/passwd")]),
        {},
        "unsafe: its member 'toy/LICENSE' is a link",
    ),
    "outside": (lambda files: tgz({**inside(files), "toy/../../evil": b"x"}), {}, "leads outside"),
    "outside in a zip": (lambda files: packed_zip({**inside(files), "/evil": b"x"}), {}, "leads outside"),
    "no archive": (lambda files: b"text\n" * 99, {}, "neither a tar nor a zip archive"),
    "cut archive": (lambda files: tgz(inside(files))[:-900], {}, "cut off; get the file again"),
    "no model": (lambda files: tgz({"README": b"x"}), {}, "0 folders with model.json or weights.json in it"),
    "two models": (
        lambda files: tgz({**inside(files), **inside(files, "b")}),
        {},
        "2 folders with model.json or weights.json in it",
    ),
    "damaged": (lambda files: tgz({**inside(files), **DAMAGED}), {}, "weights.tsv: its bytes are not those"),
    "other languages": (lambda files: tgz(inside(files)), {"languages": "en-de"}, "of en-fr, not en-de"),
    "a file of this machine": (lambda files: b"x", {"url": "file:///etc/passwd"}, "no http or https address"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_and_nothing_stays(call, offered, files, home, case, tmp_path):
    make, changes, message = WRONG[case]
    status, out, err = call("get", "toy", "--registry", offered(make(files), **changes))
    assert (status in (1, 2), out, err.strip().split("\n")[-1][:7]) == (True, "", "error: ")
    assert message in err
    assert not (home / "toy").exists()
    assert [path for path in home.rglob("*") if path.is_file() and path.suffix not in (".lock", "")] == []
    assert not (tmp_path / "evil").exists()


def test_names_that_cannot_be_fetched(call, offered, files, home):
    place = offered(tgz(inside(files)))
    assert call("get", "xx", "--registry", place)[::2] == (
        2,
        f"downloading {place}\n"
        f"error: xx: not in the registry {place}, which has toy; give one of them, or another --registry\n",
    )
    status, _, err = call("get", "xx")
    assert (status, "which has default, en-fr; give one of them" in err) == (2, True)
    status, _, err = call("get", "en-fr")
    assert (status, err) == (0, "en-fr: comes with the installation; there is nothing to fetch\n")
    place = offered(tgz(inside(files)), name="en-fr")
    status, _, err = call("get", "en-fr", "--registry", place)
    assert (status, "another name is needed in the registry" in err) == (2, True)


def test_no_network(call, home):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{taken.getsockname()[1]}/registry.toml"
        status, _, err = call("get", "toy", "--registry", place)
    assert (status, err.count("trying again")) == (1, downloader.Downloader.retries)
    assert "error: http://127.0.0.1" in err
    assert "after 6 tries; check the network" in err
    status, out, err = call("list")
    assert (status, err, out.count("\n")) == (0, "", 2)


def test_a_registry_in_a_folder(call, files, home, tmp_path):
    """Its addresses are beside it; weights alone serve any languages."""
    given = Weights.load(shipped.find_weights("default"))
    given.save(tmp_path / "plain")
    weights = {path.name: path.read_bytes() for path in (tmp_path / "plain").iterdir()}
    (tmp_path / "team").mkdir()
    for name, data, languages in (
        ("toy", tgz(files), "en-fr"),
        ("flat", packed_zip(inside(weights)), "any"),
        ("gone", b"x", "any"),
    ):
        (tmp_path / "team" / f"{name}.tgz").write_bytes(data)
        with open(tmp_path / "team" / "registry.toml", "ab") as out:
            out.write(table(data, name, languages=languages))
    (tmp_path / "team" / "gone.tgz").unlink()
    for name in ("toy", "flat"):
        assert call("get", name, "--registry", "team/registry.toml")[0] == 0
    told = call("list")[1]
    assert f"flat\tweights alone\t0.0 MB\t{home / 'flat'}\tfetched\t{LICENCE}\n" in told
    assert shipped.find_weights("flat") == home / "flat"
    assert shipped.first_model() == "en-fr"
    status, _, err = call("get", "gone", "--registry", "team/registry.toml")
    assert (status, err) == (2, "error: gone: team/gone.tgz does not exist; correct the path\n")


def test_no_room(call, offered, files, home, monkeypatch):
    usage = resources.shutil.disk_usage(".")._replace(free=resources.MARGIN + 1000)
    monkeypatch.setattr(models.check_space.__globals__["shutil"], "disk_usage", lambda _: usage)
    status, _, err = call("get", "toy", "--registry", offered(tgz(inside(files))))
    assert (status, "free space, or name another folder in LIAISON_MODELS" in err) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "no TOML can be read"),
        (b"x" * (registry.MOST_BYTES + 1), "too many for a registry"),
        (b"a = 1\n", "[a]: no table; write its keys below it"),
        (b"['../a']\n", "'../a' is no name of a model"),
        (b'["a\\u001b"]\n', r"'a\x1b' is no name of a model"),
        (table(b"x", license="MIT"), "[toy] has no key 'license'; there are languages, licence"),
        (table(b"x", licence=None), "[toy] licence: None is not the name of a licence"),
        (table(b"x", licence="a\tb"), r"[toy] licence: 'a\tb' is not the name"),
        (table(b"x", sha256="0" * 63), "is not 64 hexadecimal digits"),
        (table(b"x", size=True), "[toy] size: True is not a number of bytes"),
        (table(b"x", url=None), "[toy] url: None is not an address"),
    ],
)
def test_registries_that_are_none(text, message):
    with pytest.raises(registry.InputError) as failed:
        parse_registry(text, "r")
    assert str(failed.value).startswith("r: ")
    assert message in str(failed.value)


def test_a_registry_of_one_model_is_read_as_it_was_written():
    entry = parse_registry(table(b"x", licence='"é" \\ 1'), "r")["toy"]
    assert parse_registry(as_registry(entry).encode(), "r") == {"toy": entry}


def test_the_shipped_registry_names_what_is_shipped():
    for folder in [*shipped.known_models(), *shipped.known_weights()]:
        entry = registry.entry_of(folder)
        assert (entry.name, entry.url) == (folder.name, None)
        assert entry.languages in (folder.name, registry.ANY)


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"LIAISON_MODELS": "/m", "XDG_DATA_HOME": "/x"}, "/m"),
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/liaison/models"),
        ("darwin", {"LIAISON_MODELS": "", "HOME": "/h"}, "/h/.local/share/liaison/models"),
        ("linux", {"XDG_DATA_HOME": "not/absolute"}, None),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/liaison/models"),
    ],
)
def test_the_folder_of_the_users_models(monkeypatch, platform, variables, folder):
    for name in ("LIAISON_MODELS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(shipped.sys, "platform", platform)
    assert shipped.user_folder() == (None if folder is None else Path(folder))


def test_without_a_home_nothing_can_be_fetched(call, offered, files, monkeypatch):
    monkeypatch.setenv("LIAISON_MODELS", "")
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    status, _, err = call("get", "toy", "--registry", offered(tgz(inside(files))))
    assert (status, "name a folder for models with it" in err) == (2, True)
