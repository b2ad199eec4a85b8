"""Downloads, archives, disks, reruns and the command line: each test is named after the case it holds."""

import ast
import gzip
import io
import json
import os
import re
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from align.core.errors import InputError, WorkError
from align.data.tmx import read_tmx
from align.explorer.desk import explained
from align.report.page import render
from align.vectors import training as embed_training
from pipeline.stages.download import downloader, http_request
from pipeline.stages.download.archives import extract_pair, unpack
from pipeline.stages.download.downloader import WrongHashError
from pipeline.stages.preprocess import stage as preprocess_stage
from pipeline.work import resources
from tests import test_rooms
from tests.align import toy
from tests.align.model.test_aligner import of
from tests.cases.test_vectors import sources
from tests.pipeline.stages.download import test_archives, test_download, test_downloader
from tests.pipeline.stages.download.test_archives import EN, FR, PACKERS, PAIR, packed_zip, tar, tgz
from tests.pipeline.stages.download.test_download import ARCHIVE, content
from tests.pipeline.stages.download.test_downloader import DATA, SHA256, but, left, sent
from tests.pipeline.stages.preprocess import test_preprocess

fetcher, extract = test_downloader.fetcher, test_archives.extract
go, europarl = test_download.go, test_download.europarl
preprocessed = test_preprocess.run

ROWS = "the red house\tla maison rouge\ni see a dog\tje vois un chien\n"


# F01 to F08: downloads and disks


def test_f01_a_part_is_never_taken_for_the_file_and_is_gone_on_with(site, fetcher):
    url = site.add("/x", DATA, faults=["cut:100000"])
    with pytest.raises(
        WorkError,
        match=r"/x: the connection was cut after 100000 of 300000 bytes; check.*100000 bytes are kept",
    ):
        but(fetcher, retries=0).fetch(url)
    assert left(fetcher, url) == ["x.part", "x.part.json"]
    assert fetcher.fetch(url).sha256 == SHA256
    assert sent(site)[1] == (206, "bytes=100000-", 200_000)
    assert "going on after 100000 bytes" in fetcher.said[-2] + fetcher.said[-1]


def test_f01_the_stamp_comes_last(site, fetcher, monkeypatch):
    url = site.add("/x", DATA)
    monkeypatch.setattr(downloader, "write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        fetcher.fetch(url)
    monkeypatch.undo()
    assert left(fetcher, url) == ["x.part", "x.part.json"]
    assert fetcher.fetch(url).sha256 == SHA256
    assert len(site.requests) == 1


def interrupted(items, **_options):
    """A progress bar under which the work is stopped after a step."""
    yield next(iter(items))
    raise KeyboardInterrupt


@pytest.mark.parametrize("made", ["unpacked", "extracted"])
def test_f01_a_conversion_that_is_stopped_leaves_nothing(tmp_path, made):
    """Of whole stages: they are renamed when done (tests/pipeline/work/test_publish.py)."""
    (tmp_path / "out").mkdir()
    data = {"unpacked": gzip.compress(os.urandom(3 << 20)), "extracted": tgz(PAIR)}[made]
    (tmp_path / "packed").write_bytes(data)
    work, place = {"unpacked": (unpack, "out/x"), "extracted": (extract_pair, "out")}[made]
    languages = [("en", "fr")] if made == "extracted" else []
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path / "packed", tmp_path / place, *languages, progress=interrupted)
    assert list((tmp_path / "out").iterdir()) == []


def test_f02_a_cut_download_goes_on_where_it_stopped(site, fetcher):
    url = site.add("/x", DATA, faults=["cut:100000", "cut:50000"])
    assert fetcher.fetch(url, sha256=SHA256).path.read_bytes() == DATA
    assert [status for status, _, _ in sent(site)] == [200, 206, 206]
    assert [asked for _, asked, _ in sent(site)] == [None, "bytes=100000-", "bytes=150000-"]
    # No byte was sent twice.
    assert sum(count for _, _, count in sent(site)) == len(DATA)
    assert site.requests[1].if_range == '"one"'
    assert any(
        "connection was cut after 100000 of 300000 bytes; " in line and "trying again" in line
        for line in fetcher.said
    )


