"""One small Ray cluster for all tests of a process; starting one takes seconds."""

import pytest


@pytest.fixture(scope="session")
def ray_cluster():
    """A cluster on this machine, which ``RayCluster`` starts and ends."""
    pytest.importorskip("ray", reason="the engine ray needs the extra 'ray'")
    from isomorph.sweeping.ray_cluster import RayCluster

    cluster = RayCluster()
    yield cluster
    cluster.close()
