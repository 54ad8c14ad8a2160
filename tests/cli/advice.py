"""Follows the advice in the program's messages to the letter, as a person does who reads them and knows the data.

A room makes inputs whose meaning it knows, and says which advice fits them:

    class Table(Input):
        def fits(self, advice, options): ...  # whether a person who knows the input would take it, too
        def check(self, case, end): ...       # compares the answer, or judges the refusal

    follow(case, table, "kmeans", path, "-k", 1, "--json")

An advice is an option with its value as the message prints it, quoted for a shell. `follow` calls the program, takes an
advice that fits, adds the option and calls the program again, until it has an answer or nothing more to advise."""

import dataclasses
import random
import re
import shlex

from kit import gradus

LISTS = ("--columns", "--drop-columns")  # two pieces of advice add up
FILLERS = {"and", "are", "is", "or", "says", "where"}


@dataclasses.dataclass(frozen=True)
class Advice:
    option: str
    value: str


def advice_in(message):
    """All options with a value, in the order of the message."""
    found = []
    for match in re.finditer(r"(--[a-z][a-z-]*) ((?:'[^']*'|\\'|[^\s'\\])+)", message):
        (value,) = shlex.split(match[2].rstrip(",;.:)"))  # as a shell hands it on
        if value not in FILLERS:
            found.append(Advice(match[1], value))
    return found


@dataclasses.dataclass
class End:
    """What the program said last."""
    status: int
    stdout: str
    stderr: str
    options: dict  # taken on the way
    steps: list  # (options, message) of each call


class Input:
    """What is known of an input."""

    def fits(self, advice, options):
        """`options`: those that were taken before."""
        raise NotImplementedError

    def check(self, case, end):
        raise NotImplementedError


def follow(case, known, *command, seed=0, rounds=3):
    """Calls the program up to `rounds` + 1 times. Fails where a piece of advice that fits changes nothing, or where the
    program still advises in the end."""
    choice = random.Random(seed)
    options, steps = {}, []
    for _ in range(rounds + 1):
        words = [word for option in options.items() for word in option]
        result = gradus(*command, *words)
        steps.append((dict(options), result.stderr))
        end = End(result.returncode, result.stdout, result.stderr, dict(options), steps)
        fitting = [advice for advice in advice_in(result.stderr) if known.fits(advice, options)]
        if not fitting:
            known.check(case, end)
            return end
        advice = choice.choice(fitting)
        refused = re.search(f"{advice.option}: '([^']+)'", result.stderr)
        if refused and advice.option in options:  # an item of the list, in place of which another is recommended
            items = options[advice.option].split(",")
            options[advice.option] = ",".join(advice.value if item == refused[1] else item for item in items)
        elif advice.option in LISTS and advice.option in options:
            options[advice.option] += "," + advice.value
        else:
            case.assertNotEqual(options.get(advice.option), advice.value, (command, steps))
            options[advice.option] = advice.value
    case.fail(f"{command}: still no answer after {rounds} pieces of advice: {steps}")
