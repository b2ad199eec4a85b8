"""The stage download: from whatever place, what comes is whole, checked, and said in sources.json."""

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from align.core.errors import InputError, WorkError
from align.vectors.rows import MAGIC
from pipeline.config import input_sections as sources
from pipeline.config import places
from pipeline.config.configuration import load as load_config
from pipeline.run import runner
from pipeline.run.plan import Settings, plan
from pipeline.stages.download import stage as download
from pipeline.work.engine import Local
from pipeline.work.stage import Stage

ROOT = Path(__file__).resolve().parents[4]
EN, FR = b"".join(b"a cat %d\n" % i for i in range(5000)), b"".join(b"un chat %d\n" % i for i in range(5000))
VECTORS = gzip.compress(b"2 3\nchat 1 0 0\nchien 0 1 0\n")
MODEL = MAGIC + bytes(5000)
USED = (
    *("corpus.source", "corpus.target", "corpus.files", "corpus.url", "corpus.tsv", "corpus.tmx"),
    *("corpus.joint", "corpus.sha256", "vectors.*", "gold.files", "gold.links"),
)


def _local_files(config):
    return sources.local_files(config.option)


STAGES = {"download": Stage("download", download.run, uses=USED, files=_local_files, resumable=True)}
SCHEMA = {
    "corpus": sources.corpus_options,
    "vectors": sources.vectors_options,
    "gold": sources.gold_options,
    "download": download.run,
}


def gz(data):
    return gzip.compress(data, mtime=0)


