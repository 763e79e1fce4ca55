"""config.json of a run: of this format, of the one before, and of none."""

import json
from pathlib import Path
from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.runs.images import Task, Training, task_of
from bayesgan.runs.record import DELETED, FORMAT, RENAMED, RunRecord, read_record
from bayesgan.settings.names import METHODS
from bayesgan.settings.settings import ImageSettings

COMMITTED = Path(__file__).parents[2] / "results"
FORMAT_1 = COMMITTED / "table1-dcgan" / "runs" / "digits-20-bayesgan-0" / "config.json"


def format_1(folder: Path, **changes: Any) -> Path:
    """A run folder with a config.json of version 0.1.0, some of its settings or other values changed."""
    values = json.loads(FORMAT_1.read_text())
    for name, value in changes.items():
        (values if name in values else values["settings"])[name] = value
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def test_the_record_of_a_run_is_what_was_trained(once: tuple[Training, Any]) -> None:
    training, _ = once
    record = read_record(training.folder)
    assert record.format == FORMAT == 3
    assert record.settings == training.task.settings
    assert record.shape == training.images.train.shape[1:]
    assert record.classes == training.images.classes
    assert record.labelled_sha256 == training.labelled.sha256
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


def test_every_committed_run_is_read() -> None:
    paths = sorted(COMMITTED.rglob("config.json"))
    assert len(paths) > 300
    found: dict[str, int] = dict.fromkeys(METHODS, 0)
    for path in paths:
        record, there = read_record(path.parent), json.loads(path.read_text())
        dataset, labels, name = path.parent.name.split("-", 2)
        method, subset = name.rsplit("-", 1)
        assert (record.dataset, record.labels, record.method) == (dataset, int(labels), method)
        assert (record.subset, record.seed) == (int(subset), int(subset))
        settings, flat = there["settings"], record.settings.flat()
        if there.get("format") == FORMAT:
            assert all(flat[name] == value for group in settings.values() for name, value in group.items())
            found[record.method] += 1
            continue
        if there.get("format") == 2:
            settings = {name: value for group in settings.values() for name, value in group.items()}
        kept = {RENAMED.get(name, name): value for name, value in settings.items() if name not in DELETED}
        if kept.get("consensus_on") == "shown":
            kept["consensus_on"] = "augmented"  # its name now
        if method == "supervised" and "format" not in there:
            assert (kept.pop("game"), flat["generators"]) == ("classification", 0)
        variance, weight = kept.pop("prior_variance"), kept.pop("label_weight")
        sampled = None if variance is None else pytest.approx(variance * (kept["temperature"] or 1.0))
        assert flat["generator_prior"] == flat["discriminator_prior"] == sampled
        assert (weight, flat["weighing"]) in [(1.0, "printed"), (None, "raised-labels")]
        assert {name: flat[name] for name in kept} == kept
        assert record.test_sha256 == there["test_sha256"]
        found[record.method] += 1
    assert all(found[method] for method in METHODS[:7]), found


def test_of_the_settings_that_are_no_more_the_defaults_are_accepted(tmp_path: Path) -> None:
    settings = read_record(format_1(tmp_path, **DELETED)).settings
    assert settings.populations.generators == 4
    assert settings.length.burn_in == 540
    assert settings.networks.noise_dim == 100
    assert settings.populations.chain_batch is None


@pytest.mark.parametrize(
    ("name", "value"), [("faced", 2), ("sweep", 3), ("scan", "random"), ("branches", 2), ("real_target", 0.9)]
)
def test_a_setting_that_is_no_more_is_refused_by_name(tmp_path: Path, name: str, value: Any) -> None:
    sentence = rf"was trained with the setting '{name}', which is no more: read it with bayesgan 0\.1\.0"
    with pytest.raises(BayesganError, match=sentence):
        read_record(format_1(tmp_path, **{name: value}))


