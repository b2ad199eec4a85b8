"""Whole files of links in every format, and what their indices count from."""

import contextlib
import io
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.core.errors import InputError
from align.links import FORMATS, AlignedPair, Link, detect_base, find_format, read, read_file, tidy, write
from align.links.bases import CERTAIN

WRITABLE = [name for name, format in FORMATS.items() if format.write]


def parse(text, *, format="pharaoh", **options):
    data = text if isinstance(text, bytes) else text.encode()
    return list(read(io.BytesIO(data), format=format, name="f", **options))


def links_of(pairs):
    return [pair.links for pair in pairs]


def written(pairs, format):
    return "".join(f"{line}\n" for line in write(pairs, format=format))


tokens = st.lists(
    st.text(string.ascii_letters + "é&<>'\"]{}(|\u2028\u00a0中", min_size=1, max_size=4), max_size=5
)


@st.composite
def corpora(draw):
    """Pairs with tokens, links inside them, some possible, some with a score."""
    pairs = []
    for _ in range(draw(st.integers(0, 4))):
        source, target = draw(tokens), draw(tokens)
        cells = [(j, k) for j in range(len(source)) for k in range(len(target))]
        links = draw(st.lists(st.sampled_from(cells), unique=True)) if cells else []
        scores = st.one_of(st.none(), st.floats(0, 1))
        pairs.append(
            AlignedPair(
                tidy(Link(*cell, draw(st.booleans()), draw(scores)) for cell in links), source, target
            )
        )
    return pairs


def held(pair, format):
    """Return what a format holds of a pair."""
    links = [
        Link(*link[:2], link.sure or not format.possible, link.score if format.scores else None)
        for link in pair.links
    ]
    return (links, pair.source, pair.target) if format.text else (links, None, None)


@pytest.mark.parametrize("name", WRITABLE)
@given(pairs=corpora())
def test_each_format_reads_back_what_it_holds(name, pairs):
    format = FORMATS[name]
    again = parse(written(pairs, name), format=name, base=0 if format.base is None else None)
    expected = [held(pair, format) for pair in pairs]
    if not format.every_pair:
        while expected and not expected[-1][0]:
            expected.pop()
    assert [pair[:3] for pair in again] == expected


@pytest.mark.parametrize("name", list(FORMATS))
@given(data=st.one_of(st.binary(max_size=60), st.text("0123 -pP:S#()[]{}<>NUL\n\"'links,/tu", max_size=60)))
def test_any_bytes_are_links_or_a_plain_error(name, data):
    with contextlib.suppress(InputError):
        assert all(pair.links == tidy(pair.links) for pair in parse(data, format=name))


def test_only_a_line_feed_ends_a_line():
    assert len(parse("0-0\r\n\r\n1-1\n")) == 3
    assert parse(b"\xef\xbb\xbf0-0\r\n1-1") == [
        AlignedPair([Link(0, 0)], line=1),
        AlignedPair([Link(1, 1)], line=2),
    ]
    with pytest.raises(InputError, match=r"^f:1: '0-0\\u20281-1' is not a link"):
        parse("0-0\u20281-1\n")
    with pytest.raises(InputError, match=r"^f:2: byte 0xe9 at offset 3 is not UTF-8; convert the file"):
        parse(b"0-0\n1-1\xe9\n")


def test_a_line_without_end_is_not_held(monkeypatch):
    monkeypatch.setattr("align.links.lines.LONGEST", 9)
    with pytest.raises(InputError, match="f:1: a line of over 9 bytes; is this a file of links"):
        parse("0-0 1-1 2-2\n")


def test_packed_files_are_read(tmp_path):
    import gzip

    (tmp_path / "links").write_bytes(gzip.compress(b"0-0\n\n1p2\n"))
    assert links_of(read_file(tmp_path / "links")) == [[Link(0, 0)], [], [Link(1, 2, False)]]


