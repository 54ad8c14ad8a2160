"""Tests the documentation site as a reader without a network sees it.

usage: site_test.py SITE

Each page of build/site is read as HTML:

* A page loads nothing from another machine.
* Each link leads to a file of the site. If it names a section, the page has this section.
* Each picture has a text, and each page has a title and a language.
* The colours of the style sheet have a contrast of at least 4.5 to 1 in both schemes.

In pages that Doxygen makes, only links to other machines are checked.
"""

import html.parser
import pathlib
import posixpath
import re
import sys
import unittest
import urllib.parse

LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src", "object": "data"}
# For each of Material's schemes: the background colours of pages and of code.
BACKGROUNDS = {"default": ["#ffffff", "#f5f5f5"], "slate": ["#1e2129", "#272a35"]}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.without_text, self.language, self.title = [], [], set(), [], "", ""
        self.in_title = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.update(value for name, value in attributes if name in ("id", "name") and value)
        if tag == "html":
            self.language = found.get("lang", "")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in LOADS and found.get(LOADS[tag]) and found.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(found[LOADS[tag]])
        if tag == "img" and not (found.get("alt") or "").strip():
            self.without_text.append(found.get("src", ""))
        self.in_title = tag == "title"

    def handle_data(self, data):
        if self.in_title:
            self.title += data

    def handle_endtag(self, tag):
        self.in_title = False


def is_elsewhere(url):
    return bool(re.match(r"(https?:)?//", url))


def faults_of(name, page, pages, files):
    """Returns one line for each fault of a page. `pages`: all pages by name. `files`: the names of all files."""
    found = [f"{name} loads {url}" for url in page.loaded if is_elsewhere(url)]
    found += [f"{name} shows {picture} without a text" for picture in page.without_text]
    if not page.language or not page.title.strip():
        found.append(f"{name} lacks a language or a title")
    for link in [*page.links, *(url for url in page.loaded if not url.startswith("data:"))]:
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target) or is_elsewhere(target):
            continue
        place = posixpath.normpath(posixpath.join(posixpath.dirname(name), urllib.parse.unquote(target))) if target else name
        if place not in files:
            found.append(f"{name} links to {link}, which is not in the site")
        elif anchor and place in pages and urllib.parse.unquote(anchor) not in pages[place].anchors and not anchor.startswith("__"):
            found.append(f"{name} links to {link}, and there is no such section")
    return found


def luminance(colour):
    channels = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def weak_colours(style):
    """Returns the text colours of the style sheet that are hard to read in their scheme."""
    found = []
    for scheme, rules in re.findall(r'\[data-md-color-scheme="(\w+)"\] \{(.*?)\}', style, re.DOTALL):
        for name, colour in re.findall(r"(--md-(?:typeset-a|accent-fg|code-hl-\w+)-color|--md-accent-fg-color): (#[0-9a-f]{6})", rules):
            found += [f"{scheme}: {name} {colour} on {background}: {contrast(colour, background):.2f}"
                      for background in BACKGROUNDS[scheme] if contrast(colour, background) < 4.5]
    return found


class Site(unittest.TestCase):
    root = None

    @classmethod
    def setUpClass(cls):
        cls.files = {path.relative_to(cls.root).as_posix() for path in cls.root.rglob("*") if path.is_file()}
        cls.pages = {name: Page((cls.root / name).read_text(encoding="utf-8")) for name in cls.files
                     if name.endswith(".html") and not name.startswith("reference/cpp/")}

    def test_the_pages_have_no_faults(self):
        self.assertGreater(len(self.pages), 100)
        self.assertEqual([fault for name in sorted(self.pages) if name != "404.html"
                          for fault in faults_of(name, self.pages[name], self.pages, self.files)], [])

    def test_the_reference_of_cpp_is_there_and_loads_nothing_from_elsewhere(self):
        names = [name for name in self.files if name.startswith("reference/cpp/") and name.endswith(".html")]
        self.assertIn("reference/cpp/kmeans_8hpp.html", names)
        for name in names:
            loaded = Page((self.root / name).read_text(encoding="utf-8", errors="replace")).loaded
            self.assertEqual([url for url in loaded if is_elsewhere(url)], [], name)

    def test_the_search_works_without_a_server(self):
        self.assertIn("search/search_index.js", self.files)
        self.assertIn("site/iframe-worker.js", self.files)

    def test_style_sheets_load_nothing_from_elsewhere(self):
        for name in self.files:
            if name.endswith(".css"):
                text = (self.root / name).read_text(encoding="utf-8")
                self.assertEqual([url for url in re.findall(r"url\(\s*[\"']?([^)\"']*)", text) if is_elsewhere(url)], [], name)

    def test_colours_are_readable(self):
        self.assertEqual(weak_colours((self.root / "site/extra.css").read_text(encoding="utf-8")), [])


class Faults(unittest.TestCase):
    def faults(self, body, head='<html lang="en"><title>A page</title>'):
        pages = {"a/b.html": Page(head + body), "c.html": Page('<html lang="en"><title>C</title><h1 id="here">C</h1>')}
        return faults_of("a/b.html", pages["a/b.html"], pages, {*pages, "d.png"})

    def test_each_fault_is_found(self):
        self.assertEqual(self.faults('<a href="../c.html#here">c</a><img src="../d.png" alt="d"><a href="https://x.org">x</a>'), [])
        for body in ('<script src="https://x.org/x.js"></script>', '<img src="../d.png">', '<a href="e.html">e</a>', '<a href="../c.html#there">c</a>',
                     '<a href="#nowhere">n</a>', '<link rel="stylesheet" href="//x.org/x.css">'):
            self.assertEqual(len(self.faults(body)), 1, body)
        self.assertEqual(len(self.faults("", "<html><title>A</title>")), 1)

    def test_contrast(self):
        self.assertAlmostEqual(contrast("#000000", "#ffffff"), 21)
        self.assertEqual(weak_colours('[data-md-color-scheme="default"] { --md-typeset-a-color: #0b5c8a; }'), [])
        self.assertEqual(len(weak_colours('[data-md-color-scheme="default"] { --md-typeset-a-color: #aaaaaa; }')), 2)


if __name__ == "__main__":
    Site.root = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
