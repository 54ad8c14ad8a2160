"""check_wheel.py reports each kind of fault."""

import importlib.util
import io
import os
import re
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "check_wheel.py"
SPEC = importlib.util.spec_from_file_location("check_wheel", SCRIPT)
check_wheel = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_wheel)

GOOD = {
    "gradus/_core.abi3.so": b"module",
    "gradus/libgradus_package.so": b".nv_fatbin",
    "gradus.libs/libgomp-a34b3233.so.1.0.0": b"runtime",
    "gradus-1.dist-info/METADATA": b"Name: gradus\nRequires-Dist: numpy>=1.24\nRequires-Dist: scikit-learn; extra == 'sklearn'\n",
    **{f"gradus-1.dist-info/licenses/python/licenses/{name}.txt": b"text"
       for name in [*check_wheel.ALWAYS, "GCC-runtime", "GPL-3"]},
}  # fmt: skip
NAME = "gradus-1-cp310-abi3-manylinux_2_34_x86_64.whl"


def faults(changes=(), name=NAME, mebibytes=1.0):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as wheel:
        for path, content in {**GOOD, **dict(changes)}.items():
            if content is not None:
                wheel.writestr(path, content)
    with zipfile.ZipFile(file) as wheel:
        wheel.filename = name
        return list(check_wheel.faults(wheel, mebibytes))


def test_a_good_wheel_has_no_faults():
    assert faults() == []


@pytest.mark.parametrize("changes, text", [
    ({"gradus/large": os.urandom(2**20 + 1)}, "1 are allowed|1.0 are allowed"),
    ({"gradus.libs/libgomp-a34b3233.so.1.0.0": None}, "no library is bundled"),
    ({"gradus.libs/libcuda-a34b3233.so.1": b""}, "CUDA"),
    ({"gradus.libs/libmystery-a34b3233.so.1": b""}, "libmystery.*license"),
    ({"gradus.libs/libtbb-a34b3233.so.12": b""}, "oneTBB.txt"),
    ({"gradus-1.dist-info/licenses/python/licenses/CLI11.txt": None}, "CLI11.txt"),
    ({"gradus/bin/gradus": b".nv_fatbin"}, "twice.*bin/gradus"),
    ({"gradus-1.dist-info/METADATA": b"Name: gradus\nRequires-Dist: torch\n"}, "torch"),
])  # fmt: skip
def test_a_fault_is_found(changes, text):
    found = faults(changes)
    assert any(re.search(text, fault) for fault in found), found


def test_the_name_says_where_it_runs():
    assert "auditwheel" in faults(name="gradus-1-cp310-abi3-linux_x86_64.whl")[0]
    assert "CPython" in faults(name="gradus-1-cp311-cp311-manylinux_2_34_x86_64.whl")[0]
