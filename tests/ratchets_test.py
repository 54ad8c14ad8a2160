"""Ratchets: measures of the design that may only improve.

usage: ratchets_test.py FOLDER           run the tests on the sources below FOLDER
       ratchets_test.py FOLDER --list    print every measure, its value and its offenders

Each ratchet lists offenders. The test fails and names them if there are more than the limit. It also fails if there are
fewer, and asks to lower the limit, so that an improvement is never lost.
"""
import collections
import pathlib
import re
import sys
import tempfile
import unittest

from includes_test import ENDINGS, INCLUDE, find, is_test

TOPS = ("src", "include", "cli", "bench", "python")
SHARED = {"core", "cpu", "cuda", "files", "ranks", "execution"}
VARIANT = re.compile(r"^// ([a-z0-9_]+)(, [a-z0-9_]+)*:\s")
NO_FUNCTION = re.compile(r"\b(class|concept|enum|namespace|requires|struct|union)\b|[^=!<>]=[^=]")
WRITTEN_TABLE = re.compile(r"<!-- file rates -->.*?<!-- end of file rates -->"
                           r"|<!-- (ladder|formats|(variant )?options|arguments) of .*? -->\n\n(\|[^\n]*\n)*", re.DOTALL)
WRITTEN_LINES = re.compile(r"(#|\.\.) <options of [^\n]*>\n.*?\1 </options>\n", re.DOTALL)
FUNCTION_END = re.compile(r"^(  )?\}$")

# The layer of each folder, for units (header + source), including MPI and Python. A problem is in the layer "PROBLEM".
LAYERS = {"python": 8, "cli": 7, "bench": 6, "PROBLEM": 5, "execution": 4, "ranks": 3, "files": 3, "cuda": 3, "cpu": 3,
          "core": 2, "gradus": 1}


class Tree:
    """The sources below a folder, without tests. Each file is read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.texts = {}
        for top in TOPS:
            for path in sorted((self.root / top).rglob("*")):
                name = path.relative_to(self.root)
                if path.suffix in ENDINGS and path.is_file() and not is_test(name):
                    self.texts[name] = path.read_text(encoding="utf-8")
        self.problems = {name.parts[1] for name in self.texts if name.parts[0] == "src"} - SHARED
        self.includes = {name: self._targets(name, text) for name, text in self.texts.items()}

    def _targets(self, name, text):
        names = (match[1] or match[2] for match in INCLUDE.finditer(text))
        targets = (find(self.root, name, included) or find(self.root, name, "python/bindings/" + included)
                   for included in names)
        return [target for target in targets if target in self.texts]

    def room(self, name):
        """Returns the folder that a file belongs to. A problem's public header belongs to the problem. Classes in
        subfolders of include/gradus/ belong to no problem, because their headers need no library."""
        if name.parts[:2] == ("include", "gradus"):
            return next((problem for problem in sorted(self.problems)
                         if len(name.parts) == 3 and name.stem.startswith(problem)), "gradus")
        return name.parts[1] if name.parts[0] == "src" else name.parts[0]

    def problem_files(self):
        return [name for name in self.texts if name.parts[0] == "src" and self.room(name) not in SHARED]

    def variants(self):
        """Returns the files whose first line is the head of a variant: it begins with the file's name or with a list of
        names."""
        found = []
        for name in self.problem_files():
            match = VARIANT.match(self.texts[name])
            if match and f"{match[1]}_".startswith(f"{name.stem}_") and name.suffix in (".cpp", ".cu"):
                found.append(name)
        return found

    def unit(self, name):
        """Returns the unit of a file, which is its path without the ending. A "-inl" file belongs to the unit of its
        base name. A problem's public header belongs to the unit src/<problem>/<problem>, if that unit exists."""
        if name.parts[:2] == ("include", "gradus"):
            entry = pathlib.Path("src", name.stem, name.stem)
            return entry if entry.with_suffix(".cpp") in self.texts else name.with_suffix("")
        return name.with_name(name.stem.removesuffix("-inl"))


