"""Extracts the prose from the project's files: comments, docstrings, messages and documents, each with its line number.
Also extracts the code without the prose.

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
# Matches these tokens of C++: comments, raw strings, strings, numbers and character literals. A backslash at the end of
# a line continues a comment, and an apostrophe separates the digits of a number. Everything else is code.
CPP_TOKEN = re.compile(r'(?P<comment>//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/)'
                       r'|(?<!\w)(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\"]*)\((?P<raw>.*?)\)(?P=delimiter)"'
                       r'|"(?P<string>(?:[^"\\\n]|\\.)*)"|(?P<number>(?<!\w)\.?\d(?:\'\w|[eEpP][+-]|[\w.])*)|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
# Matches a string, a comment, or any other character in a line of a script.
HASH_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(?<!\w)\'[^\']*\'|(?<!\S)#+(?!!)(?P<comment>.*)|.')
MARKER = re.compile(r"^\s*(///?<?!?|/\*+|\*/?|#+!?)[ \t]?", re.MULTILINE)
NOT_PROSE = re.compile(r"^\s*(namespace\b.*|clang-format (on|off)|NOLINT.*|-+|IWYU.*)$")


class Passage:
    """A comment, message or paragraph: its kind, its first line, its text without markers."""

    def __init__(self, kind, line, text):
        self.kind, self.line, self.text = kind, line, text

    def line_at(self, position):
        return self.line + self.text.count("\n", 0, position)


def without_escapes(words):
    """Blanks escapes such as \\n. Their letters would otherwise join the next word."""
    return re.sub(r"\\[abfnrtv]", "  ", words)


def of_cpp(text):
    found, last_end, last, message_end = [], -1, None, -1
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
            words = without_escapes(match["string"] or match["raw"])
            if found and found[-1].kind == "message" and message_end >= 0 and not text[message_end:match.start()].strip():
                # Joins a literal that consists of two parts.
                found[-1].text += "\n" * (line - found[-1].line_at(len(found[-1].text))) + words
            else:
                found.append(Passage("message", line, words))
            message_end = match.end()
    return found


def of_python(text):
    found = []
    at_start, before = True, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            whole_line = not token.line[:token.start[1]].strip()
            if whole_line and found and found[-1].kind == "comment" and found[-1].line_at(len(found[-1].text)) == line - 1:
                found[-1].text += "\n" + MARKER.sub("", token.string)
            else:
                found.append(Passage("comment", line, MARKER.sub("", token.string)))
        elif token.type == tokenize.STRING:
            words = re.sub(r'^\w*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", token.string)
            if "f" in re.match(r"\w*", token.string)[0].lower():
                words = re.sub(r"\{[^{}]*\}", lambda match: re.sub(r"[^\n]", "_", match[0]), words)
            words = without_escapes(words)
            if before == tokenize.STRING and found[-1].kind == "message":
                # Joins a literal that consists of two parts.
                found[-1].text += "\n" * (line - found[-1].line_at(len(found[-1].text))) + words
            else:
                found.append(Passage("comment" if at_start else "message", line, words))
        if token.type != tokenize.NL:
            before = token.type
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return found


def of_hashes(text):
    """Returns the comments of a script. Comments on consecutive lines are joined."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = next((match for match in HASH_TOKEN.finditer(line) if match["comment"] is not None), None)
        if not match:
            continue
        words = match["comment"].removeprefix(" ")
        if not line[:match.start()].strip() and found and found[-1].line_at(len(found[-1].text)) == number - 1:
            found[-1].text += "\n" + words
        else:
            found.append(Passage("comment", number, words))
    return found


def of_markdown(text):
    """Returns the paragraphs. Blanks code, the targets of links, and text between the marks of ./dev docs."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^( *)(```|~~~).*?^ *\2", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(<!-- benchmarks -->).*?(?=<!-- end of benchmarks -->)", blank, text, flags=re.DOTALL)
    text = re.sub(r"<!-- (\w+( \w+)?) of .*?-->\n\n(\|[^\n]*\n)*", blank, text, flags=re.DOTALL)
    text = re.sub(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)\1(?!`)|https?://\S+|\]\([^)\n]*\)|</?[a-zA-Z!][^>\n]*>", blank, text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]*>", " ", text, flags=re.MULTILINE)
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
    """Returns the code of C++. Directives keep their lines. Literals keep their spacing, or become what `literal`
    returns."""
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
    """Returns the text without comments, docstrings and spacing. If two versions differ only in comments, docstrings
    and spacing, this text is the same for both."""
    if path.suffix in CPP:
        return code_of_cpp(text)
    if path.suffix in {".py", ".pyi"}:
        tokens, at_start = [], True
        all_tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in (tokenize.COMMENT, tokenize.NL)]
        for token, after in zip(all_tokens, [*all_tokens[1:], None]):
            is_docstring = token.type == tokenize.STRING and at_start and after and after.type == tokenize.NEWLINE
            if not is_docstring:
                tokens.append(token.string if token.type not in (tokenize.INDENT, tokenize.DEDENT) else str(token.type))
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
        return "\n".join(tokens)
    lines = (HASH_TOKEN.sub(lambda match: match[0] if match["comment"] is None else "", line).rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


if __name__ == "__main__":
    file = pathlib.Path(sys.argv[1])
    before = subprocess.run(["git", "show", f"{sys.argv[2]}:./{file}"], capture_output=True, text=True, check=True).stdout
    sys.exit(code(file, before) != code(file, file.read_text(encoding="utf-8")))
