import numpy as np

from isomorph.stressing.minimize import changed_elements, set_back


def test_only_what_matters_stays_changed():
    start = {"x": np.zeros(32, np.float32), "ids": np.arange(6)}
    worst = {"x": np.ones(32, np.float32), "ids": np.full(6, 9)}

    def holds(feeds):
        return feeds["x"][5] == 1 and feeds["ids"][2] == 9

    found, spent = set_back(worst, start, holds, 200)
    assert np.flatnonzero(found["x"]).tolist() == [5]
    assert found["ids"].tolist() == [0, 1, 9, 3, 4, 5]
    assert changed_elements(found, start) == 2
    assert spent < 60
    assert worst["x"].min() == 1


def test_no_more_trials_than_allowed():
    start, worst = {"x": np.zeros(64)}, {"x": np.ones(64)}
    trials = []

    def holds(feeds):
        trials.append(feeds)
        return False

    found, spent = set_back(worst, start, holds, 7)
    assert spent == len(trials) == 7
    assert (found["x"] == 1).all()
