"""The study of priors, where what they imply is known."""

import torch

from studies import priors


def test_a_narrow_prior_says_nothing_and_a_wide_one_is_sure() -> None:
    highest, pictures, figures = priors.implied("isotropic", 1e-8, 3)
    assert abs(highest - 0.1).max() < 1e-3  # all ten classes alike
    assert abs(pictures).max() < 1e-3
    assert figures["classes"] > 9.99
    _, _, figures = priors.implied("isotropic", 10.0, 3)
    assert figures["highest"] > 0.99
    assert figures["saturated"] > 0.9


def test_the_smallest_form_has_a_row_for_each_prior() -> None:
    table = priors.main(["--smallest"])
    assert table.count("| N(0, ") == len(priors.PRIORS)
    assert torch.get_num_threads() == 1
