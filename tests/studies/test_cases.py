import pytest
from studies.cases import Cases, mini_batched
from studies.choices import STUDIES

from bayesgan.settings.compose import image_settings

EVERY = [(study, name) for study in STUDIES for name in STUDIES[study].cases]


@pytest.mark.parametrize(("study", "name"), EVERY)
def test_every_case_has_settings_that_there_are(study: str, name: str) -> None:
    method, values = STUDIES[study].cases[name]
    settings = image_settings("fast", method, STUDIES[study].dataset, **values)
    assert values.items() <= settings.flat().items()


def test_no_two_cases_are_the_same() -> None:
    for study in STUDIES.values():
        assert len({str(case) for case in study.cases.values()}) == len(study.cases)


def test_mini_batches_are_of_one_chain_and_of_two() -> None:
    cases: Cases = mini_batched({"burn_in": 20})
    assert [values["chain_batch"] for _, values in cases.values()] == [1, 2]
    assert all(values["generators"] == 10 for _, values in cases.values())
