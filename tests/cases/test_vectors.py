"""Word vectors: each test is named after the case it holds."""

import ast
import gzip
import tracemalloc

import fasttext
import numpy as np
import pytest

from align.core.errors import InputError
from align.features import PairBlock, compute
from align.vectors.binary import read_model
from align.vectors.mapping import centre_rows, unit_rows
from align.vectors.vec import read_vec
from pipeline.stages.download.http_request import is_page
from pipeline.stages.embed import vectors as embed_vectors
from pipeline.stages.embed.vectors import BARE
from tests import test_rooms
from tests.align import toy
from tests.align.model.test_aligner import of
from tests.align.vectors.test_vec import CAT, DOG, filler, write
from tests.pipeline.stages.embed.test_embed import DIM, WORDS, nearest_share, rows

CUT = "cut off: its first line promises 3 rows, 2 are there"
NO_ROWS = "the first rows are not a word and its numbers"


def matrix(tmp_path, lines, words):
    return read_vec(write(tmp_path, *lines), words).matrix.tolist()


@pytest.mark.parametrize("header", [True, False])
def test_c01_a_first_line_of_two_integers_is_a_header_and_may_be_absent(tmp_path, header):
    vectors = read_vec(write(tmp_path, *(["2 3"] if header else []), CAT, DOG), ["dog", "cat", "bird"])
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(
        vectors.matrix, np.array([[1, 2, -0.5], [0.25, -1.5, 0.03], [0, 0, 0]], dtype=np.float32)
    )
    assert vectors.found.tolist() == [True, True, False]
    assert vectors.report.header == (2 if header else None)
    assert vectors.report.rows == 2


@pytest.mark.parametrize(
    "first", ["2,000 3", "2.0 3", "2 3 1", "2", "# vectors of cats", "<unk> 0.1 1 2", ", 1 2 3"]
)
def test_c01_whatever_else_the_first_line_is_it_is_no_header(tmp_path, first):
    vectors = read_vec(write(tmp_path, first, CAT, *filler(5)), ["cat", ","])
    assert (vectors.report.header, vectors.report.dim, vectors.report.rows) == (None, 3, 7)
    assert vectors.found.tolist() == [True, first.startswith(",")]


