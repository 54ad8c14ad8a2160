"""Prints the contents of a wheel by size, and checks that the wheel can be published:

    check_wheel.py WHEEL MEBIBYTES

* It has at most the given size.
* It is built for CPython's stable interface.
* It neither bundles nor needs a CUDA library, and contains GPU code only once.
* For each piece of third-party software, it has a row in its list of components (sbom.py) and a license text.
"""

import collections
import email
import json
import re
import sys
import zipfile
from pathlib import Path

TABLE = json.loads(Path(__file__).with_name("bundled.json").read_text())["rows"]
# Maps the name of each library that `auditwheel repair` may bundle to the library's row.
LIBRARIES = {library: row for row in TABLE for library in row.get("libraries", [])}
ALWAYS = [row["name"] for row in TABLE if "when" not in row]


def faults(wheel, mebibytes):
    """Yields a description of each fault. The description states what is expected."""
    name = wheel.filename
    size = sum(entry.compress_size for entry in wheel.infolist())
    if not size <= mebibytes * 2**20:
        yield f"{size / 2**20:.2f} MiB, and {mebibytes} are allowed"
    if not re.search(r"-cp310-abi3-manylinux[0-9a-z_.]+\.whl$", name):
        yield f"{name}: neither for every CPython from 3.10 on nor for other systems; auditwheel repair names it so"
    entries = {entry.filename: entry for entry in wheel.infolist()}
    bundled = [path.rpartition("/")[2] for path in entries if re.match(r"[^/]+\.libs/[^/]", path)]
    if not bundled:
        yield "no library is bundled: auditwheel repair was not run"
    bills = [path for path in entries if path.endswith(".dist-info/sboms/gradus.cdx.json")]
    if bills:
        components = {part["name"] for part in json.loads(wheel.read(bills[0]))["components"]}
    else:
        components = set(ALWAYS)
        yield "it has no list of components: sboms/gradus.cdx.json"
    rows = {row["name"]: row for row in TABLE}
    for stranger in sorted(components - rows.keys()):
        yield f"{stranger} is in the list of components, but not in python/bundled.json"
    for missing in sorted(set(ALWAYS) - components):
        yield f"{missing} is compiled in, but not in the list of components"
    wanted = {notice for component in components & rows.keys() for notice in rows[component]["notices"]}
    for library in bundled:
        known = re.split(r"-[0-9a-f]{8}\.so|\.so", library)[0].split("-")[0]
        if known.startswith(("libcuda", "libnvidia", "libcublas")):
            yield f"{library}: a library of CUDA is bundled; the driver's must be the machine's own"
        elif known not in LIBRARIES:
            yield f"{library}: python/bundled.json has no row for it, and python/licenses/ perhaps no license"
        else:
            wanted.update(LIBRARIES[known]["notices"])
            if LIBRARIES[known]["name"] not in components:
                yield f"{library} is bundled, but {LIBRARIES[known]['name']} is not in the list of components"
    notices = {re.sub(r"\.txt$", "", path.partition("/licenses/")[2].removeprefix("python/licenses/")) for path in entries if "/licenses/" in path}
    for missing in sorted(wanted - notices):
        yield f"the license {missing} is not in the wheel"
    metadata = email.message_from_bytes(wheel.read(next(path for path in entries if path.endswith(".dist-info/METADATA"))))
    for needed in metadata.get_all("Requires-Dist", []):
        if "extra ==" not in needed and not needed.startswith(("numpy", "nanobind-backend")):
            yield f"it requires {needed}"
    kernels = [path for path in entries if b".nv_fatbin" in wheel.read(path)]
    if len(kernels) > 1:
        yield f"GPU code is there twice: in {', '.join(kernels)}"


def print_content(wheel):
    groups = collections.Counter()
    for entry in wheel.infolist():
        path = entry.filename
        large = entry.compress_size > 50_000
        groups[path if large else path.partition("/")[0] + "/…"] += entry.compress_size
    for path, size in groups.most_common():
        print(f"{size / 2**20:8.2f} MiB  {path}")
    print(f"{sum(groups.values()) / 2**20:8.2f} MiB  in all")


def main():
    path, mebibytes = sys.argv[1], float(sys.argv[2])
    with zipfile.ZipFile(path) as wheel:
        print_content(wheel)
        found = list(faults(wheel, mebibytes))
    for fault in found:
        print(f"check_wheel: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