@pytest.mark.parametrize("on_disk", [True, False])
def test_f02_a_mirror_or_a_folder_is_asked_first(europarl, go, tmp_path, on_disk):
    europarl.resources.clear()
    if on_disk:
        mirror = tmp_path / "mirror"
        mirror.mkdir()
        (mirror / "fr-en.tgz").write_bytes(ARCHIVE)
    else:
        mirror = europarl.add("/mirror/fr-en.tgz", ARCHIVE).removesuffix("/fr-en.tgz") + "/"
    assert content(go(f"download.mirror={mirror}")) == [test_download.EN, test_download.FR]


def test_f02_of_europarl_the_archive_of_the_pair_alone_is_fetched(europarl, go):
    go("corpus.source=fr", "corpus.target=en")
    assert [request.path for request in europarl.requests] == ["/v7/fr-en.tgz"]


KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgc3ITzx2sq/Tiz969
4MyUm2N0YU6rZ2XwnZz/lIGJHgWhRANCAASox4psSlqrBZn7tEmp2/+k2AcjL6aE
UOr7MnkUdsWTxNUQIh+xBivBisst8eog23KuvvmfS9zjl3EEKRGT1Pit
-----END PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBjjCCATSgAwIBAgIUSA6WbPI5gC0IBypqlCBIza5WnrEwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMB4XDTI2MTEyOTA3NDkzNVoXDTI2MTEzMDA3
NDkzNVowFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEqMeKbEpaqwWZ+7RJqdv/pNgHIy+mhFDq+zJ5FHbFk8TVECIfsQYrwYrL
LfHqINtyrr75n0vc45dxBCkRk9T4raNkMGIwHQYDVR0OBBYEFDu200wRo5sMvxJM
b68oivhzJtEOMB8GA1UdIwQYMBaAFDu200wRo5sMvxJMb68oivhzJtEOMA8GA1Ud
EwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiEA
78zotzjM8aWbFVm6YIRxvkJC4MxpuMUV3bDOFuboBaUCIBz8PXIoi25JGeFc8mIZ
O91I32GijhqOiWKFdaewCSZz
-----END CERTIFICATE-----
"""


@pytest.fixture
def secure_site(tmp_path, monkeypatch):
    """The address of a server whose certificate nobody has signed, and which ran out after a day."""
    (tmp_path / "pem").write_text(KEY + CERTIFICATE, encoding="ascii")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_f03_a_certificate_that_cannot_be_verified_is_final(secure_site, fetcher, pipeline):
    told = (
        "/x.tgz: the certificate of 127.0.0.1 cannot be verified; check this machine's clock, or name a "
        "mirror (verification is never switched off)"
    )
    with pytest.raises(WorkError, match=re.escape(told)):
        fetcher.fetch(f"{secure_site}/x.tgz")
    assert not [line for line in fetcher.said if "trying again" in line]
    status, _, err = pipeline(f'url = "{secure_site}/x.tgz"', "--stage", "download")
    assert (status, told in err) == (1, True)


def test_f03_verification_is_nowhere_switched_off():
    for path, tree in sources("align", "pipeline"):
        text = ast.unparse(tree)
        assert not re.search(r"verify=False|CERT_NONE|_create_unverified_context|disable_warnings", text), (
            path
        )


def test_f04_a_wrong_hash_keeps_nothing_and_names_both(site, fetcher):
    url = site.add("/x", DATA)
    message = (
        rf"/x: its sha256 is {SHA256} \(300000 bytes, last changed Mon, 01 Jan 2024 .*\), not {'0' * 64}; "
    )
    with pytest.raises(WrongHashError, match=message + "the file was changed or damaged"):
        fetcher.fetch(url, sha256="0" * 64)
    assert left(fetcher, url) == []
    fetched = but(fetcher, accept_changed=True).fetch(url, sha256="0" * 64)
    assert fetched.sha256 == SHA256
    assert "taken all the same" in fetcher.said[-1]


def test_f04_an_archive_that_changed_upstream_stops_unless_that_is_accepted(europarl, go):
    with pytest.raises(WorkError, match=r"corpus\.sha256 or set download\.accept_changed = true"):
        go(f"corpus.sha256={'0' * 64}")
    found = go(f"corpus.sha256={'0' * 64}", "download.accept_changed=true")
    assert content(found) == [test_download.EN, test_download.FR]
    assert f"({len(ARCHIVE)} bytes, last changed Mon, 01 Jan 2024 00:00:00 GMT), not 0000" in found["said"]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.97, 0.9999])
def test_f06_a_cut_archive_is_never_taken_for_a_short_one(extract, packer, share):
    data = PACKERS[packer](PAIR)
    if packer == "tar":
        # Its last kilobytes are empty blocks.
        share *= 0.9
    with pytest.raises(InputError, match=r"are cut off|is cut or damaged|neither a tar nor a zip"):
        extract(data[: int(len(data) * share)])
    assert list(extract.folder.iterdir()) == []


def test_f06_a_tar_cut_between_two_members_or_before_its_end_is_refused(extract):
    data = tar(PAIR)
    first = 512 + -(-len(EN) // 512) * 512
    last = first + 512 + -(-len(FR) // 512) * 512
    for end in (first, last):
        for cut in (data[:end], gzip.compress(data[:end])):
            with pytest.raises(InputError, match=r"is cut or damaged \(its end is missing\); get it again"):
                extract(cut)


def test_f06_a_damaged_header_or_other_data_after_the_end_are_refused(extract):
    data = bytearray(tar(PAIR))
    second = 512 + -(-len(EN) // 512) * 512
    data[second + 5] ^= 0xFF
    with pytest.raises(InputError, match=r"is cut or damaged \(other data follow its last member\)"):
        extract(bytes(data))
    with pytest.raises(InputError, match=r"is cut or damaged \(other data follow its last member\)"):
        extract(tar(PAIR) + b"garbage")
    with pytest.raises(InputError, match=r"other data follow the end of the gzip data"):
        extract(tgz(PAIR) + b"garbage")


@pytest.mark.parametrize("packer", PACKERS)
def test_f06_whatever_the_packing(extract, packer):
    with pytest.raises(InputError, match=r"other data follow (its|the) (end|last member)"):
        extract(PACKERS[packer](PAIR) + b"<html>")
    assert [path.read_bytes() for path in extract(PACKERS[packer](PAIR) + b"\0" * 512)] == [EN, FR]


def test_f06_a_zip_may_have_a_comment(extract):
    data = packed_zip(PAIR)
    assert data[-2:] == b"\0\0"
    assert extract(data[:-2] + b"\x05\0hello")[0].read_bytes() == EN


def test_f07_no_room_on_the_disk_is_said_before_anything_is_written(site, fetcher, monkeypatch):
    usage = resources.shutil.disk_usage(".")._replace(free=resources.MARGIN + 299_999)
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda _: usage)
    url = site.add("/x", DATA)
    with pytest.raises(
        WorkError, match=r"/x: needs 300000 bytes but .* has 67\.4 MB free; free space, or give ano"
    ):
        fetcher.fetch(url)
    assert "x.part" not in left(fetcher, url)


def test_f07_a_disk_that_fills_up_meanwhile_is_one_clear_line(site, fetcher, monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(http_request, "_written", full)
    url = site.add("/x", DATA)
    with pytest.raises(WorkError, match=r"/x: the disk is full at .* after 0 bytes; free space"):
        fetcher.fetch(url)


def test_f07_a_temporary_folder_of_ones_own_is_used_and_left_empty(pipeline, tmp_path, monkeypatch):
    """A full one: tests of G21 in tests/cases/test_outputs.py."""
    (tmp_path / "t").mkdir()
    seen = []
    write_merged = embed_training.write_merged

    def watched(path, *arguments, **options):
        seen.append(path)
        return write_merged(path, *arguments, **options)

    monkeypatch.setattr(embed_training, "write_merged", watched)
    words = ("--stage", "embed", "--tmp-dir", "t", "--set", "embed.dim=4")
    assert pipeline('tsv = "c.tsv"', *words, **{"c.tsv": ROWS * 50})[0] == 0
    assert tmp_path / "t" in [path.resolve() for path in seen[0].resolve().parents]
    assert list((tmp_path / "t").iterdir()) == []


def test_f08_what_a_stage_needed_on_its_way_is_gone_when_it_is_done(site, pipeline, tmp_path):
    url = site.add("/fr-en.tgz", tgz({"x.en": EN, "x.fr": FR}))
    status, _, _ = pipeline(f'url = "{url}"\nlimit = 300', "--stage", "embed", "--set", "embed.dim=4")
    assert status == 0
    files = [path for path in (tmp_path / "w").rglob("*") if path.is_file()]
    parts = [part for path in files for part in path.relative_to(tmp_path / "w").parts]
    # The archive is there once, its text once; nothing half done, no shards, no merged text.
    assert sorted(path.name for path in files if path.stat().st_size > 30_000) == ["corpus.en", "corpus.fr"]
    odd = re.compile(r".*(partial|part|shards|merged.*|extracted|scratch)")
    assert not [part for part in parts if odd.fullmatch(part)]


# F09 to F12: what corpora hold


def test_f09_markup_goes_on_both_sides_and_comparisons_stay(preprocessed):
    source = ["<CHAPTER ID=1>", "5 < 6", '<SPEAKER ID=2 NAME="X">', "<P>", "<hope>"]
    target = ["<CHAPTER ID=1>", "5 < 6", "Bonjour", "<P>", "<espoir>"]
    result = preprocessed(source, target)
    assert [(line, reason) for line, reason, _ in result.reasons if reason == "markup"] == [
        (1, "markup"),
        (3, "markup"),
        (4, "markup"),
    ]
    assert result.text[1] == ["", "5 < 6", "", "", "< espoir >"]
    kept = preprocessed(source, target, options={"strip_markup": False})
    assert kept.text[0][3] == "< P >"


@pytest.mark.parametrize(
    ("line", "goes"),
    {
        **dict.fromkeys(("<CHAPTER ID=1>", '<CHAPTER ID="011-01">', "<P>", "</P>", "<BRK>", "  <p> "), True),
        **dict.fromkeys(('<SPEAKER ID=2 NAME="X">', '<SPEAKER ID="3" LANGUAGE="" NAME="Le Pré">'), True),
        **dict.fromkeys(("5 < 6", "<3", "a <b> c", "<hope>", "<P> Hello", "P>", "<>"), False),
    }.items(),
)
def test_f09_a_line_goes_only_if_it_is_such_a_tag_and_nothing_else(preprocessed, line, goes):
    result = preprocessed(["one", line], ["un", "deux"])
    assert (result.reasons == [(2, "markup", "dropped")]) == goes
    assert (result.text[0][1] == "") == (result.text[1][1] == "") == goes


def test_f10_language_tags_before_a_speech_go_and_are_counted(preprocessed):
    result = preprocessed(
        ["(DE) Mr President", "Yes (FR)"], ["– (DE) Herr Präsident", "Ja (FR)"], target="de"
    )
    assert result.text == [["Mr President", "Yes ( FR )"], ["Herr Präsident", "Ja ( FR )"]]
    assert result.spans(0, 1) == [(7, 11), (12, 21)]
    assert result.summary["changes"]["language_tags"] == 2


@pytest.mark.parametrize(
    ("line", "rest"),
    {
        "(DE) Herr": "Herr", "– (FR) Oui": "Oui", "- (EN) - x": "x", "(NL)Ja": "Ja", " (PL) x": "x",
        "(EU) law": None, "(it) was": None, "(A) first": None, "so (FR) x": None,
    }.items(),
)  # fmt: skip
def test_f10_only_a_tag_of_a_language_at_the_start_is_one(preprocessed, line, rest):
    result = preprocessed(["one", line], ["un", "deux"])
    assert result.text[0][1] == (rest or " ".join(line.replace("(", "( ").replace(")", " )").split()))
    assert ("language_tags" in result.summary["changes"]) == (rest is not None)


XCES = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">
<cesAlign version="1.0"><linkGrp targType="s"><link xtargets="1;9999999" /></linkGrp></cesAlign>
"""


