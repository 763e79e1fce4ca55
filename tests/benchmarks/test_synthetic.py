from benchmarks import synthetic


def test_smallest_times_every_case() -> None:
    found = synthetic.measured(smallest=True)
    assert list(found) == ["synthetic_ms", "synthetic_500_ms"]
    for figure in found.values():
        assert figure["median"] > 0
        assert list(figure["cases"]) == list(synthetic.CASES)
        assert all(case["ratio"] > 0 for case in figure["cases"].values())
