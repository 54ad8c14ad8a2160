"""Tests pages of results in a browser: what the pages draw and load, and how they treat text that looks like markup."""

import json
import os

import browser
from kit import DATA, Case, content, read_npy, write_npy

HOSTILE = "</script><img src=x onerror=alert(1)>"


class PageCase(Case):
    """Opens pages of results in a browser."""

    @classmethod
    def setUpClass(cls):
        if browser.PROGRAM is None:
            raise RuntimeError("there is no chromium, Debian's package of that name; ./dev test --full installs it")
        cls.browser = browser.Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def measured(self):
        path = self.path("result.json")
        self.succeed("bench", "kmeans", "--shape", "500x2,900x3", "-k", 4, "--variants", "sequential,openmp_shared,openmp_reduce",
                     "--threads", "1,2", "--repeats", 3, "--json", path, "--quiet")
        return path

    def page(self, *results):
        self.succeed("report", *results, "-o", self.path("page.html"), "--quiet")
        return self.path("page.html")

    def open(self, path, **options):
        page = self.browser.open(path, **options)
        self.draw(page)
        return page

    def draw(self, page):
        """Scrolls to all charts, because charts are drawn only shortly before they become visible."""
        page.evaluate("""(async () => {
            for (const figure of document.querySelectorAll('figure.chart')) {
              figure.scrollIntoView();
              for (let turn = 0; turn < 200 && !figure.querySelector('canvas'); ++turn) await new Promise((go) => setTimeout(go, 10));
            }
            scrollTo(0, 0);
          })()""")

    def check_quiet(self, page, path):
        self.assertEqual(page.messages, [])
        self.assertEqual([address for address in page.requests if not address.startswith("data:")], ["file://" + path])

    def charts(self, page):
        """Returns the data of each chart and the marks that the chart library drew for them."""
        return page.evaluate("""[...document.querySelectorAll('figure.chart')].map((figure) => {
            const spec = JSON.parse(figure.querySelector('script').textContent);
            const canvas = figure.querySelector('canvas');
            const chart = Chart.getChart(canvas);
            const area = chart.chartArea;
            const marks = chart.data.datasets.map((dataset, index) => ({
              name: dataset.label, whisker: Boolean(dataset.whisker),
              inside: chart.getDatasetMeta(index).data.filter((mark, at) => dataset.data[at] !== null &&
                mark.x >= area.left - 1 && mark.x <= area.right + 1 && mark.y >= area.top - 1 && mark.y <= area.bottom + 1).length,
            }));
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            const pixels = context.getImageData(0, 0, copy.width, copy.height).data;
            const colours = new Set();
            for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] === 255) colours.add(pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2]);
            const waiting = figure.querySelector('details noscript');
            return { title: figure.querySelector('h4').textContent, spec, marks, colours: colours.size,
                     rows: waiting ? waiting.textContent.split('<tr>').length - 2 : figure.querySelectorAll('tbody tr').length };
          })""")

    def check_marks(self, charts):
        for chart in charts:
            with self.subTest(chart=chart["title"]):
                series = chart["spec"]["series"]
                self.assertEqual(chart["rows"], len(chart["spec"]["labels"]) or sum(len(one["values"]) for one in series))
                self.assertGreater(chart["colours"], 1)
                for one, mark in zip(series, [mark for mark in chart["marks"] if not mark["whisker"]], strict=True):
                    self.assertEqual((mark["name"], mark["inside"]),
                                     (one["name"], sum(value is not None for value in one["values"])))
                whiskers = [mark["inside"] for mark in chart["marks"] if mark["whisker"]]
                self.assertEqual(whiskers, [sum(value is not None for value in one["low"]) for one in series if "low" in one])


