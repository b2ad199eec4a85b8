"""Translation memories: untrusted XML, read as a stream."""

import io
import tracemalloc

import pytest

from align.core.errors import InputError
from align.data import tmx
from align.data.bitext import open_bitext
from align.data.row import Row
from align.data.tmx import read_tmx, write_tmx

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header/><body>\n'
TAIL = "</body></tmx>\n"


def unit(**texts):
    return "<tu>" + "".join(f'<tuv xml:lang="{k}"><seg>{v}</seg></tuv>' for k, v in texts.items()) + "</tu>\n"


def rows(body, *languages, head=HEAD, tail=TAIL):
    return list(read_tmx(io.BytesIO((head + body + tail).encode()), *(languages or ("en", "fr"))))


def test_pairs_of_two_languages_in_the_asked_order():
    body = unit(fr="un chat", en="a cat", de="Katze") + unit(en="a &amp; b", fr="a &lt; b")
    assert rows(body) == [Row(0, "a cat", "un chat"), Row(1, "a & b", "a < b")]
    assert rows(body, "fr", "en")[0] == Row(0, "un chat", "a cat")


@pytest.mark.parametrize(
    ("asked", "there", "found"),
    [
        ("en", "EN-gb", True),
        ("en", "en_US", True),
        ("EN", "en", True),
        ("en-GB", "en-US", False),
        ("en", "eng", False),
    ],
)
def test_a_language_stands_for_its_variants(asked, there, found):
    body = f'<tu><tuv xml:lang="{there}"><seg>x</seg></tuv><tuv xml:lang="fr"><seg>y</seg></tuv></tu>'
    body += f'<tu><tuv lang="{asked}"><seg>z</seg></tuv><tuv lang="fr"><seg>w</seg></tuv></tu>'
    got = rows(body, asked, "fr")
    assert got[0].problem == (None if found else "no_language")
    assert got[1] == Row(1, "z", "w")


def test_a_unit_without_one_language_keeps_its_place():
    got = rows(unit(en="a", fr="b") + unit(en="c", de="d") + unit(de="e") + unit(en="f", fr="g"))
    assert got[1] == Row(1, "", "", "no_language", "the unit has no fr")
    assert got[2].detail == "the unit has no en and no fr"
    assert got[3] == Row(3, "f", "g")


def test_most_units_may_lack_a_language_but_not_all():
    assert len(rows(unit(en="a") * 150 + unit(en="a", fr="b"))) == 151
    with pytest.raises(
        InputError, match=r"no unit has both en and sv \(languages found: en, fr; unit 1: .*no sv\); name"
    ):
        rows(unit(en="a", fr="b"), "en", "sv")


def test_markup_inside_a_text():
    text = 'The <bpt i="1">&lt;b&gt;</bpt>big<ept i="1">&lt;/b&gt;</ept> <hi>red</hi> cat<ph/>.'
    assert rows(unit(en=text, fr="x\r\n  y<!-- no -->z"))[0] == Row(0, "The big red cat.", "x   yz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + unit(en="a", fr="b") + "<tu><tuv>\n</tu>" + TAIL,
            r"stream>:5: malformed XML \(Opening and ending tag",
        ),
        (HEAD + unit(en="a", fr="b"), r"stream>:4: malformed XML \(Premature end of data"),
        (HEAD + unit(en="a <b", fr="c") + TAIL, r":3: malformed XML \(error parsing attribute name"),
        ("", r"stream>:1: malformed XML \(no element found"),
        ("a\tb\n", r"stream>:1: malformed XML \(Start tag expected"),
        ("<html><tu/></html>", r"no <tmx> element in it; is this a TMX file\?"),
    ],
)
def test_what_is_no_well_formed_tmx_is_refused_with_the_line(text, message):
    with pytest.raises(InputError, match=message):
        list(read_tmx(io.BytesIO(text.encode()), "en", "fr"))


def test_bytes_that_are_no_text_are_refused_with_the_line():
    data = (HEAD + unit(en="a", fr="caf?") + TAIL).encode().replace(b"?<", b"\xe9<")
    with pytest.raises(InputError, match=r"stream>:3: malformed XML \(.*; correct that place"):
        list(read_tmx(io.BytesIO(data), "en", "fr"))


def test_rows_before_a_malformed_place_are_given():
    found = read_tmx(io.BytesIO((HEAD + unit(en="a", fr="b") * 3000 + "</tu>").encode()), "en", "fr")
    assert next(found) == Row(0, "a", "b")
    with pytest.raises(InputError, match="malformed XML"):
        list(found)


def bomb():
    entities = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE tmx [{entities}]><tmx version="1.4"><body>\n'


@pytest.mark.parametrize(
    "head",
    [
        bomb(),
        '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/hostname">]><tmx><body>',
        '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]><tmx><body>',
    ],
)
def test_documents_with_entities_are_refused(head):
    with pytest.raises(
        InputError, match="declares XML entities, which are not expanded here; remove|entity amplif"
    ):
        rows(unit(en="&e9;" if "e9" in head else "a", fr="b"), head=head)


def test_an_entity_is_never_expanded_even_in_an_attribute():
    head = bomb().replace('<tmx version="1.4">', '<tmx version="&e9;">')
    with pytest.raises(InputError, match=r"malformed XML|declares XML entities"):
        rows(unit(en="a", fr="b"), head=head)


def test_the_usual_document_type_is_not_fetched():
    head = (
        '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "http://127.0.0.1:1/tmx14.dtd"><tmx version="1.4"><body>'
    )
    assert rows(unit(en="a", fr="b"), head=head) == [Row(0, "a", "b")]


def test_utf16_and_packed_files_are_read():
    import gzip

    text = (HEAD.replace("UTF-8", "UTF-16") + unit(en="é", fr="œ") + TAIL).encode("utf-16")
    assert list(read_tmx(io.BytesIO(gzip.compress(text)), "en", "fr")) == [Row(0, "é", "œ")]


def test_memory_does_not_grow_and_a_unit_without_end_stops(monkeypatch):
    class Units(io.RawIOBase):
        def __init__(self, head, piece, count):
            self.pieces = iter([head, *[piece] * count])

        def readable(self):
            return True

        def readinto(self, buffer):
            piece = next(self.pieces, b"")
            buffer[: len(piece)] = piece
            return len(piece)

    many = io.BufferedReader(Units(HEAD.encode(), unit(en="a" * 50, fr="b" * 50).encode() * 50, 100))
    tracemalloc.start()
    found = read_tmx(many, "en", "fr")
    for _ in range(5_000):
        next(found)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    found.close()

    monkeypatch.setattr(tmx, "UNIT_LIMIT", 100_000)
    endless = io.BufferedReader(Units(HEAD.encode() + b"<tu>", b"<x/>" * 2000, 10**6))
    with pytest.raises(InputError, match="no end of a unit within 100000 bytes; is this a TMX file"):
        list(read_tmx(endless, "en", "fr"))


@pytest.mark.parametrize(
    "pair",
    [("a cat", "un chat"), ("<b> & \"q\" 'x' ]]>", "œ 😀 \u2028"), ("", ""), ("a\x01\tb\nc", "\ufffed")],
)
def test_what_is_written_is_read_back(pair):
    out = io.StringIO()
    write_tmx([pair, ("x", "y")], out, source_language="en", target_language="pt-BR")
    got = list(open_bitext("tmx", [io.BytesIO(out.getvalue().encode())], languages=("en", "pt")))
    clean = [text.translate(str.maketrans("\x01\t\n\ufffe", "    ")) for text in pair]
    assert got == [Row(0, *clean), Row(1, "x", "y")]
