"""What is told of ids that stand at several places is what a dict would tell."""

from hypothesis import given
from hypothesis import strategies as st

from carob.journal.integrity import FIRST, SeenIds


@given(st.lists(st.tuples(st.sampled_from("abcdé"), st.integers(1, 3)), max_size=40))
def test_ids_are_known_again(cases: list[tuple[str, int]]) -> None:
    ids, places = SeenIds(), dict[str, int]()
    for index, (case_id, repeats) in enumerate(cases):
        for repeat in range(repeats):
            expected = places.setdefault(case_id, index) != index
            assert ids.is_elsewhere(case_id, index) is (expected and repeat == 0)


def test_many_are_told_apart() -> None:
    ids = SeenIds()
    assert not any(ids.is_elsewhere(f"case-{n}", n) for n in range(20 * FIRST))
    assert all(ids.is_elsewhere(f"case-{n}", n + 1) for n in range(0, 20 * FIRST, 2))
