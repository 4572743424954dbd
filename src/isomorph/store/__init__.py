"""Files: inputs, traces, reports, formats, atomic writes."""
