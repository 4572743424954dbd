"""What another environment's interpreter runs: a worker, with isomorph's source and nothing else.

It is a script. Its first word is a folder that holds ``isomorph`` alone (the packages beside it
belong to another environment), the second a file with the extensions that are installed there.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Make the source importable, and be a worker."""
    source, extensions, *words = sys.argv[1:]
    # The first entry is the folder of this script, whose modules are no packages.
    sys.path[0] = source
    from isomorph.workers.python_3_10 import complete_standard_library

    complete_standard_library()
    from isomorph import registry
    from isomorph.core.untrusted_json import read_json

    with open(extensions, encoding="utf-8") as file:  # noqa: PTH123
        registry.provide(read_json(file.read()))
    from isomorph.workers import worker

    worker.main(words)


if __name__ == "__main__":
    main()
