from studies import mnist_cases


def test_runs_are_short_and_their_steps_fall() -> None:
    pairs = mnist_cases.PAIRS
    assert [pairs[name] for name in ("generator_width", "iterations", "burn_in", "thin")] == [16, 1800, 1200, 60]
    assert [pairs[name] for name in ("schedule", "cycles", "feature_matching")] == ["cyclical", 1, True]
