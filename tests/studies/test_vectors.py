from pathlib import Path

from studies import vectors


def test_smallest_measures_one_set() -> None:
    stamp = Path(vectors.RESULTS).stat().st_mtime_ns
    found = vectors.main(smallest=True)
    assert list(found) == ["iris"]
    ours, plain = found["iris"]
    assert 0.2 < ours <= 1
    assert 0.7 < plain <= 1
    assert Path(vectors.RESULTS).stat().st_mtime_ns == stamp
