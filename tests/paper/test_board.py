"""The state of a grid and the tables of its folder: what has ended, failed, is damaged or of another grid."""

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayesgan.paper.board import Board, fill
from bayesgan.paper.grid import attempt
from bayesgan.paper.table1 import Made
from bayesgan.paper.workers import Event
from tests.helpers.grids import summary_of, tiny

MADE = Made(command="bayesgan table1")

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_board_counts_and_estimates(tmp_path: Path) -> None:
    jobs = tiny(tmp_path, methods=["dcgan", "supervised"], subsets=3)
    attempt(jobs[0])
    summary_of(jobs[0], seconds=10.0)
    board = Board(jobs)
    assert board.waiting == jobs[1:]
    # Two more runs of the same method and three of one that never ran, which is taken for a typical one.
    assert board.seconds_left == pytest.approx(5 * 10.0)
    board.update(Event(jobs[1], "running"))
    board.update(Event(jobs[2], "failed: no luck"))
    assert board.seconds_left == pytest.approx((1 + 3) * 10.0)
    jobs[1].folder.mkdir(parents=True)
    record = {"iteration": 2, "seconds": 4.0, "chains_error": 0.5, "average_error": None}
    (jobs[1].folder / "metrics.jsonl").write_text(json.dumps(record) + '\n{"iterati')  # a line that is being written
    # Two of six iterations are done of the one that runs; two more like it wait, and one that takes 10 seconds.
    assert board.seconds_left == pytest.approx(8.0 + 2 * 12.0 + 10.0)
    assert board.underway == [(jobs[1], 2, 4.0, 0.5)]
    counts = board.counts()
    assert dict(counts["digits", 20, "dcgan"]) == {"done": 1, "failed": 1, "waiting": 1}
    assert dict(counts["digits", 20, "supervised"]) == {"running": 1, "waiting": 2}
    assert [each.status for each in board.rows][:3] == ["done", "running", "failed: no luck"]
    assert Board(jobs[1:]).seconds_left is None
    board.update(Event(jobs[3], "running"))
    assert board.seconds_left == pytest.approx((8.0 + 12.0 + 12.0 + 10.0) / 2)  # two at a time
    board.stop()
    assert [each.status for each in board.rows][:4] == ["done", "waiting", "failed: no luck", "waiting"]


def test_the_last_run_takes_its_time_however_many_could_be_done_at_once(tmp_path: Path) -> None:
    jobs = tiny(tmp_path, subsets=3)
    attempt(jobs[0])
    summary_of(jobs[0], seconds=10.0)
    board = Board(jobs)
    for job in jobs[1:]:
        board.update(Event(job, "running"))
    board.update(Event(jobs[1], "failed: no luck"))
    assert board.seconds_left == pytest.approx(10.0)


def rows_of(out: Path) -> list[tuple[str, str]]:
    """Method and status of every row of runs.csv."""
    with (out / "runs.csv").open(newline="") as file:
        return [(row["method"], row["status"]) for row in csv.DictReader(file)]


def test_the_table_shows_the_runs_of_every_grid_in_its_folder_and_how_they_were_made(tmp_path: Path) -> None:
    (first,) = tiny(tmp_path)
    attempt(first)
    list(fill(Board([first]), [], Made(command="first", budget="Two minutes."), tmp_path))
    (second,) = tiny(tmp_path, methods=["supervised"])
    list(fill(Board([second]), [], Made(command="second"), tmp_path))
    assert rows_of(tmp_path) == [("supervised", "waiting"), ("dcgan", "done")]  # the paper's order
    page = (tmp_path / "table1.md").read_text()
    assert "    first\n    second\n" in page
    assert "Two minutes." in page
    assert "1 thread of " in page
    assert "N = 1,297" in page
    assert "iterations 6, " in page[page.index("Not as in the preset: ") : page.index(" (DCGAN on Digits)")]


def test_the_caption_counts_the_subsets_of_the_largest_grid(tmp_path: Path) -> None:
    for job in tiny(tmp_path, methods=["supervised"], subsets=2):
        attempt(job)
    list(fill(Board(tiny(tmp_path)), [], MADE, tmp_path))
    assert "over 2 random labelled subsets" in (tmp_path / "table1.md").read_text()


def test_a_run_that_another_grid_has_done_meanwhile_is_done(tmp_path: Path) -> None:
    jobs = tiny(tmp_path, subsets=2)
    board = Board(jobs)
    board.update(Event(jobs[1], "failed: Another process is at work."))
    for job in jobs:
        attempt(job)
    list(fill(board, [], MADE, tmp_path))
    assert rows_of(tmp_path) == [("dcgan", "done")] * 2


