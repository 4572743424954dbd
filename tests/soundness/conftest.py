import sys
from pathlib import Path

# The generator and the judge stand in benchmarks/, which is no package that anybody installs.
ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
