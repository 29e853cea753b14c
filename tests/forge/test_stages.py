from __future__ import annotations

from forge import stages


def test_listener_hears_stages_only_inside_the_block() -> None:
    heard: list[str] = []
    stages.enter("load")
    with stages.listening(heard.append):
        stages.enter("load")
        stages.enter("fold")
    stages.enter("fold")
    assert heard == ["load", "fold"]


def test_the_prepared_model_is_shown_only_inside_the_block() -> None:
    seen: list[tuple[str, object]] = []
    stages.show_prepared("onnx", 1)
    with stages.observing_prepared(lambda framework, model: seen.append((framework, model))):
        stages.show_prepared("torch", 2)
    stages.show_prepared("tflite", 3)
    assert seen == [("torch", 2)]
