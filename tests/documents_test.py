"""Tests the documents: the lengths of the README and of pages, the languages of snippets, and links to files of the
repository.

usage: documents_test.py FOLDER
"""

import importlib.util
import pathlib
import posixpath
import re
import sys
import tempfile
import unittest

LINES = (120, 150)
README_WORDS = 1200
PAGE_WORDS = 1500
LANGUAGES = {"sh", "python", "cpp", "cmake", "text", "json"}


def words(text):
    return len(text.split())


def without_tables(text):
    """Returns the text without its generated tables and without its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!-- [^>]* -->\n\n(\|[^\n]*\n)+", "", text)


def faults(readme, pages):
    """Returns one line for each limit that a document exceeds. `pages`: the documents' texts by name."""
    found = []
    lines = readme.count("\n")
    if not LINES[0] <= lines <= LINES[1]:
        found.append(f"README.md has {lines} lines, and should have {LINES[0]} to {LINES[1]}")
    if words(readme) > README_WORDS:
        found.append(f"README.md has {words(readme)} words, and may have {README_WORDS}")
    for name, text in pages.items():
        if words(without_tables(text)) > PAGE_WORDS:
            found.append(f"{name} has {words(without_tables(text))} words, and may have {PAGE_WORDS}")
        for language in re.findall(r"^```(\w*)\n(?:.*?\n)?```$", text, re.MULTILINE | re.DOTALL):
            if language not in LANGUAGES:
                found.append(f"{name} has a block of '{language}'; blocks are of {', '.join(sorted(LANGUAGES))}")
    return found


# Pages and files that docs/site/hooks.py adds to the site.
MADE_BY_THE_SITE = re.compile(r"docs/reference/(cli/[\w-]+\.md|cpp/index\.html)")


def broken_links(root, name, text):
    """Returns one line for each link of a document to a file that is not in the repository."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        place = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
        if not re.match(r"[a-z]+:", link) and not (root / place).exists() and not MADE_BY_THE_SITE.fullmatch(place):
            found.append(f"{name} links to {link}, which does not exist")
    return found


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class Documents(unittest.TestCase):
    root = None

    def test_the_documents_keep_the_limits(self):
        pages = load(self.root / "docs/snippets.py").pages(self.root)
        self.assertGreater(len(pages), 40)
        self.assertEqual(faults((self.root / "README.md").read_text(encoding="utf-8"),
                                {str(page.relative_to(self.root)): page.read_text(encoding="utf-8") for page in pages}), [])

    def test_links_lead_to_files(self):
        pages = [*load(self.root / "docs/snippets.py").pages(self.root), self.root / "CONTRIBUTING.md"]
        found = [line for page in pages
                 for line in broken_links(self.root, str(page.relative_to(self.root)), page.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])
        self.assertEqual(broken_links(self.root, "docs/a.md", "[a](../README.md#a) [b](https://x.org) [c](missing.md)"),
                         ["docs/a.md links to missing.md, which does not exist"])

    def test_faults_are_found(self):
        good = "line of words\n" * 130
        self.assertEqual(faults(good, {"a.md": "```sh\nls\n```\n\n```text\na\n```\n"}), [])
        self.assertEqual(len(faults("line\n" * 110, {})), 1)
        self.assertEqual(len(faults("line\n" * 151, {})), 1)
        self.assertEqual(len(faults("many words in each of the lines here\n" * 150 + "x " * 200, {})), 1)
        self.assertEqual(len(faults(good, {"a.md": "word " * 1501, "b.md": "```perl\nx\n```\n"})), 2)
        self.assertEqual(faults(good, {"a.md": "<!-- options of a -->\n\n" + "| word |\n" * 1000}), [])


class Snippets(unittest.TestCase):
    root = None

    def test_snippets_are_found_with_their_output(self):
        module = load(self.root / "docs/snippets.py")
        text = ("```sh\na  # why\nb \\\n  c\n```\n\n```text\n0.02 s, 3 threads\n```\n\nWords.\n\n```text\nalone\n```\n\n"
                "<!-- snippet: not run: an example -->\n```sh\nd\n```\n\n```sh\n./dev demo\n```\n")
        found = module.snippets(text)
        self.assertEqual([one.commands() for one in found], [["a", "b    c"], ["d"], ["./dev demo"]])
        self.assertEqual([one.expected for one in found], ["0.02 s, 3 threads\n", None, None])
        self.assertEqual([one.is_run for one in found], [True, False, False])
        self.assertEqual(module.comparable("x in 1.5e-05 s, 12 threads\n"), module.comparable("x in 0.02 s, 1 thread\n"))
        self.assertNotEqual(module.comparable("5 points"), module.comparable("6 points"))

    def test_programs_are_extracted(self):
        module = load(self.root / "docs/snippets.py")
        with tempfile.TemporaryDirectory() as folder:
            module.extract(folder)
            programs = list(pathlib.Path(folder).glob("*.cpp"))
            self.assertGreaterEqual(len(programs), 10)
            for path in programs:
                self.assertIn("int main(", path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    Documents.root = Snippets.root = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