def cycles(graph):
    """Returns the strongly connected components with more than one node (Tarjan's algorithm, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, successors = work[-1]
            for other in successors:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        other = stack.pop()
                        on_stack.discard(other)
                        component.append(other)
                        if other == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found, key=len, reverse=True)


def largest_cycle(tree):
    graph = collections.defaultdict(set)
    for name, targets in tree.includes.items():
        for target in targets:
            if tree.unit(target) != tree.unit(name):
                graph[tree.unit(name)].add(tree.unit(target))
                graph.setdefault(tree.unit(target), set())
    found = cycles(graph)
    return [str(unit) for unit in found[0]] if found else []


def upward_includes(tree):
    def layer(room):
        return LAYERS.get(room, LAYERS["PROBLEM"])

    found = []
    for name, targets in tree.includes.items():
        for target in targets:
            one, other = tree.room(name), tree.room(target)
            if one != other and layer(other) >= layer(one):
                found.append(f"{name} -> {target}")
    return found


def variants_that_include_a_variant(tree):
    stems = {(tree.room(name), name.stem) for name in tree.variants()}
    return [f"{name} -> {target}" for name in tree.variants() for target in tree.includes[name]
            if target.stem != name.stem and (tree.room(target), target.stem) in stems]


def lines_with(pattern, files):
    def measure(tree):
        expression = re.compile(pattern)
        return [f"{name}:{number}" for name in files(tree)
                for number, line in enumerate(tree.texts[name].splitlines(), 1)
                if expression.search(line.split("//")[0])]
    return measure


def entries(tree):
    return [name for name in tree.problem_files() if name.suffix == ".cpp"
            and (name.parts[2] == "api" or len(name.parts) == 3 and name.stem == name.parts[1])]


def longest_entry(tree):
    name = max(entries(tree), key=lambda one: len(tree.texts[one].splitlines()))
    return [f"{name}:{number}" for number, _ in enumerate(tree.texts[name].splitlines(), 1)]


STEPS = ("check", "describe", "choose", "estimate", "run", "deliver")


def missing_steps(tree):
    """Returns the missing steps: CONTRIBUTING.md prescribes them for a public call, but no file of the room's api/
    contains them."""
    texts = collections.defaultdict(str)
    for name in tree.problem_files():
        if name.parts[2] == "api":
            texts[name.parts[1]] += tree.texts[name]
    return [f"src/{room}/api: {step}()" for room, text in sorted(texts.items()) for step in STEPS
            if not re.search(rf"\b{step}\(", text)]


def longest_function(tree):
    """Returns the lines of the longest function. Relies on clang-format's layout: a function begins with a line that
    ends in "{" with an indentation of at most two, and ends at the closing brace in the same column. Initialised
    tables do not count."""
    longest = []
    for name in tree.texts:
        lines = tree.texts[name].splitlines()
        starts = {}
        for number, line in enumerate(lines, 1):
            indent = len(line) - len(line.lstrip())
            if FUNCTION_END.match(line) and indent in starts:
                start = starts.pop(indent)
                if number - start + 1 > len(longest):
                    longest = [f"{name}:{one}" for one in range(start, number + 1)]
            elif indent in (0, 2) and line.endswith("{"):
                starts.pop(indent, None)
                if "(" in line and not NO_FUNCTION.search(line):
                    starts[indent] = number
    return longest


def spellings(option):
    words = option.split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return re.compile(r"(?<![A-Za-z])(" + "|".join(("_".join(words), "-".join(words), camel, camel[0].upper() + camel[1:]))
                      + r")(?![a-z])")


def files_naming(option):
    """Returns a measure that lists the hand-written files in which an option is named, tests and documents included.
    Adding a similar option would change as many files."""
    def measure(tree):
        expression = spellings(option)
        found = []
        for top in (*TOPS, "tests", "docs", "README.md", "CONTRIBUTING.md"):
            path = tree.root / top
            for file in [path] if path.is_file() else sorted(path.rglob("*")):
                if file.suffix not in ENDINGS | {".py", ".md", ".pyi"} or {"results", "history"} & set(file.parts):
                    continue
                if file.name != pathlib.Path(__file__).name and expression.search(without_tables(file.read_text(encoding="utf-8"))):
                    found.append(str(file.relative_to(tree.root)))
        return found
    return measure


def without_tables(text):
    """Returns a document or a Python file without the parts that ./dev docs writes."""
    return WRITTEN_LINES.sub("", WRITTEN_TABLE.sub("", text))


def files_with(pattern):
    """Returns a measure that lists the hand-written files that contain the pattern. If the pattern names a format, for
    example, adding another format would change as many files."""
    def measure(tree):
        expression = re.compile(pattern)
        found = []
        for top in (*TOPS, "tests", "docs", "experiments", "cmake", "README.md", "CONTRIBUTING.md"):
            path = tree.root / top
            for file in [path] if path.is_file() else sorted(path.rglob("*")):
                by_hand = file.suffix in ENDINGS | {".py", ".md", ".pyi", ".json", ".txt", ".cmake"}
                if not by_hand or {"results", "measurements", "history", "corpus"} & set(file.parts) or file.name == pathlib.Path(__file__).name:
                    continue
                if expression.search(without_tables(file.read_text(encoding="utf-8"))):
                    found.append(str(file.relative_to(tree.root)))
        return found
    return measure


def messages_read(tree):
    """Returns the lines of code that search or edit the text of an error, which is what() or the message of a
    failure."""
    return lines_with(r"in_words_of\(|(what\(\)|message)\)?\.(find|replace|starts_with|contains|substr)\(",
                      lambda one: list(one.texts))(tree)


def spelled_options(tree):
    """Returns the library texts that name an option in the notation of the program or of C++ instead of using
    option() or flag(). File readers, in src/files and in the rooms' files/, belong to the program."""
    return lines_with(r'(?<!option\()(?<!flag\()"[^"\n]*(--(?!map-by|bind-to|cpu-bind)[a-z]|\w(Options|Bins|Memory|Execution)::[a-z])',
                      lambda one: [name for name in one.texts if name.parts[0] == "src" and "files" not in name.parts])(tree)


