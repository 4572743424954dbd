"""The names that a pickle would import are read without importing any."""

import io
import pickle

import pytest

from isomorph.frameworks.pytorch.pickle_scan import imported_names, suspicious


class Reduces:
    def __reduce__(self):
        return print, ("unpickled",)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_the_names_a_pickle_would_import_are_read_not_imported(protocol, capsys):
    names = imported_names(pickle.dumps([1, Reduces()], protocol=protocol))
    assert [name.rpartition(".")[2] for name in names] == ["print"]
    assert suspicious(names) == names
    assert capsys.readouterr().out == ""


def test_several_pickles_one_after_the_other_are_all_read():
    stream = io.BytesIO()
    pickle.dump({"a": 1}, stream)
    pickle.dump(Reduces(), stream)
    assert any(name.endswith("print") for name in imported_names(stream.getvalue()))


def test_broken_data_ends_the_reading():
    assert imported_names(b"\x80\x04 this is no pickle") == ()


def test_what_tensors_are_stored_with_is_not_suspicious():
    usual = ("collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch.FloatStorage")
    assert suspicious((*usual, "torch.float32")) == ()
    assert suspicious(("torch.hub.load", "os.system")) == ("torch.hub.load", "os.system")
