"""Lists the third-party software in a wheel as CycloneDX JSON (PEP 770), from the table in bundled.json:

    sbom.py OUTPUT [--with manylinux|shared|charts|cuda]... [--cuda-version VERSION]

The version of a component is the version of the installed package from which the build took it.
"""

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "bundled.json").read_text())["rows"]


def gradus_version():
    header = (HERE.parent / "include/gradus/version.hpp").read_text()
    return re.search(r'GRADUS_VERSION_STRING "([^"]+)"', header)[1]


def upstream(debian_version):
    """Extracts the upstream version from the version of a Debian package: 1.2.13 from 1:1.2.13.dfsg-1."""
    return re.match(r"(?:\d+:)?([\d.]*\d)", debian_version)[1]


def version_of(row, cuda_version=None):
    if row["name"] == "CUDA runtime" and cuda_version:
        return cuda_version, None
    if "python" in row:
        try:
            version = importlib.metadata.version(row["python"])
        except importlib.metadata.PackageNotFoundError:
            version = row["version"]
        return version, f"pkg:pypi/{row['python']}@{version}"
    if "debian" in row:
        try:
            found = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${source:Package} ${source:Version}", row["debian"]],
                                   capture_output=True, text=True)  # fmt: skip
        except OSError:
            found = None
        if found is not None and found.returncode == 0 and len(found.stdout.split()) == 3:
            version, source, source_version = found.stdout.split()
            return upstream(version), f"pkg:deb/debian/{source.replace('+', '%2B')}@{source_version.replace(':', '%3A').replace('+', '%2B')}?distro=bookworm"
    return row["version"], None


def component(row, cuda_version):
    version, purl = version_of(row, cuda_version)
    license = row["license"]
    named = {"license": {"name": license}} if license.startswith("LicenseRef-") else {"expression": license}
    return {
        "type": "library",
        "bom-ref": row["name"],
        "name": row["name"],
        "version": version,
        "licenses": [named],
        **({"purl": purl} if purl else {}),
    }


def bill(conditions, cuda_version=None):
    components = [component(row, cuda_version) for row in TABLE if row.get("when") is None or row["when"] in conditions]
    name = {"type": "library", "bom-ref": "gradus-kernels", "name": "gradus-kernels", "version": gradus_version(),
            "licenses": [{"expression": "MIT"}], "purl": f"pkg:pypi/gradus-kernels@{gradus_version()}"}  # fmt: skip
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": name},
        "components": components,
        "dependencies": [{"ref": "gradus-kernels", "dependsOn": [part["bom-ref"] for part in components]},
                         *({"ref": part["bom-ref"]} for part in components)],
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--with", dest="conditions", action="append", default=[],
                        choices=sorted({row["when"] for row in TABLE if "when" in row}))  # fmt: skip
    parser.add_argument("--cuda-version")
    arguments = parser.parse_args()
    arguments.output.write_text(json.dumps(bill(arguments.conditions, arguments.cuda_version), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
