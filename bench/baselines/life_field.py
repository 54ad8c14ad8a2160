"""Makes a large structured pattern of Life, similar to a field of metapixels.

usage: life_field.py TILES OUTPUT.rle [SEED]

The pattern has TILES x TILES tiles of 64 x 64 cells. Each tile contains a Gosper gun and an eater that absorbs its
gliders. Each gun has a random orientation, out of eight, and a random phase, out of the thirty generations of its
period. Nothing leaves its tile, so generation 30 N equals the first one.
"""

import random
import sys

GUN = """........................O
......................O.O
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO
OO........O...O.OO....O.O
..........O.....O.......O
...........O...O
............OO"""
EATER = """OO
O.O
..O
..OO"""
SIDE = 64
PERIOD = 30
SETTLED = 60  # by this generation, the first glider has been absorbed by the eater


def cells(text, left, top):
    return {(left + x, top + y) for y, row in enumerate(text.splitlines()) for x, letter in enumerate(row) if letter == "O"}


def later(live):
    counts = {}
    for x, y in live:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    counts[x + dx, y + dy] = counts.get((x + dx, y + dy), 0) + 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in live)}


def turned(live, way):
    for _ in range(way % 4):
        live = {(SIDE - 1 - y, x) for x, y in live}
    return {(SIDE - 1 - x, y) for x, y in live} if way >= 4 else live


def runs(row):
    """Yields the live cells of a row as half-open ranges [first, end)."""
    begin = end = None
    for x in sorted(row):
        if x != end:
            if begin is not None:
                yield begin, end
            begin = x
        end = x + 1
    if begin is not None:
        yield begin, end


def write(tiles, path, seed=1):
    chance = random.Random(seed)
    live = cells(GUN, 12, 16) | cells(EATER, 12 + 37, 16 + 23)
    for _ in range(SETTLED):
        live = later(live)
    phases = []
    for _ in range(PERIOD):
        phases.append(live)
        live = later(live)
    if live != phases[0] or any(not (2 <= x < SIDE - 2 and 2 <= y < SIDE - 2) for phase in phases for x, y in phase):
        sys.exit("the tile does not come back, or leaves its place")
    variants = [[[] for _ in range(SIDE)] for _ in range(8 * PERIOD)]
    for number, rows in enumerate(variants):
        for x, y in turned(phases[number % PERIOD], number // PERIOD):
            rows[y].append(x)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"x = {tiles * SIDE}, y = {tiles * SIDE}, rule = B3/S23\n")
        for _ in range(tiles):
            chosen = [variants[chance.randrange(len(variants))] for _ in range(tiles)]
            for y in range(SIDE):
                text, place = [], 0
                for tile, rows in enumerate(chosen):
                    for begin, end in runs(rows[y]):
                        text.append(f"{tile * SIDE + begin - place}b{end - begin}o")
                        place = tile * SIDE + end
                file.write("".join(text) + "$\n")
        file.write("!\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    write(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
