from benchmarks import compiled


def test_smallest_times_both_networks() -> None:
    found = compiled.main(smallest=True)
    assert list(found) == ["discriminator", "generator"]
    assert all(0 < each < 100 for times in found.values() for each in times)