@pytest.mark.parametrize("header", [True, False])
def test_c01_the_stage_says_which(world, header):
    world.give_vectors()
    for side in ("source", "target") if not header else ():
        path = world.folder / f"{side}.vec"
        path.write_text(path.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")
    world.run()
    told = "counts in the first line" if header else "no first line with counts"
    assert f"source.vec: {WORDS} rows of {DIM} numbers, {told}; kept {WORDS}" in world.said


def test_c01_more_rows_than_the_first_line_promises_are_read_and_told(world):
    world.give_vectors()
    path = world.folder / "source.vec"
    path.write_text(
        path.read_text(encoding="utf-8").replace(f"{WORDS} {DIM}\n", f"7 {DIM}\n"), encoding="utf-8"
    )
    world.run()
    assert (
        f"source.vec: {WORDS} rows of {DIM} numbers, counts in the first line, which promises 7;"
        in world.said
    )


def test_c03_rows_of_the_wrong_length_are_passed_over_and_counted(tmp_path):
    path = write(tmp_path, "7 3", CAT, DOG, "bird 1 2", "fish 0.1 0.2 0.3 0.4", "ant 1e-05 1 2 3", *filler(2))
    vectors = read_vec(path, ["cat", "dog", "bird", "fish", "ant"])
    assert vectors.found.tolist() == [True, True, False, False, False]
    assert vectors.report.bad == {"length": 3}
    assert vectors.report.first_bad == 4
    assert vectors.report.rows == 7


@pytest.mark.parametrize("row", ["bad 1 2", "bad 0.5 1 2 3"])
def test_c03_more_than_one_bad_row_in_a_thousand_stops(tmp_path, row):
    good = filler(4000)
    good[10:13] = [row] * 3
    assert read_vec(write(tmp_path, *good), ["w1"]).report.bad == {"length": 3}
    good[10:15] = [row] * 5
    with pytest.raises(InputError, match=r"words\.vec:11: the first of 5 rows, of 4000, that are not a word"):
        read_vec(write(tmp_path, *good), ["w1"])


@pytest.mark.parametrize(
    "first", [["a 1 2", "b 3 4"], ["a 0.1 2 3 4", "b 0.1 2 3 4"], ["a 1e-05 2 3 4", "b 1E+2 2 3 4"]]
)
def test_c03_bad_first_rows_stop(tmp_path, first):
    with pytest.raises(InputError, match=rf"words\.vec:1: {NO_ROWS}"):
        read_vec(write(tmp_path, *first, *filler(50)), ["w1"])


@pytest.mark.parametrize("said", ["300", "4", "2", "0", "999999999999999999", "9" * 40])
@pytest.mark.parametrize("number", ["0.5", "1", "-3e-05"])
def test_c03_a_header_that_lies_about_the_numbers_stops(tmp_path, said, number):
    rows = [f"w{each} {number} {number} {number}" for each in range(40)]
    with pytest.raises(
        InputError, match=rf"{NO_ROWS} \(its first line says \d+ numbers a row, the rows have 3"
    ):
        read_vec(write(tmp_path, f"40 {said}", *rows), ["w1"])


def test_c04_words_with_spaces_do_not_hide_the_others(tmp_path):
    words = [
        ". .",
        "10 000",
        "in\u00a0fact",
        "New York",
        "at name@domain.com",
        "\u2009",
        "a\u2028b",
        "\u0085",
        "x\x0by",
    ]
    lines = [*(f"{word} 1 2 3" for word in words), CAT, "5 1 2 3", DOG, "a\tb 1 2 3"]
    vectors = read_vec(write(tmp_path, *lines), ["cat", "dog", "5", "-", "a\tb", *words])
    assert vectors.found.tolist() == [True, True, True, False, True] + [True] * len(words)
    assert vectors.report.dim == 3
    assert vectors.report.bad == {}


def test_c04_a_word_of_nothing_but_a_space_is_a_bad_row_alone(tmp_path):
    vectors = read_vec(write(tmp_path, CAT, "  1 2 3", " 1 2 3", DOG, *filler(4)), ["cat", "dog"])
    assert (vectors.found.all(), vectors.report.bad) == (True, {"length": 2})


def test_c06_numeric_words_are_words(tmp_path):
    words = ["-0.27998", "1999", "10 000", "1 1/2", "3,5", "-1 -2", "1e5", "nan", "inf", "0.5 0.75"]
    lines = [f"{word} {number} 0.7 1" for number, word in enumerate(words, 1)]
    expected = [[number, np.float32(0.7), 1] for number in range(1, len(words) + 1)]
    assert matrix(tmp_path, [*lines, CAT], words) == expected
    assert matrix(tmp_path, [CAT, *lines], words) == expected


def test_c08_duplicates_keep_the_first_and_are_counted(tmp_path):
    vectors = read_vec(write(tmp_path, CAT, "cat 9 9 9", DOG, "cat 8 8 8"), ["cat", "dog"])
    assert vectors.matrix[0].tolist() == [0.25, -1.5, np.float32(0.03)]
    assert vectors.report.duplicates == 2


def test_c08_of_words_alike_in_lower_case_the_first_is_kept_and_the_others_counted(tmp_path):
    vectors = read_vec(write(tmp_path, "Cat 1 1 1", "CAT 2 2 2", DOG, "cAt 3 3 3"), ["cat"])
    assert vectors.matrix.tolist() == [[1, 1, 1]]
    assert vectors.report.lookups["lower"] == 1
    assert vectors.report.duplicates == 2
    # Where the word itself is there, no choice is made among its other forms.
    vectors = read_vec(write(tmp_path, "Cat 1 1 1", "CAT 2 2 2", CAT, "cAt 3 3 3"), ["cat"])
    assert vectors.matrix.tolist() == [[0.25, -1.5, np.float32(0.03)]]


def test_c09_a_vector_of_zeros_is_no_vector(tmp_path):
    vectors = read_vec(write(tmp_path, "cat 0 0.0 -0", DOG), ["cat", "dog"])
    assert vectors.found.tolist() == [False, True]
    assert vectors.report.zero == 1


def test_c09_zeros_have_cosine_zero_and_a_flag_and_no_nan_leaves_the_stage(world):
    world.give_vectors()
    text = (world.folder / "source.vec").read_text(encoding="utf-8").split("\n")
    text[4] = " ".join([text[4].split(" ")[0], *["0"] * DIM])
    (world.folder / "source.vec").write_text("\n".join(text), encoding="utf-8")
    world.run()
    source, _, facts = world.output()  # of finite numbers, each of length one or zero
    assert not source[3].any()
    assert facts["files"]["source"]["zero"] == 1
    assert facts["coverage"]["source"]["missing"] == ["word3"]
    model = toy.toy_model()
    model.resources.source_vectors[3] = 0
    names = ("cosine", "vector_missing")
    corpus = toy.random_corpus(0, 3, (12, 12))
    for sentences in (corpus.source, corpus.target):
        sentences.ids[:] = 3
    features = compute(PairBlock(corpus), model.resources, groups=("cosine",))
    values = [features.features[:, list(features.names).index(name)] for name in names]
    assert not values[0].any()
    assert (values[1] > 0).all()


@pytest.mark.parametrize("size", [3e38, 1e-37, 1.0])
def test_c09_whatever_the_size_of_numbers_rows_have_length_one(size):
    rows = np.random.default_rng(0).uniform(-1, 1, (50, 300)).astype(np.float32) * np.float32(size)
    rows[7] = 0
    for each in (unit_rows(rows), centre_rows(unit_rows(rows))):
        lengths = np.linalg.norm(each, axis=1)
        assert np.isclose(np.delete(lengths, 7), 1, atol=1e-3).all()
        assert lengths[7] == 0


def test_c11_different_dimensions_are_refused_naming_both_files(world, monkeypatch):
    world.give_vectors(dims=(10, 7))
    monkeypatch.setattr(embed_vectors, "read_vec", None)  # before either is read to its end
    with pytest.raises(
        InputError, match=r"source\.vec has 10 dimensions but .*target\.vec has 7; give vectors"
    ):
        world.run()


def small_model(folder, dim):
    """Save a binary model of three words; return its path."""
    (folder / "text").write_text("a b c\n" * 50, encoding="utf-8")
    options = {"epoch": 1, "minCount": 1, "bucket": 10, "thread": 1, "verbose": 0}
    fasttext.train_unsupervised(str(folder / "text"), dim=dim, **options).save_model(str(folder / "m.bin"))
    return folder / "m.bin"


def test_c11_a_model_and_a_text_too(world, tmp_path):
    world.give_vectors()
    world.files["target"] = str(small_model(tmp_path, 7))
    with pytest.raises(InputError, match=r"source\.vec has 10 dimensions but .*m\.bin has 7; give vectors"):
        world.run()


def test_c12_given_vectors_without_a_common_space_are_refused(world):
    world.give_vectors(shuffled=True)
    with pytest.raises(
        InputError,
        match=r"source\.vec and .*target\.vec: no common space: the mean cosine of 24 held-out word pairs is "
        r"-?0\.\d\d, of random pairs -?0\.\d\d; check that they are of en and fr",
    ):
        world.run()
    world.run(min_gap=0.0)
    world.output()


def test_c13_coverage_and_accuracy_are_told_of_each_set_of_vectors(world):
    told = []
    for known, noise in ((WORDS, 0.05), (90, 1.5)):
        world.give_vectors(known=known, noise=noise)
        world.run(refine=0)
        facts = world.output()[2]
        told.append((facts["coverage"]["target"]["types"], facts["map"]["check"]["precision"]))
        types, precision = told[-1]
        assert f"fr: {100 * types:.1f} % of {WORDS} words, " in world.said
        assert f"precision at 1 {precision:.3f} " in world.said
    assert told[0] == (1.0, 1.0)
    assert told[1][0] == 0.75
    assert told[1][1] < 1


def test_c14_fewer_word_pairs_than_dimensions_are_told_and_used(world):
    world.give_vectors()
    world.give("dictionary", "".join(f"word{i}\tmot{i}x\n" for i in range(6)), "words.tsv")
    world.run(refine=0)
    source, target, facts = world.output()
    assert facts["map"]["rank"] == 6
    assert not source[:, 6:].any()
    assert "6 word pairs speak of 6 of 10 directions: the others are left out" in world.said
    assert nearest_share(source, target) > 0.5


def test_c14_few_words_are_enough(world):
    """Nothing counts on tens of thousands of frequent words, neither in the map nor in its refinement."""
    world.give_vectors(known=30)
    world.run(max_missing=0.9, refine=2)
    assert world.output()[2]["coverage"]["source"]["types"] == 0.25


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"3 3\n{CAT}\n{DOG}\n", CUT),
        ("\n".join([*filler(20), "cat 1 2"]), r"words\.vec:21: cut off in the middle of a row"),
        ("\n".join([*filler(20), "cat"]), r"words\.vec:21: cut off in the middle of a row"),
        (
            gzip.compress("\n".join(filler(2000)).encode(), mtime=0)[:-20],
            r"words\.vec: the gzip data are cut off",
        ),
        (b"", "empty"),
    ],
)
def test_c16_a_file_that_is_cut_off_is_refused(tmp_path, content, told):
    path = tmp_path / "words.vec"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=told):
        read_vec(path, ["w1", "cat"])