def test_formats_are_found_by_name():
    assert find_format("talp") is find_format("pharaoh")
    with pytest.raises(InputError, match=r"no format of links 'naacl'; choose one of pharaoh, talp, .*giza"):
        find_format("naacl")
    with pytest.raises(InputError, match=r"the format giza is read only; choose one of pharaoh, .*nltk"):
        write([], format="giza")


class TestWpt:
    def test_links_to_the_empty_word_go_with_a_count_before_the_base_is_changed(self):
        notes = []
        pairs = parse("0001 0 1 S\n0001 1 1 S\n0001 2 0 P\n0002 3 4 P\n", format="wpt", on_note=notes.append)
        assert links_of(pairs) == [[Link(0, 0)], [Link(2, 3, False)]]
        assert notes == ["f: 2 links to the empty word (index 0) left out"]

    def test_fields(self):
        pairs = parse("1 1 1\n\n3 2 1 P 0.5\n3 1 1 0.25\n", format="wpt")
        assert links_of(pairs) == [[Link(0, 0)], [], [Link(0, 0, True, 0.25), Link(1, 0, False, 0.5)]]
        assert written([AlignedPair([Link(0, 1, False, 0.5)])], "wpt") == "0001 1 2 P 0.5\n"

    @pytest.mark.parametrize("line", ["1 1", "a 1 1 S", "1 1 1 X", "1 1 1 S 0.5 7", "1 -1 1 S"])
    def test_other_lines(self, line):
        with pytest.raises(
            InputError, match=r"^f:1: '.*' is not a wpt link like '0001 3 4 P'; mend the line"
        ):
            parse(line, format="wpt")

    def test_numbers_of_pairs(self):
        with pytest.raises(InputError, match="f:1: pair 0; the wpt format counts pairs from 1: mend"):
            parse("0000 1 1 S", format="wpt")
        with pytest.raises(InputError, match="f:1: pair 999999999 after 1 pairs; mend the number"):
            parse("999999999 1 1 S", format="wpt")

    def test_it_counts_from_1(self):
        assert links_of(parse("1 1 1 S", format="wpt", base=1)) == [[Link(0, 0)]]
        with pytest.raises(InputError, match="f: the format wpt counts from 1, not 0; leave the base out"):
            parse("1 1 1 S", format="wpt", base=0)


class TestGiza:
    A3 = (
        "# Sentence pair (1) source length 2 target length 3 alignment score : 0.01\n"
        "la maison bleue \n"
        "NULL ({ 3 }) the ({ 1 }) house ({ 2 }) \n"
    )

    def test_a_pair(self):
        pair = AlignedPair([Link(0, 0), Link(1, 1)], ["the", "house"], ["la", "maison", "bleue"], 1)
        assert parse(self.A3, format="giza") == [pair]

    def test_pairs_that_were_passed_over_keep_their_lines(self):
        notes = []
        text = self.A3 + self.A3.replace("(1)", "(4)")
        pairs = parse(text, format="giza", on_note=notes.append)
        assert [len(pair.links) for pair in pairs] == [2, 0, 0, 2]
        assert notes == ["f: 2 pairs are missing in the numbering; taken as pairs without links"]

    def test_words_may_look_like_anything(self):
        text = "# Sentence pair (1)\n}) ({\nNULL ({ }) }) ({ 1 2 }) ({ ({ })\n"
        assert parse(text, format="giza") == [
            AlignedPair([Link(0, 0), Link(0, 1)], ["})", "({"], ["})", "({"], 1)
        ]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "# Sentence pair (1)",
                "0-0 1-1",
                r"f:1: '0-0 1-1 .*' is not '# Sentence pair \(1\) ...'; this looks",
            ),
            ("({ 2 })", "({ 4 })", "f:3: '4' is not one of the 3 target positions; mend the line"),
            ("({ 2 })", "({ x })", "f:3: 'x' is not one of the 3 target positions"),
            ("({ 2 })", "({ 0 })", "f:3: '0' is not one of the 3 target positions"),
            ("({ 2 })", "({ 2", r"f:3: no '}\)' after 'house'; mend the line"),
            ("({ 2 })", "2 })", r"f:3: no '\({' after 'house'; mend the line"),
            ("NULL", "nothing", r"f:3: does not start with 'NULL \({'; mend the line"),
            ("(1)", "(0)", "f:1: pair 0 where 1 or a later one was due; GIZA counts pairs from 1: mend"),
            ("(1)", "(99999999)", "f:1: pair 99999999 where 1 was due; mend the number"),
            (
                "NULL ({ 3 }) the ({ 1 }) house ({ 2 }) \n",
                "",
                "f:1: the file ends inside pair 1; get the whole",
            ),
        ],
    )
    def test_faults(self, old, new, message):
        assert old in self.A3
        with pytest.raises(InputError, match=message):
            parse(self.A3.replace(old, new), format="giza")


