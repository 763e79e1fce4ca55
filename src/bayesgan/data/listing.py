"""List the picture files of a folder, with their labels."""

import csv
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import SUFFIXES

UNLABELLED_FOLDERS = ("unlabelled", "unlabeled")  # folders whose pictures are of no class
NOT_NAMED = "not named like a picture"  # the note on a file without such a suffix
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class PictureFile:
    """A picture file."""

    path: Path
    name: str  # below the folder, for people to read
    label: str | None


def listed(folder: Path, labels_file: str | None, optional: bool = False) -> tuple[list[PictureFile], list[str]]:
    """List the picture files of ``folder`` with their labels, in the order of their names, and notes on other files.

    Labels come from the labels file. Without one the folders directly below ``folder`` are the classes, and also where
    the file is ``optional`` and names no picture of ``folder``.
    """
    if not folder.is_dir():
        raise BayesganError(f"{folder} is not a folder.")
    found: dict[str, Path] = {}
    skipped = []
    for place, folders, names in os.walk(folder):
        links = {each for each in folders if (Path(place) / each).is_symlink()}
        skipped += [
            f"{printable(_below(folder, place, each))}: a link to a folder, which is not followed" for each in links
        ]
        runs = {each for each in folders if _holds_run(Path(place) / each)}
        skipped += [f"{printable(_below(folder, place, each))}: the folder of a run" for each in runs]
        folders[:] = [each for each in folders if not each.startswith(".") and each not in runs]
        for name in names:
            path = Path(place) / name
            relative = _below(folder, place, name)
            if name.startswith(".") or (labels_file is not None and path.resolve() == Path(labels_file).resolve()):
                continue
            if path.suffix.lower() in SUFFIXES:
                found[relative] = path
            else:
                skipped.append(f"{printable(relative)}: {NOT_NAMED}")
    if not found:
        raise BayesganError(f"{folder} has no pictures ({', '.join(SUFFIXES)}).")
    ordered = sorted(found, key=os.fsencode)
    labels = {name: _class_folder(name) for name in ordered}
    if labels_file is not None:
        named = read_labels(Path(labels_file))
        if any(name in found for name in named):
            labels = named
        elif not optional:
            raise BayesganError(f"None of the files that {labels_file} names is in {folder}.")
    files = [PictureFile(found[name], printable(name), labels.get(name)) for name in ordered]
    return files, sorted(skipped)


def _below(folder: Path, place: str, name: str) -> str:
    return (Path(place) / name).relative_to(folder).as_posix()


def _holds_run(folder: Path) -> bool:
    """Whether ``bayesgan train`` made ``folder``: what a run drew is not for the next one to learn from."""
    return (folder / "config.json").exists() and any((folder / name).exists() for name in ("metrics.jsonl", "samples"))


def _class_folder(name: str) -> str | None:
    first, inside, _ = name.partition("/")
    return _label(first) if inside else None


def _label(text: str) -> str | None:
    """The class that ``text`` names, if it names one."""
    return None if text == "" or text.lower() in UNLABELLED_FOLDERS else printable(text)


def read_labels(path: Path) -> dict[str, str | None]:
    """Read labels by file name from CSV with the header ``file,label``; an empty one and 'unlabelled' are none."""
    try:
        # As the names of files are read, so that a name that is not UTF-8 is found.
        text = os.fsdecode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if rows.fieldnames is None or not {"file", "label"} <= set(rows.fieldnames):
            raise BayesganError(f"{path} needs the header file,label in its first line.")
        labels: dict[str, str | None] = {}
        for row in rows:
            name, label = (row["file"] or "").strip(), _label((row["label"] or "").strip())
            if not name:
                continue
            if labels.setdefault(name, label) != label:
                both = " and ".join("none" if each is None else f"'{each}'" for each in (labels[name], label))
                raise BayesganError(f"{path} gives {printable(name)} two labels, {both}: leave one.")
        return labels
    except OSError as error:
        raise BayesganError(f"Cannot read {path}: {error.strerror or error}.") from None
    except csv.Error as error:
        raise BayesganError(f"{path} is not a CSV file: {error}.") from None


def printable(name: str) -> str:
    r"""Make a name printable anywhere: bytes that are not UTF-8, and control characters, become \\xnn."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
