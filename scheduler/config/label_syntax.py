"""The syntax of label keys and values and of resource names, as Kubernetes checks it."""

import re
from typing import Final

_NAME: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_QUOTA_PREFIX: Final = "requests."
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def qualified_name_problem(text: str) -> str:
    """Why `text` is no label key or resource name (`name` or `example.com/name`); empty when it is one."""
    prefix, slash, name = text.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(prefix) or len(prefix) > _SUBDOMAIN_LENGTH):
        return "the part before the / must be a DNS name of lower-case letters, digits, - and ."
    if not _NAME.fullmatch(name) or len(name) > _NAME_LENGTH:
        return "a name has 1 to 63 letters, digits, -, _ and ., and begins and ends with a letter or digit"
    return ""


def label_value_problem(text: str) -> str:
    """Why `text` is no label value; empty when it is one."""
    if text and (not _NAME.fullmatch(text) or len(text) > _NAME_LENGTH):
        return "a label value has up to 63 letters, digits, -, _ and ., and begins and ends with a letter or digit"
    return ""


def is_extended_resource(name: str) -> bool:
    """Whether a well-formed resource name is an extended one: with a domain, and not one of Kubernetes' own."""
    native = "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX)
    return not native and not qualified_name_problem(f"{_QUOTA_PREFIX}{name}")
