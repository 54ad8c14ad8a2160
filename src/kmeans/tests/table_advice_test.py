"""Tests tables of the kinds that users have. A user who follows every message literally must get the correct points in
the end."""

import csv
import fractions
import io
import json
import os
import random
import re

from advice import Input, follow
from kit import Case

WORDS = ["length", "width", "my city", 'say "hi"', "a,b", "it's", "größe", "x", "y", "1-2", "n/d", "semi;colon", "2", "3", "-"]
PEOPLE = ["Ada", "Bob", "Eve", "Kim", "Lou", "Max", "Noa", "Pia", "Ron", "Sue"]
MISSING = ["", "NA", "nan", "N/A"]


class Column:
    def __init__(self, role, values, name=None):
        self.role = role  # "coordinate", or one of "text", "index" and "empty" for columns that are not coordinates
        self.values = values  # for a coordinate, fractions, or None where a value is missing; otherwise texts
        self.name = name


class TableInput(Input):
    """A table of random columns, and the notation in which it is written."""

    def __init__(self, seed):
        self.random = chance = random.Random(seed)
        rows = chance.randint(4, 9)
        count = chance.randint(2, 4)
        self.columns = [Column("coordinate", [fractions.Fraction(chance.randint(-8000, 8000), 8) for _ in range(rows)])
                        for _ in range(count)]
        self.lead(rows)
        if chance.random() < 0.25:
            kinds = chance.choice([["red"], ["red", "blue"], PEOPLE])
            self.columns.append(Column("text", [kinds[row % len(kinds)] for row in range(rows)]))
        if chance.random() < 0.15:
            self.columns.append(Column("empty", [""] * rows))
        self.separator = chance.choice(",,,;\t|")
        self.decimal = "," if self.separator in ";\t" and chance.random() < 0.4 else "."
        self.ending = ".tsv" if self.separator == "\t" and chance.random() < 0.5 else chance.choice([".csv", ".txt"])
        self.choose_header()
        mistakable = self.columns[0].role == "index" and self.columns[0].name != ""  # if rows are left out, the index looks like a coordinate
        if chance.random() < 0.3 and not mistakable:
            for _ in range(chance.randint(1, 3)):
                self.coordinates()[chance.randrange(count)].values[chance.randrange(rows)] = None
        self.units = self.header and chance.random() < 0.06
        self.line_end = chance.choice(["\n", "\n", "\r\n"])
        self.mark = chance.choice(["", "", "\ufeff"])
        hashes = any(isinstance(value, str) and value.startswith("#") for value in self.columns[0].values)
        self.comments = chance.random() < 0.3 and not hashes
        self.quoted = chance.random() < 0.2
        self.directive = self.separator in ";|" and chance.random() < 0.2

    def lead(self, rows):
        """Adds a column before the coordinates."""
        kind = self.random.choice(["none", "none", "index", "ids", "people", "hashes", "rising"])
        if kind == "index":
            first = self.random.choice([0, 1])
            values = [str(first + row) for row in range(rows)]
        elif kind == "ids":
            values = [f"s{row}" for row in range(rows)]
        elif kind == "people":
            values = PEOPLE[:rows]
        elif kind == "hashes":
            values = [f"#{10 + row}" if row % 2 else f"p{row}" for row in range(rows)]
        elif kind == "rising" and rows >= 5:
            values = [str(1000 + 7 * row) for row in range(rows)]
        else:
            return
        self.columns.insert(0, Column("index" if kind in ("index", "rising") else "text", values))

    def choose_header(self):
        chance, coordinates = self.random, self.coordinates()
        led = self.columns[0].role != "coordinate"
        named = [column for column in self.columns if column.role == "text"] or led
        kind = chance.choice(["words", "words", "none", "numbers", "years", "counts"])
        if kind == "none" and led and self.columns[0].role == "index":
            kind = "words"  # an index could not be distinguished from this coordinate
        self.header = kind != "none"
        if not self.header:
            return
        if kind == "words" or not (named and led):
            names = chance.sample(WORDS, len(self.columns))
            if chance.random() < 0.1 and len(names) > 2:
                names[-1] = names[-2]
            if not any(name.isalpha() for name in names):
                names[0] = "first"
        else:
            first = chance.choice([0, 1])
            numbers = {"numbers": [f"{400 + 2.7 * place + place * place:.1f}" for place in range(len(self.columns))],
                       "years": [str(1990 + 5 * place) for place in range(len(self.columns))],
                       "counts": [str(first + place) for place in range(len(self.columns))]}[kind]
            names = [numbers[max(place - 1, 0)] for place in range(len(self.columns))]
            names[0] = "" if self.columns[0].role == "index" else "name"
        for column, name in zip(self.columns, names):
            column.name = name
        if self.columns[0].role == "index" and (len(self.columns[0].values) < 5 or chance.random() < 0.5):
            self.columns[0].name = ""  # with a name and few rows, the first line is ambiguous

    def coordinates(self):
        return [column for column in self.columns if column.role == "coordinate"]

    def shown(self, column, row):
        value = column.values[row]
        if value is None:
            return MISSING[row % len(MISSING)]
        if column.role != "coordinate":
            return value
        return f"{float(value):.3f}".replace(".", self.decimal)

    def text(self):
        quoting = csv.QUOTE_ALL if self.quoted else csv.QUOTE_MINIMAL
        rows = len(self.columns[0].values)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.separator, lineterminator=self.line_end, quoting=quoting)
        if self.directive:
            out.write(f"sep={self.separator}{self.line_end}")
        if self.comments:
            out.write("# made by hand" + self.line_end)
        if self.header:
            writer.writerow([column.name for column in self.columns])
        if self.units:
            writer.writerow(["cm" for _ in self.columns])
        for row in range(rows):
            if self.comments and row == 2:
                out.write("# more follow" + self.line_end)
            writer.writerow([self.shown(column, row) for column in self.columns])
        return self.mark + out.getvalue()

    # ---- Advice that a user who knows the table accepts ----

    def lacks(self, column):
        return column.role == "coordinate" and None in column.values

    def named(self, items):
        """Returns the columns that a list selects by the documented rule."""
        found = []
        for item in re.findall(r'"(?:[^"]|"")*"|[^,]+', items):
            name = item[1:-1].replace('""', '"') if item.startswith('"') else None
            first, dash, last = item.partition("-")
            if name is None and first.isdigit() and (last.isdigit() or not last):
                found += self.columns[int(first) - 1 : int(last or len(self.columns)) if dash else int(first)]
            else:
                found += [column for column in self.columns if self.header and column.name == (item if name is None else name)]
        return found

    def fits(self, advice, options):
        if advice.option == "--header":
            return advice.value == ("yes" if self.header else "no")
        if advice.option == "--comment":
            return advice.value == "none"  # a line with the same number of fields as the other lines is a row, not a comment
        if advice.option == "--decimal":
            return advice.value == ("comma" if self.decimal == "," else "point")
        if advice.option == "--missing":
            return any(map(self.lacks, self.columns))
        columns = self.named(advice.value) if advice.option in ("--drop-columns", "--id-column") else None
        if not columns:
            return False
        if advice.option == "--id-column":
            return len(columns) == 1 and columns[0].role in ("text", "index")
        out = columns + self.named(options.get("--drop-columns", ""))
        return (all(column.role != "coordinate" or self.lacks(column) for column in columns)
                and any(column not in out for column in self.coordinates()))

    # ---- Results ----

    def check(self, case, end):
        told = (self.text(), end.steps)
        if end.status != 0:
            case.assertEqual(end.status, 3, told)
            case.assertTrue(self.units, told)
            case.assertIn("if this line holds units", end.stderr, told)
            return
        answer = json.loads(end.stdout)
        out = self.named(end.options["--drop-columns"]) if "--drop-columns" in end.options else []
        used = [column for column in self.coordinates() if column not in out]
        rows = [row for row in zip(*(column.values for column in used)) if None not in row]
        inertia = sum(sum((value - sum(values) / len(rows)) ** 2 for value in values) for values in zip(*rows))
        case.assertEqual((answer["n"], answer["d"]), (len(rows), len(used)), told)
        case.assertLessEqual(abs(answer["inertia"] - inertia), 1e-9 * inertia, told)
        if self.header:
            case.assertEqual(answer["columns"], [column.name for column in used], told)


class TableAdvice(Case):
    def test_following_it_leads_to_the_right_points(self):
        for seed in range(int(os.environ.get("GRADUS_ADVICE_TABLES", 110))):
            with self.subTest(seed=seed):
                table = TableInput(seed)
                path = self.path(f"table{table.ending}")
                with open(path, "w", newline="") as file:
                    file.write(table.text())
                follow(self, table, "kmeans", path, "-k", 1, "--json", seed=seed, rounds=6)
