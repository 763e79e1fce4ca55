"""``bayesgan demo``: three methods on handwritten digits, and a report on them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from bayesgan.cli.options import Device, Metrics, Threads, console, note, progress_bar


def demo(
    seed: Annotated[int, typer.Option(help="Seed of every random draw.", min=0)] = 0,
    subset: Annotated[int, typer.Option(help="Which choice of labelled images.", min=0)] = 0,
    iterations: Annotated[
        int | None, typer.Option(help="Iterations of each method, for a quick look; the preset's by default.", min=10)
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for the report and the runs.")] = Path("demo"),
) -> None:
    """See it work in three minutes: handwritten digits, 50 labels, three methods, one report."""
    from bayesgan.base import environment
    from bayesgan.report.demo import METHODS, run

    chosen = environment.use(device, threads)
    with progress_bar() as progress:
        bar = progress.add_task("", total=1.0, note="")

        def report(method: str, share: float, metrics: Metrics) -> None:
            progress.update(bar, description=f"{method:{max(map(len, METHODS))}}", completed=share, note=note(metrics))

        summaries = run(out, subset, seed, chosen, report, iterations)
        progress.update(bar, completed=1.0)
    console.print(_table(summaries))
    print(f"The report is {out / 'report.html'}.")


def _table(summaries: list[dict[str, Any]]) -> Table:
    table = Table(title="Test errors on handwritten digits, 50 labels")
    for column in ("method", "errors", "of", "error", "networks", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for each in summaries:
        table.add_row(
            each["method"],
            str(each["test_errors"]),
            str(each["test_size"]),
            f"{each['test_error']:.1%}",
            str(each["networks"]),
            f"{each['seconds']:.0f}",
        )
    return table
