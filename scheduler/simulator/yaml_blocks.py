"""The YAML that kubectl prints, read a line at a time: ten times as fast as any YAML, and the same values.

What kubectl prints needs little of YAML: mappings and sequences by indentation, plain and quoted scalars on one line,
literal blocks, `{}` and `[]`. Text that holds anything else is not guessed at: `read_block` gives `NOT_PLAIN`, and
`yaml_events` reads it. A list is cut into its items by indentation, so that one odd item costs no more than itself.

What no scheduler reads (probes, environment, mounts ...) is passed over by its indentation, and images, which nodes
share, are looked up by their text.
"""

import re
from functools import cache
from typing import Any, Final

from scheduler.simulator.yaml_scalars import ScalarError, plain_scalar

NOT_PLAIN: Final = object()
"""The text needs a whole YAML reader (or is no YAML)."""

_LINE: Final = re.compile(
    r'( *)(- )?(?:(?!(?:null|Null|NULL):)([A-Za-z0-9_][-\w./]*|"[-\w./ ]*"):(?: +(.*)|(?=\n))|(.*))\n', re.ASCII
)
"""Indentation, dash, then either key and value or a value alone."""
_ODD_CHARACTER: Final = re.compile(r"[^\n -~]")
_ITEMS: Final = re.compile(r"^items:\n(?=( *)- )", re.MULTILINE)

