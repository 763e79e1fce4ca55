"""Files that are whole or not there, and locks."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from pydantic import BaseModel

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, open_tensors, parsed, read_text, replacing, write_tensors, write_text


class Point(BaseModel):
    x: int


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_only_when_all_went_well(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replacing(path) as temporary:
        temporary.write_text("one")
        assert not path.exists()
        assert temporary.parent == path.parent
    assert path.read_text() == "one"

    def broken_off() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert path.read_text() == "one"
    assert there(path.parent) == ["file"]


def test_text_comes_back_as_it_was(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "θ and 日本語\n")
    assert read_text(tmp_path / "a") == "θ and 日本語\n"


def test_what_cannot_be_written_or_read_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff")
    with pytest.raises(BayesganError, match=r"^Cannot write .*below: .+\.$"):
        write_text(tmp_path / "file" / "below", "")
    for path in (tmp_path / "file", tmp_path / "nowhere", tmp_path):
        with pytest.raises(BayesganError, match=f"^Cannot read {path}: "):
            read_text(path)
    with pytest.raises(BayesganError, match="Cannot write to"), locked(tmp_path / "file"):
        pass


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "Invalid JSON"), ('{"x": "far"}', "x: Input should be a valid integer"), ("{}", "x: Field required")],
)
def test_a_damaged_record_says_where_and_what_to_do(text: str, reason: str) -> None:
    with pytest.raises(BayesganError, match=rf"^a\.json is damaged \({reason}.*\): leave it out\.$"):
        parsed(Point, text, Path("a.json"), "leave it out")
    assert parsed(Point, '{"x": 3}', Path("a.json"), "leave it out").x == 3


def test_tensors_and_what_is_said_of_them_come_back(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    matrix = torch.arange(6.0).view(2, 3)
    write_tensors(path, {"rows": matrix, "columns": matrix.T}, {"made": "by hand"})
    with open_tensors(path) as tensors:
        assert tensors.metadata() == {"made": "by hand"}
        assert torch.equal(tensors.get_tensor("rows"), matrix)
        assert torch.equal(tensors.get_tensor("columns"), matrix.T)
    assert there(tmp_path) == ["t.safetensors"]
    for content in (b"", path.read_bytes()[:-4]):
        path.write_bytes(content)
        with pytest.raises(BayesganError, match="should be a safetensors file"), open_tensors(path):
            pass


def test_a_file_that_is_read_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_tensors(path, {"a": torch.zeros(2)}, {})
    with open_tensors(path) as tensors:
        write_tensors(path, {"a": torch.ones(2)}, {})
        assert tensors.get_tensor("a").tolist() == [0.0, 0.0]


def test_one_process_keeps_the_others_out_until_it_is_gone(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    keep = "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True)"
    command = [sys.executable, "-c", f"{keep}; time.sleep(600)", str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(BayesganError, match="Another process is at work in"), locked(tmp_path):
                pass
        finally:
            other.kill()
    with locked(tmp_path, patience=10.0):
        pass
