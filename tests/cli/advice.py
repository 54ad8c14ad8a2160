"""Follows the advice in the program's messages literally, like a user who reads the messages and knows the data.

A room makes inputs whose meaning it knows, and defines which advice fits them:

    class Table(Input):
        def fits(self, advice, options): ...  # True if a user who knows the input would follow the advice
        def check(self, case, end): ...       # checks the answer or the refusal

    follow(case, table, "kmeans", path, "-k", 1, "--json")

A piece of advice is an option with its value as the message prints it, quoted for a shell. `follow` calls the program,
chooses a piece of advice that fits, adds the option and calls the program again, until no fitting advice remains."""

import dataclasses
import random
import re
import shlex

from kit import gradus

LISTS = ("--columns", "--drop-columns")  # if a message recommends such an option again, the new value extends the list
FILLERS = {"and", "are", "is", "or", "says", "where"}


@dataclasses.dataclass(frozen=True)
class Advice:
    option: str
    value: str


def advice_in(message):
    """Returns all options that the message recommends with a value, in the order of the message."""
    found = []
    for match in re.finditer(r"(--[a-z][a-z-]*) ((?:'[^']*'|\\'|[^\s'\\])+)", message):
        (value,) = shlex.split(match[2].rstrip(",;.:)"))  # removes quotes as a shell does
        if value not in FILLERS:
            found.append(Advice(match[1], value))
    return found


@dataclasses.dataclass
class End:
    """The result of the last call of the program, and the calls before it."""
    status: int
    stdout: str
    stderr: str
    options: dict  # the advice followed so far
    steps: list  # (options, message) of each call


class Input:
    """A test input, and the user's knowledge about this input."""

    def fits(self, advice, options):
        """Returns True if the advice fits. `options`: the advice followed so far."""
        raise NotImplementedError

    def check(self, case, end):
        raise NotImplementedError


def follow(case, known, *command, seed=0, rounds=3):
    """Calls the program up to `rounds` + 1 times. Fails if fitting advice changes nothing, or if the last call still
    gives fitting advice."""
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
        if refused and advice.option in options:  # replaces the refused item of the list by the recommended one
            items = options[advice.option].split(",")
            options[advice.option] = ",".join(advice.value if item == refused[1] else item for item in items)
        elif advice.option in LISTS and advice.option in options:
            options[advice.option] += "," + advice.value
        else:
            case.assertNotEqual(options.get(advice.option), advice.value, (command, steps))
            options[advice.option] = advice.value
    case.fail(f"{command}: still no answer after {rounds} pieces of advice: {steps}")