# For each ratchet: its name, limit, measure and aim.
RATCHETS = {
    "units in the largest cycle": (0, largest_cycle, 0),
    "upward or sideways includes": (0, upward_includes, 0),
    "variants that include a variant": (0, variants_that_include_a_variant, 0),
    "comparisons of ranks with nullptr":
        (0, lines_with(r"\b\w*ranks_?(\(\))? [!=]= nullptr", lambda tree: list(tree.texts)), 0),
    "questions for is_compiled in problems": (0, lines_with(r"\bis_compiled\b", Tree.problem_files), 0),
    "lines of the longest entry file": (189, longest_entry, 200),
    "steps of a call that a room lacks": (0, missing_steps, 0),
    "lines of the longest function": (80, longest_function, 80),
    "places that read another layer's message": (0, messages_read, 0),
    "library texts that spell an option for one front end": (0, spelled_options, 0),
    "files that name k-means' option fewer_distinct": (6, files_naming("fewer_distinct"), 6),
    "files that name the variant openmp_rows": (2, files_with(r"\bopenmp_rows\b"), 2),
    "files that name the graph format DIMACS": (9, files_with(r"(?i)dimacs|\.gr\b(?!\()"), 3),
}


def complaint(name, limit, offenders):
    """Compares the number of offenders with the limit. Returns a description of the deviation, or ""."""
    if len(offenders) > limit:
        return f"{name}: {len(offenders)}, and no more than {limit} are allowed:\n  " + "\n  ".join(offenders)
    if len(offenders) < limit:
        return f"{name}: {len(offenders)} is a gain: lower the limit of {limit} in tests/ratchets_test.py"
    return ""