def test_c16_a_model_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = small_model(tmp_path, 3)
    data = whole.read_bytes()
    assert read_model(whole, ["a"]).found.all()
    for size in (*range(4, len(data), 37), len(data) - 1):
        (tmp_path / "cut.bin").write_bytes(data[:size])
        with pytest.raises(
            InputError, match=r"cut\.bin: a fastText model that is cut off; get the file again"
        ):
            read_model(tmp_path / "cut.bin", ["a"])


def test_c16_a_last_row_without_an_end_may_be_cut_within_a_number(world):
    """Its numbers are all there, but nobody can tell 0.123 from the start of 0.1234: it is used, and told."""
    world.give_vectors()
    path = world.folder / "target.vec"
    path.write_text(path.read_text(encoding="utf-8").removesuffix("1\n").rstrip("\n"), encoding="utf-8")
    world.run()
    assert "target.vec: its last row has no end of line; if the file was cut off there, get it" in world.said
    assert "source.vec: its last row" not in world.said


def sources(*folders):
    return [
        (path, tree)
        for path, tree in test_rooms.TREES.items()
        if path.parts[len(test_rooms.ROOT.parts)] in folders
    ]


def test_c17_fasttext_is_asked_for_vectors_of_words_alone_and_not_imported_before():
    """Of fastText's functions some fail under NumPy 2, such as ``predict``; reading its files needs none."""
    for path, tree in sources("align", "pipeline"):
        if any(module.split(".")[0] == "fasttext" for module in test_rooms.imports(tree)):
            assert path.name == "training.py"
            top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
            assert not any("fasttext" in ast.unparse(node) for node in top)
            used = {
                function
                for _, function in test_rooms.calls(tree)
                if function.startswith(("fasttext", "model"))
            }
            assert used == {"fasttext.train_unsupervised", "model.get_word_vector"}
        for node, function in test_rooms.calls(tree):
            copied = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}.get("copy")
            assert not (function == "np.array" and copied == "False"), f"{path}:{node.lineno}"


