"""Finds the snippets of the documents. Writes the output of the snippets into the documents, or compares it with the
documents.

usage: snippets.py --update GRADUS PAGE...    write what the shell snippets of these pages print into them
       snippets.py --extract FOLDER           write each C++ snippet to FOLDER, with its output; print "name libraries" lines
       snippets.py --compare PROGRAM EXPECTED run a built C++ snippet and compare

A snippet is a fenced block of `sh`, `python` or `cpp`. If a block of `text` follows, with nothing between, the snippet must
print it. Times ("0.02 s") and numbers of threads are not compared. A comment above a block changes what happens:

    <!-- snippet: not run: REASON -->      the snippet is shown only
    <!-- snippet: mpi -->                  it needs MPI, and is skipped elsewhere
    <!-- snippet: compile -->              it is compiled, and not run
    <!-- snippet: output varies -->        above `text`: it is not compared
    <!-- snippet: status N -->             the last command exits with status N, and its messages are part of the output

A shell snippet runs line by line. A snippet with a here-document or a status runs as a whole. A snippet that begins
with a chore of a clone (./dev, pip, cmake) is shown only.
"""

import ast
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Matches commands that need a clone of the repository. Other tests run these commands.
CHORES = re.compile(r"(\./dev|\.venv/bin/\w+|pip|cmake|ctest|apt-get) ")
FOLDERS = ("docs/tutorials", "docs/howto", "docs/reference", "docs/explanation")
BLOCK = re.compile(r"(?:^<!-- snippet: (?P<marker>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet:
    def __init__(self, match):
        self.language, self.text, self.marker = match["language"], match["text"], match["marker"] or ""
        self.expected, self.span = None, None

    @property
    def is_run(self):
        return not self.marker.startswith("not run") and not (self.language == "sh" and CHORES.match(self.text))

    @property
    def status(self):
        return int(self.marker.removeprefix("status ")) if self.marker.startswith("status ") else 0

    def commands(self):
        if "<<" in self.text or self.status:
            return [self.text]
        lines = self.text.replace("\\\n", " ").splitlines()
        return [command for line in lines if (command := line.split("  #")[0].strip())]


def pages(root=ROOT):
    return [root / "README.md", root / "docs/index.md", root / "docs/experiments.md",
            *sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.md"))]


def name_of(page, root=ROOT):
    return page.relative_to(root).with_suffix("").as_posix().removeprefix("docs/")


def snippets(text):
    """Returns the snippets in their order, each with the output below it."""
    found, end = [], -1
    for match in BLOCK.finditer(text):
        one = Snippet(match)
        if one.language == "text" and found and not text[end:match.start()].strip():
            if one.marker != "output varies":
                found[-1].expected, found[-1].span = one.text, match.span("text")
        elif one.language in ("sh", "python", "cpp"):
            found.append(one)
        end = match.end()
    return found


def comparable(text):
    return re.sub(r"\b\d+ threads?\b", "N threads", re.sub(r"(?<![\w.])\d[\d.e-]* s\b", "T s", text))


def inputs():
    """Returns the files that the snippets use as inputs, each with the command that makes it. The commands come from
    the tests of the problems."""
    found = {}
    for path in sorted(ROOT.glob("src/*/tests/cli_test.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "INPUTS":
                found.update(ast.literal_eval(node.value))
    return {**found, "points.npy": "gradus generate blobs -n 1000 -d 3 -o points.npy"}


def run(text, folder):
    return subprocess.run(["sh", "-c", "PATH=$PWD:$PATH\n" + text], cwd=folder, check=False, capture_output=True, text=True)


def update(gradus, page):
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "gradus").symlink_to(pathlib.Path(gradus).resolve())
        (here / "data").symlink_to(ROOT / "data")
        text = page.read_text(encoding="utf-8")
        changes = []
        for name, command in inputs().items():
            if name in text:
                run(f"export DATA={ROOT}/data; {command}", folder)
        for one in snippets(text):
            if one.language != "sh" or not one.is_run:
                continue
            result = run(one.text, folder)
            if one.status:
                result.stdout += result.stderr
            if result.returncode != one.status:
                print(f"{page}: status {result.returncode} of\n{one.text}{result.stderr}", file=sys.stderr)
            if one.expected is not None and comparable(result.stdout) != comparable(one.expected):
                changes.append((one.span, result.stdout))
        for (start, end), new in reversed(changes):
            text = text[:start] + new + text[end:]
        page.write_text(text, encoding="utf-8")


def extract(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        programs = [one for one in snippets(page.read_text(encoding="utf-8")) if one.language == "cpp" and one.is_run]
        for number, one in enumerate(programs):
            name = f"{name_of(page).replace('/', '_').replace('-', '_')}_{number}"
            write_where_new(folder / f"{name}.cpp", one.text)
            write_where_new(folder / f"{name}.txt", one.expected or "")
            print(name, one.marker or "run")


def write_where_new(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def compare(program, expected):
    wanted = pathlib.Path(expected).read_text(encoding="utf-8")
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    if comparable(printed) != comparable(wanted):
        sys.exit(f"printed:\n{printed}\nshown in the document:\n{wanted}")


if __name__ == "__main__":
    if sys.argv[1] == "--update":
        for name in sys.argv[3:]:
            update(sys.argv[2], pathlib.Path(name))
    elif sys.argv[1] == "--extract":
        extract(sys.argv[2])
    elif sys.argv[1] == "--compare":
        compare(*sys.argv[2:4])
    else:
        sys.exit(__doc__)
