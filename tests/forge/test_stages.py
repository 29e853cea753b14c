from forge import stages


def test_listener_hears_stages_only_inside_the_block() -> None:
    heard: list[str] = []
    stages.enter("load")
    with stages.listening(heard.append):
        stages.enter("load")
        stages.enter("fold")
    stages.enter("fold")
    assert heard == ["load", "fold"]