def test_c18_memory_is_that_of_the_wanted_words(tmp_path):
    path = write(tmp_path, *filler(20_000, dim=50))
    tracemalloc.start()
    try:
        read_vec(path, [f"w{number}" for number in range(100)])
        assert tracemalloc.get_traced_memory()[1] < 1_000_000  # the file has 4 MB
    finally:
        tracemalloc.stop()


def test_c18_vectors_stay_float32(world):
    world.give_vectors()
    world.run()
    for side in world.output()[:2]:  # which are float32
        assert side.nbytes == 4 * WORDS * DIM


def test_c19_numbers_are_parsed_whole_or_not_at_all(tmp_path):
    rows = [CAT, DOG, "bird 1 2 x", "fish 1 2.5.1 3", "ant 1 0x1p3 2", "bee 1 1_0 2", *filler(3000)]
    vectors = read_vec(write(tmp_path, *rows), ["bird", "fish", "cat"])
    assert vectors.found.tolist() == [False, False, True]
    assert vectors.report.bad == {"number": 2}
    # This one reads as far as it understands, and only warns (before NumPy 2.3).
    used = {function for _, tree in sources("align", "pipeline") for _, function in test_rooms.calls(tree)}
    assert not used & {"np.fromstring", "numpy.fromstring"}


@pytest.mark.parametrize("side", ["source", "target"])
def test_c20_vectors_of_another_language_are_refused(world, side):
    world.give_vectors()
    world.give(side, rows([f"wort{i}" for i in range(50)], np.ones((50, DIM))))
    language, first = ("en", "word0") if side == "source" else ("fr", "mot0x")
    with pytest.raises(
        InputError,
        match=rf"{side}\.vec: only 0\.0 % of the {language} text has vectors \(the most frequent words "
        rf"without: {first} .*check that vectors\.{side} is of {language}, or raise embed\.max_missing",
    ):
        world.run()


