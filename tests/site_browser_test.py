"""Tests the documentation site in a browser. Pages must request nothing from other machines, must never scroll
sideways, and must have readable text. The search must work.

usage: site_browser_test.py SITE

Chromium opens each page from its folder, without a server, in narrow and wide windows, in light and dark mode.
"""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "cli"))
from browser import Browser  # noqa: E402

# Returns at most five elements with their contrasts. These elements directly contain text whose contrast to the
# background is less than 4.5 (large text: 3).
WEAK = """(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => (value / 255 <= 0.03928 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = (top, below) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return below.map((value, place) => alpha * top[place] + (1 - alpha) * value);
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(channels(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const weak = [];
  for (const element of document.querySelectorAll('.md-content *, .md-nav *, .md-tabs *, .md-footer *')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || element.closest('.headerlink')) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const shown = over(channels(style.color), ground);
    const [low, high] = [light(shown), light(ground)].sort((a, b) => a - b);
    const large = parseFloat(style.fontSize) >= 24;
    if ((high + 0.05) / (low + 0.05) < (large ? 3 : 4.5)) weak.push(`${text.slice(0, 40)}: ${((high + 0.05) / (low + 0.05)).toFixed(2)}`);
  }
  return weak.slice(0, 5);
})()"""


class Site(unittest.TestCase):
    root = None

    def check(self, page, where):
        elsewhere = [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
        self.assertEqual(elsewhere, [], where)
        self.assertEqual([str(message)[:300] for message in page.messages], [], where)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, where)
        self.assertEqual(page.evaluate(WEAK), [], where)

    def test_each_page_narrow_and_wide_light_and_dark(self):
        names = [path for path in sorted(self.root.rglob("*.html")) if path.name != "404.html"  # only a server shows this page
                 and not path.relative_to(self.root).as_posix().startswith(("reference/cpp/", "source/"))]
        self.assertGreater(len(names), 100)
        with Browser() as browser:
            for number, path in enumerate(names):
                for width, dark in ((400, number % 2 == 0), (1400, number % 2 == 1)):
                    with self.subTest(page=path.name, width=width, dark=dark):
                        page = browser.open(str(path), width=width, dark=dark)
                        self.check(page, path)
                        page.call("Page.close")

    def test_weak_colours_are_found(self):
        with Browser() as browser:
            page = browser.open(str(self.root / "howto/life.html"))
            page.evaluate("document.querySelector('.md-content p').style.color = '#bbbbbb'")
            self.assertEqual(len(page.evaluate(WEAK)), 1)

    def test_the_search_finds_a_page(self):
        with Browser() as browser:
            page = browser.open(str(self.root / "howto/life.html"))
            page.evaluate("document.querySelector('input.md-search__input').focus()")
            page.call("Input.insertText", text="checkpoint")
            found = []
            for _ in range(100):
                page.evaluate("document.querySelector('input.md-search__input').dispatchEvent(new KeyboardEvent('keyup', {key: 't', bubbles: true}))")
                found = page.evaluate("[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)")
                if found:
                    break
                time.sleep(0.1)
            self.assertTrue(any("howto/checkpoints.html" in link for link in found), found)


if __name__ == "__main__":
    Site.root = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
