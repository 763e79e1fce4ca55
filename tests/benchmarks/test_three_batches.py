from benchmarks import three_batches


def test_smallest_times_both_ways() -> None:
    rows = three_batches.main(smallest=True)
    assert len(rows) == 2
    assert all(0 < each < 10_000 for row in rows for each in row)
