"""``bayesgan figures``: the paper's figures from finished runs."""

from pathlib import Path
from typing import Annotated

import typer


def figures(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold some at any depth.")],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
) -> None:
    """Draw figures of finished runs: errors of all methods, and pictures of the Bayesian GAN's generators.

    For each data set and number of labels the errors against iteration and time; for each data set with a Bayesian GAN
    sheets of samples, two chains side by side, and generators beside DCGANs where there are runs of 'dcgan' or
    'dcgan10' with as many labels.
    """
    from bayesgan.paper.figures import draw
    from bayesgan.runs.saved import find_runs

    finished, unfinished = find_runs(runs)
    print(f"Finished runs: {len(finished)}; unfinished ones, left out: {unfinished}.")
    for file in draw(finished, out):
        print(file)
