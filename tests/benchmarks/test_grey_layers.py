from benchmarks import grey_layers


def test_smallest_times_both_ways() -> None:
    rows = grey_layers.main(smallest=True)
    assert len(rows) == 2
    assert all(0 < each < 10_000 for row in rows for each in row)