def test_commands_are_listed_once_in_the_order_of_their_first_use(tmp_path: Path) -> None:
    board = Board(tiny(tmp_path))
    for command, budget in (("first", ""), ("second", ""), ("first", "little")):
        list(fill(board, [], Made(command=command, budget=budget), tmp_path))
    known = [json.loads(line) for line in (tmp_path / "grids.jsonl").read_text().splitlines()]
    assert known == [{"command": "first", "budget": "little"}, {"command": "second", "budget": ""}]


def test_a_failure_in_another_grid_is_in_the_table(tmp_path: Path) -> None:
    (failed,) = tiny(tmp_path, labels=[5000])
    reason = attempt(failed)
    list(fill(Board(tiny(tmp_path)), [], MADE, tmp_path))
    assert rows_of(tmp_path) == [("dcgan", "waiting"), ("dcgan", f"failed: {reason}")]


def test_what_was_running_when_the_grid_is_stopped_waits(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)

    def stopped() -> Iterator[Event]:
        yield Event(job, "running")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(fill(Board([job]), stopped(), MADE, tmp_path))
    assert rows_of(tmp_path) == [("dcgan", "waiting")]


def test_a_run_that_cannot_be_seen_from_here_has_failed(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    board = Board([job])
    board.update(Event(job, "done"))  # by a machine with other folders
    assert "no figures that could be seen from here" in board.rows[0].status


DAMAGES: dict[str, Any] = {
    "no object": "[]",
    "torn": "{",
    "without figures": '{"dataset": "digits"}',
    "a word for a number": {"seconds": "x"},
    "no shape": {"train_shape": 5},
    "no test images": {"test_size": 0},
    "more errors than images": {"test_errors": 501},
    "other labels": {"labels": 50},
    "another method": {"method": "bayesgan"},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_summary_is_a_failed_run_and_the_others_go_on(damage: Any, tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    attempt(job)
    if isinstance(damage, str):
        (job.folder / "summary.json").write_text(damage)
    else:
        summary_of(job, **damage)
    reason = attempt(job) or ""
    assert str(job.folder) in reason
    for board in (Board(tiny(tmp_path, subsets=2)), Board(tiny(tmp_path, subsets=2)[1:])):  # its own grid, and another
        list(fill(board, engines_of(board), MADE, tmp_path))
        assert rows_of(tmp_path) == [("dcgan", f"failed: {reason}"), ("dcgan", "done")]


def engines_of(board: Board) -> list[Event]:
    """What an engine would say of the runs of the board."""
    outcomes = [(job, attempt(job)) for job in board.waiting]
    return [Event(job, "done" if reason is None else f"failed: {reason}") for job, reason in outcomes]


def test_a_run_that_is_not_what_its_folder_says_has_failed_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    attempt(job)
    shutil.copytree(job.folder, job.folder.with_name("digits-20-dcgan-0.old"))
    shutil.copytree(job.folder, job.folder.with_name("digits-20-wdcgan-0"))
    list(fill(Board([job]), [], MADE, tmp_path))
    (dcgan, done), (other, status) = rows_of(tmp_path)
    assert (dcgan, done, other) == ("dcgan", "done", "wdcgan")
    assert "another run than its name says" in status


COMMITTED = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(("name", "rows"), [("table1-dcgan", 50), ("table1", 5)])
def test_the_committed_tables_are_those_of_the_committed_runs(name: str, rows: int, tmp_path: Path) -> None:
    """Version 0.1.0 made the first runs: they are read, and come to the same figures in the same order."""
    committed = COMMITTED / name
    out = Path(shutil.copytree(committed, tmp_path / "table1", ignore=shutil.ignore_patterns("table1.*", "runs.csv")))
    first = Made.model_validate_json((out / "grids.jsonl").read_text().splitlines()[0])
    list(fill(Board([]), [], first, out))
    for file in ("runs.csv", "table1.csv", "grids.jsonl"):
        assert (out / file).read_text() == (committed / file).read_text()
    ours, theirs = (figures_in((folder / "table1.md").read_text()) for folder in (out, committed))
    assert len(ours) > rows
    assert ours == theirs


def figures_in(page: str) -> list[str]:
    """The rows of its tables but for their heads: what columns are called may change."""
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith(("| system", "| method"))]