@pytest.mark.parametrize("packed", [False, True])
def test_f11_numbers_of_sentences_that_are_elsewhere_are_not_followed(site, pipeline, packed):
    """So that none can point to a sentence that does not exist: the Moses archive has the text itself."""
    data = gzip.compress(XCES.encode()) if packed else XCES.encode()
    url = site.add("/en-fr.xml", data, content_type="application/xml")
    for place, status in ((url, 1), ("en-fr.xml", 2)):
        found, _, err = pipeline(f'url = "{place}"', "--stage", "download", **{"en-fr.xml": data})
        assert found == status
        assert (
            "numbers of sentences that belong together, not the sentences (XCES, as OPUS has it); give" in err
        )


def test_f11_units_without_a_sentence_of_one_side_are_skipped_and_counted(pipeline, tmp_path):
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    both = f"<tu>{variant.format('en', 'a cat {0}')}{variant.format('fr', 'un chat {0}')}</tu>"
    lone = f"<tu>{variant.format('en', 'a cat')}</tu>"
    units = [lone if number == 50 else both.format(number) for number in range(200)]
    tmx = f'<tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'
    status, _, err = pipeline('tmx = "c.tmx"', "--stage", "preprocess", **{"c.tmx": tmx})
    assert status == 0
    assert "199 pairs of 200 lines" in err
    rejects = (tmp_path / "w" / "c" / "latest" / "preprocess" / "rejects.tsv").read_text(encoding="utf-8")
    assert re.search(r"^51\t\w+\tdropped\t.*fr", rejects, re.MULTILINE)


