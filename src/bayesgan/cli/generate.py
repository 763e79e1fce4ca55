"""``bayesgan generate``: new pictures by the sampled generators."""

from pathlib import Path
from typing import Annotated

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.cli.options import Device
from bayesgan.cli.rows import RunFolder

SHEET = 8  # pictures in a row of a sheet


def generate(
    run: RunFolder,
    n: Annotated[int, typer.Option("-n", help="How many pictures.", min=1, max=10_000)] = 64,
    generators: Annotated[
        int | None,
        typer.Option(help="How many sampled generators draw them, the newest first, a row each.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("sheet.png"),
    device: Device = "cpu",
) -> None:
    """Draw new pictures by the sampled generators, on one sheet."""
    import numpy as np
    import torch

    from bayesgan.data.contact_sheet import draw_panels
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    newest = posterior.generators[::-1]
    if generators is not None and generators > len(newest):
        raise BayesganError(f"{run} has {len(newest)} sampled generators: ask for no more.")
    chosen = newest[:generators]
    pictures = posterior.generate(n, chosen, seed).reshape(n, *posterior.shape[1:], posterior.shape[0])
    rows = generators or -(-n // SHEET)
    cells = np.full((rows, -(-n // rows), *posterior.shape), 255, np.uint8)
    for number, pixels in enumerate(pictures.transpose(0, 3, 1, 2)):
        place = divmod(number, cells.shape[1]) if generators is None else divmod(number, rows)[::-1]
        cells[place] = pixels
    draw_panels(torch.from_numpy(cells), out)
    print(f"{n} pictures by {min(n, len(chosen))} generators are in {out}.")