def tgz(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed_zip(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


ARCHIVE = tgz({"europarl-v7.fr-en.en": EN, "europarl-v7.fr-en.fr": FR})
OPUS = packed_zip(
    {"README": b"read", "Europarl.en-fr.en": EN, "Europarl.en-fr.fr": FR, "Europarl.en-fr.xml": b"<x/>"}
)


@pytest.fixture
def go(tmp_path, capsys):
    """Return a function that runs the stage with a configuration and gives what it found."""

    def run(*overrides, name="c", text=""):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'[corpus]\nname = "{name}"\nsource = "en"\ntarget = "fr"\n{text}', encoding="utf-8")
        config = load_config(path, ["download.backoff=0.001", *overrides], SCHEMA)
        settings = Settings(workdir=tmp_path / "work", tmp_dir=None, jobs=1, memory=2**30, seed=0)
        steps = plan(config, ["download"], STAGES, settings)
        runner.run(steps, config, settings, Local(1))
        found = download.load(steps[0].folder)
        found["said"] = capsys.readouterr().err
        found["folder"] = steps[0].folder
        return found

    return run


def content(found):
    return [Path(path).read_bytes() for path in found["corpus"]["paths"]]


def downloads(tmp_path):
    """Return the names of all whole downloads."""
    found = (tmp_path / "work" / "downloads").glob("*/*")
    return sorted(path.name for path in found if path.suffix != ".json" and path.name != ".lock")


@pytest.fixture
def europarl(site, monkeypatch):
    """Let Europarl's two places be on the local server, each with a working archive."""
    monkeypatch.setattr(places, "EUROPARL_SITE", site.address + "/v7")
    monkeypatch.setattr(places, "OPUS_EUROPARL", site.address + "/moses")
    site.add("/v7/fr-en.tgz", ARCHIVE)
    site.add("/moses/en-fr.txt.zip", OPUS)
    return site


def asked(site):
    return [request.path for request in site.requests]


def test_europarl_by_its_codes(europarl, go):
    found = go()
    assert found["corpus"]["kind"] == "files"
    assert content(found) == [EN, FR]
    assert found["corpus"]["sha256"] == [hashlib.sha256(ARCHIVE).hexdigest()]
    assert (found["vectors"], found["gold"]) == ({"source": None, "target": None, "dictionary": None}, None)
    assert asked(europarl) == ["/v7/fr-en.tgz"]
    written = json.loads((found["folder"] / "sources.json").read_text(encoding="utf-8"))
    assert written["corpus"]["paths"] == ["corpus.en", "corpus.fr"]
    assert sorted(path.name for path in found["folder"].iterdir()) == [
        *("corpus.en", "corpus.fr", "manifest.json", "sources.json")
    ]


def test_the_other_direction_of_europarl(europarl, go):
    found = go("corpus.source=fr", "corpus.target=en")
    assert content(found) == [FR, EN]
    assert asked(europarl) == ["/v7/fr-en.tgz"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"data": ARCHIVE, "faults": [404]},
            "404 Not Found; check the address, or name a mirror; trying the next",
        ),
        ({"data": ARCHIVE, "faults": [503] * 9}, "503 Service Unavailable, after 6 tries"),
        ({"data": b"<html>moved</html>"}, "sent a web page, not a file"),
        ({"data": ARCHIVE[: len(ARCHIVE) // 2]}, "the gzip data are cut off"),
        ({"data": tgz({"../evil.en": EN})}, "unsafe: its member '../evil.en' leads outside"),
        ({"data": tgz({"x.de": EN})}, "no pair of files ending in .en and .fr"),
    ],
)
def test_where_the_first_place_fails_the_next_one_serves(europarl, go, tmp_path, options, said):
    europarl.add("/v7/fr-en.tgz", **options)
    found = go()
    assert content(found) == [EN, FR]
    assert found["corpus"]["sha256"] == [hashlib.sha256(OPUS).hexdigest()]
    assert said in found["said"]
    # Nothing bad is kept.
    assert downloads(tmp_path) == ["en-fr.txt.zip"]
    assert not list(tmp_path.rglob("evil*"))


def test_where_all_places_fail_the_last_reason_is_told(europarl, go):
    europarl.resources.clear()
    with pytest.raises(
        WorkError, match=r"Europarl en-fr cannot be had from 2 places \(last: .*zip: .*404 Not Found.*try"
    ):
        go()


def test_a_wrong_hash_is_not_passed_over(europarl, go, tmp_path):
    with pytest.raises(
        WorkError, match=rf"its sha256 is {hashlib.sha256(ARCHIVE).hexdigest()} .*, not {'0' * 64}"
    ):
        go(f"corpus.sha256={'0' * 64}")
    assert asked(europarl) == ["/v7/fr-en.tgz"]
    assert downloads(tmp_path) == []
    found = go(f"corpus.sha256={'0' * 64}", "download.accept_changed=true")
    assert content(found) == [EN, FR]
    assert "taken all the same" in found["said"]


def test_a_mirror_without_the_archive_is_passed_over(europarl, go, tmp_path):
    found = go(f"download.mirror={tmp_path}")
    assert content(found) == [EN, FR]
    assert "fr-en.tgz does not exist; correct the path; trying the next place" in found["said"]


@pytest.mark.parametrize("faults", [["cut:20000"], [503, "cut:10000", "cut:5000"], []])
@pytest.mark.parametrize("ranges", [True, False])
def test_an_archive_by_its_address(site, go, faults, ranges):
    data = tgz({"x.en": os.urandom(50_000), "x.fr": FR})
    url = site.add("/d/fr-en.tgz", data, faults=faults, ranges=ranges)
    found = go(f"corpus.url={url}", f"corpus.sha256={hashlib.sha256(data).hexdigest()}")
    assert content(found)[1] == FR
    bodies = [request for request in site.requests if request.status in (200, 206)]
    if ranges:
        assert sum(request.sent for request in bodies) == len(data)
    else:
        assert [request.status for request in bodies] == [200] * len(bodies)


def test_corpora_share_a_download_and_a_second_run_asks_nothing(site, go):
    url = site.add("/fr-en.tgz", ARCHIVE)
    go(f"corpus.url={url}", name="one")
    found = go(f"corpus.url={url}", name="two")
    assert content(found) == [EN, FR]
    assert "is there already" in found["said"]
    found = go(f"corpus.url={url}", name="two")
    assert "skipped, done" in found["said"]
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ARCHIVE[: len(ARCHIVE) // 2], r"http.*fr-en\.tgz: .*the gzip data are cut off; get the file again"),
        (tgz({"/etc/x.en": EN, "x.fr": FR}), r"http.*unsafe: its member '/etc/x\.en' leads outside"),
        (b"just text\n" * 50, r"http.*neither an archive nor TMX, TSV or .*; give corpus\.files"),
    ],
)
def test_a_bad_archive_is_not_kept(site, go, tmp_path, data, message):
    url = site.add("/fr-en.tgz", data)
    with pytest.raises(WorkError, match=message):
        go(f"corpus.url={url}")
    assert downloads(tmp_path) == []
    assert list(tmp_path.glob("work/c/download/*/sources.json")) == []


def test_a_local_archive_that_is_bad_stays_and_is_the_users_fault(go, tmp_path):
    (tmp_path / "a.tgz").write_bytes(ARCHIVE[:-10])
    with pytest.raises(InputError, match=r"a\.tgz: the gzip data are cut off"):
        go(text='url = "a.tgz"')
    assert (tmp_path / "a.tgz").exists()


