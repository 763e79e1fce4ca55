import pytest

from benchmarks import profile_iteration


def test_smallest_shares_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    for columns, kinds in zip(
        profile_iteration.main(smallest=True), (profile_iteration.IMAGES, profile_iteration.SYNTHETIC), strict=True
    ):
        for shares in columns.values():
            assert list(shares) == [*kinds, "dynamics: step and noise", "data and noise z", profile_iteration.REST]
            assert sum(shares.values()) == pytest.approx(1)
            assert shares["matrix products"] > 0
            assert shares["dynamics: step and noise"] > 0
            assert shares["data and noise z"] > 0
    assert "| convolutions |" in capsys.readouterr().out
