"""Table 1 as files: what was measured, beside what the paper reports. A cell that was not run stays empty."""

import json
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bayesgan.base.files import write_text
from bayesgan.data.names import IMAGE_SET_TITLES
from bayesgan.paper.reported import LFVI_MNIST, reported, reported_epoch_seconds, reported_size
from bayesgan.paper.statistics import (
    CONFIDENCE,
    REFERENCES,
    Cell,
    Paired,
    RunRow,
    epoch_seconds,
    make_cells,
    make_pairs,
    mean_ratio,
    unit,
)
from bayesgan.paper.tables import Entry, Line, Page, Table, csv_text, html_text, latex_text, markdown_text
from bayesgan.settings.compose import image_settings, terms
from bayesgan.settings.names import METHOD_TITLES

SHORT = 20  # characters of a reason that a cell has room for
CELL_COLUMNS = (
    *("dataset", "labels", "method", "runs", "failed", "mean", "two_sd", "unit", "paper_mean", "paper_two_sd"),
    *("seconds", "seconds_per_epoch"),
)


class Made(BaseModel):
    """How the runs of a grid were made."""

    model_config = ConfigDict(frozen=True)

    command: str
    budget: str = ""  # a sentence on what limited the runs; may be empty


@dataclass(frozen=True)
class Caption:
    """Facts about the runs for the captions."""

    subsets: int  # of the cell that has most
    sizes: dict[str, tuple[int, ...]]  # where known, of a set's training images: N, channels, height, width
    changed: list[tuple[RunRow, dict[str, Any]]]  # runs with settings that are not the preset's, and these settings
    machines: list[str]  # that the runs were made on
    grids: list[Made]


def write_table(rows: list[RunRow], caption: Caption, out: Path) -> None:
    """Write ``runs.csv`` and ``table1`` as ``.csv``, ``.md``, ``.tex`` and ``.html`` into the folder ``out``."""
    cells, pairs = make_cells(rows), make_pairs(rows)
    tables = [_errors(rows, cells, caption)]
    for dataset in dict.fromkeys(each.dataset for each in pairs):
        for title, references in (("Paired comparison", REFERENCES), ("What sampling adds", ("ensemble",))):
            own = [each for each in pairs if each.dataset == dataset and each.reference in references]
            tables += [_differences(f"{title} on {IMAGE_SET_TITLES[dataset]}", own, references)] if own else []
    page = Page("Table 1", tables, [_one_line(each.command) for each in caption.grids], _failures(rows))
    write_text(out / "runs.csv", csv_text([field.name for field in fields(RunRow)], map(astuple, rows)))
    write_text(out / "table1.csv", csv_text(CELL_COLUMNS, map(_csv_row, cells)))
    write_text(out / "table1.md", markdown_text(page))
    write_text(out / "table1.tex", latex_text(page))
    write_text(out / "table1.html", html_text(page))


def _csv_row(cell: Cell) -> tuple[object, ...]:
    runs = cell.dataset, cell.labels, cell.method, cell.runs, len(cell.failures)
    figures = cell.mean, cell.two_sd, cell.seconds, cell.seconds_per_epoch
    mean, two_sd, *seconds = (None if each is None else round(each, 4) for each in figures)
    theirs = reported(cell.dataset, cell.labels, cell.method) or (None, None)
    return *runs, mean, two_sd, unit(cell.dataset), *theirs, *seconds


def _errors(rows: list[RunRow], cells: list[Cell], caption: Caption) -> Table:
    """The paper's table of our runs, with the paper's own row beneath each of ours."""
    methods = [each for each in METHOD_TITLES if any(cell.method == each for cell in cells)]
    lines = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        note = f"in {unit(dataset)}"
        if dataset in caption.sizes:
            count, channels, *shape = caption.sizes[dataset]
            note = f"{_size(count, (*shape, channels) if channels > 1 else tuple(shape))}; {note}"
        times = [Entry(_duration(epoch_seconds(rows, dataset, each))) for each in methods]
        lines.append(Line("head", [Entry(IMAGE_SET_TITLES[dataset], note), *times]))
        size = reported_size(dataset)
        if size is not None:
            times = [Entry(_duration(reported_epoch_seconds(dataset, each))) for each in methods]
            lines.append(Line("paper", [Entry("paper", _size(*size)), *times]))
        for labels in dict.fromkeys(cell.labels for cell in cells if cell.dataset == dataset):
            ours = {cell.method: cell for cell in cells if (cell.dataset, cell.labels) == (dataset, labels)}
            best = _best(list(ours.values()))
            entries = [_measured(ours[each], best, caption.subsets) if each in ours else Entry() for each in methods]
            lines.append(Line("ours", [Entry(f"{labels:,}"), *entries]))
            theirs = [_spread(dataset, *(reported(dataset, labels, each) or (None, None))) for each in methods]
            if any(theirs):
                lines.append(Line("paper", [Entry("paper"), *map(Entry, theirs)]))
    columns = [Entry(METHOD_TITLES[each], _terms(rows, each, caption)) for each in methods]
    return Table("Test errors", [Entry("labels"), *columns], lines, _explained(rows, methods, caption))


