"""Runs every Python snippet of the documents, and compares what it prints with what the document shows."""

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gradus
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
specification = importlib.util.spec_from_file_location("snippets", ROOT / "docs/snippets.py")
documents = importlib.util.module_from_spec(specification)
specification.loader.exec_module(documents)


def python_snippets(page):
    return [one for one in documents.snippets(page.read_text(encoding="utf-8")) if one.language == "python" and one.is_run]


def pages():
    """Yields the pages with Python snippets. The snippets of a page share their variables."""
    for page in documents.pages(ROOT):
        found = [one for one in python_snippets(page) if one.marker != "mpi"]
        if found:
            yield pytest.param(found, id=documents.name_of(page, ROOT))


@pytest.mark.parametrize("snippets", list(pages()))
def test_page(snippets, tmp_path, monkeypatch):
    if any('"cuda"' in one.text for one in snippets):
        pytest.importorskip("torch")
        if gradus.info()["why_no_gpu"]:
            pytest.skip(gradus.info()["why_no_gpu"])
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "example"}
    for one in snippets:
        caught = io.StringIO()
        with contextlib.redirect_stdout(caught):
            exec(compile(one.text, "example", "exec"), names)
        assert caught.getvalue() == (one.expected or "")


def test_programs_of_several_processes(tmp_path):
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun (Debian: openmpi-bin)")
    import gradus.mpi

    try:
        gradus.mpi.library_version()
    except gradus.UnsupportedError as missing:
        pytest.skip(str(missing))
    programs = [one for page in documents.pages(ROOT) for one in python_snippets(page) if one.marker == "mpi"]
    assert len(programs) >= 2
    np.save(tmp_path / "points.npy", np.random.default_rng(0).random((500, 3)))
    for one in programs:
        (tmp_path / "cluster.py").write_text(one.text)
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        subprocess.run(["mpirun", "-n", "2", sys.executable, "cluster.py"], cwd=tmp_path, env=environment, check=True, timeout=240)


def test_there_are_pages():
    assert len(list(pages())) >= 12
