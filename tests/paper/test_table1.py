import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bayesgan.paper.statistics import RunRow
from bayesgan.paper.table1 import Caption, Made, write_table
from tests.helpers.pages import Rows

NASTY = 'out of "memory", 5 % of <b>A&B</b> | x_y\n$2^3$ {~#} \\end é --'
CAPTION = Caption(
    subsets=3,
    sizes={"digits": (1297, 1, 8, 8), "svhn": (20_000, 3, 32, 32)},
    changed=[],
    machines=["2 threads & 50 % of a_GPU", "another"],
    grids=[Made(command="bayesgan table1 --out a_b", budget="SVHN had 20 minutes a run."), Made(command="again")],
)


def run(dataset: str, labels: int, method: str, subset: int, errors: int) -> RunRow:
    size = 10_000 if dataset == "mnist" else 500
    iterations = 2000 if method == "bayesgan" else 1000
    return RunRow(dataset, labels, method, "fast", subset, "0a", iterations, size, errors, 60.0, 90.0, "done")


def failed(row: RunRow, reason: str) -> RunRow:
    row = replace(row, iterations=None, test_size=None, test_errors=None)
    return replace(row, seconds=None, seconds_per_epoch=None, status=f"failed: {reason}")


ROWS = [
    *(run("digits", 20, "dcgan", subset, errors) for subset, errors in enumerate((40, 50, 60))),
    *(run("digits", 20, "bayesgan", subset, errors) for subset, errors in enumerate((20, 50, 30))),
    run("digits", 20, "ensemble", 0, 45),
    *(failed(run("digits", 20, "lfvi", subset, 0), NASTY) for subset in (0, 2)),
    *(run("mnist", 100, "dcgan", subset, errors) for subset, errors in enumerate((128, 140))),
    failed(run("mnist", 100, "dcgan", 2, 0), "killed"),
    replace(failed(run("mnist", 100, "bayesgan", 0, 0), ""), status="running"),
    run("svhn", 1000, "dcgan", 0, 100),
]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_table(ROWS, CAPTION, tmp_path / "results")
    return tmp_path / "results"


def markdown_rows(out: Path) -> list[list[str]]:
    text = (out / "table1.md").read_text(encoding="utf-8")
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines() if line[:1] == "|"
    ]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def test_only_the_five_files_are_written(out: Path) -> None:
    names = {path.name for path in out.iterdir()}
    assert names == {"runs.csv", "table1.csv", "table1.md", "table1.tex", "table1.html"}


def test_runs_come_back_as_they_were(out: Path) -> None:
    rows = read(out / "runs.csv")
    assert ",".join(rows[0]) == (
        "dataset,labels,method,preset,subset,labelled_sha256,iterations,test_size,test_errors,seconds,"
        "seconds_per_epoch,status"
    )
    for row, expected in zip(rows, ROWS, strict=True):
        assert row == {name: "" if value is None else str(value) for name, value in vars(expected).items()}
    assert rows[7]["status"] == f"failed: {NASTY}"


def test_a_row_a_cell(out: Path) -> None:
    first, _, bayesian, *_, waiting, svhn = read(out / "table1.csv")
    assert list(first.values()) == ["digits", "20", "dcgan", "3", "0", "10.0", "4.0", "%", "", "", "60.0", "90.0"]
    assert float(bayesian["two_sd"]) == pytest.approx(2 * (28 / 3) ** 0.5, abs=1e-4)  # 4, 10 and 6 per cent
    expected = ["mnist", "100", "bayesgan", "0", "0", "", "", "errors", "79", "5.8", "", ""]
    assert list(waiting.values()) == expected
    assert (svhn["mean"], svhn["two_sd"], svhn["paper_mean"]) == ("20.0", "", "25.5")


def test_one_lucky_run_is_not_the_best_of_several(tmp_path: Path) -> None:
    fewer = [run("digits", 20, "ensemble", 0, 5), run("digits", 20, "lfvi", 0, 50)]  # better, and as good
    equal = [run("digits", 20, "bayesgan", subset, 50) for subset in range(3)]
    write_table([*ROWS[:3], *equal, *fewer], CAPTION, tmp_path)
    row = ["20", "**10.0 ± 4.0**", "10.0 (n = 1)", "**10.0 ± 0.0**", "1.0 (n = 1)"]
    assert row in markdown_rows(tmp_path)


