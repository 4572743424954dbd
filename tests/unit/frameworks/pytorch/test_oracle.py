import copy

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.trace import Noise
from pytorch_networks import feeds_of, fetchable, load, networks, oracle, outputs, rms, runtime

DRAWS = 8


@pytest.fixture(scope="module", params=list(networks()))
def case(request):
    module, example = networks()[request.param]
    model = load(module, *example)
    return model, feeds_of(model, example)


def test_oracle_and_run_differ_by_float32_rounding_only(case):
    model, feeds = case
    names = fetchable(model)
    ran, truth = runtime(model).run(feeds, names), oracle(model).run(feeds, names)
    floats = [name for name in names if truth[name].dtype == np.float64 and rms(truth[name])]
    distances = [rms(ran[name] - truth[name]) / rms(truth[name]) for name in floats]
    assert 1e-9 < max(distances) < 2e-6


def test_noise_covers_the_error_of_the_run_without_dwarfing_it(case):
    model, feeds = case
    names = outputs(model)
    ran, session = runtime(model).run(feeds, names), oracle(model)
    truth = session.run(feeds, names)
    draws = [session.run(feeds, names, noise=Noise(seed=s, rounding=True)) for s in range(DRAWS)]
    for name in names:
        spread = rms(np.std([draw[name] for draw in draws], axis=0, ddof=1))
        assert 0.02 < rms(ran[name] - truth[name]) / spread < 1.2


def test_the_noise_of_a_piece_is_that_of_the_whole(case):
    model, feeds = case
    noise = Noise(seed=3, rounding=True)
    whole = oracle(model).run(feeds, fetchable(model), noise=noise)
    alone = oracle(model).run(feeds, outputs(model), noise=noise)
    for name in outputs(model):
        assert np.array_equal(whole[name], alone[name])


def test_a_node_fed_its_own_inputs_gives_its_own_outputs(case):
    model, feeds = case
    session = oracle(model)
    values = {**feeds, **session.run(feeds, fetchable(model))}
    values.update(session.run({}, list(model.graph.constants)))
    for node in model.graph.nodes:
        again = session.run({name: values[name] for name in node.inputs if name}, node.outputs)
        for name in node.outputs:
            assert np.array_equal(again[name], values[name]), node.name


def one_step(function, *example):
    class Module(nn.Module):
        def forward(self, *given):
            return function(*given)

    model = load(Module(), *example)
    return model, feeds_of(model, example)


def test_a_float_call_in_forward_is_no_obstacle_and_does_not_round():
    model, feeds = one_step(lambda x: (x.double() / 3).float() * 3, torch.ones(4))
    assert "_assert_tensor_metadata" not in {node.native_op for node in model.graph.nodes}
    (name,) = outputs(model)
    # A cast from float64 to float32 is narrower, so it rounds; what follows does not.
    third = float(np.float32(np.float64(1) / 3))
    assert np.array_equal(oracle(model).run(feeds, [name])[name], np.full(4, third * 3))
    model, feeds = one_step(lambda x: (x / 3).float() * 3, torch.ones(4))
    (name,) = outputs(model)
    assert np.array_equal(oracle(model).run(feeds, [name])[name], np.ones(4))


def test_a_cast_to_half_rounds_and_overflows_and_to_integer_truncates():
    model, feeds = one_step(
        lambda x: (x.half(), x.to(torch.int32)), torch.tensor([1e5, -2.7, 1.0001])
    )
    half, whole = outputs(model)
    truth = oracle(model).run(feeds, [half, whole])
    with np.errstate(over="ignore"):
        rounded = next(iter(feeds.values())).astype(np.float16)
    assert np.array_equal(truth[half], rounded.astype(np.float64))
    assert np.isinf(truth[half][0])
    assert truth[whole].tolist() == [100000, -2, 1]


def test_half_precision_activations_are_not_rounded():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)).half()
    x = torch.randn(3, 16, dtype=torch.float16)
    model = load(module, x)
    (name,) = outputs(model)
    feeds = feeds_of(model, (x,))
    session = oracle(model)
    wide = copy.deepcopy(module).double()
    expected = wide(x.double()).detach().numpy()
    assert np.allclose(session.run(feeds, [name])[name], expected, rtol=1e-12)
    draws = [session.run(feeds, [name], noise=Noise(seed=s, rounding=True))[name] for s in range(8)]
    ran = runtime(model).run(feeds, [name])[name].astype(np.float64)
    ratio = rms(ran - expected) / rms(np.std(draws, axis=0, ddof=1))
    assert 0.02 < ratio < 2.0