class Planted(unittest.TestCase):
    """Tests the measures: each must find its planted fault, and nothing in a tree without faults."""

    GOOD = {
        "include/gradus/toy.hpp": "#include <string>\n",
        "src/core/names.hpp": "#include <string>\n",
        "src/toy/toy.cpp": '#include "gradus/toy.hpp"\n#include "core/names.hpp"\nint toy() {\n  return 1;\n}\n',
        "src/toy/sequential.cpp": "// sequential: the loop\n",
        "src/toy/openmp_toy.cpp": '// openmp_toy: threads\n#include "toy/textbook.hpp"\n',
        "src/toy/textbook.hpp": '#include "core/names.hpp"\n',
    }
    FAULTS = {
        "units in the largest cycle": {"src/core/names.hpp": '#include "core/b.hpp"\n', "src/core/b.hpp": "\n",
                                       "src/core/b.cpp": '#include "core/names.hpp"\n'},
        "upward or sideways includes": {"src/core/names.hpp": '#include "toy/textbook.hpp"\n'},
        "variants that include a variant": {"src/toy/sequential.hpp": "\n",
                                            "src/toy/openmp_toy.cpp": '// openmp_toy: x\n#include "toy/sequential.hpp"\n'},
        "comparisons of ranks with nullptr": {"src/toy/textbook.hpp": "if (ranks == nullptr) return;\n"},
        "questions for is_compiled in problems": {"src/toy/textbook.hpp": "if constexpr (cuda::is_compiled) {}\n"},
        "steps of a call that a room lacks": {"src/toy/api/sort.cpp": "int check() {\n  return describe(choose());\n}\n"},
        "places that read another layer's message": {"cli/main.cpp": 'if (error.what().find("x")) {}\n'},
        "library texts that spell an option for one front end": {"src/toy/textbook.hpp": 'throw Error("say --toy");\n'},
        "files that name k-means' option fewer_distinct": {"docs/reference/toy.md": "--fewer-distinct\n"},
        "files that name the variant openmp_rows": {"docs/reference/toy.md": "<!-- ladder of toy -->\n\n| `openmp_toy` |\n\n`openmp_rows`\n"},
        "files that name the graph format DIMACS": {"docs/reference/toy.md": "Read roads.gr.\n"},
    }

    def measure(self, name, files):
        with tempfile.TemporaryDirectory() as folder:
            for file, text in {**self.GOOD, **files}.items():
                path = pathlib.Path(folder, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return RATCHETS[name][1](Tree(folder))

    def test_faults_are_found(self):
        for name, files in self.FAULTS.items():
            with self.subTest(ratchet=name):
                self.assertEqual(self.measure(name, {}), [])
                self.assertNotEqual(self.measure(name, files), [])

    def test_written_tables_name_nothing(self):
        files = {"docs/reference/toy.md": "<!-- ladder of toy {\n} -->\n\n| `openmp_rows` |\n\n<!-- formats of graph -->\n\n| `.gr` |\n"}
        for name in ("files that name the variant openmp_rows", "files that name the graph format DIMACS"):
            self.assertEqual(self.measure(name, files), [])
        name = "files that name k-means' option fewer_distinct"
        files = {"docs/reference/toy.md": "<!-- options of toy, but a b -->\n\n| `--fewer-distinct` |\n",
                 "python/toy.py": "def toy(\n    # <options of toy as arguments>\n    fewer_distinct,\n    # </options>\n"}
        self.assertEqual(self.measure(name, files), [])
        files["python/toy.py"] += "    fewer_distinct,\n"
        self.assertEqual(self.measure(name, files), ["python/toy.py"])

    def test_lengths_are_those_of_the_longest(self):
        self.assertEqual(len(self.measure("lines of the longest entry file", {})), 5)
        self.assertEqual(self.measure("lines of the longest function", {}), [f"src/toy/toy.cpp:{line}" for line in (3, 4, 5)])

    def test_more_and_fewer_than_the_limit_are_complaints(self):
        self.assertEqual(complaint("x", 1, ["a"]), "")
        self.assertIn("a\n  b", complaint("x", 1, ["a", "b"]))
        self.assertIn("lower the limit", complaint("x", 2, ["a"]))


class Ratchets(unittest.TestCase):
    tree = None

    def test_no_measure_gets_worse(self):
        self.assertGreater(len(self.tree.texts), 500)
        self.assertGreater(len(self.tree.variants()), 50)
        for name, (limit, measure, _) in RATCHETS.items():
            with self.subTest(ratchet=name):
                self.assertEqual(complaint(name, limit, measure(self.tree)), "")


def print_all(tree):
    for name, (limit, measure, aim) in RATCHETS.items():
        offenders = measure(tree)
        print(f"{name}: {len(offenders)} (limit {limit}, aim {aim})")
        for offender in offenders if not name.startswith("lines") else offenders[::max(1, len(offenders) - 1)]:
            print("   ", offender)


if __name__ == "__main__":
    Ratchets.tree = Tree(sys.argv.pop(1))
    if sys.argv[1:] == ["--list"]:
        print_all(Ratchets.tree)
    else:
        unittest.main()
