import pytest

from pipeline.work.manifest import MANIFEST, read, write


def test_manifests_round_trip_and_broken_ones_count_as_missing(tmp_path):
    assert read(tmp_path) is None
    values = {"stage": "é", "notes": [1], "share": 0.1, "none": None}
    write(tmp_path, values)
    assert read(tmp_path) == values
    for broken in ("", "{", "[]", "{}", "[" * 100_000):
        (tmp_path / MANIFEST).write_text(broken, encoding="utf-8")
        assert read(tmp_path) is None


@pytest.mark.parametrize(
    "change", [("0.1", "0.2"), ('"notes"', '"motes"'), ("1\n", "2\n"), ('"crc32"', '"crc33"')]
)
def test_g18_a_manifest_that_says_something_else_than_was_written_counts_as_missing(tmp_path, change):
    write(tmp_path, {"stage": "a", "notes": [1], "share": 0.1})
    text = (tmp_path / MANIFEST).read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / MANIFEST).write_text(text.replace(*change), encoding="utf-8")
    assert read(tmp_path) is None
