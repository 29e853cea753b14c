from __future__ import annotations

from validation.inputs.tables.walk import reached, smallest


def test_all_that_a_value_is_made_of() -> None:
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"], "e": ["a"]}
    assert reached("a", lambda name: graph.get(name, [])) == {"a", "b", "c", "d"}
    assert reached("z", lambda name: graph.get(name, [])) == {"z"}
    assert reached(3, lambda number: [number - 1] if number else []) == {0, 1, 2, 3}


def test_the_smallest_table_counts() -> None:
    assert smallest([("a", 5), ("b", 2), ("a", 3), ("a", 9)]) == {"a": 3, "b": 2}
    assert smallest([]) == {}
