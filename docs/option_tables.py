"""Generates the options of a problem in documents and Python files from its option table; see tables.py.

In a document, a table follows one of these markers:

    <!-- options of kmeans, but clusters init -->    in the spelling of the program
    <!-- arguments of kmeans -->                     in the spelling of Python
    <!-- variant options of kmeans -->               options that only some variants have

In Python, lines are generated between two markers, which begin with `#` in code and with `..` in a docstring:

    # <options of kmeans as arguments, but clusters init>
    # </options>

`as` selects one of FORMS. `for CALL` selects the options whose row names that call.
"""

import re
import textwrap

BUT = r"(?:, but (?P<but>[\w ]+?))?"
TABLE = re.compile(rf"<!-- (?P<form>options|arguments|variant options) of (?P<problem>\w+){BUT} -->\n\n(?:\|[^\n]*\n)*")
LINES = re.compile(rf"^(?P<indent> *)(?P<sign>#|\.\.) <options of (?P<problem>\w+)(?: for (?P<call>\w+))? as (?P<form>\w+){BUT}>\n"
                   r"(?:.*\n)*?(?P=indent)(?P=sign) </options>\n", re.MULTILINE)

TYPES = {"flag": "bool", "integer": "int", "count": "int", "real": "float", "choice": "str", "text": "str"}
PLACEHOLDERS = {"integer": "N", "count": "N", "real": "X", "text": "NAME"}
COLUMNS = 120


def quoted(text):
    return f'"{text}"'


def default_in_python(row):
    return quoted(row["default"]) if isinstance(row["default"], str) else repr(row["default"])


def values_in_python(row):
    choices = [quoted(choice) for choice in row["choices"]]
    return " or ".join((", ".join(choices[:-1]), choices[-1])) if choices else TYPES[row["kind"]]


def docstring_lines(row, indent):
    text = f"{row['name']} : {values_in_python(row)}; {row['help']}"
    return textwrap.wrap(text, COLUMNS - len(indent), subsequent_indent="    ", break_on_hyphens=False, break_long_words=False)


# Maps each form to a function that returns lines of Python for the chosen rows.
FORMS = {
    "arguments": lambda rows, indent: [f"{row['name']}: {TYPES[row['kind']]} = {default_in_python(row)}," for row in rows],
    "names": lambda rows, indent: [f"{quoted(row['name'])}," for row in rows],
    "scikit_learn": lambda rows, indent: [f"{quoted(row['name'])}: {quoted(row['scikit_learn'])}," for row in rows
                                          if row["scikit_learn"]],
    "text": lambda rows, indent: [line for row in rows for line in docstring_lines(row, indent)],
}


def chosen(rows, match, call=None):
    but = (match["but"] or "").split()
    unknown = set(but) - {row["name"] for row in rows}
    if unknown:
        raise LookupError(f"the table of {match['problem']} has no {', '.join(sorted(unknown))}")
    return [row for row in rows if row["name"] not in but and (call is None or call in row["calls"].split())]


def in_python(text, options):
    """Returns the text of a Python file with the lines between its markers updated."""
    def lines(match):
        rows = chosen(options[match["problem"]], match, match["call"])
        first, last = match[0].splitlines()[0], match[0].splitlines()[-1]
        written = FORMS[match["form"]](rows, match["indent"])
        return "\n".join([first, *(match["indent"] + line for line in written), last]) + "\n"
    return LINES.sub(lines, text)


def flag_of(row):
    name = "--" + row["name"].replace("_", "-")
    if row["kind"] == "flag":
        return name
    return f"{name} {'|'.join(row['choices']) or row['placeholder'] or PLACEHOLDERS[row['kind']]}"


def option_cells(row):
    default = {"flag": "", "real": "{:g}"}.get(row["kind"], "{}").format(row["default"])
    return [f"`{flag_of(row)}`", row["help"], default]


def argument_cells(row):
    return [f"`{row['name']}`", values_in_python(row), f"`{default_in_python(row)}`", row["help"]]


def variant_option_cells(row):
    flag, meaning, default = option_cells(row)
    return [flag, ", ".join(f"`{name}`" for name in row["variants"]), meaning, default]


def variant_options(variants):
    """Returns the options that only some variants have, each with the names of these variants."""
    rows = {}
    for variant in variants:
        for row in variant.get("options", []):
            rows.setdefault(row["name"], {**row, "variants": []})["variants"].append(variant["name"])
    return list(rows.values())


TABLES = {"options": (["option", "meaning", "default"], option_cells),
          "arguments": (["argument", "values", "default", "meaning"], argument_cells),
          "variant options": (["option", "variant", "meaning", "default"], variant_option_cells)}


def in_document(text, rows):
    """Returns the text of a document with its option tables updated."""
    def table(match):
        titles, cells = TABLES[match["form"]]
        problem = match["problem"]
        options = variant_options(rows["ladders"][problem]) if match["form"] == "variant options" else rows["options"][problem]
        lines = [titles, *(cells(row) for row in chosen(options, match))]
        shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        shown.insert(1, "|" + "---|" * len(titles))
        return match[0].split("\n")[0] + "\n\n" + "\n".join(shown) + "\n"
    return TABLE.sub(table, text)
