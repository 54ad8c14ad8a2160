"""Runs each Python example in the documents and compares its output with the text block after it."""

import contextlib
import io
import re
from pathlib import Path

import gradus
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def uses():
    """Yields the sections with examples. Examples in a section share variables."""
    for document in ("README.md", "docs/python.md"):
        for section in re.split(r"^(?=## )", (ROOT / document).read_text(), flags=re.MULTILINE):
            blocks = BLOCK.findall(section)
            if any(language == "python" for language, _ in blocks):
                yield pytest.param(blocks, id=section.splitlines()[0].strip("# "))


@pytest.mark.parametrize("blocks", uses())
def test_example(blocks, tmp_path, monkeypatch):
    if any('"cuda"' in text for _, text in blocks):
        pytest.importorskip("torch")
        if gradus.info()["why_no_gpu"]:
            pytest.skip(gradus.info()["why_no_gpu"])
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "example"}
    printed = ""
    for language, text in blocks:
        if language == "python":
            caught = io.StringIO()
            with contextlib.redirect_stdout(caught):
                exec(compile(text, "example", "exec"), names)
            printed = caught.getvalue()
        elif language == "text":
            assert printed == text
            printed = ""
    assert printed == "", "printed, but not shown in the document"


def test_there_are_examples():
    assert len(list(uses())) >= 7
