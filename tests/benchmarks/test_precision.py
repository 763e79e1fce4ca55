from benchmarks import precision


def test_smallest_compares_both() -> None:
    found = precision.main(smallest=True)
    assert list(found) == ["digits"]
    assert found["digits"] > 0
