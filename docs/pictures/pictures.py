"""Draws the charts listed in pictures.json as SVG files. ./dev pictures calls it.

A headless Chromium opens the HTML report of a raw result. Its charting library draws the chart on a canvas, and recorder.js
records the drawing commands. Each picture contains a checksum of its data, by which a test detects outdated pictures without
a browser.
"""

import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(FOLDER, "..", "results")


def wanted():
    with open(os.path.join(FOLDER, "pictures.json")) as file:
        return json.load(file)


def find(page, entry):
    """Returns the index on the page and the data of the first chart with the entry's title and input."""
    heading, number, found = "", -1, []
    for part in re.finditer(r'<h3>([^<]*)</h3>|<figure class="chart"><h4>([^<]*)</h4>\n<script type="application/json">(.*?)</script>', page, re.S):
        if part[1] is not None:
            heading = html.unescape(part[1])
            continue
        number += 1
        if html.unescape(part[2]) == entry["chart"] and entry["input"] in heading:
            found.append((number, part[3]))
    if not found:
        raise LookupError(f"{entry['result']} has no chart '{entry['chart']}' of the input '{entry['input']}'")
    return found[0]


def page_of(gradus, entry, path):
    subprocess.run([gradus, "report", os.path.join(RESULTS, entry["result"]), "-o", path, "--quiet"], check=True)
    with open(path) as file:
        return file.read()


def checksum(specification):
    return hashlib.sha256(specification.encode()).hexdigest()


def draw(browser, path, page, entry):
    number, specification = find(page, entry)
    # Without Path2D, the chart library draws by other commands, which recorder.js can record.
    opened = browser.open(path, width=800, scripts=["delete window.Path2D;"])
    with open(os.path.join(FOLDER, "recorder.js")) as file:
        opened.evaluate(file.read())
    answer = opened.evaluate("""(async () => {
        const figure = document.querySelectorAll('figure.chart')[%d];
        figure.scrollIntoView();
        const pause = () => new Promise((go) => setTimeout(go, 50));
        for (let turn = 0; turn < 200 && !figure.querySelector('canvas'); ++turn) await pause();
        const canvas = figure.querySelector('canvas');
        const recorded = recordOf(canvas);
        dispatchEvent(new Event('afterprint'));  // redraws all charts
        await pause();
        return { width: canvas.width, height: canvas.height, elements: recorded() };
      })()""" % number)
    size = f'width="{answer["width"]}" height="{answer["height"]}" viewBox="0 0 {answer["width"]} {answer["height"]}"'
    title = html.escape(f"{entry['chart']}: {entry['result']}{', ' + entry['input'] if entry['input'] else ''}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} data-checksum="{checksum(specification)}">\n<title>{title}</title>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{answer["elements"]}\n</svg>\n')


def main():
    sys.path.insert(0, os.path.join(FOLDER, "..", "..", "tests", "cli"))
    import browser
    with browser.Browser() as chromium, tempfile.TemporaryDirectory() as folder:
        for entry in wanted():
            path = os.path.join(folder, "page.html")
            picture = draw(chromium, path, page_of(sys.argv[1], entry, path), entry)
            with open(os.path.join(FOLDER, entry["picture"]), "w") as file:
                file.write(picture)
            print(f"docs/pictures/{entry['picture']}: {len(picture)} bytes")


if __name__ == "__main__":
    main()