class TestJsonl:
    def test_defaults_and_bare_links(self):
        pairs = parse('{"links": [[1, 2], {"source": 0, "target": 0}], "number": 7}\n', format="jsonl")
        assert pairs == [AlignedPair([Link(0, 0), Link(1, 2)], line=1)]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("", "f:1: not JSON .*; write one object a line"),
            ("[" * 100_000, "f:1: not JSON"),
            ("[]", 'f:1: not an object with a list "links"; write one object a line'),
            ('{"links": 1}', 'not an object with a list "links"'),
            ('{"links": ["0-0"]}', 'f:1: "0-0" is not a link; write {"source": 0, "target": 0}'),
            ('{"links": [[0, true]]}', "f:1: true is not a token index; write 0 or a larger number"),
            ('{"links": [[0, -1]]}', "f:1: -1 is not a token index"),
            ('{"links": [[0, 0.0]]}', "f:1: 0.0 is not a token index"),
            ('{"links": [{"source": 1}]}', "f:1: null is not a token index"),
            ('{"links": [[0, 1000000000]]}', "f:1: 1000000000 is not a token index"),
            ('{"links": [{"source": 0, "target": 0, "sure": 1}]}', "f:1: sure is 1; write true or false"),
            (
                '{"links": [{"source": 0, "target": 0, "score": NaN}]}',
                "f:1: score is NaN; write a finite number",
            ),
            ('{"links": [{"source": 0, "target": 0, "score": "1"}]}', 'f:1: score is "1"; write a finite'),
            (
                '{"links": [{"source": 0, "target": 0, "score": 1%s}]}' % ("0" * 400),
                "score is 100.*; write a finite",
            ),
            ('{"links": [], "source": "a b"}', 'f:1: source is "a b"; write a list of tokens'),
            (
                '{"links": [], "target": ["\\ud800"]}',
                r"f:1: the token .* holds half a character; mend the token",
            ),
        ],
    )
    def test_faults(self, line, message):
        with pytest.raises(InputError, match=message):
            parse(line + "\n", format="jsonl")

    def test_text_is_written_as_it_is(self):
        line = written([AlignedPair([Link(0, 0)], ["été"], ["中"])], "jsonl")
        assert '"été"' in line
        assert json.loads(line) == {
            "source": ["été"],
            "target": ["中"],
            "links": [{"source": 0, "target": 0, "sure": True}],
        }


