import os
import threading
import time

import pytest

from isomorph.workers.ipc import Channel, ChannelClosedError, DeadlineError


@pytest.fixture
def ends():
    one, two = os.pipe(), os.pipe()
    parent, child = Channel(one[0], two[1]), Channel(two[0], one[1])
    yield parent, child
    parent.close()
    child.close()


def test_a_message_arrives_as_it_was_sent(ends):
    parent, child = ends
    parent.send({"command": "ping", "name": "\ud800 \x00 ü"})
    parent.send({"second": [1, None, 2.5]})
    assert child.receive() == {"command": "ping", "name": "\ud800 \x00 ü"}
    assert child.receive() == {"second": [1, None, 2.5]}


def test_a_message_may_be_longer_than_a_pipe_holds(ends):
    parent, child = ends
    message = {"text": "x" * (4 << 20)}
    sender = threading.Thread(target=parent.send, args=(message,))
    sender.start()
    assert child.receive() == message
    sender.join()


def test_nobody_waits_past_the_deadline(ends):
    parent, _ = ends
    began = time.monotonic()
    with pytest.raises(DeadlineError):
        parent.receive(deadline=began + 0.2)
    with pytest.raises(DeadlineError):
        parent.send({"text": "x" * (4 << 20)}, deadline=began + 0.4)
    assert time.monotonic() - began >= 0.4


def test_half_a_message_is_no_message(ends):
    parent, child = ends
    os.write(child._write, (1000).to_bytes(8, "little") + b'{"half')
    with pytest.raises(DeadlineError):
        parent.receive(deadline=time.monotonic() + 0.2)
    child.close()
    with pytest.raises(ChannelClosedError):
        parent.receive()


@pytest.mark.parametrize(
    "raw", [(1 << 60).to_bytes(8, "little"), (3).to_bytes(8, "little") + b"[1]", b"\5" + bytes(7)]
)
def test_nonsense_ends_the_conversation(ends, raw):
    parent, child = ends
    os.write(child._write, raw + b"abcde")
    with pytest.raises(ChannelClosedError):
        parent.receive(deadline=time.monotonic() + 60.0)


def test_a_closed_end_is_noticed(ends):
    parent, child = ends
    child.close()
    with pytest.raises(ChannelClosedError):
        parent.send({"text": "x"})
    with pytest.raises(ChannelClosedError):
        parent.receive()


def test_a_watcher_may_end_the_wait(ends):
    parent, _ = ends
    looks = []

    def watch():
        looks.append(time.monotonic())
        if len(looks) == 3:
            raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        parent.receive(watch=watch)


def test_nan_never_goes_over_the_wire(ends):
    with pytest.raises(ValueError, match="JSON"):
        ends[0].send({"value": float("nan")})
