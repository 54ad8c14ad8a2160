"""The prose in the project's files: comments, docstrings, messages and documents, each with its line; and code without it.

usage: prose.py FILE BASE     exit status 0 if FILE differs from FILE at the git revision BASE in comments alone
"""
import io
import pathlib
import re
import subprocess
import sys
import tokenize

CPP = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
HASH = {".sh", ".cmake", ".txt", ".toml"}
# Comments (a backslash at the end of a line continues one), raw strings, strings, numbers (whose ' separates digits) and
# characters of C++; whatever else is code.
CPP_TOKEN = re.compile(r'(?P<comment>//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/)'
                       r'|(?<!\w)(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\"]*)\((?P<raw>.*?)\)(?P=delimiter)"'
                       r'|"(?P<string>(?:[^"\\\n]|\\.)*)"|(?P<number>(?<!\w)\.?\d(?:\'\w|[eEpP][+-]|[\w.])*)|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
MARKER = re.compile(r"^\s*(///?<?!?|/\*+|\*/?|#+!?)[ \t]?", re.MULTILINE)
NOT_PROSE = re.compile(r"^\s*(namespace\b.*|clang-format (on|off)|NOLINT.*|-+|IWYU.*)$")


class Passage:
    """A comment, message or paragraph: its kind, its first line, its text without markers."""

    def __init__(self, kind, line, text):
        self.kind, self.line, self.text = kind, line, text

    def line_at(self, position):
        return self.line + self.text.count("\n", 0, position)


def of_cpp(text):
    found, last_end, last = [], -1, None
    for match in CPP_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            words = MARKER.sub("", match["comment"])
            if NOT_PROSE.match(words):
                continue
            between = text[last_end:match.start()]
            whole_line = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            if last and whole_line and between.count("\n") == 1 and not between.strip():
                last.text += "\n" + words
            else:
                last = Passage("comment", line, words)
                found.append(last)
            last_end = match.end()
        elif match["string"] or match["raw"]:
            found.append(Passage("message", line, match["string"] or match["raw"]))
    return found


def of_python(text):
    found = []
    at_start = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            if found and found[-1].kind == "comment" and found[-1].line_at(len(found[-1].text)) == line - 1:
                found[-1].text += "\n" + MARKER.sub("", token.string)
            else:
                found.append(Passage("comment", line, MARKER.sub("", token.string)))
        elif token.type == tokenize.STRING:
            words = re.sub(r'^\w*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", token.string)
            found.append(Passage("comment" if at_start else "message", line, words))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return found


def of_hashes(text):
    """Comments of a script, lines that follow one another joined."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(^|\s)#(?!!)\s?(.*)$", line)
        if not match:
            continue
        if found and found[-1].line_at(len(found[-1].text)) == number - 1:
            found[-1].text += "\n" + match[2]
        else:
            found.append(Passage("comment", number, match[2]))
    return found


def of_markdown(text):
    """Paragraphs; what stands in code, in links' targets and between the marks of ./dev docs is blank."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^( *)(```|~~~).*?^ *\2", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- (\w+( \w+)?) of .*?-->\n\n(\|[^\n]*\n)*", blank, text, flags=re.DOTALL)
    text = re.sub(r"<!-- benchmarks -->.*?<!-- end of benchmarks -->", blank, text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>", blank, text)
    found = []
    for match in re.finditer(r"(?:^(?!\s*$).+\n?)+", text, re.MULTILINE):
        found.append(Passage("paragraph", text.count("\n", 0, match.start()) + 1, match[0]))
    return found


def passages(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix in CPP:
        return of_cpp(text)
    if path.suffix in {".py", ".pyi"}:
        return of_python(text)
    if path.suffix == ".md":
        return of_markdown(text)
    if path.suffix in HASH or path.name == "dev":
        return of_hashes(text)
    return []


def code_of_cpp(text, literal=lambda words: words):
    """The code of C++. Directives keep their lines, and literals their spacing, or become what `literal` returns."""
    kept = []

    def replace(match):
        if match["comment"]:
            return " "
        if match["number"]:
            return match[0]
        kept.append(literal(match[0]))
        return f"\0{len(kept) - 1}\0"
    lines, joined = [], False
    for line in re.sub(r"\\[ \t]*\n", "", CPP_TOKEN.sub(replace, text)).split("\n"):
        line, directive = " ".join(line.split()), line.lstrip().startswith("#")
        if joined and line and not directive:
            lines[-1] += " " + line
        elif line:
            lines.append(line)
        joined = not directive if line else joined
    return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], "\n".join(lines))


def code(path, text):
    """The text without comments, docstrings and spacing: equal for two versions that differ in those alone."""
    if path.suffix in CPP:
        return code_of_cpp(text)
    if path.suffix in {".py", ".pyi"}:
        tokens, at_start = [], True
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL) and not (token.type == tokenize.STRING and at_start):
                tokens.append(token.string if token.type not in (tokenize.INDENT, tokenize.DEDENT) else str(token.type))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
        return "\n".join(tokens)
    return "\n".join(line for line in (re.sub(r"(^|\s)#(?!!).*", "", line).rstrip() for line in text.split("\n")) if line)


if __name__ == "__main__":
    file = pathlib.Path(sys.argv[1])
    before = subprocess.run(["git", "show", f"{sys.argv[2]}:./{file}"], capture_output=True, text=True, check=True).stdout
    sys.exit(code(file, before) != code(file, file.read_text(encoding="utf-8")))
