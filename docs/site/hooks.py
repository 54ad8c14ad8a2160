"""Adds pages to the site whose sources are outside of docs/, and adapts links from docs/ to other files.

* The README of each problem, CONTRIBUTING.md, CHANGELOG.md and the README of data/ become pages.
* Each command of the program becomes a page of its help. GRADUS names the program; the default is build/gradus.
* The HTML of Doxygen in build/doxygen/html, if it exists, becomes reference/cpp.
* A link to another file of the repository leads to a copy of that file in the site. A link to a missing file causes a
  warning, which is an error under --strict.
"""

import html
import logging
import os
import pathlib
import posixpath
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRADUS", str(ROOT / "build" / "gradus"))
DOXYGEN = ROOT / "build" / "doxygen" / "html"
LOG = logging.getLogger("mkdocs.plugins.gradus")
LINK = re.compile(r"(\]\()([^)\s]+)((?: \"[^\"]*\")?\))")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LIST_ITEM = re.compile(r"^( *)([*+-]|\d+\.) ")

# Maps files outside of docs/ to the pages that are made from them.
PAGES = {f"src/{folder.name}/README.md": f"explanation/ladders/{folder.name.replace('_', '-')}.md"
         for folder in sorted((ROOT / "src").iterdir()) if (folder / "README.md").is_file()}
PAGES |= {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md", "data/README.md": "reference/data.md",
          "tests/attack/README.md": "explanation/attack.md", "README.md": "index.md"}
ORDER = ["kmeans", "pair-histogram", "shortest-paths", "matmul", "life", "locks", "sets"]
SOURCES = {page: source for source, page in PAGES.items() if source != "README.md"}


def commands():
    """Returns the commands of the program with their summaries, in the order of its help."""
    text = subprocess.run([PROGRAM, "--help"], check=True, capture_output=True, text=True).stdout
    rows = text.split("\nCommands\n")[1].split("\n\n")[0]
    return dict(line.split(maxsplit=1) for line in rows.splitlines())


def command_page(name, summary):
    text = subprocess.run([PROGRAM, name, "--help"], check=True, capture_output=True, text=True).stdout
    return f"# gradus {name}\n\n{summary[0].upper() + summary[1:]}.\n\n```text\n{text}```\n"


def command_index(known):
    rows = "".join(f"| [`gradus {name}`]({name}.md) | {summary} |\n" for name, summary in known.items())
    return ("# Commands\n\nEach page shows what `gradus COMMAND --help` prints.\n\n| command | what it does |\n|---|---|\n" + rows)


def on_config(config):
    known = commands()
    config.gradus_commands = known
    tabs = {next(iter(one)): one for one in config.nav}

    def section(tab, title):
        return next(one[title] for one in tabs[tab][tab] if isinstance(one, dict) and title in one)
    section("Reference", "Command line").extend(f"reference/cli/{name}.md" for name in known)
    section("Explanation", "Ladders").extend(f"explanation/ladders/{name}.md" for name in ORDER)
    section("Explanation", "Decisions").extend(
        f"decisions/{path.name}" for path in sorted((ROOT / "docs/decisions").glob("*.md")) if path.name != "README.md")
    tabs["Explanation"]["Explanation"].append("explanation/attack.md")
    tabs["Reference"]["Reference"].append("reference/data.md")
    if (ROOT / "docs/benchmarks.md").is_file():
        config.nav.append({"Benchmarks": "benchmarks.md"})
    config.nav.append({"Project": ["contributing.md", "changes.md"]})
    return config


def on_files(files, config):
    for page, source in SOURCES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, summary in config.gradus_commands.items():
        files.append(File.generated(config, f"reference/cli/{name}.md", content=command_page(name, summary)))
    files.append(File.generated(config, "reference/cli/index.md", content=command_index(config.gradus_commands)))
    if DOXYGEN.is_dir():
        for path in sorted(DOXYGEN.rglob("*")):
            if path.is_file():
                name = f"reference/cpp/{path.relative_to(DOXYGEN).as_posix()}"
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def doxygen_page(target):
    """Returns the page of a public header in the C++ reference, or None."""
    name = pathlib.PurePosixPath(target).name.replace("_", "__").replace(".", "_8") + ".html"
    return f"reference/cpp/{name}" if (DOXYGEN / name).is_file() else None


def folder_listing(path):
    names = sorted(one.name + "/" * one.is_dir() for one in path.iterdir() if not one.name.startswith((".", "__")))
    rows = "".join(f"<li>{html.escape(name)}</li>\n" for name in names)
    title = html.escape(path.relative_to(ROOT).as_posix())
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{rows}</ul></html>\n'


def copied(target, files, config):
    """Adds a copy of a file, or a listing of a folder, to the site. Returns its place in the site."""
    path = ROOT / target
    if path.is_dir():
        place, facts = f"source/{target}/index.html", {"content": folder_listing(path)}
    else:
        ending = "" if path.suffix in (".json", ".txt", ".svg", ".png") else ".txt"
        place, facts = f"source/{target}{ending}", {"abs_src_path": str(path)}
    if files.get_file_from_path(place) is None:
        files.append(File.generated(config, place, **facts))
    return place


def in_site(target, files, config):
    """Returns the place in the site of a file of the repository. Returns None if the file does not exist."""
    if (ROOT / target).is_dir() and (ROOT / target / "README.md").is_file():
        target += "/README.md"
    if target in PAGES:
        return PAGES[target]
    if target.startswith("docs/") and not target.startswith("docs/history/"):
        place = target.removeprefix("docs/")
        known = files.get_file_from_path(place)
        if place.endswith(".md") or (known is not None and known.inclusion.is_included()):
            return place
    if target.startswith("include/gradus/") and target.endswith(".hpp") and (page := doxygen_page(target)):
        return page
    return copied(target, files, config) if (ROOT / target).exists() else None


def with_links(text, source, page, files, config):
    def link(match):
        target, _, anchor = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if source.startswith("docs/") and path.startswith("reference/cpp/"):
            return match[0]
        if source.startswith("docs/") and path.startswith("docs/") and not (ROOT / path).exists():
            # The target is a page that this script makes; for any other missing target, MkDocs reports an error.
            return match[0]
        place = in_site(path, files, config)
        if place is None and source.startswith("docs/decisions/") and path.startswith("docs/results/"):
            return "]\0"  # removes the link; an old decision may name a result that was replaced
        if place is None:
            LOG.warning("%s links to '%s', which does not exist", source, match[2])
            return match[0]
        relative = posixpath.relpath(place, posixpath.dirname(page) or ".")
        anchor = anchor if place.endswith(".md") else ""
        return f"{match[1]}{relative}{'#' + anchor if anchor else ''}{match[3]}"
    text = outside_fences(text, lambda prose: LINK.sub(link, prose))
    return re.sub(r"\[([^\[\]]*)\]\0", r"\1", text).replace("]\0", "]")


def outside_fences(text, change):
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end:fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def lists_apart(text):
    """Adds a blank line before each list, which Python-Markdown needs and GitHub does not."""
    lines, before = [], ""
    for line in text.split("\n"):
        item = LIST_ITEM.match(line)
        if item and before.strip() and not LIST_ITEM.match(before) and not before.startswith(" ") and not item[1]:
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


def on_page_markdown(text, page, config, files):
    source = SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    if (ROOT / source).is_file():
        text = with_links(text, source, page.file.src_uri, files, config)
    return outside_fences(text, lists_apart)


def on_page_content(html_text, page, config, files):
    """Lets the keyboard scroll blocks of code."""
    return html_text.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')