_LITERAL: Final = re.compile(r"\|([-+]?)")
_DOUBLE_QUOTED: Final = re.compile(r'"([^"\\]*)"')
_SINGLE_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@`")
_SHARED_SCALARS: Final = 65_536
_EMPTY: Final = ("{}", "[]")
UNREAD: Final = frozenset(
    {
        *("managedFields", "env", "envFrom", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
        *("volumeMounts", "volumeDevices", "args", "command", "securityContext", "projected", "dnsConfig"),
        *("hostAliases", "nodeInfo", "addresses", "daemonEndpoints", "volumesAttached", "lastState", "state"),
    }
)
"""Keys whose block is not looked into, whatever object they stand in: nothing is lost but `{}` for its content."""


class _Scalars(dict[str, Any]):
    """The value of each scalar as it is written; NOT_PLAIN where it is more than one line's scalar."""

    def __missing__(self, written: str) -> Any:
        value = _read_scalar(written)
        if len(self) >= _SHARED_SCALARS:
            self.clear()
        self[written] = value
        return value


_scalars: Final = _Scalars()


def _read_scalar(written: str) -> Any:
    first = written[0]
    if first == " ":
        return NOT_PLAIN
    if first == '"':
        quoted = _DOUBLE_QUOTED.fullmatch(written)
        return quoted.group(1) if quoted else NOT_PLAIN
    if first == "'":
        quoted = _SINGLE_QUOTED.fullmatch(written)
        return quoted.group(1).replace("''", "'") if quoted else NOT_PLAIN
    if first in _INDICATORS and not (first in "-?:" and len(written) > 1 and written[1] not in " \t"):
        return NOT_PLAIN
    if ": " in written or " #" in written or written[-1] in ": \t\r" or "\t" in written:
        return NOT_PLAIN
    try:
        return plain_scalar(written)
    except ScalarError:
        return NOT_PLAIN


def read_block(text: str) -> Any:
    """The value of a block mapping (or of one that is an item of a sequence, without its dash); NOT_PLAIN, perhaps.

    Args:
        text: whole lines, each with its line feed, the first one not indented more than the others.
    """
    if _ODD_CHARACTER.search(text) is not None:
        return NOT_PLAIN
    match, position, end = _LINE.match, 0, len(text)
    scalars = _scalars
    root: dict[str, Any] = {}
    # Open collections from the outside in, with the column that their keys or dashes stand in.
    stack: list[tuple[int, Any]] = [(_indentation(text), root)]
    column, container = stack[0]
    waiting: str | None = None  # the key that has no value yet
    while position < end:
        line = match(text, position)
        if line is None:
            return NOT_PLAIN
        position = line.end()
        spaces, dash, key, value, alone = line.groups()
        at = len(spaces)
        if waiting is not None:
            if dash and at >= column:
                inner: Any = []
            elif at > column and key is not None:
                inner = {}
            else:
                inner = None
            container[waiting] = inner
            if inner is not None:
                column, container = at, inner
                stack.append((at, inner))
            waiting = None
        while at < column or (at == column and not dash and type(container) is list):
            stack.pop()
            if not stack:
                return NOT_PLAIN
            column, container = stack[-1]
        if at != column or (dash is not None) is not (type(container) is list):
            return NOT_PLAIN
        if dash:
            if key is None:
                scalar = _plain_value(alone)
                if scalar is NOT_PLAIN:
                    return NOT_PLAIN
                container.append(scalar)
                continue
            item: dict[str, Any] = {}
            container.append(item)
            column, container = at + 2, item
            stack.append((column, item))
        elif key is None:
            return NOT_PLAIN
        if key[0] == '"':
            key = key[1:-1]
        if key in container:
            return NOT_PLAIN
        if not value:
            if key in UNREAD or key == "images":
                content = _deeper(column).match(text, position)
                assert content is not None  # it may be empty, which is a null
                if key == "images":
                    container[key] = _read_images(content.group())
                    if container[key] is NOT_PLAIN:
                        return NOT_PLAIN
                else:
                    container[key] = {} if content.group() else None
                position = content.end()
            else:
                waiting = key
            continue
        scalar = scalars[value]
        if scalar is NOT_PLAIN:
            scalar = _plain_value(value)
        if scalar is NOT_PLAIN:
            literal = _LITERAL.fullmatch(value)
            block = literal and _read_literal(text, position, column, literal.group(1))
            if not block:
                return NOT_PLAIN
            scalar, position = block
        container[key] = scalar
    if waiting is not None:
        container[waiting] = None
    return root


def _plain_value(written: str) -> Any:
    """A scalar, or an empty collection of its own: those are not shared, for defaults may fill them."""
    if written in _EMPTY:
        return {} if written == "{}" else []
    return _scalars[written] if written else NOT_PLAIN


@cache
def _deeper(column: int) -> re.Pattern[str]:
    """The lines that belong to a key in that column."""
    indent = " " * column
    return re.compile(rf"(?:{indent}(?: |- ).*\n|\n)*", re.ASCII)


_images: Final[dict[str, Any]] = {}


def _read_images(block: str) -> Any:
    """A node's list of images. Equal ones are one object: nothing fills them in."""
    if not block:
        return None
    indent = " " * _indentation(block)
    if not block.startswith(f"{indent}- "):
        return NOT_PLAIN
    first, *others = block.split(f"\n{indent}- ")
    images = []
    for text in (first[len(indent) + 2 :], *others):
        image = _images.get(text)
        if image is None:
            image = read_block(f"{indent}  {text}" + ("" if text.endswith("\n") else "\n"))
            if image is NOT_PLAIN:
                return NOT_PLAIN
            if len(_images) >= _SHARED_SCALARS:
                _images.clear()
            _images[text] = image
        images.append(image)
    return images


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _read_literal(text: str, position: int, column: int, chomping: str) -> tuple[str, int] | None:
    """A literal block below a key in `column`: its text and where it ends; None where it is not a simple one."""
    indent = None
    lines: list[str] = []
    while position < len(text):
        stop = text.index("\n", position) + 1
        line = text[position : stop - 1]
        if line.strip(" "):
            at = _indentation(line)
            if indent is None:
                indent = at
                if indent <= column or any(len(blank) > indent for blank in lines):
                    return None
                lines = [""] * len(lines)
            if at < indent:
                break
            lines.append(line[indent:])
        elif indent is not None:
            lines.append(line[indent:])
        else:
            lines.append(line)
        position = stop
    if indent is None or "\t" in lines[0][:1]:
        return None
    body = "\n".join(lines) + "\n"
    stripped = body.rstrip("\n")
    return {"-": stripped, "": stripped + "\n", "+": body}[chomping], position


def split_list(text: str) -> tuple[str, list[str]] | None:
    """A document with a list of `items`, cut up: what stands around the list, and each item as a block mapping.

    None where the text doesn't look like one. Nothing is decided by that: a part that is no YAML by itself, because the
    cut went through a scalar, is NOT_PLAIN.
    """
    found = _ITEMS.search(text)
    if found is None:
        return None
    indent = found.group(1)
    blank = f"{indent}  "
    first, *others = text[found.end() + len(blank) :].split(f"\n{indent}- ")
    texts = [first, *others]
    last = _deeper(len(indent)).match(f"{blank}{texts[-1]}")
    assert last is not None
    items = [f"{blank}{item}\n" for item in texts[:-1]]
    items.append(last.group())
    return text[: found.start()] + f"{blank}{texts[-1]}"[last.end() :], items
