"""Rows as Parquet where pyarrow is installed, and one line where it is not."""

import io
import sys

import pytest

from isomorph.core.errors import MissingDependencyError
from isomorph.reporters.sweep_parquet import as_parquet
from sweep_results import FOUND


def test_every_field_has_its_type():
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    table = parquet.read_table(io.BytesIO(as_parquet(FOUND)))
    assert table.num_rows == 4
    assert table.column("ratio").to_pylist() == [0.25, 31.0, None, None]
    assert table.column("status").to_pylist()[-1] == "left"
    assert str(table.schema.field("exit_code").type) == "int64"


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError) as raised:
        as_parquet(FOUND)
    assert raised.value.fix == "pip install 'isomorph[parquet]'"
