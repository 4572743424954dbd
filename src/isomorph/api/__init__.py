"""One function per verb, in a module each: models go in, a report or a trace comes out."""

from isomorph.api.accept import accept
from isomorph.api.bisect import bisect
from isomorph.api.check import check
from isomorph.api.convert import convert, routes
from isomorph.api.diff import diff
from isomorph.api.explain import explain
from isomorph.api.extract import extract
from isomorph.api.fix import fix
from isomorph.api.inspect import inspect
from isomorph.api.lint import lint
from isomorph.api.load_report import load_report
from isomorph.api.options import (
    CheckOptions,
    ConvertOptions,
    Limits,
    PairOptions,
    RuntimeOptions,
)
from isomorph.api.prove import prove
from isomorph.api.ranges import ranges
from isomorph.api.run import run
from isomorph.api.stress import stress
from isomorph.api.sweep import sweep
from isomorph.api.trace import trace

__all__ = [
    "CheckOptions",
    "ConvertOptions",
    "Limits",
    "PairOptions",
    "RuntimeOptions",
    "accept",
    "bisect",
    "check",
    "convert",
    "diff",
    "explain",
    "extract",
    "fix",
    "inspect",
    "lint",
    "load_report",
    "prove",
    "ranges",
    "routes",
    "run",
    "stress",
    "sweep",
    "trace",
]
