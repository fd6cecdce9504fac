"""discover: the one public value of every module in a package, so that nothing is listed twice."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def discover(package: ModuleType, kind: type[Any]) -> list[Any]:
    """Every module-level value of type ``kind`` in the modules of ``package``, in the order of their names.

    A class is no value: one that has all members of a protocol would pass for it.
    """
    found: list[Any] = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        values = (value for value in vars(module).values() if not isinstance(value, type))
        found += [value for value in values if isinstance(value, kind)]
    return list(dict.fromkeys(found))
