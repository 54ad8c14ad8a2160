"""Tests how the project writes: the openings of comments, and words of the glossary in comments, messages and documents.

usage: words_test.py FOLDER                  run the tests on the files below FOLDER
       words_test.py FOLDER --list [PATH...] print each place below the paths, or everywhere
       words_test.py FOLDER --changed BASE   print each place in a line changed since the git revision BASE; status 1 if any

A ratchet: each area has a limit, which may only fall. CONTRIBUTING.md explains how to write.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from prose import code, passages

# The words to replace, and the words to write instead.
GLOSSARY = [(re.compile(words.replace(" ", r"\s+"), re.IGNORECASE), write) for words, write in [
    (r"\b(lies?|lay|lying)\b", "is in, resides in, is at"),
    (r"\b(looks?|looked|looking) (at|into)\b", "reads, scans, examines, polls"),
    (r"\b(looks?|looked|looking) for\b", "searches"),
    (r"\btells?\b|\btold\b", "receives, reports, is notified"),
    (r"\bbeside\b", "next to, in addition to"),
    (r"\bhonou?r(s|ed)?\b", "supports, responds to"),
    (r"\bstretch(es)?\b", "chunk, block, range"),
    (r"\brivals?\b", "baseline, other library"),
    (r"\bof (its|their|his|our|your) own\b", "separate, private"),
    (r"\b(nobody|anybody|somebody)\b", "no caller, no thread"),
    (r"\bwhole numbers?\b", "integer"),
    (r"\bfloating numbers?\b", "floating-point number"),
    (r"\bso (many|much)\b", "that many, n"),
    (r"\bprocessors?\b(?!.s manual)", "CPU"),
    (r"\b(goes|go|going|went) on\b", "continues, resumes"),
    (r"\banew\b", "again"),
    (r"\bmeanwhile\b", "concurrently"),
    (r"\blikewise\b", "also"),
    (r"\b(vertex|vertices) in the middle\b", "intermediate vertex"),
    (r"\ba person\b", "the user"),
    (r"\bpacked by gzip\b", "gzip-compressed"),
    (r"\b(is|are|was|were|be) (right|wrong)\b", "is correct, is incorrect"),
    (r"\bends with (an? )?(status|exit|\w*error)", "throws, fails with, exits with"),
    (r"\b(is|are) (said|taken)\b", "say who does it"),
    (r"\bcomes? to\b", "is, becomes"),
    (r"\bthat of\b|\bthose of\b", "repeat the noun"),
]]
OPENING = re.compile(r"\s*(Of|What|Whether|Where|How|Those|That|So|Who)\b")

# The number of places that an area may have. An area that is not listed may have none. The longest prefix of a path
# decides its area.
LIMITS = {}
ENDINGS = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".pyi", ".md", ".sh", ".cmake"}
# Files that are not checked. Raw results and old release notes are records. The file with the tables above contains the
# words themselves.
LEFT_OUT = ("docs/results/", "docs/decisions/measurements/", "docs/history/", "tests/words_test.py", "tests/prose.py", "data/", "tests/corpus/")


def places(path, name):
    """Yields (line, words, advice) for each place in a file."""
    for passage in passages(path):
        if passage.kind == "comment" and (match := OPENING.match(passage.text)):
            yield passage.line_at(match.start(1)), match[1], "begin with a verb or the noun"
        if passage.kind == "message" and not re.search(r"\w \w", passage.text):
            continue
        for words, write in GLOSSARY:
            for match in words.finditer(passage.text):
                yield passage.line_at(match.start()), " ".join(match[0].split()), write


def files(root):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False).stdout.split("\0")
    if listed == [""]:
        listed = [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file() and "build" not in path.parts[0]]
    for name in listed:
        path = root / name
        if (path.suffix in ENDINGS or path.name in ("CMakeLists.txt", "dev")) and not name.startswith(LEFT_OUT) and path.is_file():
            yield name, path


def found_in(root, below=("",)):
    return [(name, *place) for name, path in files(root) if name.startswith(tuple(below)) for place in places(path, name)]


def area(name):
    return max((prefix for prefix in LIMITS if name.startswith(prefix)), key=len, default="")


def changed_lines(root, base):
    """Returns {file: lines that differ from the revision}."""
    lines, name = collections.defaultdict(set), ""
    for line in subprocess.run(["git", "-c", "core.quotePath=false", "diff", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff",
                                "--src-prefix=a/", "--dst-prefix=b/", base], cwd=root, capture_output=True, text=True,
                               check=True).stdout.split("\n"):
        if line.startswith("+++ b/"):
            name = line[6:]
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line):
            lines[name].update(range(int(match[1]), int(match[1]) + int(match[2] or 1)))
    return lines


def print_places(found):
    for name, line, words, write in found:
        print(f"{name}:{line}: '{words}': {write}")


class Rules(unittest.TestCase):
    def found(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text, encoding="utf-8")
            return [(line, words) for line, words, _ in places(path, name)]

    def test_comments_messages_and_documents_are_read(self):
        text = '/// What it\n/// lies\n/// on.\nint lies;  ///< the processor\nthrow E("a whole number");\nf("lie");\n'
        self.assertEqual(self.found("a.hpp", text), [(1, "What"), (2, "lies"), (4, "processor"), (5, "whole number")])
        self.assertEqual(self.found("a.hpp", "// a whole\n// number\n"), [(1, "whole number")])
        self.assertEqual(self.found("a.py", '"""Of it."""\nx = "a whole number"  # lies\n'), [(1, "Of"), (2, "whole number"), (2, "lies")])
        self.assertEqual(self.found("a.md", "a\n\nlies `lies`\n```\nlies\n```\nwhole\nnumber\n"), [(3, "lies"), (7, "whole number")])
        self.assertEqual(self.found("a.cmake", "# What\nset(lies)  # lies\n"), [(1, "What"), (2, "lies")])

    def test_words_across_lines_and_parts_are_found(self):
        whole = [(1, "whole number")]
        for name, text in (("a.py", '"""A whole\n    number"""\n'), ("a.hpp", "/// a whole\n///   number\n"), ("a.md", "- a whole\n  number\n"),
                           ("a.md", "> a whole\n> number\n"), ("a.hpp", 'f("a whole "\n  "number");'), ("a.py", 'f("a whole "\n  "number")\n')):
            self.assertEqual(self.found(name, text), whole, text)
        self.assertEqual(self.found("a.cpp", "a = 1'000 + f(\"it lies\") + 2'000;"), [(1, "lies")])
        self.assertEqual(self.found("a.cpp", 'f("it is\\nlies");'), [(1, "lies")])
        self.assertEqual(self.found("a.py", 'f("it is\\nlies")\n'), [(1, "lies")])
        self.assertEqual(self.found("a.py", "a = 1  # one\nb = 2  # What it is\n"), [(2, "What")])
        self.assertEqual(self.found("a.sh", "a=1  # one\nb=2  # What it is\n"), [(2, "What")])

    def test_code_is_not_read(self):
        for name, text in (("a.sh", 'x="a # lies"\n'), ("a.sh", "sed 's/ # lies//'\n"), ("a.md", "x `lies\nlies` y ``lies ` lies`` https://a/lies\n"),
                           ("a.py", 'f(f"a {lies} b c")\n')):
            self.assertEqual(self.found(name, text), [], text)
        self.assertEqual(self.found("a.md", "1 < 2 lies 3 > 2\n"), [(1, "lies")])

    def test_comments_are_not_code(self):
        for name, before, after in (("a.py", '"""A."""\nf()  # one\n', '"""B."""\n\nf()\n'), ("a.sh", "x=1  # one\n", "x=1\n")):
            self.assertEqual(code(pathlib.Path(name), before), code(pathlib.Path(name), after))
        for name, before, after in (("a.py", '"a".f()\n', '"b".f()\n'), ("a.sh", 'x="a # b"; y=1\n', 'x="a # b"; y=2\n')):
            self.assertNotEqual(code(pathlib.Path(name), before), code(pathlib.Path(name), after))

    def test_other_words_pass(self):
        self.assertEqual(self.found("a.hpp", "/// Returns what is left. Multiprocessors relied on it.\nint x;\n"), [])


class Words(unittest.TestCase):
    root = None

    def test_no_area_gets_worse(self):
        counts = collections.Counter(area(name) for name, *_ in found_in(self.root))
        for prefix in {*counts, *LIMITS}:
            with self.subTest(area=prefix):
                limit = LIMITS.get(prefix, 0)
                self.assertLessEqual(counts[prefix], limit, f"'{prefix}' may have {limit} places: ./dev words {prefix} names them")
                self.assertGreaterEqual(counts[prefix], limit, f"lower the limit of '{prefix}' in tests/words_test.py")


if __name__ == "__main__":
    Words.root = pathlib.Path(sys.argv.pop(1)).resolve()
    if sys.argv[1:2] == ["--list"]:
        print_places(found_in(Words.root, sys.argv[2:] or ("",)))
    elif sys.argv[1:2] == ["--changed"]:
        changed = changed_lines(Words.root, sys.argv[2])
        wanted = [place for place in found_in(Words.root) if place[1] in changed[place[0]]]
        print_places(wanted)
        sys.exit(bool(wanted))
    else:
        unittest.main()