def test_f12_the_xml_in_an_archive_of_text_is_not_even_read(europarl, go):
    europarl.resources.pop("/v7/fr-en.tgz")
    members = {
        "Europarl.en-fr.en": EN,
        "Europarl.en-fr.fr": FR,
        "Europarl.en-fr.xml": b"<x><y></x>&nbsp;\x0b",
    }
    europarl.add("/moses/en-fr.txt.zip", packed_zip(members))
    assert content(go()) == [EN, FR]


def test_f12_malformed_units_are_skipped():
    """Further kinds: tests of G23 in tests/cases/test_readers.py. An element that does not end stops."""
    unit = '<tu><tuv xml:lang="en"><seg>a{}</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu>\n'
    for fault in ("&nbsp;", " < 6", " <3", "<- b", "<", "&", "\x0b"):
        text = f"<tmx version='1.4'><header/><body>\n{unit.format(fault)}{unit.format('') * 3}</body></tmx>"
        rows = list(read_tmx(io.BytesIO(text.encode()), "en", "fr"))
        assert [row.problem for row in rows] == ["markup", None, None, None]
        assert rows[0].detail.startswith("line 2: ")


# F14 to F18: long runs


def test_f14_what_is_said_is_kept_in_a_file_with_the_run_before(pipeline, tmp_path):
    log = tmp_path / "w" / "c" / "log.txt"
    for runs in (1, 2):
        status, _, err = pipeline('tsv = "c.tsv"', "--stage", "preprocess", **{"c.tsv": ROWS})
        assert status == 0
        text = log.read_text(encoding="utf-8")
        assert [line for line in err.split("\n") if line not in text and "plan: " not in line] == []
        assert text.count("preprocess: done in") == 1
        assert text.count("download: ") == 1 + runs
    assert "preprocess: skipped, done" in text


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (InputError("two\nlines"), "error: two lines"),
        (KeyboardInterrupt(), "interrupted"),
        (ZeroDivisionError("x"), "error: ZeroDivisionError: x"),
    ],
)
def test_f14_so_is_why_a_run_ended_before_its_time(pipeline, tmp_path, monkeypatch, fault, told):
    def fail(*_arguments):
        raise fault

    monkeypatch.setattr(preprocess_stage, "write_corpus", fail)
    assert pipeline('tsv = "c.tsv"', "--stage", "preprocess", **{"c.tsv": ROWS})[0] != 0
    last = (tmp_path / "w" / "c" / "log.txt").read_text(encoding="utf-8").split("\n")[-2]
    assert last == f"[c] {told}"


