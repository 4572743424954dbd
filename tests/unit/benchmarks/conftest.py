import sys
from pathlib import Path

# What is tested here stands in benchmarks/, which is no package that anybody installs.
ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