class TestTmx:
    def test_a_document(self):
        text = written([AlignedPair([Link(0, 1), Link(1, 0, False)], ["A", "<b>"], ["x", "y"])], "tmx")
        assert '<prop type="x-word-alignment">0-1 1p0</prop>' in text
        assert "<seg>A &lt;b&gt;</seg>" in text
        assert "<!DOCTYPE" not in text

    def test_white_space_and_namespaces_of_others(self):
        text = (
            '<tmx xmlns="http://example.org/tmx">\n<body>\n<tu>\n'
            '<prop type="x-word-alignment">\n0-0\n 1p0 </prop>\n<tuv xml:lang="en"><seg>\n a\n b </seg></tuv>'
            '<tuv xml:lang="fr"><seg>c<bpt>!</bpt></seg></tuv></tu></body></tmx>'
        )
        assert parse(text, format="tmx") == [
            AlignedPair([Link(0, 0), Link(1, 0, False)], ["a", "b"], ["c!"], 3)
        ]

    def test_tokens_are_needed(self):
        with pytest.raises(InputError, match="pair 2: tmx needs the tokens; give the text of both sides"):
            written([AlignedPair([], [], []), AlignedPair([])], "tmx")
        for token in ("", "a b", "a\x0bb", "\ud800"):
            with pytest.raises(InputError, match=r"pair 1: tmx cannot hold the token '.*'; mend the text"):
                written([AlignedPair([], [token], [])], "tmx")

    def test_faults(self):
        unit = "<tmx><body><tu>%s<tuv><seg>a</seg></tuv>%s</tu></body></tmx>"
        links = '<prop type="x-word-alignment">%s</prop>'
        with pytest.raises(InputError, match=r"f:1: not well-formed XML \(.*\); mend the file"):
            parse("<tmx><body></tmx>\n", format="tmx")
        with pytest.raises(InputError, match=r"f: not well-formed XML"):
            parse("", format="tmx")
        with pytest.raises(
            InputError, match='f:1: a unit with 0 <prop type="x-word-alignment">; a memory without'
        ):
            parse(unit % ("", "<tuv><seg>b</seg></tuv>"), format="tmx")
        with pytest.raises(
            InputError, match="f:1: a unit without two segments; give it a source and a target"
        ):
            parse(unit % (links % "0-0", ""), format="tmx")
        with pytest.raises(InputError, match="f:1: 'x' is not a link"):
            parse(unit % (links % "x", "<tuv><seg>b</seg></tuv>"), format="tmx")

    def test_entities_of_the_document_are_not_expanded(self, tmp_path):
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        head = f'<!DOCTYPE tmx [<!ENTITY e SYSTEM "{(tmp_path / "secret").as_uri()}">]>\n'
        unit = (
            '<tmx><body><tu><prop type="x-word-alignment">0-0</prop>'
            "<tuv><seg>&e;</seg></tuv><tuv><seg>b</seg></tuv></tu></body></tmx>"
        )
        with pytest.raises(
            InputError, match="f:2: the entity &e; is not expanded; write the characters themselves"
        ):
            parse(head + unit, format="tmx")


class TestNltk:
    def test_nltk_reads_what_is_written(self):
        from nltk.translate import Alignment

        links = [Link(0, 1), Link(2, 0)]
        assert Alignment.fromstring(written([AlignedPair(links)], "nltk")) == {(0, 1), (2, 0)}

    def test_corpora_of_three_lines_a_pair(self):
        text = "the house\nla maison\n0-0 1-1\n\n=====\nit\n0-0\n0-0\n"
        assert parse(text, format="nltk") == [
            AlignedPair([Link(0, 0), Link(1, 1)], ["the", "house"], ["la", "maison"], 3),
            AlignedPair([Link(0, 0)], ["it"], ["0-0"], 8),
        ]

    def test_empty_lines_are_pairs_without_links(self):
        assert links_of(parse("\n\n0-0\n\n", format="nltk")) == [[], [], [Link(0, 0)], []]
        assert links_of(parse("\n\n", format="nltk")) == [[], []]
        assert parse("", format="nltk") == []

    def test_faults(self):
        with pytest.raises(
            InputError, match="f:2: '0p0' is not a line of links like '0-0 2-1'; mend the line"
        ):
            parse("0-0\n0p0\n", format="nltk")
        with pytest.raises(
            InputError, match="f:1: the file ends inside a pair; write source, target and links"
        ):
            parse("the house\nla maison\n", format="nltk")


