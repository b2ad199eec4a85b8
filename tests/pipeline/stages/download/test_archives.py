"""Archives of strangers: what is needed comes out whole, nothing else comes out at all."""

import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile

import pytest
import zstandard

from align.core.errors import InputError
from pipeline.stages.download import archives, members
from pipeline.stages.download.archives import check_packed, extract_one, extract_pair, unpack
from pipeline.stages.download.members import archive_kind
from pipeline.work import resources

EN, FR = b"a cat\na dog\n" * 3000, "un chat\nun chien né\n".encode() * 3000
PAIR = {"europarl-v7.fr-en.en": EN, "europarl-v7.fr-en.fr": FR}


def plain(items, **_options):
    return items


def tar(files, *, odd=(), **options):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in odd:
            archive.addfile(info)
    return out.getvalue()


def packed_zip(files, *, method=zipfile.ZIP_DEFLATED, modes=None):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            info.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(info, data)
    return out.getvalue()


def tgz(files, **options):
    return gzip.compress(tar(files, **options), 1)


@pytest.fixture
def extract(tmp_path):
    """Return a function that writes archive bytes and takes the en-fr pair out of them."""

    def run(data, languages=("en", "fr")):
        (tmp_path / "a").write_bytes(data)
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        try:
            return extract_pair(tmp_path / "a", folder, languages, progress=plain)
        finally:
            assert {path.name for path in tmp_path.iterdir()} == {"a", "out"}
            assert {path.name for path in folder.iterdir()} <= {
                f"corpus.{code.lower()}" for code in languages
            }

    run.folder = tmp_path / "out"
    return run


PACKERS = {
    "tar": tar,
    "tgz": tgz,
    "txz": lambda files: lzma.compress(tar(files)),
    "tar.zst": lambda files: zstandard.ZstdCompressor().compress(tar(files)),
    "zip": packed_zip,
    "zip stored": lambda files: packed_zip(files, method=zipfile.ZIP_STORED),
    "zip lzma": lambda files: packed_zip(files, method=zipfile.ZIP_LZMA),
}


@pytest.mark.parametrize("packer", PACKERS)
def test_the_pair_comes_out_by_its_endings(extract, packer):
    source, target = extract(PACKERS[packer]({"README": b"read me", **PAIR, "Europarl.en-fr.xml": b"<x/>"}))
    assert (source.name, target.name) == ("corpus.en", "corpus.fr")
    assert (source.read_bytes(), target.read_bytes()) == (EN, FR)
    target, source = extract(PACKERS[packer](PAIR), ("fr", "en"))
    assert (source.read_bytes(), target.read_bytes()) == (EN, FR)


@pytest.mark.parametrize(
    "files",
    [
        {"d/train.EN": EN, "d/train.FR": FR},
        {"./en/x.en": EN, "./fr/y.fr": FR},
        {"t.en.gz": EN, "t.fr.gz": FR},
        {"t.en": EN, "t.fr": FR, "other.en": b"x", "more.de": b"y"},
        {"t.en": EN, "t.fr": FR, "__MACOSX/._t.en": b"x", "._t.fr": b"x"},
        {"t.en": EN, "t.fr": FR, ".en": b"x", "xen": b"y"},
    ],
)
def test_the_pair_is_told_from_other_members(extract, files):
    source, target = extract(tgz(files))
    assert (source.read_bytes(), target.read_bytes()) == (EN, FR)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"t.en": EN},
            r"no pair of files ending in \.en and \.fr in it \(members: t\.en\); unpack it and set corpus",
        ),
        (
            {"a.en": EN, "a.fr": FR, "b.en": EN, "b.fr": FR},
            r"several pairs .*\(members: a\.en, a\.fr, b\.en, b\.fr\)",
        ),
        ({"a.en": EN, "b.en": EN, "c.fr": FR}, r"several pairs "),
        ({f"{i:02}.txt": b"x" for i in range(20)}, r"members: 00\.txt, .*, 11\.txt, \.\.\.\)"),
    ],
)
@pytest.mark.parametrize("packer", [tgz, packed_zip])
def test_without_one_pair_the_members_are_named(extract, files, message, packer):
    data = packer(files)
    with pytest.raises(InputError, match=message):
        extract(data)


