from __future__ import annotations

import argparse

import pytest

from forge import InvalidInput
from validation.cli.judge_arguments import add_judge_arguments, judges_of


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_judge_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("text", "output", "spec"),
    [
        ("exact", "*", "exact"),
        ("ulp:4", "*", "ulp:4"),
        ("allclose:rtol=1e-3,atol=1e-5", "*", "allclose:rtol=1e-3,atol=1e-5"),
        ("*=cosine:0.9", "*", "cosine:0.9"),
        ("logits=topk:5", "logits", "topk:5"),
        ("y=allclose:rtol=1", "y", "allclose:rtol=1"),
        ("exact=ulp:4", "exact", "ulp:4"),
        ("a=b=exact", "a=b", "exact"),
        ("Identity:0=l2:1e-3", "Identity:0", "l2:1e-3"),
        ("a=exact=ulp:units=4", "a=exact", "ulp:units=4"),
        ("y=exact:nonfinite=ignore", "y", "exact:nonfinite=ignore"),
    ],
)
def test_output_and_judge(text: str, output: str, spec: str) -> None:
    assert judges_of(parse("--judge", text)) == {output: spec}


def test_several() -> None:
    arguments = parse("--judge", "ulp:4", "--judge", "y=exact", "--judge", "z=topk:1")
    assert judges_of(arguments) == {"*": "ulp:4", "y": "exact", "z": "topk:1"}
    assert judges_of(parse()) == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("near", "no judge 'near'"),
        ("y=near:4", "no judge 'near'"),
        ("y=", "no judge ''"),
        ("=exact", "no judge"),
        ("y=ulp:x", "'x' is no number"),
        ("ulp:rtol=4", "no parameter 'rtol'"),
    ],
)
def test_a_bad_text_lists_what_there_is(text: str, fault: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        judges_of(parse("--judge", text))
    assert fault in caught.value.message
    assert "allclose" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["y=", ""])
def test_two_for_one_output(name: str) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        judges_of(parse("--judge", f"{name}exact", "--judge", f"{name}ulp:4"))


def test_tolerances() -> None:
    assert (parse("--rtol", "1e-3").rtol, parse("--atol", "0").atol) == (1e-3, 0)
    assert (parse().rtol, parse().atol) == (None, None)
    for text in ("-1", "nan", "inf", "x", ""):
        with pytest.raises(argparse.ArgumentError):
            parse("--rtol", text)
