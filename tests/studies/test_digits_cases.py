from studies import digits_cases


def test_pairs_are_those_of_the_preset_as_it_was() -> None:
    pairs = digits_cases.PAIRS
    assert [pairs[name] for name in ("generators", "discriminators", "generator_width", "iterations")] == [
        4,
        4,
        32,
        1000,
    ]
    assert [pairs[name] for name in ("real_batch", "jitter", "consensus", "schedule")] == [64, 0, 0, "per-datum"]
