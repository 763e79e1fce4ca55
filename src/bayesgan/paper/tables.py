"""Tables of plain text, written as Markdown, LaTeX, HTML and CSV: each format escapes what it must, none rounds."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#&~$])")
LATEX_SPECIAL = {
    **{each: f"\\{each}" for each in "#$%&_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "÷": r"$\div$"},
    **{"“": "``", "”": "''", "’": "'", "–": r"\textendash{}", "…": r"\ldots{}"},
}


@dataclass(frozen=True)
class Entry:
    """A place in a table; the note is what may be smaller."""

    text: str = ""
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A row: the head of a group, one of our own, or the paper's."""

    kind: Literal["head", "ours", "paper"]
    entries: list[Entry]  # the first says what the line is


@dataclass(frozen=True)
class Table:
    """A table with what stands above and beneath it."""

    title: str
    columns: list[Entry]
    lines: list[Line]
    caption: list[str]


@dataclass(frozen=True)
class Page:
    """Tables, the commands that made them, and a list of what failed."""

    title: str
    tables: list[Table]
    commands: list[str]
    failures: list[str]


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The rows under the names of their columns; None is an empty field."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def html_text(page: Page) -> str:
    """One HTML file that needs nothing but a browser."""
    loader = ChoiceLoader([PackageLoader("bayesgan", f"{room}/templates") for room in ("paper", "base")])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("table1.html.jinja").render(page=page)


def markdown_text(page: Page) -> str:
    """GitHub's Markdown."""
    parts = [f"# {_markdown(page.title)}"]
    for number, table in enumerate(page.tables):
        parts.append(f"## {_markdown(table.title)}")
        lines = [_markdown_row(table.columns), "|---" + "|---:" * (len(table.columns) - 1) + "|"]
        parts.append("\n".join(lines + [_markdown_row(line.entries, line.kind) for line in table.lines]))
        parts += map(_markdown, table.caption)
        if number == 0:
            parts.append("\n".join(f"    {each}" for each in page.commands))
    if page.failures:
        parts += ["## Failed runs", "\n".join(f"- {_markdown(each)}" for each in page.failures)]
    return "\n\n".join(parts) + "\n"


def latex_text(page: Page) -> str:
    """Floats to be read by a document that uses the package booktabs."""
    parts = [r"% \usepackage{booktabs}"]
    for number, table in enumerate(page.tables):
        caption = " ".join(map(_latex, [f"{table.title}.", *table.caption]))
        if number == 0:
            commands = "; ".join(rf"\texttt{{{_latex(each)}}}" for each in page.commands)
            caption += f" Made by: {commands}"
        rows = [_latex_row(table.columns)]
        for line in table.lines:
            rows += [r"\midrule"] * (line.kind == "head") + [_latex_row(line.entries, line.kind)]
        columns = "l" + "r" * (len(table.columns) - 1)
        parts += [r"\begin{table*}[p]", r"\centering", r"\scriptsize", r"\setlength{\tabcolsep}{3pt}"]
        parts += [rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule"]
        parts += [r"\end{tabular}", r"\end{table*}"]
    if page.failures:
        parts += [r"\noindent Failed runs:", r"\begin{itemize}\raggedright"]
        parts += [*(rf"\item {_latex(each)}" for each in page.failures), r"\end{itemize}"]
    return "\n".join(parts) + "\n"


def _markdown(text: str) -> str:
    return MARKDOWN_SPECIAL.sub(r"\\\1", text)


def _markdown_row(entries: list[Entry], kind: str = "") -> str:
    cells = []
    for position, entry in enumerate(entries):
        mark = "**" if entry.best or (kind == "head" and position == 0) else "*" if kind == "paper" else ""
        text = f"{mark}{_markdown(entry.text)}{mark}" if entry.text else ""
        cells.append(f"{text} ({_markdown(entry.note)})" if entry.note else text)
    return f"| {' | '.join(cells)} |"


def _latex(text: str) -> str:
    """The text as it is read, in characters that LaTeX sets with no other package: é as e, what has no like as ?."""
    known = [LATEX_SPECIAL.get(each) or (each if each.isascii() else _plain(each)) for each in text]
    return re.sub("-(?=-)", "-{}", "".join(known))  # or two hyphens become a dash


def _plain(character: str) -> str:
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or "?"


def _latex_row(entries: list[Entry], kind: str = "") -> str:
    cells = []
    for position, entry in enumerate(entries):
        bold = entry.best or (kind == "head" and position == 0)
        text = _latex(entry.text)
        text = rf"\textbf{{{text}}}" if bold else rf"\textit{{{text}}}" if kind == "paper" and text else text
        side = "l" if position == 0 else "r"
        if entry.note:  # beneath the text
            text = rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{text}\\{{\tiny {_latex(entry.note)}}}\end{{tabular}}"
        cells.append(text)
    space = "\n\\addlinespace[2pt]" if any(entry.note for entry in entries) else ""
    return rf"{' & '.join(cells)} \\" + space