def test_an_ensemble_of_format_1_is_recognised_by_its_settings(tmp_path: Path) -> None:
    assert read_record(format_1(tmp_path, temperature=0.0, prior_variance=None)).method == "ensemble"
    assert task_of(read_record(tmp_path)).settings.sampler.temperature == 0
    assert read_record(format_1(tmp_path, temperature=0.0)).method == "bayesgan"  # with a prior
    assert read_record(format_1(tmp_path, prior_variance=None)).method == "bayesgan"  # at a temperature
    both = {"temperature": 0.0, "prior_variance": None, "dynamics": "adam"}
    assert read_record(format_1(tmp_path, method="dcgan", **both)).method == "dcgan"


@pytest.mark.parametrize(
    ("temperature", "variance", "present"), [(0.01, 10.0, 0.1), (1.0, 3.0, 3.0), (0.0, 2.0, 2.0), (0.1, None, None)]
)
def test_the_prior_of_earlier_runs_is_the_one_that_they_sampled(
    tmp_path: Path, temperature: float, variance: float | None, present: float | None
) -> None:
    """N(0, σ²) at a temperature T, of which the prior was tempered too, is N(0, T σ²)."""
    prior = read_record(format_1(tmp_path, temperature=temperature, prior_variance=variance)).settings.prior
    assert (prior.generator_prior, prior.discriminator_prior, prior.prior_scale) == (present, present, "isotropic")


def test_labels_that_counted_as_they_do_in_no_balance_are_refused(tmp_path: Path) -> None:
    for weight in (5.0, [1.0]):
        with pytest.raises(BayesganError, match="was trained with the setting 'label_weight', which is no more"):
            read_record(format_1(tmp_path, label_weight=weight))


def test_what_chains_together_label_has_another_name_now(tmp_path: Path) -> None:
    format_1(tmp_path, consensus_on="shown")
    assert read_record(tmp_path).settings.densities.consensus_on == "augmented"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "it has no config.json"),
        ("", "is damaged"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"settings": {}}', "it does not say which version made it"),
        ('{"version": "0.0.1"}', r"was made by bayesgan 0\.0\.1, whose config.json this version, .*, cannot read"),
        ('{"version": "0.1.0", "settings": {}}', "is damaged"),
        (
            '{"version": "7.0", "format": 4, "settings": {}}',
            r"was made by bayesgan 7\.0, whose config.json this version, .*, cannot read",
        ),
        ('{"version": "0.2.0", "format": "2"}', r"was made by bayesgan 0\.2\.0"),
    ],
)
def test_what_is_not_a_run_gets_a_sentence(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(BayesganError, match=sentence):
        read_record(tmp_path)


def test_a_torn_file_gets_a_sentence(folder: Path) -> None:
    path = folder / "config.json"
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(BayesganError, match=r"config\.json is damaged .*: without it the run cannot be read"):
        read_record(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "50x"),
        ("labels", 1.5),
        ("labels", None),
        ("labels", [1]),
        ("subset", "a"),
        ("split", "x"),
        ("seed", -1),
        ("shape", [2, 8, 8]),
        ("settings", {"sampler": {"temperature": -1}}),
        ("settings", {"sampler": {"unheard_of": 1}}),
        ("settings", {"length": {"iterations": 10, "burn_in": 10}}),
        ("like", "mnist"),
    ],
)
def test_a_config_with_wrong_values_gets_a_sentence(folder: Path, name: str, value: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(BayesganError, match="is damaged"):
        read_record(folder)


@pytest.mark.parametrize(("name", "value"), [("unheard_of", 1), ("generators", "four"), ("labels", "50x")])
def test_wrong_values_of_format_1_get_a_sentence(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(BayesganError, match="is damaged"):
        read_record(format_1(tmp_path, **{name: value}))


def test_no_setting_that_is_no_more_has_come_back() -> None:
    assert not DELETED.keys() & ImageSettings.places().keys()
    assert not DELETED.keys() & Task("digits").settings.flat().keys()