class Drawn(PageCase):
    def test_measurement(self):
        result = self.measured()
        path = self.page(result)
        page = self.open(path)
        self.check_quiet(page, path)
        charts = self.charts(page)
        self.check_marks(charts)
        answer = json.loads(content(result))
        titles = [chart["title"] for chart in charts]
        for group in answer["groups"]:
            medians = [row["seconds"]["median"] for row in group["rows"] if row["variant"] == "openmp_reduce"]
            self.assertEqual(len(medians), 2)
            matching = [chart for chart in charts if chart["title"] == "time by threads" and any(
                all(abs(value - 1e3 * median) <= 1e-9 * value for value, median in zip(one["values"], medians))
                for one in chart["spec"]["series"] if one["name"] == "openmp_reduce")]
            self.assertEqual(len(matching), 1)
            self.assertEqual(matching[0]["spec"]["labels"], ["1", "2"])
        for title in ("least time of each variant", "speed-up by threads", "where the time goes", "share of each ceiling"):
            self.assertEqual(titles.count(title), 2, titles)

    def test_hover_and_series(self):
        page = self.open(self.page(self.measured()))
        place = page.evaluate("""(() => {
            const figure = [...document.querySelectorAll('figure.chart')].find((one) => one.querySelector('h4').textContent === 'time by threads');
            figure.scrollIntoView({ block: 'center' });
            const canvas = figure.querySelector('canvas');
            canvas.id = 'tested';
            const chart = Chart.getChart(canvas);
            const box = canvas.getBoundingClientRect();
            // Picks the mark that is farthest from the marks of other series.
            const all = chart.data.datasets.flatMap((dataset, index) => chart.getDatasetMeta(index).data.map((mark, at) =>
              ({ dataset, at, x: mark.x, y: mark.y }))).filter(({ dataset, at }) => dataset.data[at] !== null);
            const alone = ({ dataset, x, y }) => Math.min(...all.filter((other) => other.dataset.series !== dataset.series)
              .map((other) => Math.hypot(other.x - x, other.y - y)));
            const mark = all.filter(({ dataset }) => !dataset.whisker).reduce((best, one) => (alone(one) > alone(best) ? one : best));
            const legend = chart.legend.legendHitBoxes[0];
            return { value: mark.dataset.data[mark.at], name: mark.dataset.label, x: box.x + mark.x, y: box.y + mark.y,
                     legend: [box.x + legend.left + legend.width / 2, box.y + legend.top + legend.height / 2] };
          })()""")
        page.move_mouse(place["x"], place["y"])
        shown = page.evaluate("""new Promise((go) => setTimeout(() => go(
            Chart.getChart(document.getElementById('tested')).tooltip.body.map((part) => part.lines.join()).join(';')), 300))""")
        self.assertIn(f"{place['name']}: {float('%.6g' % place['value'])} (", shown)
        hidden = "Chart.getChart(document.getElementById('tested')).data.datasets.map((_, index) => " \
                 "Chart.getChart(document.getElementById('tested')).isDatasetVisible(index))"
        self.assertTrue(all(page.evaluate(hidden)))
        page.click(*place["legend"])
        after = page.evaluate(f"new Promise((go) => setTimeout(() => go({hidden}), 300))")
        self.assertEqual(after, [False, False] + [True] * (len(after) - 2))  # the first two marks are the line and its spread
        table = "document.getElementById('tested').closest('figure').querySelectorAll('tbody tr').length"
        self.assertEqual(page.evaluate(table), 0)
        page.evaluate("document.getElementById('tested').closest('figure').querySelector('summary').click()")
        self.assertEqual(page.evaluate(f"new Promise((go) => setTimeout(() => go({table}), 300))"), 2)

    def test_dark_narrow_and_logarithmic(self):
        path = self.page(self.measured())
        for dark in (False, True):
            page = self.open(path, width=400, dark=dark)
            self.check_quiet(page, path)
            self.check_marks(self.charts(page))
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 400)
            background = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            self.assertEqual(max(background) < 64, dark, background)
            buttons = page.evaluate("[...document.querySelectorAll('.tools button')].map((one) => (one.click(), one.textContent))")
            self.assertGreater(len(buttons), 3)
            self.check_marks(self.charts(page))
            self.check_quiet(page, path)

    def test_scaling(self):
        result = os.path.join(os.path.dirname(DATA), "docs", "decisions", "measurements", "kmeans-scaling-16-cores.json")
        path = self.page(result)
        curves = json.loads(content(result))["scaling"]["curves"]
        for options in ({}, {"width": 400, "dark": True}):
            page = self.open(path, **options)
            self.check_quiet(page, path)
            charts = self.charts(page)
            self.check_marks(charts)
            self.assertEqual(len([chart for chart in charts if chart["title"].startswith("time by ranks: ")]), len(curves))

    def test_summaries(self):
        """Checks a page that shows jobs of several problems."""
        points = self.points()
        self.succeed("kmeans", points, "-k", "2..5", "-o", self.path("clusters"), "--quiet")
        self.succeed("pair-histogram", points, "--bin-width", "10", "--rdf", "--box", "1000,1000,1000", "-o", self.path("pairs.json"), "--quiet")
        path = self.page(self.path("clusters"), self.path("pairs.json"))
        page = self.open(path)
        self.check_quiet(page, path)
        charts = self.charts(page)
        self.check_marks(charts)
        answer = json.loads(content(self.path("pairs.json")))
        counts = next(chart for chart in charts if chart["title"] == "counts" and len(chart["spec"]["labels"]) > 10)
        self.assertEqual(counts["spec"]["series"][0]["values"], answer["counts"])
        summary = json.loads(content(os.path.join(self.path("clusters"), "summary.json")))
        inertia = next(chart for chart in charts if chart["title"] == "inertia by iteration")
        self.assertEqual(inertia["spec"]["series"][0]["values"], [step["inertia"] for step in summary["history"]])

    def test_clusters(self):
        """All variance of points along a line is in the first principal component."""
        along = [(index * 37) % 101 for index in range(400)]
        points = write_npy(self.path("points.npy"), "<f8", (400, 3), [factor * value for value in along for factor in (2, -1, 2)])
        self.succeed("kmeans", points, "-k", 4, "-o", self.path("clusters"), "--report", self.path("page.html"), "--quiet")
        page = self.open(self.path("page.html"))
        self.check_quiet(page, self.path("page.html"))
        charts = self.charts(page)
        self.check_marks(charts)
        self.assertEqual(charts[0]["title"], "all 400 points on their first two principal components")
        labels = read_npy(os.path.join(self.path("clusters"), "labels.npy"))[2]
        series = charts[0]["spec"]["series"]
        middle = sum(along) / 400
        for cluster, one in enumerate(series):
            expected = sorted(abs(3 * (value - middle)) for value, label in zip(along, labels) if label == cluster)
            self.assertEqual(len(one["at"]), len(expected))
            for found, wanted in zip(sorted(map(abs, one["at"])), expected):
                self.assertAlmostEqual(found, wanted, places=6)
            self.assertLess(max(map(abs, one["values"])), 1e-6)
        self.succeed("generate", "uniform", "-n", 30000, "-d", 2, "-o", self.path("many.npy"), "--quiet")
        self.succeed("kmeans", self.path("many.npy"), "-k", 2, "--report", self.path("page.html"), "--quiet")
        title = self.charts(self.open(self.path("page.html")))[0]["title"]
        self.assertRegex(title, r"^1\d{4} of 30000 points")

    def test_answers(self):
        """Checks for each problem that everything drawn stays visible in light and dark mode, on wide and narrow
        pages."""
        path = self.path("page.html")
        water = self.file("w.xyz", "".join(f'6\nLattice="20 0 0 0 20 0 0 0 20" Properties=species:S:1:pos:R:3\n'
                                           f"O 1 1 {frame}\nH 2 1 1\nH 1 2 1\nO 5 1 1\nH 6 1 1\nH 5 2 1\n" for frame in range(1, 4)))
        self.succeed("generate", "road-grid", "--rows", 8, "--columns", 9, "-o", self.path("roads.csv"), "--quiet")
        gun = os.path.join(DATA, "life", "gosper_gun.rle")
        for job, charts, pictures in [
                (["pair-histogram", water, "--bin-width", 1, "--bins", 8, "--rdf", "--partial"], ["counts", "g", "density", "coordination"], 0),
                (["pair-histogram", water, "--bin-width", 1, "--bins", 8, "--rdf"], ["counts", "g", "density", "coordination"], 0),
                (["shortest-paths", self.path("roads.csv"), "--from", 3, "--to", 60], ["distances of 71 pairs", "the shortest route from 3 to 60"], 0),
                (["life", gun, "-g", 300], ["population by generation"], 2),
                (["kmeans", os.path.join(DATA, "picture.png"), "-k", "2..3"], ["counts", "inertia by k", "silhouette by k"], 2)]:
            self.succeed(*job, "--report", path, "--quiet")
            for options in ({}, {"dark": True}, {"width": 400}):
                with self.subTest(job=job[0], **options):
                    page = self.open(path, **options)
                    self.check_quiet(page, path)
                    drawn = self.charts(page)
                    self.check_marks(drawn)
                    self.assertEqual([title for title in charts if title not in [chart["title"] for chart in drawn]], [])
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), options.get("width", 1100))
                    shown = page.evaluate("[...document.images].map((image) => image.complete && image.naturalWidth > 0 && image.width)")
                    self.assertEqual(len(shown), pictures)
                    self.assertTrue(all(30 < width < options.get("width", 1100) for width in shown), shown)

    def test_print(self):
        path = self.page(self.measured())
        page = self.browser.open(path, dark=True)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        charts = self.charts(page)  # this includes charts that are not visible without scrolling
        self.check_marks(charts)
        self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        self.check_quiet(page, path)


