"""Generates tables in documents and option lists in Python files from the program's own tables. ./dev docs calls it.

usage: tables.py PROGRAM           update all files
       tables.py PROGRAM --check   print one line for each file that is out of date; exit status 1 if there is one

docs/option_tables.py generates the options of a problem. This script generates all other tables. Each table follows a
marker in a Markdown file. The marker `<!-- formats of graph -->` precedes the table of graph formats, which comes from
`gradus info`. The marker of a ladder is

    <!-- ladder of life {"columns": ["file", "idea"],
      "measured": [{"title": "64²", "results": ["life-1-thread-ladder.json"], "where": {"width": 64}, "per": "generations"}]} -->

`columns` lists keys of COLUMNS below, by default variant and idea; the cells come from `gradus list`. Each entry of
`measured` is a column of times from raw results of `gradus bench` in docs/results:
  results  files; the time of a variant comes from the first file that contains the variant
  where    required values of fields of the group of measurements
  value    path of a number in a row, or several paths to add; default "seconds.median"
  scale    factor that converts the number to seconds
  per      field of the group that divides the time
  threads  number of threads of the row; default: the largest
  device   restricts the column to variants of this device: cpu or gpu
  except   variants whose times are not comparable
Each time is followed by the gain over the previous rung: the time of the nearest earlier variant in the same file, divided
by the time itself. A variant without a measurement has an empty cell. `only` lists variants; the ladder has no rows for
other variants.

The block between `<!-- summary of benchmarks -->` and `<!-- end -->` has a row for each problem of docs/problems.json, with
the ratios of figures.summary(), or the names of the other libraries if no result is current.
"""

import json
import pathlib
import re
import subprocess
import sys

