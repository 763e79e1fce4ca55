"""Tables as text: every format says the same and escapes what it must."""

import csv
import io

from bayesgan.paper.tables import Entry, Line, Page, Table, csv_text, html_text, latex_text, markdown_text
from tests.helpers.pages import Rows

TABLE = Table(
    "Errors & more",
    [Entry("labels"), Entry("A_B", "T = 0"), Entry("C")],
    [
        Line("head", [Entry("Digits", "in %"), Entry("9 s"), Entry()]),
        Line("ours", [Entry("20"), Entry("10.0 ± 4.0", "n = 2", best=True), Entry("−3 | x")]),
        Line("paper", [Entry("paper"), Entry(), Entry("12 ± 1")]),
    ],
    ["First <b>.", "Second."],
)
PAGE = Page("Table_1", [TABLE], ["bayesgan table1 --out a_b", "again"], ["A & B: 5 % of $2^3$ -- é ☃"])


def test_csv_comes_back_as_it_was() -> None:
    rows: list[list[object]] = [["a,b", 'a "word"', None], ["two\nlines", 1.5, "é"]]
    text = csv_text(["x", "y", "z"], rows)
    assert text.splitlines()[0] == "x,y,z"
    wanted = [["x", "y", "z"], ["a,b", 'a "word"', ""], ["two\nlines", "1.5", "é"]]
    assert list(csv.reader(io.StringIO(text, newline=""))) == wanted


def test_markdown() -> None:
    assert markdown_text(PAGE) == (
        "# Table\\_1\n\n"
        "## Errors \\& more\n\n"
        "| labels | A\\_B (T = 0) | C |\n"
        "|---|---:|---:|\n"
        "| **Digits** (in %) | 9 s |  |\n"
        "| 20 | **10.0 ± 4.0** (n = 2) | −3 \\| x |\n"
        "| *paper* |  | *12 ± 1* |\n\n"
        "First \\<b\\>.\n\n"
        "Second.\n\n"
        "    bayesgan table1 --out a_b\n"
        "    again\n\n"
        "## Failed runs\n\n"
        "- A \\& B: 5 % of \\$2^3\\$ -- é ☃\n"
    )


def test_latex() -> None:
    text = latex_text(PAGE)
    assert text.isascii()
    assert text.startswith("% \\usepackage{booktabs}\n")
    assert r"\begin{tabular}{lrr}" in text
    assert (
        r"\caption{Errors \& more. First \textless{}b\textgreater{}. Second. Made by: "
        r"\texttt{bayesgan table1 -{}-out a\_b}; \texttt{again}}"
    ) in text
    assert r"\textbf{10.0 $\pm$ 4.0}\\{\tiny n = 2}" in text
    assert r"$-$3 \textbar{} x \\" in text
    assert r"\textit{paper} &  & \textit{12 $\pm$ 1} \\" in text
    assert r"\item A \& B: 5 \% of \$2\textasciicircum{}3\$ -{}- e ?" in text
    for name in ("table*", "tabular", "itemize"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") > 0
    assert text.index(r"\midrule") < text.index(r"\textbf{Digits}")


def test_html() -> None:
    text = html_text(PAGE)
    page = Rows(text)
    assert page.rows == [
        ["labels", "A_B T = 0", "C"],
        ["Digits in %", "9 s", ""],
        ["20", "10.0 ± 4.0 n = 2", "−3 | x"],
        ["paper", "", "12 ± 1"],
    ]
    assert "First <b>." in page.text
    assert "b" not in page.tags
    assert "A & B: 5 % of $2^3$ -- é ☃" in page.text
    assert text.count('class="best"') == 1


def test_nothing_is_said_of_failures_where_there_are_none() -> None:
    page = Page("T", [TABLE], [], [])
    for text in (markdown_text(page), latex_text(page), html_text(page)):
        assert "Failed" not in text


def test_commands_stand_beneath_the_first_table_alone() -> None:
    page = Page("T", [TABLE, TABLE], ["bayesgan table1"], [])
    assert markdown_text(page).count("bayesgan table1") == 1
    assert latex_text(page).count("bayesgan table1") == 1