class Foreign(PageCase):
    def test_text_never_becomes_markup(self):
        result = json.loads(content(self.measured()))
        def spoil(value):
            if isinstance(value, dict):
                return {key: spoil(one) if key not in ("problem", "pinning", "variant") else one for key, one in value.items()}
            if isinstance(value, list):
                return [spoil(one) for one in value]
            return HOSTILE if isinstance(value, str) else value
        result = spoil(result)
        for group in result["groups"]:
            group["rows"][0]["variant"] = HOSTILE
            for row in group["rows"]:
                row["phases"] = {HOSTILE: 1, "assign": 2}
        os.mkdir(self.path("</script><img src=x onerror=alert(1)>".replace("/", ":")))
        name = os.path.join(self.path("</script><img src=x onerror=alert(1)>".replace("/", ":")), "result.json")
        with open(name, "w") as file:
            json.dump(result, file)
        points = self.file(HOSTILE.replace("/", ":") + ".csv", "a,</script><b>\n1,2\n3,4\n5,7\n")
        self.succeed("kmeans", points, "-k", 2, "-o", self.path("clusters"), "--quiet")
        path = self.page(name, self.path("clusters"))
        page = self.open(path)
        self.check_quiet(page, path)
        self.check_marks(self.charts(page))
        self.assertEqual(page.evaluate("document.querySelectorAll('img, b').length"), 0)
        self.assertIn(HOSTILE, page.evaluate("document.body.innerText"))
        self.assertIn("<img src=x onerror=alert(1)>.csv", page.evaluate("document.body.innerText"))

    def test_text_of_answers_never_becomes_markup(self):
        """Tests the page of each kind of job with hostile names of files, columns, atoms and vertices."""
        path, name = self.path("page.html"), HOSTILE.replace("/", ":")
        word = "<img/src=x/onerror=alert(1)>"  # has no blanks, so that it is a single word
        table = self.file(name + ".csv", HOSTILE + ",b\n1,2\n3,4\n5,7\n")
        atoms = self.file(name + ".xyz", f"3\n{HOSTILE}\n{word} 0 0 0\n{word} 1 0 0\nH 0 1 0\n")
        graph = self.file(name + ".tsv", f"{HOSTILE}\t<b>b</b>\t1\n<b>b</b>\tc\t2\n")
        pattern = self.file(name + ".rle", f"#C {HOSTILE}\nx = 3, y = 1\n3o!\n")
        for job, says in [(["kmeans", table, "-k", 2], []),
                          (["pair-histogram", atoms, "--bin-width", 1, "--bins", 2, "--partial"], [f"{word}-H"]),
                          (["shortest-paths", graph], ["the shortest route from " + HOSTILE]),
                          (["life", pattern], ["generation 1: "])]:
            with self.subTest(job=job[0]):
                self.succeed(*job, "--report", path, "--quiet")
                page = self.open(path)
                self.check_quiet(page, path)
                charts = self.charts(page)
                self.check_marks(charts)
                # Also opens all tables, because they are created only when they are opened.
                page.evaluate("""document.querySelectorAll('details:not([open]) > summary').forEach((one) => one.click()),
                                 new Promise((go) => setTimeout(go, 300))""")
                self.assertEqual(page.evaluate("document.querySelectorAll('img[src=x], b').length"), 0)
                texts = page.evaluate("[...document.querySelectorAll('h2, h4, dd, th, td')].map((one) => one.textContent)")
                self.assertEqual([words for words in [name, *says] if not any(words in text for text in texts)], [])

    def test_without_javascript(self):
        path = self.page(self.measured())
        page = self.browser.open(path, javascript=False)
        document = page.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
        count = lambda selector: len(page.call("DOM.querySelectorAll", nodeId=document, selector=selector)["nodeIds"])
        self.assertEqual(count("canvas"), 0)
        self.assertGreater(count("figure.chart"), 5)
        self.assertEqual(count("figure.chart"), count("figure.chart details[open] table"))

    def test_ten_thousand_rows(self):
        result = json.loads(content(self.measured()))
        group = result["groups"][0]
        group["rows"] = [dict(row, variant=f"variant_{number}") for number in range(20) for row in group["rows"][:5]]
        result["groups"] = [dict(group, label=f"input {number}") for number in range(100)]
        path = self.page(self.file("large.json", json.dumps(result)))
        self.assertLess(os.path.getsize(path), 2 << 20 | os.path.getsize(self.path("large.json")) + (2 << 20))
        page = self.browser.open(path)
        page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")  # waits until a chart is drawn
        self.assertGreater(page.evaluate("document.querySelectorAll('canvas').length"), 0)
        self.check_quiet(page, path)
        self.assertLess(page.processor_seconds(), 2)
        # A long table is created when it is opened or printed. Without JavaScript, the page contains it from the start.
        rows = "document.querySelectorAll('details.rows')[%d].querySelectorAll('tbody tr').length"
        self.assertEqual(page.evaluate(rows % 0), 0)
        page.evaluate("document.querySelector('details.rows summary').click(), new Promise((go) => setTimeout(go, 300))")
        self.assertEqual([page.evaluate(rows % 0), page.evaluate(rows % 1)], [100, 0])
        self.assertIn("variant_19", page.evaluate("document.querySelector('details.rows').textContent"))
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual([page.evaluate(rows % 0), page.evaluate(rows % 99)], [100, 100])
        page = self.browser.open(path, javascript=False)
        document = page.call("DOM.getDocument", depth=1)["root"]["nodeId"]
        self.assertEqual(len(page.call("DOM.querySelectorAll", nodeId=document, selector="details.rows tbody tr")["nodeIds"]), 10000 + 2)