def test_ours_stand_above_the_papers(out: Path) -> None:
    game = "labels, changed images, game"
    ours = f"BayesGAN ({game}, consensus, T = 0.01)"
    heads = ["labels", f"DCGAN ({game})", "LFVI-GAN", ours, f"Ensemble ({game}, consensus)"]
    reason = 'failed (out of "memory", 5 %…)'
    assert markdown_rows(out)[:13] == [
        heads,
        ["---", *["---:"] * 4],
        ["**Digits** (N = 1,297; D = (8, 8); in %)", "90 s", "", "90 s", "90 s"],
        ["20", "10.0 ± 4.0", reason, "**6.7 ± 6.1**", "9.0 (n = 1)"],
        ["**MNIST** (in errors)", "90 s", "", "", ""],
        ["*paper* (N = 50,000; D = (28, 28))", "*14 min*", "", "*32 min*", ""],
        ["100", "134 ± 17 (n = 2, 1 failed)", "", "", ""],
        ["*paper*", "*128 ± 11*", "", "*79 ± 5.8*", ""],
        ["**SVHN** (N = 20,000; D = (32, 32, 3); in %)", "90 s", "", "", ""],
        ["*paper* (N = 75,000; D = (32, 32, 3))", "*29 min*", "", "*81 min*", ""],
        ["1,000", "20.0 (n = 1)", "", "", ""],
        ["*paper*", "*25.5 ± 3.3*", "", "*12.9 ± 2.5*", ""],
        ["method", "− DCGAN", "÷ DCGAN", "wins (over DCGAN)"],
    ]


def test_the_paired_summary(out: Path) -> None:
    # −4, 0 and −6 percentage points: mean −10/3, standard deviation 3.055; t is 4.303 with two degrees of freedom.
    assert markdown_rows(out)[14:] == [
        ["**20 labels**", "", "", ""],
        ["BayesGAN", "−3.33 (−10.92 to +4.26)", "0.67", "2.5 of 3"],
        ["Ensemble", "+1.00", "1.12", "0 of 1"],
        ["method", "− Ensemble", "÷ Ensemble", "wins (over Ensemble)"],
        ["---", "---:", "---:", "---:"],
        ["**20 labels**", "", "", ""],
        ["BayesGAN", "−5.00", "0.44", "1 of 1"],
    ]
    assert "What sampling adds on Digits" in (out / "table1.md").read_text(encoding="utf-8")


def test_the_mean_ratio_says_which_label_counts_it_has(tmp_path: Path) -> None:
    figures = {("dcgan", 20): 100, ("dcgan", 50): 50, ("bayesgan", 20): 50, ("bayesgan", 50): 30, ("wdcgan", 50): 60}
    write_table([run("digits", n, method, 0, e) for (method, n), e in figures.items()], CAPTION, tmp_path)
    rows = markdown_rows(tmp_path)
    mean = rows.index(["**mean over label counts**", "", "", ""])
    assert rows[mean + 1 :] == [["W-DCGAN", "", "1.20 (50 labels)", ""], ["BayesGAN", "", "0.55", ""]]


def test_all_formats_have_the_same_figures(out: Path) -> None:
    """Markdown and LaTeX, rid of their marks, and HTML are the same rows of words."""
    markdown = [re.sub(r"\*|\\", "", " ".join(row)) for row in markdown_rows(out) if not row[0].startswith("---")]
    html = [" ".join(row) for row in Rows((out / "table1.html").read_text(encoding="utf-8")).rows]
    tex = (out / "table1.tex").read_text(encoding="utf-8")
    tex = re.sub(r"\\(begin|end)\{tabular\}(\[t\]\{@\{\}[lr]@\{\}\})", "", tex).replace(r"\end{tabular}", "")
    lines = [line for line in tex.splitlines() if line.endswith(r" \\")]
    tex_words = [re.sub(r"\\(textbf|textit|tiny)|[{}]|\\\\|\\ldots", " ", line) for line in lines]

    def words(text: str) -> list[str]:
        known = {r"$\pm$": "±", "$-$": "−", r"$\div$": "÷", r"\%": "%", "…": " ", "&": " ", r"\end": " "}
        for mark, character in known.items():
            text = text.replace(mark, character)
        return re.sub(r"[()]", " ", text).split()

    assert [*map(words, html)] == [*map(words, markdown)] == [*map(words, tex_words)]