def test_f14_a_run_needs_no_terminal_and_no_standard_input(tmp_path):
    """Signals when a terminal closes: tests of G19 in tests/cases/test_signals.py.

    Going on block by block: TestGoingOn in tests/pipeline/stages/align/test_align.py.
    """
    (tmp_path / "c.tsv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "c.toml").write_text(
        '[corpus]\nname = "c"\nsource = "en"\ntarget = "fr"\ntsv = "c.tsv"\n', encoding="utf-8"
    )
    words = [
        sys.executable,
        str(test_rooms.ROOT / "run_pipeline.py"),
        "--config",
        "c.toml",
        "--stage",
        "preprocess",
    ]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words, "--workdir", "w"],
        cwd=tmp_path,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "w" / "c" / "latest" / "preprocess" / "source.txt").exists()
    assert "preprocess: done in" in (tmp_path / "w" / "c" / "log.txt").read_text(encoding="utf-8")


def test_f15_parts_of_a_text_have_the_links_of_the_whole(run, tmp_path):
    """One model aligns all; blocks of the stage: D12 in tests/cases/test_matching.py."""
    toy.toy_model().save(tmp_path / "toy")
    rows = [
        "the red house\tle maison rouge\n",
        "i see x\tje vois y\n",
        "dog\tchien\n",
        "of big\tgrand de\n",
    ] * 5
    options = "links --model toy --scores --sentence-scores sums"
    status, whole, _ = run(options, stdin="".join(rows))
    assert status == 0
    assert "".join(run(options, stdin=row)[1] for row in rows) == whole
    assert "".join(run(options, stdin="".join(rows[start : start + 7]))[1] for start in (0, 7, 14)) == whole