class TestBase:
    def pairs(self, *lines):
        return parse("".join(f"{line}\n" for line in lines), base=0)

    def test_a_zero_anywhere(self):
        many = ["1-1"] * 100
        assert detect_base(self.pairs(*many, "3-0")) == (0, "index 0 in line 101")
        assert detect_base(self.pairs("0p7")).base == 0

    def test_an_index_that_is_the_length(self):
        pair = AlignedPair([Link(1, 1), Link(2, 3)], ["a", "b"], ["x", "y", "z", "u"], 5)
        assert detect_base([pair]) == (1, "index 2 in line 5, of 2 tokens")
        pair = AlignedPair([Link(1, 1), Link(1, 4)], ["a", "b"], ["x", "y", "z", "u"], 5)
        assert detect_base([pair]) == (1, "index 4 in line 5, of 4 tokens")
        assert detect_base([pair, AlignedPair([Link(0, 1)], ["a"], ["b", "c"], 6)]).base == 0

    def test_no_zero_in_many_pairs(self):
        assert detect_base(self.pairs(*["", "1-1 2-2"] * CERTAIN)) == (1, "no index 0 in 30 pairs with links")
        assert detect_base(self.pairs(*["", "1-1 2-2"] * (CERTAIN - 1))).base is None

    def test_many_pairs_that_touch_neither_end_of_their_text_tell_nothing(self):
        pair = AlignedPair([Link(1, 1)], ["a", "b", "c"], ["x", "y", "z"], 1)
        assert detect_base([pair] * 1000).base is None

    def test_no_links_at_all(self):
        assert detect_base(self.pairs("", "")).base == 0

    def test_files_are_read_as_they_count(self):
        found = []
        assert (
            links_of(parse("1-1 2p3\n" * CERTAIN, on_base=found.append))
            == [[Link(0, 0), Link(1, 2, False)]] * CERTAIN
        )
        assert links_of(parse("1-1 2p3\n", on_base=found.append)) == [[Link(1, 1), Link(2, 3, False)]]
        assert links_of(parse("1-1\n2-2:0.5\n", base=1, on_base=found.append)) == [
            [Link(0, 0)],
            [Link(1, 1, True, 0.5)],
        ]
        assert [finding.base for finding in found] == [1, None]

    def test_files_that_count_from_0_are_streamed(self):
        def lines():
            yield b"1-1\n"
            yield b"0-0\n"
            raise AssertionError("read too far")

        stream = lines()
        pairs = read(type("Stream", (), {"readline": lambda self, size: next(stream)})(), name="f")
        assert next(pairs).links == [Link(1, 1)]

    def test_ambiguity_can_be_an_error(self):
        with pytest.raises(
            InputError, match=r"f: counted from 0 or from 1\? no index 0 in 1 pair.*; name the base"
        ):
            parse("1-1\n", ambiguous=None)

    def test_a_zero_in_a_file_that_counts_from_1(self):
        with pytest.raises(
            InputError, match="f:2: index 0 in a file that counts from 1; mend the line, or name"
        ):
            parse("1-1\n0-1\n", base=1)

    def test_berkeley_files_can_be_said_to_count_from_1(self):
        assert links_of(parse("1-2-P\n", format="berkeley")) == [[Link(2, 1, False)]]
        assert links_of(parse("1-2-P\n", format="berkeley", base=1)) == [[Link(1, 0, False)]]


def test_the_hansards_are_the_same_in_every_format(real_data):
    folder = real_data("gold")
    dev = links_of(read_file(folder / "hansards-dev.align"))
    assert len(dev) == 37
    assert links_of(read_file(folder / "native/berkeley.trial.align", format="berkeley")) == dev
    assert links_of(read_file(folder / "native/hansards-dev.wa", format="wpt")) == dev
    test = links_of(read_file(folder / "hansards-test.align"))
    assert links_of(read_file(folder / "native/enfr.gold.one-based")) == test


def test_one_alignment_is_the_same_in_every_format():
    """The small twin of the Hansards: one pair written by hand in each format."""
    expected = [Link(0, 0), Link(1, 2, False), Link(2, 1)]
    for format, text in {
        "pharaoh": "0-0 1p2 2-1\n",
        "berkeley": "0-0 2-1-P 1-2\n",
        "wpt": "0001 1 1 S\n0001 2 3 P\n0001 3 2 S\n",
        "jsonl": '{"links": [[0, 0], [2, 1], {"source": 1, "target": 2, "sure": false}]}\n',
    }.items():
        assert links_of(parse(text, format=format)) == [expected]
