import os
import threading
import time

import pytest

from isomorph.workers.ipc import Channel, ChannelClosedError, DeadlineError


@pytest.fixture
def ends():
    one, two = os.pipe(), os.pipe()
    ours, theirs = Channel(one[0], two[1]), Channel(two[0], one[1])
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_message_arrives_as_it_was_sent(ends):
    ours, theirs = ends
    ours.send({"command": "ping", "name": "\ud800 \x00 ü"})
    ours.send({"second": [1, None, 2.5]})
    assert theirs.receive() == {"command": "ping", "name": "\ud800 \x00 ü"}
    assert theirs.receive() == {"second": [1, None, 2.5]}


def test_a_message_may_be_longer_than_a_pipe_holds(ends):
    ours, theirs = ends
    message = {"text": "x" * (4 << 20)}
    sender = threading.Thread(target=ours.send, args=(message,))
    sender.start()
    assert theirs.receive() == message
    sender.join()


def test_nobody_waits_past_the_deadline(ends):
    ours, _ = ends
    began = time.monotonic()
    with pytest.raises(DeadlineError):
        ours.receive(deadline=began + 0.2)
    with pytest.raises(DeadlineError):
        ours.send({"text": "x" * (4 << 20)}, deadline=began + 0.4)
    assert time.monotonic() - began >= 0.4


def test_half_a_message_is_no_message(ends):
    ours, theirs = ends
    os.write(theirs._write, (1000).to_bytes(8, "little") + b'{"half')
    with pytest.raises(DeadlineError):
        ours.receive(deadline=time.monotonic() + 0.2)
    theirs.close()
    with pytest.raises(ChannelClosedError):
        ours.receive()


@pytest.mark.parametrize(
    "raw", [(1 << 60).to_bytes(8, "little"), (3).to_bytes(8, "little") + b"[1]", b"\5" + bytes(7)]
)
def test_nonsense_ends_the_conversation(ends, raw):
    ours, theirs = ends
    os.write(theirs._write, raw + b"abcde")
    with pytest.raises(ChannelClosedError):
        ours.receive(deadline=time.monotonic() + 1.0)


def test_a_closed_end_is_noticed(ends):
    ours, theirs = ends
    theirs.close()
    with pytest.raises(ChannelClosedError):
        ours.send({"text": "x"})
    with pytest.raises(ChannelClosedError):
        ours.receive()


def test_a_watcher_may_end_the_wait(ends):
    ours, _ = ends
    looks = []

    def watch():
        looks.append(time.monotonic())
        if len(looks) == 3:
            raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        ours.receive(watch=watch)


def test_nan_never_goes_over_the_wire(ends):
    with pytest.raises(ValueError, match="JSON"):
        ends[0].send({"value": float("nan")})
