"""What each test says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant.results import TestResult


@dataclass(frozen=True, slots=True)
class AboutTest:
    """The facts of one test, stated once, beside the test."""

    name: str
    title: str
    """the name people print beside the p-value"""
    function: Callable[..., TestResult]
    sees: str
    """the faults it has power against, in words"""
    views: tuple[str, ...]
    methods: tuple[str, ...]
    """ways to the p-value; `exact` has the promised false alarms at every sample size"""
    cost: str
    source: str
    also_called: tuple[str, ...] = ()
    """names users search for"""
