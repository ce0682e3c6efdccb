"""s2s.Run: what a training has written."""

import dataclasses
import json
import os
import pathlib
import re

from s2s import _audio
from s2s._program import Error, package


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint; `validate` and `generate` take it.

    step  optimizer steps done
    path  its folder, a pathlib.Path
    """

    step: int
    path: pathlib.Path

    def __fspath__(self):
        return str(self.path)


@dataclasses.dataclass(frozen=True)
class Example:
    """An example of the listening report. In a notebook it is a table of players.

    id, data_set  of the example
    reference     the text that was expected
    clips         Clip by name: "user", "answer", "round_trip" (the reference through the codec) and
                  "reference", those that the report has
    line          all that the report says: the line of predictions.jsonl
    """

    id: str
    data_set: str
    reference: str
    clips: dict
    line: dict

    @property
    def user(self):
        return self.clips.get("user")

    @property
    def answer(self):
        return self.clips.get("answer")

    def _repr_html_(self):
        import html
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{clip._repr_html_()}</td></tr>"
                       for name, clip in self.clips.items())
        return f"<p>{html.escape(self.id)}: {html.escape(self.reference)}</p><table>{rows}</table>"


class Run:
    """The folder of a run, also while it trains: each attribute reads the files again.

    folder  a pathlib.Path
    Raises Error: python/run if there is no such folder.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if not self.folder.is_dir():
            raise Error("python/run", f"there is no folder {self.folder}; expected that of a run: "
                        "exp_manager.explicit_log_dir of its configuration", 5)

    def __fspath__(self):
        return str(self.folder)

    def __repr__(self):
        return f"Run({str(self.folder)!r})"

    @property
    def lines(self):
        """The lines of metrics.jsonl, a list of dicts: of optimizer steps, and of validations (with
        the key "validation"). Needs no other package."""
        try:
            text = (self.folder / "metrics.jsonl").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        lines = {}
        for line in text.split("\n")[:-1]:  # the last one is not complete
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict) and "step" in values:
                # A step that was trained again after a crash replaces the first try.
                lines.pop((values["step"], values.get("validation")), None)
                lines[values["step"], values.get("validation")] = values
        return list(lines.values())

    @property
    def metrics(self):
        """A pandas DataFrame with a row per optimizer step: columns step, loss, grad_norm,
        learning_rate, frames, tokens, step_time_s, ... Raises Error: python/package."""
        pandas = package("pandas", "Run.metrics")
        return pandas.DataFrame([line for line in self.lines if "validation" not in line])

    @property
    def validations(self):
        """A pandas DataFrame with a row per validation and set: columns step, validation (the name
        of the set), text_loss, ... Raises Error: python/package."""
        pandas = package("pandas", "Run.validations")
        return pandas.DataFrame([line for line in self.lines if "validation" in line])

    @property
    def checkpoints(self):
        """A list of Checkpoint, the newest last."""
        found = []
        for path in (self.folder / "checkpoints").glob("*"):
            number = re.search(r"step=(\d+)", path.name)
            if number and path.is_dir() and not path.is_symlink():
                found.append(Checkpoint(int(number.group(1)), path))
        return sorted(found, key=lambda checkpoint: checkpoint.step)

    @property
    def report(self):
        """The path of the listening report, or None: `s2s.validate` makes it."""
        page = self.folder / "report" / "index.html"
        return page if page.exists() else None

    @property
    def audio(self):
        """The examples of the listening report, a list of Example with their recordings and
        answers; [] before `s2s.validate`. Raises Error: python/audio, python/package."""
        folder = self.folder / "report"
        try:
            text = (folder / "predictions.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [_example(json.loads(line), folder) for line in text.splitlines() if line]


def _example(line, folder):
    clips = {name: _audio.read_wave(os.path.join(folder, file))
             for name, file in line.get("files", {}).items()}
    return Example(line["id"], line["data_set"], line.get("reference", ""), clips, line)