TMX = b'<?xml version="1.0"?><tmx version="1.4"><body></body></tmx>'


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"a\tb\nc\td\n", "tsv"), (b"a ||| b\n", "joint"), (TMX, "tmx"), (b"\xef\xbb\xbf" + TMX, "tmx")],
)
@pytest.mark.parametrize("pack", [bytes, gz])
def test_a_single_file_by_its_address(site, go, data, kind, pack):
    url = site.add("/corpus.gz", pack(data))
    found = go(f"corpus.url={url}")
    assert found["corpus"]["kind"] == kind
    assert content(found) == [pack(data)]
    assert Path(found["corpus"]["paths"][0]).parent == found["folder"]
    assert go(f"corpus.{kind}={url}")["corpus"]["kind"] == kind


def test_a_zipped_tmx(site, go):
    url = site.add("/en-fr.tmx.zip", packed_zip({"README": b"x", "en-fr.tmx": TMX}))
    found = go(f"corpus.tmx={url}")
    assert (found["corpus"]["kind"], content(found)) == ("tmx", [TMX])


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_files_on_the_disk_are_named_not_copied(go, tmp_path, form):
    (tmp_path / "my en.txt").write_bytes(EN)
    (tmp_path / "my.fr").write_bytes(gz(FR))
    first = form.format(
        str(tmp_path / "my en.txt").replace(" ", "%20") if "file" in form else tmp_path / "my en.txt"
    )
    found = go(text=f'files = ["{first}", "my.fr"]')
    assert found["corpus"]["paths"] == [str(tmp_path / "my en.txt"), str(tmp_path / "my.fr")]
    assert found["corpus"]["sha256"] == [hashlib.sha256(data).hexdigest() for data in (EN, gz(FR))]
    assert sorted(path.name for path in found["folder"].iterdir()) == ["manifest.json", "sources.json"]


