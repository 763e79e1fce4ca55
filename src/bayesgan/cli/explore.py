"""``bayesgan explore``: a page in the browser about a trained posterior."""

import os
from pathlib import Path
from typing import Annotated

import typer

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import DataDir
from bayesgan.cli.options import Device, say
from bayesgan.data.names import default_folder


def explore(
    run: Annotated[Path, typer.Argument(help="Folder of a trained run.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 7860,
    data_dir: DataDir = None,
    device: Device = "cpu",
) -> None:
    """Explore a trained posterior in the browser: pictures, walks, your own drawings, and what it is unsure of.

    Nothing is sent anywhere: the page works without internet, and only this machine can open it unless --host says
    otherwise.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before it is imported
    try:
        from bayesgan.explore.page import launch
    except ModuleNotFoundError as error:
        if error.name != "gradio":
            raise
        raise BayesganError("Gradio is missing: pip install 'bayesgan[explore]'.") from None
    from bayesgan.explore.answers import Explorer
    from bayesgan.runs.images import data_of_run
    from bayesgan.runs.saved import load

    posterior = load(run, device)
    try:
        explorer = Explorer(posterior, data_of_run(run, data_dir or default_folder()))
    except BayesganError as error:
        explorer = Explorer(posterior, error)  # the generators and a drawing need no images
    launch(explorer, run.resolve().name, host, port, _say_where)


def _say_where(address: str) -> None:
    say(f"The page is at {address} (Ctrl-C ends it).")
