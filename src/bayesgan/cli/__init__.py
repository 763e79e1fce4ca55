"""The command line: parse, call, print."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from bayesgan import __version__
from bayesgan.base.errors import BayesganError
from bayesgan.cli import (
    data,
    demo,
    diagnose,
    evaluate,
    explore,
    figures,
    generate,
    predict,
    presets,
    report,
    suggest,
    synthetic,
    table1,
    train,
)
from bayesgan.cli.options import say

app = typer.Typer(
    help="Bayesian GANs: posteriors over the weights of generators and discriminators, sampled by SGHMC.",
    add_completion=False,
    rich_markup_mode="rich",
)
app.command()(demo.demo)
app.command()(train.train)
app.command()(presets.presets)
app.command()(predict.predict)
app.command()(suggest.suggest)
app.command()(generate.generate)
app.command()(evaluate.evaluate)
app.command()(diagnose.diagnose)
app.command()(explore.explore)
app.command()(report.report)
app.command()(table1.table1)
app.command()(figures.figures)
app.add_typer(data.app, name="data")
app.command()(synthetic.synthetic)

INTERRUPTED = 130  # what typer returns for Ctrl-C


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command line; bad input ends in one sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be of any bytes
    try:
        code = app(standalone_mode=False)
    except (typer.TyperException, BayesganError, OSError) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        say(f"Error: {message}")
        code = 2
    except (MemoryError, RuntimeError) as error:
        # A CPU without memory left is a plain RuntimeError to torch.
        if isinstance(error, RuntimeError) and not _out_of_memory(error):
            raise
        say("Error: There is not enough memory: lower the number of generators, widths or noise batches.")
        code = 2
    if code == INTERRUPTED:
        say("Stopped; the same command goes on where it was.")
    sys.exit(code)


def _out_of_memory(error: RuntimeError) -> bool:
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