def test_c20_sentences_without_any_vector_are_flagged(world):
    world.give_vectors(known=80)
    sides = [world.corpus.source, world.corpus.target]
    bare = [
        line
        for line in range(len(world.corpus))
        if any((side.ids[side.offsets[line] : side.offsets[line + 1]] >= 80).all() for side in sides)
    ]
    world.run()
    assert world.output()[2]["bare_pairs"] == len(bare) > 0
    told = (world.folder / "embed" / BARE).read_text(encoding="utf-8")
    assert told == "".join(f"{line + 1}\n" for line in bare)
    assert (
        f"{len(bare)} pairs have no word with a vector on a side: other features alone link them"
        in world.said
    )


def test_c20_they_are_linked_by_other_features():
    model = toy.toy_model()
    model.resources.source_vectors[:] = 0
    found = of(model).align("the red house 1999", "le maison rouge 1999")
    assert found == [(0, 0), (1, 2), (2, 1), (3, 3)]


def test_c21_a_check_of_no_pairs_is_not_a_number(world):
    world.give_vectors()
    world.give("dictionary", "word1\tmot1x\nword2\tmot2x\n", "words.tsv")
    world.run(refine=0)
    assert "held out 0: mean cosine n/a (0 pairs)" in world.said
    assert "NaN" not in (world.folder / "embed" / "mapping.json").read_text(encoding="utf-8")


XML = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>'
PAGES = [
    "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>",
    XML,
    "\n  <HTML>\n<p>Moved</p>",
    "<Error><Code>AccessDenied</Code></Error>",
    "<!-- cached -->\n<html></html>",
]


@pytest.mark.parametrize("page", PAGES)
def test_c22_a_web_page_is_told_as_one(tmp_path, page):
    assert is_page("application/octet-stream", page.encode())
    with pytest.raises(InputError, match=r"words\.vec:1: a web page \(HTML or XML\), not word vectors"):
        read_vec(write(tmp_path, page), ["cat"])


VECTORS = '[vectors]\nsource = "{}"\ntarget = "{}"\n'


