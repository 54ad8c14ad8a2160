"""Runs the notebooks and compares their output with the stored output."""

import contextlib
import io
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    monkeypatch.chdir(FOLDER)
    names = {"__name__": "notebook"}
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
        assert printed.getvalue() == "".join(line for output in cell["outputs"] for line in output["text"])


def test_there_are_notebooks():
    assert len(list(FOLDER.glob("*.ipynb"))) >= 2
