"""``bayesgan presets``: every number of a run, by name."""

import json
from typing import Annotated

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import PRESETS


def presets(
    names: Annotated[list[str] | None, typer.Argument(help="Which presets; all by default.")] = None,
) -> None:
    """Print the presets: every value, and what each method and data set changes."""
    from bayesgan.settings.compose import described

    for name in names or PRESETS:
        if name not in PRESETS:
            raise BayesganError(f"'{name}' is not a preset: choose from {', '.join(PRESETS)}.")
    chosen = [name for name in PRESETS if name in (names or PRESETS)]
    print(json.dumps({name: described(name) for name in chosen}, indent=2))