@pytest.mark.parametrize(
    ("answer", "options", "told"),
    [
        (XML, {"content_type": "application/xml"}, "sent a web page, not a file"),
        (XML, {}, "sent a web page, not a file"),
        (XML, {"faults": [403]}, "the server answered 403 Forbidden"),
        (
            '{"message": "Rate limit"}',
            {"content_type": "application/json"},
            "sent a web page saying 'Rate limit'",
        ),
        ('{"message": "Rate limit"}', {}, NO_ROWS),
        ("Access Denied\n", {"content_type": "text/plain"}, NO_ROWS),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            {},
            "a pointer of Git LFS, not the file",
        ),
        ("cat 1 2\n".encode("utf-16"), {}, "in UTF-16; convert it to UTF-8"),
        (gzip.compress(XML.encode(), mtime=0), {}, "a web page"),
        ("", {}, "sent an empty file"),
    ],
)
def test_c22_what_a_server_sent_instead_of_vectors_is_not_kept(site, pipeline, answer, options, told):
    """It is told with its address at once, so that the next run asks for the file again."""
    data = answer if isinstance(answer, bytes) else answer.encode()
    urls = [site.add("/en.vec", f"{CAT}\n{DOG}\n".encode()), site.add("/fr.vec", data, **options)]
    text = f'tsv = "c.tsv"\n{VECTORS.format(*urls)}'
    status, out, err = pipeline(text, "--stage", "download", **{"c.tsv": "a\tb\n"})
    assert (status, out) == (1, "")
    assert err.count("error:") == 1
    assert f"{urls[1]}: " in err.rpartition("error:")[2]
    assert told in err
    site.add("/fr.vec", f"{CAT}\n{DOG}\n".encode())
    assert pipeline(text, "--stage", "download")[0] == 0


GOOD = {
    "tsv": "a cat\tun chat\n",
    "joint": "a cat ||| un chat\n",
    "tmx": '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv>'
    '<tuv xml:lang="fr"><seg>b</seg></tuv></tu></body></tmx>',
    "files": "a cat\nno\n",
}


@pytest.mark.parametrize("kind", GOOD)
def test_c22_nor_what_it_sent_instead_of_a_corpus(site, pipeline, kind):
    url, other = site.add("/c", b"Access Denied\n"), site.add("/d", b"un chat\nnon\n")
    text = f'files = ["{url}", "{other}"]' if kind == "files" else f'{kind} = "{url}"'
    status, _, err = pipeline(text, "--stage", "preprocess")
    again = f"{url} and {other}" if kind == "files" else url
    assert (status, f"; the next run fetches {again} again" in err) == (2, True)
    site.add("/c", GOOD[kind].encode(), etag='"other"')
    assert pipeline(text, "--stage", "preprocess")[0] == 0


def test_c22_nor_instead_of_gold_or_a_dictionary(site, pipeline):
    url = site.add("/links", b"Access Denied\n")
    text = f'tsv = "c.tsv"\n[gold]\nfiles = ["g.en", "g.fr"]\nlinks = "{url}"\n'
    files = {"c.tsv": GOOD["tsv"], "g.en": "a cat\n", "g.fr": "un chat\n"}
    for body, expected in (("Access Denied\n", 2), ("0-0 1-1\n", 0)):
        site.add("/links", body.encode(), etag=f'"{expected}"')
        assert pipeline(text, "--stage", "preprocess", **files)[0] == expected
    url = site.add("/d.tsv", b"Denied\n")
    text = f'tsv = "c.tsv"\n[vectors]\ndictionary = "{url}"\n'
    status, _, err = pipeline(text, "--stage", "embed")
    assert (status, f"; the next run fetches {url} again" in err) == (2, True)


def test_c22_vectors_on_the_disk_are_looked_at_before_anything_takes_time(pipeline):
    text = 'tsv = "c.tsv"\n' + VECTORS.format("en.vec", "fr.vec")
    files = {"c.tsv": "a\tb\n", "en.vec": f"{CAT}\n", "fr.vec": XML}
    status, _, err = pipeline(text, **files)
    assert status == 2
    assert "fr.vec:1: a web page (HTML or XML), not word vectors; get the file again" in err
    assert "preprocess: running" not in err