def test_what_depends_on_constants_alone_keeps_its_declared_type():
    def table(x):
        places = torch.arange(8192, 8192 + x.shape[0], dtype=torch.float32)
        return x + (places * 0.1).sin()

    model, feeds = one_step(table, torch.zeros(5))
    (name,) = outputs(model)
    declared = (torch.arange(8192, 8197, dtype=torch.float32) * 0.1).sin().double().numpy()
    exact = np.sin(np.arange(8192, 8197) * 0.1)
    truth = oracle(model).run(feeds, [name])[name]
    assert np.array_equal(truth, declared)
    assert np.max(np.abs(exact - declared)) > 1e-6, "the table shows nothing"
    draws = [
        oracle(model).run(feeds, [name], noise=Noise(seed=s, rounding=True))[name] for s in range(8)
    ]
    assert rms(np.std(draws, axis=0)) > 0.1 * rms(exact - declared)


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 2.0**-24), (torch.float16, 2.0**-11)])
def test_the_disturbance_of_a_constant_is_not_rounded_itself(dtype, unit):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            generator = torch.Generator().manual_seed(1)
            self.weight = nn.Parameter(1.0 + torch.rand(60_000, generator=generator).to(dtype))

        def forward(self, x):
            return x * self.weight

    example = (torch.ones(60_000, dtype=dtype),)
    model = load(Scaled(), *example)
    feeds, (name,) = feeds_of(model, example), outputs(model)
    (weight,) = (each for each, constant in model.graph.constants.items() if constant.shape)
    session = oracle(model)
    still = session.run(feeds, [name])[name]
    moved = session.run(feeds, [name], noise=Noise(seed=4, constants=(weight,)))[name]
    steps = ((moved - still) / still)[moved != still] / unit
    # Evenly spread, of deviation one: bounded by the root of three.
    assert np.std(steps) == pytest.approx(1.0, rel=0.02)
    assert np.max(np.abs(steps)) <= 3.0**0.5 * (1 + 1e-6)
    # Each is one of 2**16 numbers, of which so many are drawn at least once.
    drawn = -(2**16) * np.expm1(-steps.size / 2**16)
    assert np.unique(steps).size > 0.95 * drawn


def test_named_constants_are_disturbed_by_one_rounding_of_their_type():
    module = nn.Linear(6, 3)
    model = load(module, torch.ones(1, 6))
    weight = next(name for name in model.graph.constants if name.endswith("weight"))
    (name,) = outputs(model)
    feeds = feeds_of(model, (torch.ones(1, 6),))
    session = oracle(model)
    clean = session.run(feeds, [name, weight])
    noise = Noise(seed=1, constants=(weight,))
    shaken = session.run(feeds, [name, weight], noise=noise)
    relative = np.abs(shaken[weight] / clean[weight] - 1)
    assert 0 < relative.max() < 6 * 2.0**-24
    assert not np.array_equal(shaken[name], clean[name])
    assert np.array_equal(session.run(feeds, [name], noise=noise)[name], shaken[name])
    assert np.array_equal(session.run(feeds, [name])[name], clean[name])


def test_branches_and_loops_run_in_float64():
    class Branching(nn.Module):
        def forward(self, x):
            doubled = torch.cond(x.sum() > 0, lambda y: y / 3, lambda y: y - 1, (x,))
            _, total = torch.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.1), (torch.tensor(0), doubled)
            )
            return total

    x = torch.tensor([1.0, 2.0])
    model = load(Branching(), x)
    bodies = [node for node in model.graph.nodes if node.bodies]
    assert {node.op for node in bodies} == {"If", "Loop"}
    for sign in (1.0, -1.0):
        given = sign * x.double().numpy()
        branch = given / 3 if sign > 0 else given - 1
        expected = branch * 0.1 * 0.1 * 0.1
        feeds = {model.graph.inputs[0].name: given.astype(np.float32)}
        (name,) = outputs(model)
        truth = oracle(model).run(feeds, [name])[name]
        assert np.allclose(truth, expected, rtol=1e-14)
        assert np.allclose(runtime(model).run(feeds, [name])[name], expected, rtol=1e-6)
        noisy = oracle(model).run(feeds, [name], noise=Noise(seed=0, rounding=True))[name]
        assert 0 < rms(noisy - truth) / rms(truth) < 1e-6


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.layer_norm(x, (8,)),
        lambda x: torch.nn.functional.group_norm(x[:, :, None], 2),
        lambda x: torch.nn.functional.instance_norm(x[None]),
        lambda x: torch.nn.functional.rms_norm(x, (8,), eps=1e-5),
        lambda x: x.log_softmax(-1),
        lambda x: x.var(1) + x.std(1),
        lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: torch.nn.functional.interpolate(x[None], size=11, mode="linear"),
        lambda x: torch.einsum("ij,kj->ik", x, x),
        lambda x: x.cumsum(1),
        lambda x: torch.nn.functional.conv_transpose1d(x[None], x[:, None, :3], groups=5),
        lambda x: torch.linalg.vector_norm(x, dim=1),
        lambda x: torch.logsumexp(x, 1),
        lambda x: torch.nn.functional.elu(x) + torch.nn.functional.silu(x),
        torch.special.bessel_j0,
    ],
)  # fmt: skip
def test_each_kind_of_operator_has_noise_of_the_size_of_its_rounding(function):
    torch.manual_seed(4)
    x = torch.randn(5, 8)
    model, feeds = one_step(function, x)
    (name,) = outputs(model)
    session = oracle(model)
    truth = session.run(feeds, [name])[name]
    draws = [session.run(feeds, [name], noise=Noise(seed=s, rounding=True))[name] for s in range(8)]
    spread = rms(np.std(draws, axis=0, ddof=1))
    assert spread > 0
    assert rms(np.mean(draws, axis=0) - truth) < 3 * spread
    assert 0.01 < rms(runtime(model).run(feeds, [name])[name] - truth) / spread < 1.5