def public_functions(tree):
    """Yield the functions of a module and the methods of its classes that others may call."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def test_f16_who_takes_both_directions_takes_them_by_name():
    """So that no caller can swap them unseen. Examples of the README are run by tests/test_pages.py."""
    for path, tree in sources("align", "pipeline"):
        for function in public_functions(tree):
            places = {each.arg for each in function.args.posonlyargs + function.args.args}
            assert not {"forward", "reverse"} <= places, f"{path}:{function.lineno}: {function.name}"


def test_f17_no_usable_pair_stops(preprocessed):
    with pytest.raises(
        InputError, match=r"text\.source: 0 usable pairs of 3 lines \(empty_src 2, empty_tgt 1\)"
    ):
        preprocessed(["", " ", "a"], ["x", "y", "\t"])
    with pytest.raises(InputError, match="0 usable pairs: the input is empty"):
        preprocessed([], [])


@pytest.mark.parametrize(
    ("rows", "told"),
    {
        "a\t\nb\t\n": "0 usable pairs of 2 lines (empty",
        "\n\n\n": "0 usable pairs of 3 lines (bad_row 3)",
        "": "c.tsv is empty; give a file with text in it",
        "the end\tthe end\n": "0 usable pairs to learn from, of 1 (reported: identical 1)",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z\tx\n": "0 usable pairs to learn from, of 1 (rep",
        "<P>\t<P>\n": "0 usable pairs of 1 lines (markup 1)",
    }.items(),
)
@pytest.mark.parametrize("vectors", ["auto", "none"])
def test_f17_a_corpus_without_a_usable_pair_is_told_whatever_is_asked_for(pipeline, rows, told, vectors):
    status, out, err = pipeline('tsv = "c.tsv"', "--set", f"embed.vectors={vectors}", **{"c.tsv": rows})
    assert (status, out) == (2, "")
    assert told in err.rpartition("error: ")[2]
    assert "Traceback" not in err


def test_f18_a_corpus_more_leaves_those_before_as_they_are(pipeline, tmp_path):
    words = ("--stage", "preprocess")
    assert pipeline('tsv = "a.tsv"', *words, name="one", **{"a.tsv": ROWS})[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "w" / "one").rglob("*") if path.is_file()}
    words = ("--config", "one.toml", *words)
    status, out, err = pipeline('tsv = "b.tsv"', *words, name="two", **{"b.tsv": ROWS * 2})
    assert status == 0
    assert re.search(r"^one +done .*\n?two +done|^two +done .*\n?one +done", out, re.MULTILINE)
    assert "[one] preprocess: skipped, done" in err
    assert "[two] preprocess: done" in err
    # That it was skipped stands in the log, and what is remembered of the inputs is no result.
    kept = [path for path in before if path.name not in ("log.txt", "hashes.json")]
    assert {path: path.stat().st_mtime_ns for path in kept} == {path: before[path] for path in kept}


# F21 to F25: what a user meets


def test_f21_no_other_program_is_started_and_so_none_can_wait_for_ever():
    """A program that talks to this one over pipes: tests of G31 in tests/cases/test_library.py.

    One is started that nobody talks to or waits for: a second Python, to compile kernels. And where memory is
    limited the program is a copy of the first process: its pipe has one byte, and is read, never waited for,
    after its end (tests/align/cli/test_starting.py).
    """
    odd = re.compile(r"(subprocess|os\.(popen|system|spawn\w*|fork|exec\w*)|pty|pexpect)\b")
    for path, tree in sources("align", "pipeline"):
        for module in test_rooms.imports(tree):
            alone = module == "subprocess" and path.name == "first_use.py"
            assert alone or module.split(".")[0] not in {"subprocess", "pty", "pexpect"}, path
        for node, function in test_rooms.calls(tree):
            if function == "subprocess.Popen" and path.name == "first_use.py":
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert {given.get(name) for name in ("stdin", "stdout", "stderr")} == {"subprocess.DEVNULL"}
                continue
            if function == "os.fork" and path.name == "starting.py":
                assert "os.set_blocking(heard, False)" in ast.unparse(tree)
                continue
            assert not odd.match(function), f"{path}:{node.lineno}: {function}"


def test_f25_nothing_need_be_on_the_path(tmp_path):
    """Not even for what is compiled: numba brings its own compiler."""
    toy.toy_model().save(tmp_path / "toy")
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "align", "links", "--model", "toy"],
        input="the red house\tle maison rouge\n",
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path), "PYTHONPATH": str(test_rooms.ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0-0 1-2 2-1\n", "")


WRONG_KEYS = {
    "lam = 1": r"c\.toml:6: \[corpus\] has no key 'lam' \(\[train\] has it\); valid: name,",
    "[preprocess]\nlimit = 3": r"c\.toml:7: \[preprocess\] has no key 'limit' \(\[corpus\] has it\); valid: ",
    "[train]\nlamb = 1": r"c\.toml:7: \[train\] has no key 'lamb'; did you mean 'lam'\? valid: ",
    "[trian]\nlam = 1": r"c\.toml:6: no section \[trian\]; did you mean 'train'\?",
    'Source = "en"': r"c\.toml:6: \[corpus\] has no key 'Source'; did you mean 'source'\?",
    "[corpus.extra]\nx = 1": r"c\.toml: \[corpus\] has no key 'extra'",
}
WRONG_WORDS = {
    "--set lam=1": "--set lam=1: not section.key=value",
    "--set TRAIN.lam=1": r"--set TRAIN.lam: no section \[TRAIN\]",
    "--set corpus.lam=1": r"--set corpus.lam: \[corpus\] has no key 'lam' \(\[train\] has it\); valid: ",
    "--stage trian": "--stage trian: no such stage; valid: download",
}


@pytest.mark.parametrize(("text", "told"), WRONG_KEYS.items())
def test_f22_an_unknown_key_is_an_error(pipeline, text, told):
    status, out, err = pipeline(f'tsv = "c.tsv"\n{text}\n', "--stage", "preprocess", **{"c.tsv": ROWS})
    assert (status, out) == (2, "")
    assert re.search(f"error: {told}", err)


@pytest.mark.parametrize(("words", "told"), WRONG_WORDS.items())
def test_f22_so_is_one_on_the_command_line(pipeline, words, told):
    status, out, err = pipeline('tsv = "c.tsv"', *words.split(" "), **{"c.tsv": ROWS})
    assert (status, out) == (2, "")
    assert re.search(f"error: {told}", err)


def page_of(data, mode):
    return render(data, title="x", languages=("en", "fr"), mode=mode, limits={"characters": 100})


@pytest.mark.parametrize(("source", "target"), [("", "rien"), ("nothing", ""), ("", ""), (" \u2028", "x")])
def test_f23_pages_show_empty_sides(source, target):
    """In a browser: test_empty_sides in tests/browser/test_report.py."""
    data = explained(of(toy.toy_model()), source, target)
    pair = json.loads(json.dumps(data))["pairs"][0]
    assert pair["source"] == source.split()
    assert pair["target"] == target.split()
    assert pair["links"] == []
    for mode in ("report", "explorer"):
        assert "</html>" in page_of(data, mode)
