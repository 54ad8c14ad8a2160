"""Adds a variant to a ladder: ./dev new-variant PROBLEM NAME [LIKE]

The new rung is a copy of the rung LIKE and follows it in the ladder. It builds and passes the tests as it is. If you do
not name LIKE, the new rung is a copy of `sequential` or, if there is no `sequential`, of the room's last CPU rung.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = "#define GRADUS_LADDER(RUNG)"
HEAD = """\
// {name}: the idea in one line.
//
// What changes from `{like}`: what the code does differently, and why that helps.
//
// Bytes: what is read and written. Operations: what is computed.
// Limits: what it does not support.
// Source: who had the idea, and where it was published.
"""


class Refused(Exception):
    pass


def list_of(root, problem):
    """Returns the file that holds the room's list of rungs."""
    for name in ("table.cpp", "variants.cpp"):
        path = root / "src" / problem / name
        if path.is_file() and LIST in path.read_text(encoding="utf-8"):
            return path
    known = sorted(path.parent.name for path in root.glob("src/*/problem.hpp"))
    raise Refused(f"there is no problem {problem}; there are {', '.join(known)}")


def rungs_in(text):
    return re.findall(r"^  RUNG\((\w+)\)", text, re.MULTILINE)


def file_of(room, name):
    """Returns the source file of a variant, or None if it shares the file with other variants."""
    for folder in (room / "rungs", room):
        for ending in (".cpp", ".cu"):
            if (folder / (name + ending)).is_file():
                return folder / (name + ending)
    return None


def like_default(room, rungs):
    if "sequential" in rungs:
        return "sequential"
    on_cpu = [name for name in rungs if (file_of(room, name) or room).suffix == ".cpp"]
    return on_cpu[-1]


def listed(text, name, like):
    """Returns the list with `name` inserted after `like`."""
    return re.sub(rf"^  RUNG\({like}\)( \\)?$", lambda match: f"  RUNG({like}) \\\n  RUNG({name}){match[1] or ''}", text,
                  count=1, flags=re.MULTILINE)


def rung(text, name, like):
    """Returns the source of the new rung. It has the code of `like` under the new name. You must fill in the head
    comment and the row."""
    body = re.sub(r"\A(//[^\n]*\n)+", "", text)
    body = re.sub(rf"(?<![\w:/]){like}(?=\b|_rung\b)|(?<=/){like}(?=\.cpp\")", name, body)
    row = body.index(f"{name}_rung{{")
    body = body[:row] + re.sub(r"\.summary =\s*(\"[^\"]*\"\s*)+,", '.summary = "the idea in one line",', body[row:], count=1)
    change = '.change = "what changes from the previous rung",'
    if ".change =" in body[row:]:
        body = body[:row] + re.sub(r"\.change =\s*(\"(?:[^\"\\]|\\.)*\"\s*)+,", change, body[row:], count=1)
    else:
        body = body[:row] + re.sub(r"(\.summary = [^\n]*\n)( *)", rf"\g<1>\g<2>{change}\n\g<2>", body[row:], count=1)
    return HEAD.format(name=name, like=like) + body


def add(root, problem, name, like=None):
    """Writes the rung and adds it to the list. Returns both files."""
    problem = problem.replace("-", "_")
    table = list_of(root, problem)
    room = root / "src" / problem
    text = table.read_text(encoding="utf-8")
    rungs = rungs_in(text)
    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name):
        raise Refused(f"{name} is no name of a variant: lower-case words, joined by underscores, without numbers")
    if name in rungs or file_of(room, name):
        raise Refused(f"{problem} has {name} already")
    like = like or like_default(room, rungs)
    if like not in rungs or not file_of(room, like):
        raise Refused(f"{problem} has no rung {like} with a separate file; it has {', '.join(rungs)}")
    model = file_of(room, like)
    path = model.with_name(name + model.suffix)
    path.write_text(rung(model.read_text(encoding="utf-8"), name, like), encoding="utf-8")
    table.write_text(listed(text, name, like), encoding="utf-8")
    return path, table


def main():
    if not 3 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        path, table = add(ROOT, *sys.argv[1:])
    except Refused as refusal:
        sys.exit(f"new-variant: {refusal}")
    problem = sys.argv[1].replace("-", "_")
    print(f"""wrote {path.relative_to(ROOT)}
listed in {table.relative_to(ROOT)}
Now replace its head, its code, and what its row says. Then
  ./dev build && ctest --preset release -R {problem}   tests it with all others
  build/gradus bench {problem.replace('_', '-')} --variants {path.stem}   measures it
  ./dev docs                                           writes it into the tables of the documents""")


if __name__ == "__main__":
    main()
