"""The summary.json of a finished run on images, read back: it may have been changed, torn or made by somebody else."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from bayesgan.base.files import parsed, read_text
from bayesgan.data.names import ImageSetName
from bayesgan.settings.names import Method
from bayesgan.settings.settings import Count, NotNegative, Whole

SUMMARY = "summary.json"


class Summary(BaseModel):
    """The figures of a finished run; config.json says how it was made."""

    model_config = ConfigDict(frozen=True)

    dataset: ImageSetName | Literal["own"]
    labels: Whole
    subset: Whole
    method: Method
    split: Literal["test", "validation"]
    labelled_sha256: str
    iterations: Count
    networks: Whole
    train_shape: tuple[Count, Count, Count, Count]  # N, channels, height, width
    test_size: Count
    test_errors: Whole | None  # None for a run without labels
    test_error: NotNegative | None
    generated_called_real: NotNegative | None
    test_called_fake: NotNegative | None
    temperatures: dict[str, NotNegative] = {}  # of each term that is sampled; earlier summaries do not say
    seconds: NotNegative
    seconds_per_epoch: NotNegative
    threads: Count  # of each rank
    ranks: Count

    @model_validator(mode="after")
    def _no_more_errors_than_images(self) -> Self:
        if (self.test_errors or 0) > self.test_size:
            raise ValueError("more errors than test images")
        return self


def read_summary(folder: Path, remedy: str) -> Summary:
    """The summary of the finished run in ``folder``; ``remedy`` ends the sentence on a damaged one."""
    path = folder / SUMMARY
    return parsed(Summary, read_text(path), path, remedy)
