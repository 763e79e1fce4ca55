"""``bayesgan diagnose``: whether it is a posterior."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.table import Table

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, console, say
from bayesgan.cli.rows import RunFolder, print_table
from bayesgan.data.names import default_folder

if TYPE_CHECKING:
    from bayesgan.posterior.diagnosis import Diagnosis
    from bayesgan.posterior.verdict import Figures


def diagnose(run: RunFolder, data_dir: DataDir = None, device: Device = "cpu") -> None:
    """Say whether the samples of a run are of a posterior: how far the chains moved, whether they mix and agree.

    Writes diagnosis.json and diagnosis.png into the run's folder.
    """
    from bayesgan.runs import diagnosis
    from bayesgan.runs.images import data_of_run
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    images = None
    try:
        images = data_of_run(run, data_dir or default_folder()).images.test.transpose(0, 2, 3, 1)
    except BayesganError as error:
        if data_dir is not None or posterior.settings.populations.chains("generators") == 0:
            raise
        say(f"{error} Without them the run is diagnosed on images of its own generators.")
    with console.status("The chains are followed …"):
        found = posterior.diagnose(images)
        diagnosis.write(found, run)
    print_table(_chains(found))
    print()
    print_table(_mixing(found))
    print(f"\nOn {found.images} {'generated' if found.generated else 'held-out'} images; {run / diagnosis.CHART}")
    for side, own in found.verdicts.items():
        if own.sentence != found.verdict:
            print(f"{side.capitalize()} by themselves: {own.sentence}")
    if found.not_eq_4:
        print(f"What is sampled is not Eq. 4 as it stands: {', '.join(found.not_eq_4)}.")
    last, end = posterior.samples.iterations[-1], posterior.settings.length.collected
    if len(end) > 0 and last < end[-1]:
        print(f"The run has not ended: the last sample is of iteration {last:,}, {end[-1]:,} is to come.")
    print(f"Verdict: {found.verdict}")


def _chains(found: "Diagnosis") -> Table:
    """What chains did, a column for each side."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for side in found.sides:
        table.add_column(side, justify="right")
    rows: dict[str, Callable[[Figures], str]] = {
        "chains × samples": lambda of: f"{of.chains} × {of.draws}",
        "moved from first to last sample, share of the norm": lambda of: f"{of.moved:.1%}",
        "moved at most": lambda of: f"{of.furthest:.1%}",
        "norm of the weights, first → last": lambda of: f"{of.norm_first:.3g} → {of.norm_last:.3g}",
        "the prior's radius": lambda of: "flat" if of.radius is None else f"{of.radius:.3g}",
        "kinetic temperature": lambda of: _number(of.kinetic),
        "configurational temperature": lambda of: _number(of.configurational),
        f"predicted, with gradient noise (T = {found.temperature:g})": lambda of: _number(of.predicted),
    }
    for name, cell in rows.items():
        table.add_row(name, *[cell(of) for of in found.sides.values()])
    return table


def _mixing(found: "Diagnosis") -> Table:
    """How they mix, a row for each quantity of a side."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("R-hat within", "95 %", "between", "95 %", "ESS bulk", "tail", "each alone"):
        table.add_column(name, justify="right")
    for side, of in found.sides.items():
        for name, each in of.mixing.items():
            figures = (each.within.median, each.within.high, each.between.median, each.between.high)
            sizes = (each.bulk, each.tail, each.alone)
            cells = [_number(figure, ".2f") for figure in figures] + [_number(size, ".0f") for size in sizes]
            table.add_row(f"{name} of {side}", *cells)
    return table


def _number(value: float | None, form: str = ".3g") -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)
