"""Prepares docstrings for the site: options that docs/option_tables.py writes between markers become a list."""

import re
import textwrap

import griffe

OPTIONS = re.compile(r"^( *)\.\. <options of [^\n]*>\n(.*?)^\1\.\. </options>\n?", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^(\w+) : (.*)$")


def as_list(match):
    rows = []
    for line in textwrap.dedent(match[2]).splitlines():
        option = OPTION.match(line)
        if option:
            rows.append(f"* `{option[1]}`: {option[2]}")
        elif rows:
            rows[-1] += " " + line.strip()
    return "\n".join(["", *(match[1] + row for row in rows), "", ""])


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = OPTIONS.sub(as_list, obj.docstring.value + "\n")
