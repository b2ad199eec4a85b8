from pipeline.work.manifest import MANIFEST, read
from pipeline.work.publish import write_json


def test_manifests_round_trip_and_broken_ones_count_as_missing(tmp_path):
    assert read(tmp_path) is None
    write_json(tmp_path / MANIFEST, {"stage": "é", "notes": [1]})
    assert read(tmp_path) == {"stage": "é", "notes": [1]}
    for broken in ("", "{", "[]"):
        (tmp_path / "manifest.json").write_text(broken, encoding="utf-8")
        assert read(tmp_path) is None
