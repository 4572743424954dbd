"""What every test may count on, whoever started them."""

import signal

import hypothesis

# A shell gives what it runs in the background deaf ears for Ctrl-C, nohup for a closed terminal;
# children inherit that, and the tests of interruptions would wait for ever.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("isomorph", deadline=None)
hypothesis.settings.load_profile("isomorph")
