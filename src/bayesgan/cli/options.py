"""Shared by the commands: options, the progress bar, parsing of options."""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bayesgan.base.errors import BayesganError

console = Console(stderr=True)

T = TypeVar("T")
Metrics = dict[str, Any]  # of one evaluation

# Options that every training command takes
Threads = Annotated[int | None, typer.Option(help="CPU threads; one for each core by default.")]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, …")]


def say(text: str) -> None:
    """Print a line on stderr, as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def progress_bar() -> Progress:
    """Make a progress bar on stderr, with the time that is left and a field ``note`` for the latest figures."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}"),
        console=console,
    )


def note(metrics: Metrics) -> str:
    """Put the latest figures into a few words, for the progress bar."""
    if not metrics:
        return ""
    likelihoods = metrics["log_likelihood"]
    parts = [f"{name[0].upper()} {likelihoods[name]:.2f}" for name in likelihoods]
    for name in ("chains", "average"):
        if metrics.get(f"{name}_error") is not None:
            parts.append(f"{name} {metrics[f'{name}_error']:.2%}")
    return " ".join(parts)


def numbers(option: str, text: str, at_least: int) -> tuple[int, ...]:
    """Parse the whole numbers of a comma-separated option."""

    def number(word: str) -> int | None:
        return int(word) if word.isdecimal() and len(word) < 10 and int(word) >= at_least else None

    return listed(option, text, number, f"a whole number of at least {at_least}")


def listed(option: str, text: str, parse: Callable[[str], T | None], wanted: str) -> tuple[T, ...]:
    """Parse the parts of a comma-separated option, each once, in order."""
    values: list[T] = []
    for word in text.split(","):
        value = parse(word.strip())
        if value is None:
            raise BayesganError(f"{option}: '{word.strip()}' is not {wanted}.")
        if value not in values:
            values.append(value)
    return tuple(values)


def assignment(text: str) -> tuple[str, Any]:
    """Parse an option NAME=VALUE; the value is JSON, or else a word."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise BayesganError(f"--set: '{text}' is not of the form NAME=VALUE.")
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip(), value.strip()