def _terms(rows: list[RunRow], method: str, caption: Caption) -> str:
    """What all runs of the method learn from; the captions name what only some of them have."""
    changed, found = dict(caption.changed), list[list[str]]()
    for row in rows:
        if row.method == method and row.status == "done":
            settings = image_settings(row.preset, method, row.dataset, **changed.get(row, {}))  # type: ignore[arg-type]
            found.append(terms(settings))
    return ", ".join(each for each in found[0] if all(each in others for others in found)) if found else ""


def _best(cells: list[Cell]) -> list[Cell]:
    """The lowest mean of a row, among the cells with most runs: one run on an easy subset does not count."""
    most = max(cell.runs for cell in cells)
    means = {cell.method: cell.mean for cell in cells if cell.mean is not None and cell.runs == most}
    return [cell for cell in cells if means.get(cell.method) == min(means.values())] if len(means) > 1 else []


def _measured(cell: Cell, best: list[Cell], asked: int) -> Entry:
    """The entry of a cell: empty before a run is done, the reason if all that ended have failed."""
    if cell.mean is None:
        if not cell.failures:
            return Entry()
        reason = _one_line(cell.failures[0])
        return Entry("failed", reason if len(reason) <= SHORT else f"{reason[:SHORT].rstrip()}…")
    notes = [f"n = {cell.runs}"] if cell.runs < asked else []
    notes += [f"{len(cell.failures)} failed"] if cell.failures else []
    return Entry(_spread(cell.dataset, cell.mean, cell.two_sd), ", ".join(notes), cell in best)


def _explained(rows: list[RunRow], methods: list[str], caption: Caption) -> list[str]:
    """How to read the table, and how it was made."""
    datasets = [each for each in IMAGE_SET_TITLES if any(row.dataset == each for row in rows)]
    reading = [
        f"Mean ± 2 standard deviations over {caption.subsets} random labelled subsets: the number of misclassified "
        "test images on MNIST, per cent elsewhere. Where fewer subsets are done, n is their number; one run has no ±; "
        "a cell that was not run is empty. The best mean of those over most subsets is bold. Rows with the name of a "
        "data set carry the runtime per epoch. Beside the name of a method stands what all of its runs learn from."
    ]
    if any(map(reported_size, datasets)):
        reading.append("Rows marked “paper” are Table 1 of Saatchi and Wilson (2017), its runtimes on one GPU.")
    if "lfvi" in methods and "mnist" in datasets:
        labels, errors = LFVI_MNIST
        reading.append(f"The paper quotes {errors} errors on MNIST for LFVI-GAN, with {labels:,} labels.")
    if "ensemble" in methods:
        reading.append("The ensemble is BayesGAN with temperature 0 and a flat prior: its chains, but no sampling.")
    done = sum(row.status == "done" for row in rows)
    failed = sum(row.failure is not None for row in rows)
    presets = ", ".join(dict.fromkeys(row.preset for row in rows if row.preset))
    iterations = "; ".join(_iterations(rows, each) for each in datasets)
    making = [
        f"Of {len(rows)} runs {done} are done and {failed} failed.",
        f"Preset: {presets}. Iterations: {iterations}.",
    ]
    making += _changes(rows, caption.changed)
    making += [f"Hardware of a run: {_one_line('; '.join(caption.machines))}."] if caption.machines else []
    making += dict.fromkeys(_one_line(each.budget) for each in caption.grids if each.budget)
    return [" ".join(reading), " ".join(making)]


def _changes(rows: list[RunRow], changed: list[tuple[RunRow, dict[str, Any]]]) -> list[str]:
    """A sentence for each choice of settings that is not the preset's, with the methods that have it.

    Their numbers of labels are named where not all runs of a method on a data set have it.
    """
    having: dict[str, dict[tuple[str, str], list[RunRow]]] = {}
    for row, values in changed:
        words = ", ".join(f"{name} {json.dumps(value)}" for name, value in values.items())
        having.setdefault(words, {}).setdefault((row.dataset, row.method), []).append(row)
    sentences = []
    for words, places in having.items():
        where = []
        for (dataset, method), own in places.items():
            name = f"{METHOD_TITLES[method]} on {IMAGE_SET_TITLES[dataset]}"
            if any((row.dataset, row.method) == (dataset, method) and row not in own for row in rows):
                name += (
                    f" with {', '.join(f'{labels:,}' for labels in dict.fromkeys(row.labels for row in own))} labels"
                )
            where.append(name)
        sentences.append(f"Not as in the preset: {words} ({'; '.join(where)}).")
    return sentences


