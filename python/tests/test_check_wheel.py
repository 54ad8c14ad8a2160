"""Tests that check_wheel.py reports each kind of fault."""

import importlib.metadata
import importlib.util
import io
import json
import os
import re
import zipfile
from pathlib import Path

import gradus
import pytest

SCRIPT = Path(__file__).parents[1] / "check_wheel.py"
SPEC = importlib.util.spec_from_file_location("check_wheel", SCRIPT)
check_wheel = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_wheel)

BILL = json.dumps({"components": [{"name": name} for name in check_wheel.ALWAYS]})
NOTICES = {notice for row in check_wheel.TABLE if row["name"] in check_wheel.ALWAYS for notice in row["notices"]}
GOOD = {
    "gradus/_core.abi3.so": b"module",
    "gradus/libgradus_package.so": b".nv_fatbin",
    "gradus_kernels.libs/libgomp-a34b3233.so.1.0.0": b"runtime",
    "gradus_kernels-1.dist-info/METADATA":
        b"Name: gradus-kernels\nRequires-Dist: numpy>=1.24\nRequires-Dist: scikit-learn; extra == 'sklearn'\n",
    "gradus_kernels-1.dist-info/sboms/gradus.cdx.json": BILL,
    **{f"gradus_kernels-1.dist-info/licenses/python/licenses/{name}.txt": b"text" for name in NOTICES},
}  # fmt: skip
NAME = "gradus_kernels-1-cp310-abi3-manylinux_2_28_x86_64.whl"


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
    ({"gradus_kernels.libs/libgomp-a34b3233.so.1.0.0": None}, "no library is bundled"),
    ({"gradus_kernels.libs/libcuda-a34b3233.so.1": b""}, "CUDA"),
    ({"gradus_kernels.libs/libmystery-a34b3233.so.1": b""}, "libmystery.*no row"),
    ({"gradus_kernels.libs/libudev-a34b3233.so.1": b""}, "license systemd-udev is not"),
    ({"gradus_kernels-1.dist-info/licenses/python/licenses/CLI11.txt": None}, "license CLI11 is not"),
    ({"gradus_kernels.libs/libudev-a34b3233.so.1": b""}, "systemd-udev is not in the list"),
    ({"gradus_kernels-1.dist-info/sboms/gradus.cdx.json": None}, "no list of components"),
    ({"gradus_kernels-1.dist-info/sboms/gradus.cdx.json": BILL.replace("CLI11", "CLI12")}, "CLI12.*not in python/bundled"),
    ({"gradus_kernels-1.dist-info/sboms/gradus.cdx.json": BILL.replace('"CLI11"', '"zlib"')}, "CLI11 is compiled in"),
    ({"gradus/bin/gradus": b".nv_fatbin"}, "twice.*bin/gradus"),
    ({"gradus_kernels-1.dist-info/METADATA": b"Name: gradus-kernels\nRequires-Dist: torch\n"}, "torch"),
])  # fmt: skip
def test_a_fault_is_found(changes, text):
    found = faults(changes)
    assert any(re.search(text, fault) for fault in found), found


def test_the_name_says_where_it_runs():
    assert "auditwheel" in faults(name="gradus_kernels-1-cp310-abi3-linux_x86_64.whl")[0]
    assert "CPython" in faults(name="gradus_kernels-1-cp311-cp311-manylinux_2_34_x86_64.whl")[0]


# --- the table and the list of components -------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def packages_of_the_build():
    """Yields the names by which CMake's files look up packages."""
    for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake"), *ROOT.glob("src/**/CMakeLists.txt"),
                 *(ROOT / folder / "CMakeLists.txt" for folder in ("cli", "bench", "python"))]:  # fmt: skip
        text = path.read_text()
        yield from re.findall(r"find_package\((\w+)", text)
        yield from re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([\w-]+)", text)


def test_each_library_of_the_build_has_a_row():
    not_bundled = {"gradus", "Threads", "PkgConfig", "Python", "MPI", "GTest"}
    looked_up = set(packages_of_the_build())
    rows = {name for row in check_wheel.TABLE for name in row.get("cmake", [])}
    assert looked_up - not_bundled == rows
    archives = re.search(r"set\(hidden ([^)]+)\)", (ROOT / "python/manylinux/cache.cmake").read_text())[1].split(":")
    assert set(archives) == {archive for row in check_wheel.TABLE for archive in row.get("archives", [])}


def test_each_row_has_a_license_text():
    notices = {notice for row in check_wheel.TABLE for notice in row["notices"]}
    files = {path.stem for path in (ROOT / "python/licenses").glob("*.txt")}
    assert {notice for notice in notices if "/" not in notice} == files
    for notice in notices:
        path = ROOT / (notice if "/" in notice else f"python/licenses/{notice}.txt")
        assert path.stat().st_size > 200, path


def installed_bill():
    distribution = importlib.metadata.distribution("gradus-kernels")
    files = [path for path in distribution.files or [] if path.match("*.dist-info/sboms/gradus.cdx.json")]
    return files[0].read_text() if files else None


@pytest.mark.parametrize("where", ["generator", "installed"])
def test_the_list_of_components_is_valid(where):
    schema = pytest.importorskip("cyclonedx.schema")
    validation = pytest.importorskip("cyclonedx.validation.json")
    if where == "generator":
        spec = importlib.util.spec_from_file_location("sbom", ROOT / "python/sbom.py")
        sbom = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sbom)
        text = json.dumps(sbom.bill(["manylinux", "charts", "cuda"], "13.0"))
    else:
        text = installed_bill()
        if text is None:
            pytest.skip("not installed from a wheel")
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None
    components = {part["name"]: part for part in json.loads(text)["components"]}
    assert set(check_wheel.ALWAYS) <= components.keys()
    assert all(re.fullmatch(r"\d[\d.]*", part["version"]) and part["licenses"] for part in components.values())


def test_the_distribution_is_installed_under_its_name():
    assert importlib.metadata.version("gradus-kernels") == gradus.__version__
