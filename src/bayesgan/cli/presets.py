"""``bayesgan presets``: every number of a run, by name."""

import json
from typing import Annotated, Any

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.data.names import IMAGE_SET_SHAPES, IMAGE_SET_SIZES
from bayesgan.settings.names import PRESETS, PresetName


def presets(
    names: Annotated[list[str] | None, typer.Argument(help="Which presets; all by default.")] = None,
) -> None:
    """Print the presets: every value, what each method and data set changes, and how large the networks are."""
    from bayesgan.settings.compose import described

    for name in names or PRESETS:
        if name not in PRESETS:
            raise BayesganError(f"'{name}' is not a preset: choose from {', '.join(PRESETS)}.")
    chosen = [name for name in PRESETS if name in (names or PRESETS)]
    print(json.dumps({name: described(name) | {"networks of bayesgan": networks(name)} for name in chosen}, indent=2))


def networks(preset: PresetName) -> dict[str, dict[str, Any]]:
    """How large the networks of each image set are, how warm what is sampled, and how much an iteration computes."""
    from bayesgan.networks.size import sizes
    from bayesgan.paper.reported import LABEL_COUNTS
    from bayesgan.sampler.densities import temperatures
    from bayesgan.settings.compose import image_settings

    table: dict[str, dict[str, Any]] = {}
    for dataset, (shape, classes) in IMAGE_SET_SHAPES.items():
        settings = image_settings(preset, "bayesgan", dataset)
        labels = LABEL_COUNTS[dataset][0]
        found = sizes(settings, shape, classes, labels)
        assert found.generator is not None  # bayesgan has generators
        table[dataset] = {
            "generator": {"width": settings.networks.generator_width, **found.generator._asdict()},
            "discriminator": {"width": settings.networks.discriminator_width, **found.discriminator._asdict()},
            f"temperature of each term, {labels} labels": temperatures(settings, IMAGE_SET_SIZES[dataset], labels),
            f"flops of an iteration of all chains, {labels} labels": found.iteration_flops,
        }
    return table