def member(name, kind=tarfile.REGTYPE, link="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


OUTSIDE = ("../evil.en", "a/../../evil", "/etc/evil.en", "C:\\evil.en", "..\\evil.en")
DEVICES = (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
HOSTILE = [
    *((name, tarfile.REGTYPE, "", "leads outside") for name in OUTSIDE),
    ("../folder", tarfile.DIRTYPE, "", "leads outside"),
    ("x.en", tarfile.SYMTYPE, "/etc/passwd", "is a link"),
    ("x.txt", tarfile.SYMTYPE, "y", "is a link"),
    ("x.en", tarfile.LNKTYPE, "../../etc/passwd", "is a link"),
    *(("x.en", kind, "", "is a device or pipe") for kind in DEVICES),
]


@pytest.mark.parametrize(("name", "kind", "link", "message"), HOSTILE)
def test_a_hostile_tar_is_refused_whole(extract, name, kind, link, message):
    with pytest.raises(
        InputError, match=rf"unsafe: its member .* {message}; (do not use|unpack it yourself)"
    ):
        extract(tgz(PAIR, odd=[member(name, kind, link)]))
    assert list(extract.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("../evil.en", 0o100644, "leads outside"),
        ("/evil.en", 0o100644, "leads outside"),
        ("..\\evil.en", 0o100644, "leads outside"),
        ("x.en", stat.S_IFLNK | 0o777, "is a link"),
        ("x.en", stat.S_IFCHR | 0o600, "is a device or pipe"),
    ],
)
def test_a_hostile_zip_is_refused_whole(extract, name, mode, message):
    with pytest.raises(InputError, match=rf"unsafe: its member .* {message}"):
        extract(packed_zip({**PAIR, name: b"/etc/passwd"}, modes={name: mode}))
    assert list(extract.folder.iterdir()) == []


def test_an_encrypted_zip_is_refused(extract):
    data = bytearray(packed_zip(PAIR))
    place = data.find(b"PK\x01\x02")
    data[place + 8] |= 1
    with pytest.raises(InputError, match="is encrypted; unpack it yourself"):
        extract(bytes(data))


def test_a_sparse_member_is_refused(extract):
    sparse = member("x.en")
    sparse.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "0",
        "GNU.sparse.size": "1000000000000",
    }
    with pytest.raises(InputError, match=r"is a sparse file|unpacks to 1000000000000 bytes, too many"):
        extract(tar({}, odd=[sparse], format=tarfile.PAX_FORMAT))


@pytest.mark.parametrize("packer", [tgz, packed_zip, lambda files: lzma.compress(tar(files))])
def test_a_bomb_is_refused_before_it_is_written(extract, monkeypatch, packer):
    monkeypatch.setattr(members, "RATIO_FREE", 1 << 20)
    written = []
    monkeypatch.setattr(archives, "check_space", lambda *arguments: written.append(arguments))
    with pytest.raises(
        InputError, match=r"'bomb\.en' unpacks to 20000000 bytes, too many; is this the right file"
    ):
        extract(packer({"bomb.en": b"\0" * 20_000_000, "b.fr": FR}))
    assert written == []


@pytest.mark.parametrize("packer", [tgz, packed_zip])
def test_members_nobody_asked_for_count_too(extract, monkeypatch, packer):
    monkeypatch.setattr(members, "RATIO_FREE", 1 << 20)
    with pytest.raises(InputError, match=r"unpacks to over \d+ bytes, too many; is this the right file"):
        extract(packer({f"{i}.bin": b"\0" * 1_000_000 for i in range(30)}))


def test_a_member_beyond_the_size_limit_is_refused(extract, monkeypatch):
    monkeypatch.setattr(members, "MEMBER_SIZE", 1000)
    with pytest.raises(InputError, match=r"unpacks to 36000 bytes, too many"):
        extract(tgz(PAIR))


@pytest.mark.parametrize("packer", [tgz, packed_zip])
def test_too_many_members_are_refused(extract, monkeypatch, packer):
    monkeypatch.setattr(members, "MEMBERS", 10)
    with pytest.raises(InputError, match="more than 10 members in it; unpack it yourself"):
        extract(packer({f"{i}.txt": b"x" for i in range(11)}))


