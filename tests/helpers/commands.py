"""The command line, called in this process."""

import sys
from typing import NamedTuple

import pytest
import torch

from bayesgan.cli import main


class Done(NamedTuple):
    code: int
    output: str
    errors: str


def called(*arguments: object) -> int:
    """The exit code of ``bayesgan ARGUMENTS``; the number of threads is left as it was."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["bayesgan", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    torch.set_num_threads(threads)
    return int(ended.value.code or 0)


def bayesgan(capsys: pytest.CaptureFixture[str], *arguments: object) -> Done:
    """What ``bayesgan ARGUMENTS`` prints, and its exit code."""
    code = called(*arguments)
    captured = capsys.readouterr()
    return Done(code, captured.out, captured.err)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one sentence of a command that is refused."""
    done = bayesgan(capsys, *arguments)
    assert done.code == 2, done
    assert "Traceback" not in done.errors
    return " ".join(done.errors.split())