import option_tables
import figures
from figures import current

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = "docs/results"
LADDER = re.compile(r"<!-- ladder of (\w+)(\s+\{.*?\})? -->\n\n((?:\|[^\n]*\n)*)", re.DOTALL)
SUMMARY = re.compile(r"(<!-- summary of benchmarks -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
BENCHMARKS = re.compile(r"(<!-- benchmarks -->\n\n).*?(<!-- end of benchmarks -->)", re.DOTALL)
FILE_RATES = re.compile(r"(<!-- file rates -->\n\n).*?(<!-- end of file rates -->)", re.DOTALL)
CHART = "docs/pictures/overview.svg"
FORMATS = re.compile(r"<!-- formats of (\w+) -->\n\n((?:\|[^\n]*\n)*)")
RESULT_OF_CONTRACT = {"same bits": "the oracle's bits", "tolerance": "within a tolerance"}


def cell(text):
    return text.replace("|", "\\|")


def file_of(root, document, problem, name):
    """Returns a link, relative to the document, to the file of a variant."""
    room = root / "src" / problem
    for path in sorted(path for folder in (room, room / "rungs") for path in folder.glob("*.c*")):
        if f"{name}_".startswith(path.stem + "_") and name in path.read_text(encoding="utf-8").split(":")[0]:
            return f"[`{name}`]({link(root, document, path.relative_to(root))})"
    raise LookupError(f"no file of {room} begins with '// {name}:'")


def link(root, document, path):
    up = len((document.parent).relative_to(root).parts)
    own = document.parent.relative_to(root)
    path = pathlib.PurePath(path)
    return str(path.relative_to(own)) if path.is_relative_to(own) else "../" * up + str(path)


# Maps the key of a column to its title and to a function that returns a cell.
COLUMNS = {
    "variant": ("variant", lambda root, document, problem, row: f"`{row['name']}`"),
    "file": ("variant", lambda root, document, problem, row: file_of(root, document, problem, row["name"])),
    "idea": ("the idea", lambda root, document, problem, row: cell(row["summary"])),
    "change": ("what it changes from the row above", lambda root, document, problem, row: cell(row["change"]) or "—"),
    "result": ("result", lambda root, document, problem, row: RESULT_OF_CONTRACT.get(row["contract"], row["contract"])),
}


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if float(f"{seconds:.3g}") >= size:
            return f"{figures.digits(seconds / size)} {unit}"
    return f"{figures.digits(seconds / 1e-9)} ns"


def number_text(value):
    """Formats a gain with three significant digits, or with two decimals if it is from 0.1 to 0.995."""
    return f"{value:.2f}" if 0.1 <= value < 0.995 else figures.digits(value)


def field(values, path):
    for name in path.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def seconds_of(row, group, column):
    paths = column.get("value", "seconds.median")
    values = [field(row, path) for path in ([paths] if isinstance(paths, str) else paths)]
    values = [value for value in values if value is not None]
    if not values:
        return None
    return sum(values) * column.get("scale", 1) / (group[column["per"]] if "per" in column else 1)


def times_in(result, column):
    """Returns the seconds of each variant in a raw result. If a variant has several rows, takes the least time of the
    rows with the most threads."""
    found = {}
    for group in result.get("groups", []):
        if any(group.get(name) != value for name, value in column.get("where", {}).items()):
            continue
        for row in group["rows"]:
            seconds = seconds_of(row, group, column)
            if seconds is None or column.get("threads", row["threads"]) != row["threads"]:
                continue
            key = (-row["threads"], seconds)
            found[row["variant"]] = min(found.get(row["variant"], key), key)
    return {variant: key[1] for variant, key in found.items()}


def measured_cells(root, problem, rows, column):
    """Returns the cell of each variant, by name. Skips results that are not current."""
    cells = {}
    for file in column["results"]:
        result = current(root, pathlib.PurePath(file).stem, problem)
        if not result:
            continue
        times = times_in(result, column)
        before = None
        for row in rows:
            if row["name"] not in times or row["name"] in column.get("except", []):
                continue
            if column.get("device", row["device"]) != row["device"]:
                continue
            seconds = times[row["name"]]
            gain = "" if before is None else f", {number_text(before / seconds)}×"
            cells.setdefault(row["name"], time_text(seconds) + gain)
            before = seconds
    return cells


def table(root, document, problem, rows, options):
    rows = [row for row in rows if row["name"] in options.get("only", [row["name"]])]
    columns = [COLUMNS[name] for name in options.get("columns", ["variant", "idea"])]
    measured = [(column, measured_cells(root, problem, rows, column)) for column in options.get("measured", [])]
    titles = [title for title, _ in columns]
    for column, _ in measured:
        raw = ", ".join(f"[raw]({link(root, document, RESULTS + '/' + file)})" for file in column["results"]
                        if current(root, pathlib.PurePath(file).stem, problem))
        titles.append(f"{column['title']} ({raw})" if raw else column["title"])
    lines = [titles, ["---"] * len(titles)]
    for row in rows:
        lines.append([text(root, document, problem, row) for _, text in columns] +
                     [cells.get(row["name"], "") for _, cells in measured])
    return "".join(("|" + "|".join(line) + "|" if line[0] == "---" else "| " + " | ".join(line) + " |") + "\n"
                   for line in lines)


def documents(root):
    patterns = ("*.md", "docs/*.md", "docs/*/**/*.md", "src/*/README.md", "python/gradus/*.py")
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def summary_table(root, document):
    """Returns a table with a row for each problem: its contents and guarantee from docs/problems.json, and the libraries
    with which it was compared."""
    lines = ["| problem | what you get | guarantee | measured against |", "|---|---|---|---|"]
    ratios = figures.summary(root)
    for row in json.loads((root / "docs/problems.json").read_text(encoding="utf-8")):
        name = f"[{row['name']}]({link(root, document, 'src/' + row['problem'] + '/README.md')})"
        measured = "; ".join(f"{machine.upper()}: {text}" for machine, text in ratios.get(row["problem"], {}).items()) or row["baselines"]
        lines.append(f"| {name} | {row['gives']} | {row['guarantee']} | {measured} |")
    return "\n".join(lines) + "\n"


def format_table(kind, formats):
    lines = [f"| {kind} | rules |", "|---|---|"]
    lines += [f"| {', '.join(f'`{ending}`' for ending in one['endings'].split())} | {one['rules']} |" for one in formats]
    return "\n".join(lines) + "\n"


def updated(root, document, text, rows):
    """Returns the text of a document or Python file with its generated parts updated from `rows`."""
    if document.suffix == ".py":
        return option_tables.in_python(text, rows["options"])

    def ladder(match):
        problem, options = match[1], match[2]
        if problem not in rows["ladders"]:
            return match[0]
        head = f"<!-- ladder of {problem}{options or ''} -->\n\n"
        return head + table(root, document, problem, rows["ladders"][problem], json.loads(options or "{}"))

    def formats(match):
        return f"<!-- formats of {match[1]} -->\n\n{format_table(match[1], rows['formats'][match[1]])}"
    text = SUMMARY.sub(lambda match: f"{match[1]}\n{summary_table(root, document)}", text)
    text = BENCHMARKS.sub(lambda match: match[1] + figures.benchmarks(root) + match[2], text)
    text = FILE_RATES.sub(lambda match: match[1] + figures.file_rates(root) + match[2], text)
    return option_tables.in_document(FORMATS.sub(formats, LADDER.sub(ladder, text)), rows)


def rows_of(program):
    """Returns the program's rows: ladders and options by problem, formats by kind of content."""
    def ask(command):
        answer = subprocess.run([program, command, "--json"], check=True, capture_output=True, text=True).stdout
        return json.loads(answer)
    problems = {problem["problem"].replace("-", "_"): problem for problem in ask("list")}
    return {"ladders": {name: problem["variants"] for name, problem in problems.items()},
            "options": {name: problem["options"] for name, problem in problems.items()},
            "formats": ask("info")["formats"]}


def without_ladder(root, rows):
    """Returns the problems whose README has no ladder."""
    return [problem for problem in rows["ladders"]
            if problem not in [match[1] for match in
                               LADDER.finditer((root / "src" / problem / "README.md").read_text(encoding="utf-8"))]]


def out_of_date(root, rows):
    """Returns the files that are out of date, each with its new text."""
    found = {}
    for document in documents(root):
        text = document.read_text(encoding="utf-8")
        new = updated(root, document, text, rows)
        if new != text:
            found[document] = new
    chart = root / CHART
    if chart.is_file() and figures.chart(root) != chart.read_text(encoding="utf-8"):
        found[chart] = figures.chart(root)
    return found


def first_difference(old, new):
    for number, (before, after) in enumerate(zip(old.splitlines(), new.splitlines()), 1):
        if before != after:
            return f"line {number} is\n  {before}\nand should be\n  {after}"
    return "the lengths differ"


def complaints(root, rows):
    """Returns one line for each problem without a ladder and each file that is out of date."""
    return ([f"src/{problem}/README.md has no ladder of {problem}" for problem in without_ladder(root, rows)] +
            [f"{document.relative_to(root)} is out of date; ./dev docs corrects it: " +
             first_difference(document.read_text(encoding="utf-8"), text)
             for document, text in out_of_date(root, rows).items()])


def main():
    rows = rows_of(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        found = complaints(ROOT, rows)
        print("\n".join(found))
        return 1 if found else 0
    for document, text in out_of_date(ROOT, rows).items():
        document.write_text(text, encoding="utf-8")
        print(f"wrote {document.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
