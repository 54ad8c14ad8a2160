"""Adds a problem: ./dev new-problem NAME

The new room is a copy of templates/problem, in which the problem is to add numbers. The new room builds and passes its
tests. Replace its contract, oracle, cases and variants, one after another.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATE = pathlib.Path(__file__).resolve().parent / "problem"


class Refused(Exception):
    pass


def renamed(text, name):
    """Returns the text of a template for a problem with this name."""
    title = "".join(word.capitalize() for word in name.split("_"))
    return text.replace("Skeleton", title).replace("skeleton", name)


def add(root, name, template=TEMPLATE):
    """Writes the files of the problem and returns their paths."""
    name = name.replace("-", "_")
    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name):
        raise Refused(f"{name} is no name of a problem: lower-case words, joined by underscores, without numbers")
    if (root / "src" / name).exists():
        raise Refused(f"there is a folder src/{name} already")
    files = {}
    for path in sorted(path for path in template.rglob("*") if path.is_file()):
        files[root / renamed(str(path.relative_to(template)), name)] = renamed(path.read_text(encoding="utf-8"), name)
    for path in files:
        if path.exists():
            raise Refused(f"there is a file {path.relative_to(root)} already")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        files = add(ROOT, sys.argv[1])
    except Refused as refusal:
        sys.exit(f"new-problem: {refusal}")
    name = sys.argv[1].replace("-", "_")
    print("\n".join(f"wrote {path.relative_to(ROOT)}" for path in files))
    print(f"""Start with the canonical result in include/gradus/{name}.hpp. Then
  ./dev build && ctest --preset release -R {name}   tests the room
  ./dev new-variant {name} NAME                     adds a rung to its ladder""")


if __name__ == "__main__":
    main()