def test_what_moves_data_is_not_disturbed():
    model, feeds = one_step(
        lambda x: torch.cat([x.t().relu(), x.abs().amax(0)[:, None] * 2], 1).contiguous(),
        torch.randn(4, 6),
    )
    (name,) = outputs(model)
    session = oracle(model)
    noisy = session.run(feeds, [name], noise=Noise(seed=2, rounding=True))
    assert np.array_equal(noisy[name], session.run(feeds, [name])[name])


def test_what_comes_out_exactly_is_not_disturbed():
    model, feeds = one_step(
        lambda x: (x * 3 - 5).sqrt() + x.sum() + x.sum(0, dtype=torch.float32),
        torch.tensor([3.0, 2.0, 7.0]),
    )
    (name,) = outputs(model)
    session = oracle(model)
    noisy = session.run(feeds, [name], noise=Noise(seed=2, rounding=True))
    assert session.run(feeds, [name])[name].tolist() == [26.0, 25.0, 28.0]
    assert np.array_equal(noisy[name], session.run(feeds, [name])[name])


def test_a_cast_to_half_may_land_on_the_neighbor_but_not_where_the_value_fits():
    model, feeds = one_step(lambda x: x.half(), torch.tensor([0.5, 1 / 3, 1e5]))
    (name,) = outputs(model)
    draws = [
        oracle(model).run(feeds, [name], noise=Noise(seed=s, rounding=True))[name] for s in range(6)
    ]
    spread = np.std(np.stack(draws)[:, :2], axis=0)
    assert spread[0] == 0
    assert 2.0**-13 / 3 < spread[1] < 2.0**-11
    assert np.isinf(draws[0][2])


def test_a_number_beside_a_float32_tensor_is_the_float32_that_torch_makes_of_it():
    x = torch.tensor([3.0, 2.1, -0.5])
    model, feeds = one_step(lambda x: (torch.floor_divide(x, 0.1), x > 0.1), x)
    quotient, larger = outputs(model)
    stored = float(np.float32(0.1))
    found = oracle(model).run(feeds, [quotient, larger])
    wide = x.numpy().astype(np.float64)
    assert np.array_equal(found[quotient], np.floor(wide / stored))
    assert not np.array_equal(found[quotient], np.floor(wide / 0.1)), "the numbers are chosen so"
    assert np.array_equal(found[larger], wide > stored)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_operator_in_half_keeps_every_step_in_half(kind):
    torch.manual_seed(0)
    module = kind(8, 16, batch_first=True)
    for weight in module.parameters():  # sharp: a rounding of an early step is seen in the late
        weight.data *= 3.0
    model = load(module.half(), torch.randn(2, 40, 8).half())
    feeds = feeds_of(model, (torch.randn(2, 40, 8).half(),))
    name = outputs(model)[0]
    session, ran = oracle(model), runtime(model).run(feeds, [name])[name]
    truth = session.run(feeds, [name])[name]
    draws = [session.run(feeds, [name], noise=Noise(seed=s, rounding=True)) for s in range(DRAWS)]
    spread = np.std([draw[name] for draw in draws], axis=0, ddof=1)
    error = ran.astype(np.float64) - truth
    assert 0.2 < rms(error[:, 20:]) / rms(spread[:, 20:]) < 2.0


class Viewed(nn.Module):
    """A view that is one because the product before it happens to lie in that order."""

    def forward(self, x):
        return (x.transpose(1, 2) * 2.0).transpose(1, 2).view(2, -1).exp()


def test_a_view_of_a_value_that_came_another_way_is_a_reshape():
    model = load(Viewed(), torch.randn(2, 3, 4))
    feeds, name = feeds_of(model, (torch.randn(2, 3, 4),)), outputs(model)[0]
    truth = oracle(model).run(feeds, [name])[name]
    (before,) = next(node.inputs[:1] for node in model.graph.nodes if node.op == "Reshape")
    value = oracle(model).run(feeds, [before])[before]
    turned = np.asfortranarray(value)
    assert np.array_equal(oracle(model).run({before: turned}, [name])[name], truth)
    assert oracle(model).run(feeds, [name], noise=Noise(seed=1, rounding=True))[name].any()
