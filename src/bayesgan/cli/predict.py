"""``bayesgan predict``: the class of pictures, and how sure that is."""

from pathlib import Path
from typing import Annotated

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.cli.options import Device, say
from bayesgan.cli.rows import Format, RunFolder, print_rows, rows_of


def predict(
    run: RunFolder,
    files: Annotated[list[Path], typer.Argument(help="Pictures, or folders of them.")],
    format: Format = "table",
    device: Device = "cpu",
) -> None:
    """Tell the class of pictures, how sure that is, and whether they are like the training pictures at all.

    Entropy and mutual information are in nats: the first is all that the average is unsure of, the second the part of
    it that the sampled networks contradict each other about. 'fake' is the probability of not being like the training
    pictures. Broken files are named on stderr and left out.
    """
    from bayesgan.data.decode import decoded
    from bayesgan.data.listing import listed, printable
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    paths: list[Path] = []
    for given in files:
        if not given.is_dir():
            paths.append(given)
            continue
        try:
            found, skipped = listed(given, None)
        except BayesganError as error:  # no pictures: the others may have some
            say(str(error))
            continue
        paths += [file.path for file in found]
        for words in skipped:
            say(f"{printable(str(given))}/{words}; left out.")
    pictures, reasons = decoded(paths, posterior.shape)
    names = [printable(str(path)) for path in paths]
    for name, reason in zip(names, reasons, strict=True):
        if reason is not None:
            say(f"{name} is left out: {reason}.")
    if len(pictures) == 0:
        raise BayesganError("None of the files can be read as a picture.")
    readable = [name for name, reason in zip(names, reasons, strict=True) if reason is None]
    judged = posterior.uncertainty(pictures.transpose(0, 2, 3, 1))
    print_rows(rows_of(readable, posterior.classes, judged), format)