def test_the_directory_of_a_zip_is_measured_before_it_is_read(extract, monkeypatch):
    data = packed_zip(PAIR)
    monkeypatch.setattr(members, "DIRECTORY_SIZE", 50)
    with pytest.raises(InputError, match="more than 10000 members"):
        extract(data)
    # The same, said in the zip64 way.
    end = data.rfind(b"PK\x05\x06")
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, 1 << 40, 0)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1)
    large = data[:end] + record + locator + data[end : end + 12] + b"\xff" * 4 + data[end + 16 :]
    with pytest.raises(InputError, match="more than 10000 members"):
        extract(large)


def test_a_header_of_a_gigabyte_is_not_read(extract):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 30
    data = header.tobuf() + b"\0" * 30_000_000
    with pytest.raises(InputError, match="unsafe: a header of over 1048576 bytes; do not use it"):
        extract(gzip.compress(data, 1))


def test_damaged_content_is_refused(extract):
    data = bytearray(packed_zip(PAIR, method=zipfile.ZIP_STORED))
    data[5000] ^= 1
    with pytest.raises(InputError, match=r"is cut or damaged \(Bad CRC-32 for file"):
        extract(bytes(data))
    data = bytearray(tgz(PAIR))
    data[-6] ^= 1
    with pytest.raises(InputError, match=r"the gzip data cannot be unpacked"):
        extract(bytes(data))


def test_what_is_no_archive_is_said_to_be_none(extract):
    with pytest.raises(InputError, match="neither a tar nor a zip archive; check the address or the path"):
        extract(b"just text\n" * 100)
    with pytest.raises(InputError, match="neither a tar nor a zip archive"):
        extract(gzip.compress(EN))


def test_kinds_of_archives(tmp_path):
    for data, kind in ((tgz(PAIR), "tar"), (packed_zip(PAIR), "zip"), (EN, None), (b"", None)):
        (tmp_path / "a").write_bytes(data)
        assert archive_kind(tmp_path / "a") == kind


def test_no_room_for_a_member_is_said_before_it_is_written(extract, monkeypatch):
    usage = resources.shutil.disk_usage(".")._replace(free=resources.MARGIN + 30_000)
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(Exception, match=r"needs 36000 bytes but .* free space, or give another --workdir"):
        extract(tgz(PAIR))


def test_one_member_by_its_ending(tmp_path):
    (tmp_path / "a").write_bytes(packed_zip({"wiki.fr.vec": b"text", "wiki.fr.bin": b"model"}))
    found = extract_one(tmp_path / "a", tmp_path / "vectors.bin", ".bin", progress=plain)
    assert found.read_bytes() == b"model"
    with pytest.raises(
        InputError, match=r"0 files ending in \.txt in it instead of one \(members: wiki\.fr\.bin, w"
    ):
        extract_one(tmp_path / "a", tmp_path / "x", ".txt", progress=plain)


def test_packed_files_are_checked_and_unpacked(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(gzip.compress(EN))
    check_packed(tmp_path / "a", progress=plain)
    assert unpack(tmp_path / "a", tmp_path / "b", progress=plain).read_bytes() == EN
    (tmp_path / "a").write_bytes(gzip.compress(EN)[:-20])
    with pytest.raises(InputError, match="the gzip data are cut off; get the file again"):
        check_packed(tmp_path / "a", progress=plain)
    monkeypatch.setattr(members, "RATIO_FREE", 1 << 20)
    (tmp_path / "a").write_bytes(gzip.compress(b"\0" * 30_000_000))
    with pytest.raises(InputError, match="unpacks to over .* too many; is this the right file"):
        unpack(tmp_path / "a", tmp_path / "b", progress=plain)


def test_the_archive_of_the_original_site(real_data, tmp_path):
    pair = extract_pair(real_data("europarl/fr-en.tgz"), tmp_path, ("en", "fr"), progress=plain)
    assert [path.read_bytes().count(b"\n") for path in pair] == [200_000, 200_000]
