"""Checks the layers of the source tree: which file may include which.

usage: includes_test.py FOLDER

A folder belongs to one layer. Includes only go down: never up, never to another folder of the same layer (a problem
includes no other problem), and never in a cycle. A public header includes only the standard library. Tests may
include files of every layer, but not of another problem."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

# Top layer first. A folder of src/ that is not listed belongs to a problem.
LAYERS = [["cli"], ["bench"], ["PROBLEM"], ["execution"], ["files", "ranks", "cuda", "cpu"], ["core"], ["gradus"]]
LAYER_OF = {"tests": -1} | {folder: number for number, layer in enumerate(LAYERS) for folder in layer}
# Folders to which the paths in includes are relative.
ROOTS = ["src", "include", "."]
ENDINGS = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
# Headers outside the standard library that a public header may include: sched.h is on every system that has getcpu().
OF_SYSTEM = {"include/gradus/locks/policy.hpp": "sched.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def sources(root):
    return sorted(path.relative_to(root) for top in ("cli", "bench", "src", "include") for path in (root / top).rglob("*")
                  if path.suffix in ENDINGS)


def is_test(path):
    return path.stem.endswith("_test") or "tests" in path.parts


def room_of(path):
    """Returns the folder to which a source belongs, such as toy for src/toy/parts/bounds.hpp."""
    return path.parts[1] if path.parts[0] in ("src", "include") else path.parts[0]


def layer_of(room):
    return LAYER_OF.get(room, LAYER_OF["PROBLEM"])


def find(root, source, name):
    """Returns the file that an include names, relative to the root; None if it is not in this project."""
    for folder in (source.parent, *map(pathlib.Path, ROOTS)):
        path = pathlib.Path(os.path.normpath(folder / name))
        if (root / path).is_file():
            return path
    return None


def circle(included, start):
    """Returns a cycle of includes that begins and ends at the file, or None."""
    before = {start: None}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        for other in included.get(path, ()):
            if other == start:
                names = [start]
                while path is not None:
                    names.append(path)
                    path = before[path]
                return names[::-1]
            if other not in before:
                before[other] = path
                waiting.append(other)
    return None


def complaints(root):
    """Returns one line per violation of the rules below the folder."""
    found = []
    included = {}
    for source in sources(root):
        room = room_of(source)
        for match in INCLUDE.finditer((root / source).read_text(encoding="utf-8")):
            name = match[1] or match[2]
            target = find(root, source, name)
            if match[2] and target is None:
                if room == "gradus" and ("/" in name or "." in name) and OF_SYSTEM.get(str(source)) != name:
                    found.append(f"{source}: a public header includes <{name}>, which is not the standard library's")
                continue
            if target is None and room == "gradus":
                found.append(f'{source}: includes "{name}", which is no public header')
                continue
            if target is None and "/" not in name:
                continue  # a generated file with the list of problems
            if target is not None:
                included.setdefault(source, []).append(target)
            other = room_of(target) if target is not None else name.split("/")[0]
            if is_test(source):
                if other != room and {layer_of(room), layer_of(other)} == {LAYER_OF["PROBLEM"]}:
                    found.append(f'{source}: includes "{name}": from {room} sideways to {other}')
            elif other == "tests" or target is not None and is_test(target):
                found.append(f'{source}: includes "{name}", which is for tests')
            elif other != room and layer_of(other) <= layer_of(room):
                way = "up" if layer_of(other) < layer_of(room) else "sideways"
                found.append(f'{source}: includes "{name}": from {room} {way} to {other}')
    for source in included:
        names = circle(included, source)
        if names and min(names) == source:
            found.append("a circle of includes: " + " -> ".join(map(str, names)))
    return found


class Planted(unittest.TestCase):
    """Tests the check itself: it must find each forbidden include, and nothing else."""

    def complaints_about(self, files):
        good = {
            "include/gradus/error.hpp": "#include <string>\n",
            "src/core/names.hpp": '#include "gradus/error.hpp"\n',
            "src/cpu/threads.hpp": '#include <omp.h>\n#include "core/names.hpp"\n',
            "src/cuda/launch.hpp": '#include <cuda_runtime.h>\n#include "core/names.hpp"\n',
            "src/execution/machine.hpp": '#include "cpu/threads.hpp"\n#include "cuda/launch.hpp"\n',
            "src/toy/toy.cpp": '#include "execution/machine.hpp"\n#include "toy/parts/parts.hpp"\n',
            "src/toy/parts/parts.hpp": '#include "cpu/threads.hpp"\n',
            "src/toy/tests/toy_test.cpp": '#include "bench/harness.hpp"\n#include "tests/kit.hpp"\n',
            "src/other/other.hpp": '#include "core/names.hpp"\n',
            "bench/harness.hpp": '#include "execution/machine.hpp"\n#include "bench/build_facts.hpp"\n',
            "bench/toy.cpp": '#include "toy/parts/parts.hpp"\n',
            "cli/main.cpp": '#include "bench/harness.hpp"\n',
            "tests/kit.hpp": '#include "bench/harness.hpp"\n',
        }
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**good, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return complaints(root)

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.assertEqual(self.complaints_about({}), [])

    def test_every_forbidden_include_is_found(self):
        for name, text, words in [
            ("src/core/names.hpp", '#include "cpu/threads.hpp"', "from core up to cpu"),
            ("src/core/names.hpp", '  #  include "execution/machine.hpp"', "from core up to execution"),
            ("src/core/names.hpp", "#include <execution/machine.hpp>", "from core up to execution"),
            ("src/core/names.hpp", '#include "../cpu/threads.hpp"', "from core up to cpu"),
            ("src/cuda/launch.hpp", '#include "cpu/threads.hpp"', "from cuda sideways to cpu"),
            ("src/execution/machine.hpp", '#include "toy/parts/parts.hpp"', "from execution up to toy"),
            ("src/toy/parts/parts.hpp", '#include "other/other.hpp"', "from toy sideways to other"),
            ("src/toy/tests/toy_test.cpp", '#include "other/other.hpp"', "from toy sideways to other"),
            ("src/toy/toy.cpp", '#include "bench/build_facts.hpp"', "from toy up to bench"),
            ("src/toy/toy.cpp", '#include "tests/kit.hpp"', "which is for tests"),
            ("src/toy/toy.cpp", '#include "toy/tests/toy_test.cpp"', "which is for tests"),
            ("bench/harness.hpp", '#include "cli/main.cpp"', "from bench up to cli"),
            ("include/gradus/error.hpp", '#include "core/names.hpp"', "from gradus up to core"),
            ("include/gradus/error.hpp", "#include <omp.h>", "which is not the standard library's"),
            ("include/gradus/error.hpp", '#include "missing.hpp"', "which is no public header"),
        ]:
            with self.subTest(file=name, include=text):
                found = self.complaints_about({name: text + "\n"})
                self.assertTrue(any(line.startswith(name) and words in line for line in found), found)

    def test_a_circle_is_found_once(self):
        found = self.complaints_about({"src/core/a.hpp": '#include "core/b.hpp"\n',
                                       "src/core/b.hpp": '#include "core/c.hpp"\n',
                                       "src/core/c.hpp": '#include "core/b.hpp"\n#include "core/names.hpp"\n'})
        self.assertEqual(found, ["a circle of includes: src/core/b.hpp -> src/core/c.hpp -> src/core/b.hpp"])


class House(unittest.TestCase):
    folder = None

    def test_the_instruction_sets_are_chosen_before_highway(self):
        for path in sources(self.folder):
            names = ["".join(names) for names in INCLUDE.findall((self.folder / path).read_text())]
            highway = next((place for place, name in enumerate(names) if name.startswith("hwy/")), None)
            if highway is not None and path.suffix == ".cpp":
                self.assertIn("cpu/simd.hpp", names[:highway], path)

    def test_includes_go_down(self):
        self.assertGreater(len(sources(self.folder)), 200)
        self.assertEqual(complaints(self.folder), [])


if __name__ == "__main__":
    House.folder = pathlib.Path(sys.argv.pop(1))
    unittest.main()
