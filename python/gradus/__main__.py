"""Runs the program `gradus` as python -m gradus."""

from __future__ import annotations

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gradus")
    if not os.path.exists(program):
        sys.exit("gradus: this installation has no program, only the package")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