def _iterations(rows: list[RunRow], dataset: str) -> str:
    """Of each method on a data set; said once where all have the same."""
    methods: dict[int, list[str]] = {}
    for method in METHOD_TITLES:
        own = {row.iterations for row in rows if (row.dataset, row.method) == (dataset, method)}
        for number in sorted(each for each in own if each is not None):
            methods.setdefault(number, []).append(METHOD_TITLES[method])
    if len(methods) == 1:
        return f"{IMAGE_SET_TITLES[dataset]} {next(iter(methods)):,}"
    parts = [f"{number:,} ({', '.join(names)})" for number, names in methods.items()]
    return f"{IMAGE_SET_TITLES[dataset]} {', '.join(parts) or 'not known yet'}"


def _differences(title: str, pairs: list[Paired], references: tuple[str, ...]) -> Table:
    """Methods against each of the ``references`` that they have, on the same subsets of one data set."""
    dataset = pairs[0].dataset
    own = {(each.labels, each.method, each.reference): each for each in pairs}
    references = tuple(each for each in references if any(key[2] == each for key in own))
    counts = list(dict.fromkeys(labels for labels, _, _ in own))
    lines = []
    for labels in counts:
        lines.append(Line("head", [Entry(f"{labels:,} labels"), *[Entry()] * (3 * len(references))]))
        for method in (each for each in METHOD_TITLES if any(key[:2] == (labels, each) for key in own)):
            entries = [entry for each in references for entry in _compared(own.get((labels, method, each)))]
            lines.append(Line("ours", [Entry(METHOD_TITLES[method]), *entries]))
    if len(counts) > 1:
        lines.append(Line("head", [Entry("mean over label counts"), *[Entry()] * (3 * len(references))]))
        for method in (each for each in METHOD_TITLES if any(key[1] == each for key in own)):
            entries = []
            for reference in references:
                ratio = _ratio(mean_ratio(pairs, dataset, method, reference))
                averaged = [n for n in counts if (pair := own.get((n, method, reference))) and pair.ratio is not None]
                note = f"{', '.join(f'{n:,}' for n in averaged)} labels" if ratio and averaged != counts else ""
                entries += [Entry(), Entry(ratio, note), Entry()]
            lines.append(Line("ours", [Entry(METHOD_TITLES[method]), *entries]))
    columns = [Entry("method")]
    for reference in (METHOD_TITLES[each] for each in references):
        columns += [Entry(f"− {reference}"), Entry(f"÷ {reference}"), Entry("wins", f"over {reference}")]
    caption = (
        "On the labelled subsets that both methods have done: mean difference of "
        f"{'the number of errors' if unit(dataset) == 'errors' else 'the error, in percentage points,'} with its "
        f"{CONFIDENCE:.0%} confidence interval (Student’s t), below 0 where the method is better; ratio of the mean "
        "errors; number of subsets on which the method is better, where a tie is half."
    )
    return Table(title, columns, lines, [caption])


def _compared(pair: Paired | None) -> list[Entry]:
    if pair is None:
        return [Entry()] * 3
    difference, *ends = (_signed(pair.dataset, each) for each in (pair.difference, *(pair.interval or ())))
    if ends:
        difference += f" ({' to '.join(ends)})"
    return [Entry(difference), Entry(_ratio(pair.ratio)), Entry(f"{pair.wins:g} of {pair.pairs}")]


def _failures(rows: list[RunRow]) -> list[str]:
    """Every reason in full, with the runs that it ended."""
    subsets: dict[tuple[str, int, str, str], list[str]] = {}
    for row in rows:
        if row.failure is not None:
            subsets.setdefault((row.dataset, row.labels, row.method, row.failure), []).append(str(row.subset))
    return [
        f"{IMAGE_SET_TITLES[dataset]}, {labels:,} labels, {METHOD_TITLES[method]}, "
        f"subset{'s' * (len(own) > 1)} {', '.join(own)}: {_one_line(reason)}"
        for (dataset, labels, method, reason), own in subsets.items()
    ]


def _number(dataset: str, value: float) -> str:
    """As the paper prints errors: one decimal, but whole numbers of misclassifications from 10 on."""
    return f"{value:.{0 if _whole(dataset, value) else 1}f}"


def _signed(dataset: str, value: float) -> str:
    """A difference of errors, with a decimal more where it is of percentages: intervals may end near 0."""
    decimals = 2 if unit(dataset) == "%" else 0 if _whole(dataset, value) else 1
    return f"{value:+z.{decimals}f}".replace("-", "−")


def _whole(dataset: str, value: float) -> bool:
    return unit(dataset) == "errors" and abs(value) >= 9.95


def _spread(dataset: str, mean: float | None, two_sd: float | None) -> str:
    if mean is None:
        return ""
    return _number(dataset, mean) + ("" if two_sd is None else f" ± {_number(dataset, two_sd)}")


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    value, name = (seconds, "s") if seconds < 100 else (seconds / 60, "min")
    return f"{value:.{1 if value < 9.95 else 0}f} {name}"


def _size(count: int, shape: tuple[int, ...]) -> str:
    return f"N = {count:,}; D = {shape}"


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
