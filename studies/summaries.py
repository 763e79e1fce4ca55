"""A table of finished runs, with the command that made each.

python -m studies.summaries RUN...      (folders of `bayesgan train`; a table in markdown on stdout)
"""

import json
import sys
from pathlib import Path
from typing import Any

from bayesgan.base.files import read_text

COLUMNS = (
    "data, labels, subset",
    "method",
    "errors",
    "error",
    "single networks",
    "networks",
    "iterations",
    "minutes",
    "generated called real",
    "test called fake",
)


def command(summary: dict[str, Any]) -> str:
    """What made the run; every other value is the preset's."""
    names = ("dataset", "labels", "subset", "method", "preset", "seed", "split", "every", "threads")
    options = [f"--{name} {summary[name]}" for name in names]
    options += [f"--set {name}={json.dumps(value)}" for name, value in summary["changed"].items()]
    ranks = summary.get("ranks", 1)
    start = "bayesgan train" if ranks == 1 else f"torchrun --nproc-per-node {ranks} -m bayesgan train"
    return " ".join([start, *options])


def row(summary: dict[str, Any]) -> str:
    """One line of the table."""

    def percent(share: float | None) -> str:
        return "–" if share is None else f"{share:.1%}"

    single = [percent(edge(summary["chain_errors"])) for edge in (min, max)]
    cells = (
        f"{summary['dataset']}, {summary['labels']}, {summary['subset']}",
        summary["method"],
        f"{summary['test_errors']} of {summary['test_size']}",
        f"{summary['test_error']:.2%}",
        single[0] if single[0] == single[1] else " to ".join(single),
        summary["networks"],
        summary["iterations"],
        f"{summary['seconds'] / 60:.1f}",
        percent(summary["generated_called_real"]),
        percent(summary["test_called_fake"]),
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main(folders: list[str]) -> None:
    """Print the table of the folders named."""
    summaries = [json.loads(read_text(Path(folder) / "summary.json")) for folder in folders]
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for summary in summaries:
        print(row(summary))
    print("\n```sh")
    for summary in summaries:
        print(command(summary))
    print("```")


if __name__ == "__main__":
    main(sys.argv[1:])
