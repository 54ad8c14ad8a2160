"""What a wheel holds, by size; and whether it is fit to be given away:

    check_wheel.py WHEEL MEBIBYTES

no larger than that, for CPython's stable interface, no library of CUDA bundled or needed, no code there twice, and the
license of each library that it bundles.
"""

import collections
import email
import re
import sys
import zipfile

# The notices in python/licenses/ of what `auditwheel repair` bundles, by the library's name.
NOTICES = {
    "libbenchmark": ["benchmark"],
    "libfmt": ["fmt"],
    "libgif": ["giflib"],
    "libgomp": ["GCC-runtime", "GPL-3"],
    "libhwloc": ["hwloc"],
    "libhwy": ["Highway", "Apache-2.0"],
    "libjpeg": ["libjpeg-turbo"],
    "libpng16": ["libpng"],
    "libtbb": ["oneTBB", "Apache-2.0"],
    "libudev": ["systemd-udev", "LGPL-2.1"],
}
# Of what is compiled in.
ALWAYS = ["CLI11", "CUDA-runtime", "nanobind", "nlohmann-json"]


def faults(wheel, mebibytes):
    """Each with what is wrong and what would be right."""
    name = wheel.filename
    size = sum(entry.compress_size for entry in wheel.infolist())
    if not size <= mebibytes * 2**20:
        yield f"{size / 2**20:.2f} MiB, and {mebibytes} are allowed"
    if not re.search(r"-cp310-abi3-manylinux[0-9a-z_.]+\.whl$", name):
        yield f"{name}: neither for every CPython from 3.10 on nor for other systems; auditwheel repair names it so"
    entries = {entry.filename: entry for entry in wheel.infolist()}
    bundled = [path.rpartition("/")[2] for path in entries if path.startswith("gradus.libs/") and not path.endswith("/")]
    if not bundled:
        yield "no library is bundled: auditwheel repair was not run"
    notices = {path.rpartition("/")[2] for path in entries if "/licenses/" in path}
    wanted = set(ALWAYS)
    for library in bundled:
        known = re.split(r"-[0-9a-f]{8}\.so|\.so", library)[0].split("-")[0]
        if known.startswith(("libcuda", "libnvidia", "libcublas")):
            yield f"{library}: a library of CUDA is bundled; the driver's must be the machine's own"
        elif known not in NOTICES:
            yield f"{library}: python/licenses/ and this script do not have its license"
        else:
            wanted.update(NOTICES[known])
    for missing in sorted(wanted - {notice.removesuffix(".txt") for notice in notices}):
        yield f"the license {missing}.txt is not in the wheel"
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
