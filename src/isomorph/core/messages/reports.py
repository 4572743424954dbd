"""Sentences that reports make of their numbers."""

from __future__ import annotations

from collections.abc import Mapping

REPORTS: Mapping[str, str] = {
    "LEAD.output_differs": "output {output!r} differs by {size}",
    "LEAD.on_inputs": "{text} on {count} of {inputs}",
    "LEAD.others": "{text}, and {others}",
    "LEAD.top1": "top-1 agreement {share:.2%}",
    "LEAD.sqnr": "SQNR {decibels:.1f} dB at output {output!r}",
    "LEAD.weakest": "{tensor!r}: {decibels:.1f} dB of the {ideal:.1f} dB that {dtype} can keep",
    "LEAD.clips": "{text}; it clips {share:.0%} of the values",
}
