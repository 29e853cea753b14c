"""Files that would run code, reach outside their folder or fill the disk are refused.

Every hostile file has a harmless twin that opens, or the test could not fail for the right reason.
"""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import ForgeError, InvalidInput
from validation.inputs.examples import read_arrays
from validation.references import framework_named


def opened(framework: str, path: Path) -> Any:
    return framework_named(framework).open(path, trust=False)


def refused(framework: str, path: Path, text: str = "") -> str:
    with pytest.raises(InvalidInput, match=text) as caught:
        opened(framework, path)
    return str(caught.value)


class TestONNX:
    def model(self, folder: Path, **external: str) -> Path:
        """Save a model whose one tensor lies in another file."""
        from onnx import TensorProto, helper

        tensor = TensorProto(
            name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL
        )
        for key, value in {"location": "weights", **external}.items():
            tensor.external_data.add(key=key, value=value)
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "w"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
            [tensor],
        )
        (folder / "weights").write_bytes(np.arange(4, dtype="float32").tobytes())
        path = folder / "m.onnx"
        path.write_bytes(helper.make_model(graph).SerializeToString())
        return path

    def test_data_beside_the_model_is_read(self, tmp_path: Path) -> None:
        from onnx import numpy_helper

        model = opened("onnx", self.model(tmp_path))
        np.testing.assert_array_equal(numpy_helper.to_array(model.graph.initializer[0]), range(4))

    def test_data_outside_is_not(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_bytes(b"\1" * 16)
        folder = tmp_path / "model"
        folder.mkdir()
        for location in ("../secret", str(secret), "a/../../secret"):
            refused("onnx", self.model(folder, location=location))
        (folder / "link").symlink_to(secret)
        refused("onnx", self.model(folder, location="link"))

    @pytest.mark.parametrize("external", [
        {"offset": "8"}, {"offset": "-4"}, {"length": str(1 << 60)}, {"offset": "x"},
    ])  # fmt: skip
    def test_data_beyond_its_file(self, tmp_path: Path, external: dict[str, str]) -> None:
        refused("onnx", self.model(tmp_path, **external))

    def test_graphs_nested_ten_thousand_deep(self, tmp_path: Path) -> None:
        def field(number: int, content: bytes) -> bytes:
            size, prefix = len(content), b""
            while True:
                prefix += bytes([size & 127 | (128 if size > 127 else 0)])
                size >>= 7
                if not size:
                    break
            return bytes([number << 3 | 2]) + prefix + content

        graph = b""
        for _ in range(10_000):  # graph ⊃ node ⊃ attribute ⊃ graph
            graph = field(1, field(5, field(6, graph)))
        path = tmp_path / "deep.onnx"
        path.write_bytes(b"\x08\x08" + field(7, graph))
        refused("onnx", path)


class TestPyTorch:
    def test_a_pickle_runs_nothing(self, tmp_path: Path) -> None:
        torch = pytest.importorskip("torch")

        class Harm:
            def __reduce__(self) -> Any:
                return os.mkdir, (str(tmp_path / "executed"),)

        for name, new in (("new.pt", True), ("old.pt", False)):
            torch.save(Harm(), tmp_path / name, _use_new_zipfile_serialization=new)
            refused("torch", tmp_path / name)
        assert not (tmp_path / "executed").exists()

    def test_a_script_opens_and_one_that_writes_does_not(self, tmp_path: Path) -> None:
        torch = pytest.importorskip("torch")
        torch.jit.script(torch.nn.ReLU()).save(tmp_path / "good.pt")
        assert opened("torch", tmp_path / "good.pt")(torch.ones(1)).item() == 1
        with (
            zipfile.ZipFile(tmp_path / "good.pt") as source,
            zipfile.ZipFile(tmp_path / "bad.pt", "w") as target,
        ):
            for name in source.namelist():
                data = source.read(name)
                if name.endswith(".py"):
                    data = data.replace(b"return ", b'torch.save(input, "/tmp/x")\n    return ')
                target.writestr(name, data)
        refused("torch", tmp_path / "bad.pt")


class TestKeras:
    def file(self, path: Path, layer: dict[str, Any]) -> Path:
        pytest.importorskip("keras")
        config = {
            "module": "keras",
            "class_name": "Sequential",
            "config": {"name": "s", "layers": [layer]},
            "registered_name": None,
        }
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", json.dumps(config))
            archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        return path

    @pytest.mark.parametrize("layer", [
        {"module": "os", "class_name": "system", "config": {}, "registered_name": None},
        {"module": "keras.layers", "class_name": "Lambda", "config": {}, "registered_name": None},
        {"module": "keras.layers", "class_name": "Dense", "registered_name": None, "config": {
            "units": 1, "activation": {"module": "builtins", "class_name": "function",
            "config": "eval", "registered_name": "function"}}},
        {"module": "keras.layers", "class_name": "Activation", "registered_name": None, "config": {
            "activation": {"class_name": "__lambda__", "config": {"code": "AAAA"}}}},
        {"module": "keras.utils", "class_name": "get_file", "config": {}, "registered_name": None},
        {"module": "keras.config", "class_name": "enable_unsafe_deserialization", "config": {},
         "registered_name": None},
        {"module": "keras.layers", "class_name": "StringLookup", "registered_name": None,
         "config": {"vocabulary": "/etc/passwd"}},
    ])  # fmt: skip
    def test_code_and_files_in_a_configuration(self, tmp_path: Path, layer: dict[str, Any]) -> None:
        refused("keras", self.file(tmp_path / "m.keras", layer))

    def test_a_lambda_in_an_h5_file(self, tmp_path: Path) -> None:
        keras, h5py = pytest.importorskip("keras"), pytest.importorskip("h5py")
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.save(tmp_path / "m.h5")
        assert opened("keras", tmp_path / "m.h5").count_params() == 3
        with h5py.File(tmp_path / "m.h5", "r+") as file:
            text = file.attrs["model_config"]
            text = text.decode() if isinstance(text, bytes) else text
            file.attrs["model_config"] = text.replace('"Dense"', '"Lambda"')
        refused("keras", tmp_path / "m.h5", "Lambda")

    def test_an_archive_that_unpacks_to_gigabytes(self, tmp_path: Path) -> None:
        keras = pytest.importorskip("keras")
        path = tmp_path / "m.keras"
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
        assert opened("keras", path).count_params() == 3
        with (
            zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
            archive.open("assets/big", "w", force_zip64=True) as member,
        ):
            for _ in range(512):
                member.write(bytes(1 << 20))
        refused("keras", path)

    def test_a_member_outside_the_archive(self, tmp_path: Path) -> None:
        keras = pytest.importorskip("keras")
        path = tmp_path / "m.keras"
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("assets/../../outside", b"x")
        refused("keras", path)


class TestTensorFlow:
    @pytest.mark.parametrize("operator", [
        "ReadFile", "WriteFile", "PyFunc", "PyFuncStateless", "EagerPyFunc", "MatchingFiles",
        "SaveV2",
    ])  # fmt: skip
    @pytest.mark.parametrize("inside", [False, True])
    def test_operators_that_reach_outside(
        self, tmp_path: Path, operator: str, inside: bool
    ) -> None:
        tf = pytest.importorskip("tensorflow")
        graph = tf.compat.v1.GraphDef()
        graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
        node = graph.node.add(name="y", op="Identity", input=["x"])
        node.attr["T"].type = 1
        path = tmp_path / "graph.pb"
        path.write_bytes(graph.SerializeToString())
        assert len(opened("tensorflow", path).node) == 2
        nodes = graph.node
        if inside:
            function = graph.library.function.add()
            function.signature.name = "inner"
            nodes = function.node_def
            graph.node.add(name="z", op="inner")
        nodes.add(name="harm", op=operator)
        path.write_bytes(graph.SerializeToString())
        assert operator in refused("tensorflow", path)

    def test_a_saved_model_that_reads_a_file(self, tmp_path: Path) -> None:
        tf = pytest.importorskip("tensorflow")

        class Model(tf.Module):  # type: ignore[misc]
            @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
            def __call__(self, x: Any) -> Any:
                return x + tf.cast(tf.strings.length(tf.io.read_file("/etc/passwd")), tf.float32)

        tf.saved_model.save(Model(), str(tmp_path / "bad"))
        assert "ReadFile" in refused("tensorflow", tmp_path / "bad")


class TestTFLite:
    def test_offsets_that_lead_out_of_the_file(self, tmp_path: Path) -> None:
        tf = pytest.importorskip("tensorflow")
        function = tf.function(
            lambda x: tf.tanh(x @ tf.ones((3, 2))),
            input_signature=[tf.TensorSpec([2, 3], tf.float32)],
        )
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()]
        )
        good = converter.convert()
        path = tmp_path / "m.tflite"
        path.write_bytes(good)
        assert opened("tflite", path) == good
        outcomes = []
        for place in range(0, min(len(good) - 4, 400), 4):
            for value in (0xFFFFFFFF, 0x7FFFFFFF, len(good)):
                data = bytearray(good)
                data[place : place + 4] = struct.pack("<I", value)
                path.write_bytes(data)
                try:
                    opened("tflite", path)
                    outcomes.append("opened")
                except ForgeError:
                    outcomes.append("refused")
        assert outcomes.count("refused") > 50
        path.write_bytes(good[: len(good) // 2])
        refused("tflite", path)


class TestArrays:
    def test_pickles_are_not_run(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "good.npz", x=np.arange(3))
        np.testing.assert_array_equal(read_arrays(tmp_path / "good.npz")["x"], range(3))
        np.savez(tmp_path / "bad.npz", x=np.array([os.getcwd], dtype=object))
        with pytest.raises(InvalidInput):
            read_arrays(tmp_path / "bad.npz")

    def test_a_bomb_is_not_unpacked(self, tmp_path: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 30,)}
        )
        with (
            zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("x.npy", "w", force_zip64=True) as member,
        ):
            member.write(header.getvalue())
            for _ in range(1024):
                member.write(bytes(1 << 20))
        code = (
            "import resource, sys; from pathlib import Path; from forge import InvalidInput\n"
            "from validation.inputs.examples import read_arrays\n"
            "largest = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "before = largest()\n"
            "try: read_arrays(Path(sys.argv[1]))\n"
            "except InvalidInput: print(largest() - before)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "x.npz")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert int(done.stdout) < 300_000, "kilobytes"


def test_a_confined_process_writes_nowhere_else(tmp_path: Path) -> None:
    from validation.untrusted import landlock

    if not landlock.available():
        pytest.skip("this kernel has no Landlock")
    code = (
        "import sys; from pathlib import Path; from validation.untrusted import limits\n"
        "here = Path(sys.argv[1]); limits.enter_scratch(here / 'scratch', [here / 'more'])\n"
        "limits.allow(here / 'bundles'); assert limits.confine()\n"
        "for name in ('scratch', 'more', 'bundles'): (here / name / 'f').write_text('x')\n"
        "for place in (here / 'outside', Path('/tmp/forge-outside'), here / 'kept'):\n"
        "    try: place.write_text('x')\n"
        "    except OSError: print('refused')\n"
    )
    (tmp_path / "kept").write_text("kept")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["refused"] * 3, done.stderr
    assert (tmp_path / "kept").read_text() == "kept"
