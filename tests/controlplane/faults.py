"""What the fault proxy can do to a request, and the rules that say when.

A rule that matches a request or, for the faults of watches, an event on its way to the client:

    matched --not in `skip`, `times` left, dice say yes--> fired
"""

import random
import re
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias


@dataclass(frozen=True)
class Delay:
    """The request waits so long before it goes on; further rules apply to it."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """The request waits until the test sets `released`, then it goes on; further rules apply to it."""

    released: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Refuse:
    """The client gets this error, with a Kubernetes Status as body; the server never sees the request."""

    status: HTTPStatus
    retry_after_seconds: int | None = None


@dataclass(frozen=True)
class CutAfterCommit:
    """The server carries the request out and answers, but the client's connection is cut without the answer.

    Does not apply to watches.
    """


@dataclass(frozen=True)
class Truncate:
    """The JSON of an answer, or of one event of a watch, ends in the middle, and with it the answer."""

    clean_end: bool = True
    """Whether HTTP says that the answer is complete; if not, the connection is cut there."""


@dataclass(frozen=True)
class Rewrite:
    """A text in the JSON of an answer, or of the events of a watch, is replaced, wherever it stands."""

    old: str
    new: str


@dataclass(frozen=True)
class SilentWatch:
    """The event and all later ones are kept from the client, whose connection stays open."""


@dataclass(frozen=True)
class ExpireWatch:
    """Instead of the event the client gets an ERROR event of code 410, which ends the watch."""


Fault: TypeAlias = Delay | Hold | Refuse | CutAfterCommit | Truncate | Rewrite | SilentWatch | ExpireWatch
_FAULTS_OF_REQUESTS = (Delay, Hold, Refuse, CutAfterCommit, Truncate, Rewrite)
_FAULTS_OF_WATCH_REQUESTS = (Delay, Hold, Refuse)
_FAULTS_OF_EVENTS = (Truncate, Rewrite, SilentWatch, ExpireWatch)


@dataclass(frozen=True)
class Rule:
    """When a fault happens. Patterns are regular expressions searched for anywhere; an empty one matches all."""

    fault: Fault
    method: str = ""
    path: str = ""
    """For example `/pods/[^/]+/binding$`."""
    query: str = ""
    """Of the decoded query string, for example `watch=`."""
    skip: int = 0
    """The first so many matches are spared."""
    times: int | None = None
    """It happens at most so often."""
    probability: float = 1.0


@dataclass(frozen=True)
class RequestLine:
    """What rules look at."""

    method: str
    path: str
    query: str
    is_watch: bool


class ActiveRule:
    """A rule in force, with its counts."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.matched = 0
        """Requests (or events) the patterns matched."""
        self.fired = 0
        """How often the fault happened."""
        self._patterns = [re.compile(pattern) for pattern in (rule.method, rule.path, rule.query)]

    def fires(self, line: RequestLine, dice: random.Random) -> bool:
        """Count the request (or event) and tell whether the fault happens to it."""
        texts = (line.method, line.path, line.query)
        if not all(pattern.search(text) for pattern, text in zip(self._patterns, texts, strict=True)):
            return False
        self.matched += 1
        if self.matched <= self.rule.skip or self.fired == self.rule.times:
            return False
        if dice.random() >= self.rule.probability:
            return False
        self.fired += 1
        return True


class RuleBook:
    """The rules in force, in the order they were added; tests change them while the proxy's thread asks."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._rules: list[ActiveRule] = []

    def add(self, rule: Rule) -> ActiveRule:
        """Put a rule in force, after those that are."""
        active = ActiveRule(rule)
        with self._lock:
            self._rules.append(active)
        return active

    def remove(self, active: ActiveRule) -> None:
        """End a rule. Raises ValueError when it is not in force."""
        with self._lock:
            self._rules.remove(active)

    def clear(self) -> None:
        """End all rules."""
        with self._lock:
            self._rules.clear()

    def faults_of_request(self, line: RequestLine) -> list[Fault]:
        """Delays, holds and the first other fault that happen to a request as a whole, in the order of the rules."""
        return self._faults(line, _FAULTS_OF_WATCH_REQUESTS if line.is_watch else _FAULTS_OF_REQUESTS)

    def fault_of_event(self, line: RequestLine) -> Fault | None:
        """What happens to the next event of this watch."""
        return next(iter(self._faults(line, _FAULTS_OF_EVENTS)), None)

    def _faults(self, line: RequestLine, kinds: tuple[type[Fault], ...]) -> list[Fault]:
        faults: list[Fault] = []
        with self._lock:
            for active in self._rules:
                if isinstance(active.rule.fault, kinds) and active.fires(line, self._dice):
                    faults.append(active.rule.fault)
                    if not isinstance(active.rule.fault, Delay | Hold):
                        break
        return faults
