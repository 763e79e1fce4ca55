import math

import pytest

from benchmarks import bench


def test_smallest_measures_every_figure_that_the_table_has() -> None:
    found = bench.main([], smallest=True)
    figures = {key for key in bench.WHAT if not key.startswith("time_to_dcgan10")}
    assert figures == found.keys() - {"command", "environment"}
    for key in figures - {"memory_slope"}:  # of networks as small as these it is noise
        assert math.isfinite(found[key]["median"])
        assert found[key]["median"] > 0
    assert 0 < found["dynamics_share"]["median"] < 1
    assert found["exact_overhead"]["flop_ratio"] > 10
    assert found["minibatched_over_dcgan"]["with_chain_batch_2"] > 0
    peaks = found["memory_slope"]["peaks_mib"]
    assert list(peaks) == ["1", "2"]
    assert all(50 < peak < 5000 for peak in peaks.values())
    assert found["rank_efficiency"]["two_processes_that_share_nothing"] > 0


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(SystemExit, match="'sped' is not one of iteration, prediction"):
        bench.main(["sped"])


def test_table_has_a_row_for_each_figure() -> None:
    rows = bench.table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(bench.WHAT)
