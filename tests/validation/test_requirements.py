import pytest

import forge
from validation import requirements


def test_all_missing_packages_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    with pytest.raises(forge.MissingFramework) as caught:
        requirements.require_checker()
    assert "cloudpickle, jinja2, psutil, rich" in str(caught.value)
    assert "forge-validation[onnx]" in str(caught.value)


def test_nothing_is_said_where_nothing_is_missing() -> None:
    requirements.require_checker()