def test_the_caption_says_how_it_was_made(out: Path) -> None:
    text = (out / "table1.md").read_text(encoding="utf-8")
    for part in (
        "over 3 random labelled subsets",
        "Of 14 runs 10 are done and 3 failed.",
        "Preset: fast. Iterations: Digits 1,000 (DCGAN, Ensemble), 2,000 (BayesGAN); MNIST 1,000; SVHN 1,000.",
        r"Hardware of a run: 2 threads \& 50 % of a\_GPU; another. SVHN had 20 minutes a run." + "\n",
        "The paper quotes 140 errors on MNIST for LFVI-GAN, with 50,000 labels.",
        "\n\n    bayesgan table1 --out a_b\n",
    ):
        assert part in text


def test_the_caption_says_which_runs_are_not_as_in_the_preset(tmp_path: Path) -> None:
    twenty, fifty = run("digits", 20, "dcgan", 0, 50), run("digits", 50, "dcgan", 0, 40)
    rows = [twenty, fifty, *ROWS[3:6], run("svhn", 1000, "dcgan", 0, 100)]
    changed = [(rows[0], {"thin": 5}), (rows[1], {"thin": 7}), *((row, {"thin": 5}) for row in rows[2:5])]
    write_table(rows, replace(CAPTION, changed=[*changed, (rows[-1], {"coupling": "all"})]), tmp_path)
    assert (
        "Not as in the preset: thin 5 (DCGAN on Digits with 20 labels; BayesGAN on Digits). "
        "Not as in the preset: thin 7 (DCGAN on Digits with 50 labels). "
        'Not as in the preset: coupling "all" (DCGAN on SVHN). '
    ) in (tmp_path / "table1.md").read_text(encoding="utf-8")


def test_without_the_papers_sets_there_is_nothing_of_the_paper(tmp_path: Path) -> None:
    write_table(ROWS[:3], replace(CAPTION, grids=[]), tmp_path)
    for name in ("table1.md", "table1.tex", "table1.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Saatchi" not in text
        assert "Ensemble" not in text
        assert "Paired" not in text
        assert "Failed" not in text
        assert "best" not in re.sub("(?s)<style>.*</style>|The best mean", "", text)  # one method is not the best


def test_reasons_are_escaped_in_full(out: Path) -> None:
    reason = " ".join(NASTY.split())
    where = "Digits, 20 labels, LFVI-GAN, subsets 0, 2: "
    markdown = (out / "table1.md").read_text(encoding="utf-8")
    escaped = r'out of "memory", 5 % of \<b\>A\&B\</b\> \| x\_y \$2^3\$ \{\~\#\} \\end é --'
    assert f"- {where}{escaped}\n- MNIST, 100 labels, DCGAN, subset 2: killed\n" in markdown
    tex = (out / "table1.tex").read_text(encoding="utf-8")
    assert (
        where
        + (
            r'out of "memory", 5 \% of \textless{}b\textgreater{}A\&B\textless{}/b\textgreater{} \textbar{} x\_y '
            r"\$2\textasciicircum{}3\$ \{\textasciitilde{}\#\} \textbackslash{}end e -{}-"
        )
        in tex
    )
    assert tex.isascii()
    assert r"\texttt{bayesgan table1 -{}-out a\_b}" in tex
    page = Rows((out / "table1.html").read_text(encoding="utf-8"))
    assert where + reason in page.text
    assert "b" not in page.tags


def test_the_page_needs_no_other_file(out: Path) -> None:
    page = (out / "table1.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|src=|<link|<script|url\(", page)
    assert page.lstrip().startswith("<!doctype html>")
    assert page.count('class="best"') == 1