def test_a_changed_file_on_the_disk_makes_the_stage_stale(go, tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    first = go(text='tsv = "c.tsv"')
    (tmp_path / "c.tsv").write_text("a\tc\n", encoding="utf-8")
    second = go(text='tsv = "c.tsv"')
    assert "contents changed" in second["said"]
    assert first["corpus"]["sha256"] != second["corpus"]["sha256"]


def test_the_hash_of_a_file_on_the_disk_is_checked(go, tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    text = f'tsv = "c.tsv"\nsha256 = "{"0" * 64}"'
    with pytest.raises(
        InputError, match=r"c\.tsv: its sha256 is [0-9a-f]{64} \(4 bytes\), not 0{64}; correct corpus"
    ):
        go(text=text)
    assert "taken all the same" in go("download.accept_changed=true", text=text)["said"]


def test_a_packed_file_on_the_disk_is_read_to_its_end(go, tmp_path):
    (tmp_path / "c.tsv").write_bytes(gz(b"a\tb\n" * 1000)[:-9])
    with pytest.raises(InputError, match=r"c\.tsv: the gzip data are cut off; get the file again"):
        go(text='tsv = "c.tsv"')


def test_two_fetched_files_of_one_name_do_not_collide(site, go):
    one, other = site.add("/en/train.txt", EN), site.add("/fr/train.txt", FR)
    assert content(go(text=f'files = ["{one}", "{other}"]')) == [EN, FR]


def test_published_vectors_by_language_code(site, go, monkeypatch, tmp_path):
    monkeypatch.setitem(places.VECTOR_SETS, "crawl", site.address + "/cc.{language}.300.vec.gz")
    monkeypatch.setitem(places.VECTOR_SETS, "crawl.bin", site.address + "/cc.{language}.300.bin.gz")
    monkeypatch.setitem(places.VECTOR_SETS, "wiki.bin", site.address + "/wiki.{language}.zip")
    for language in ("en", "fr"):
        site.add(f"/cc.{language}.300.vec.gz", VECTORS)
        site.add(f"/cc.{language}.300.bin.gz", gz(MODEL))
        site.add(
            f"/wiki.{language}.zip", packed_zip({f"wiki.{language}.bin": MODEL, f"wiki.{language}.vec": b"x"})
        )
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    (tmp_path / "d.tsv").write_text("cat\tchat\n", encoding="utf-8")
    for name, ending, expected in (
        ("crawl", ".vec.gz", VECTORS),
        ("crawl.bin", ".bin", MODEL),
        ("wiki.bin", ".bin", MODEL),
    ):
        found = go(
            f"vectors.source={name}",
            f"vectors.target={name}",
            text='tsv = "c.tsv"\n[vectors]\ndictionary = "d.tsv"\n',
        )["vectors"]
        for side in ("source", "target"):
            assert found[side].endswith(ending)
            assert Path(found[side]).read_bytes() == expected
        assert found["dictionary"] == str(tmp_path / "d.tsv")


def test_vectors_and_gold_on_the_disk_are_named_and_packed_models_unpacked(go, tmp_path):
    for name, data in (
        ("a.vec", b"1 1\nx 1\n"),
        ("b.bin.gz", gz(MODEL)),
        ("g.en", EN),
        ("g.fr", FR),
    ):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "g.align").write_text("0-0\n", encoding="utf-8")
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    found = go(
        text='tsv = "c.tsv"\n[vectors]\nsource = "a.vec"\ntarget = "b.bin.gz"\n'
        '[gold]\nfiles = ["g.en", "g.fr"]\nlinks = "g.align"\n'
    )
    assert found["vectors"]["source"] == str(tmp_path / "a.vec")
    assert Path(found["vectors"]["target"]).read_bytes() == MODEL
    assert found["gold"] == {
        "files": [str(tmp_path / "g.en"), str(tmp_path / "g.fr")],
        "links": str(tmp_path / "g.align"),
    }


def test_gold_by_address(site, go, tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    urls = [site.add(f"/{name}/gold", name.encode()) for name in ("en", "fr", "links")]
    found = go(text=f'tsv = "c.tsv"\n[gold]\nfiles = ["{urls[0]}", "{urls[1]}"]\nlinks = "{urls[2]}"\n')[
        "gold"
    ]
    assert [Path(path).read_text(encoding="utf-8") for path in (*found["files"], found["links"])] == [
        "en",
        "fr",
        "links",
    ]


def test_cut_vectors_of_a_server_that_tells_no_length_are_not_kept(site, go, tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    good, bad = site.add("/en.vec.gz", VECTORS), site.add("/fr.vec.gz", VECTORS[:-9], length=False)
    with pytest.raises(WorkError, match=r"fr\.vec\.gz: .*the gzip data are cut off; get the file again"):
        go(f"vectors.source={good}", f"vectors.target={bad}", text='tsv = "c.tsv"')
    assert downloads(tmp_path) == ["en.vec.gz"]


def test_a_disk_without_hard_links_names_the_shared_download(site, go, monkeypatch, tmp_path):
    def refuse(*_arguments):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    url = site.add("/c.tsv", b"a\tb\n")
    found = go(f"corpus.tsv={url}")
    assert Path(found["corpus"]["paths"][0]).parent.parent == tmp_path / "work" / "downloads"


def test_a_mirror_that_is_no_place_is_refused(go, tmp_path):
    (tmp_path / "c.tsv").write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"download\.mirror: ftp://h is no http, https or file URL"):
        go("download.mirror=ftp://h", text='tsv = "c.tsv"')


def test_killed_in_the_middle_the_rerun_ends_with_the_same_bytes(site, go, tmp_path):
    data = tgz({"x.en": os.urandom(400_000), "x.fr": FR})
    url = site.add("/fr-en.tgz", data, faults=["stall:250000"])
    program = (
        "import sys; from pathlib import Path; from pipeline.run import runner\n"
        "from pipeline.run.plan import Settings, plan\n"
        "from pipeline.config.configuration import load; from pipeline.work.engine import Local\n"
        "from tests.pipeline.stages.download.test_download import SCHEMA, STAGES\n"
        "config = load(Path(sys.argv[1]), sys.argv[2:], SCHEMA)\n"
        f"settings = Settings(Path({str(tmp_path / 'work')!r}), None, 1, 2**30, 0)\n"
        "runner.run(plan(config, ['download'], STAGES, settings), config, settings, Local(1))"
    )
    config = tmp_path / "c.toml"
    config.write_text('[corpus]\nname = "c"\nsource = "en"\ntarget = "fr"\n', encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(config), "download.backoff=0.001", f"corpus.url={url}"],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        parts = list(tmp_path.glob("work/downloads/*/fr-en.tgz.part"))
        if parts and parts[0].stat().st_size > 150_000:
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    arrived = parts[0].stat().st_size
    found = go(f"corpus.url={url}")
    assert found["corpus"]["sha256"] == [hashlib.sha256(data).hexdigest()]
    assert content(found)[1] == FR
    assert [(request.status, request.range) for request in site.requests] == [
        (200, None),
        (206, f"bytes={arrived}-"),
    ]


def test_the_archive_of_the_original_site_by_its_codes(europarl, go, real_data):
    data = real_data("europarl/fr-en.tgz").read_bytes()
    europarl.add("/v7/fr-en.tgz", data, faults=["cut:9000000"])
    found = go()
    assert [text.count(b"\n") for text in content(found)] == [200_000, 200_000]
    assert sum(request.sent for request in europarl.requests) == len(data)
