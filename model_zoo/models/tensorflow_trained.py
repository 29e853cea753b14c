"""Trained TensorFlow models from published wheels."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from model_zoo import sources
from model_zoo.entry import Sample
from model_zoo.fetch import fetch
from model_zoo.models.onnx_trained import pitch_input
from model_zoo.registry import register

_FOLDER = "basic_pitch/saved_models/icassp_2022/nmp"
_GRAPH = sources.basic_pitch(
    f"{_FOLDER}/saved_model.pb",
    "eaa25c91c431c91100c416a2c018663f4c635f28fa19529c4ff5e14c18aa29c9",
)
_VARIABLES = (
    sources.basic_pitch(
        f"{_FOLDER}/variables/variables.data-00000-of-00001",
        "f5d12cd7245fecea0c956c963751f3519c263615ea954b5948d5e8c9c3376f9b",
    ),
    sources.basic_pitch(
        f"{_FOLDER}/variables/variables.index",
        "356aa1a00095cf2dba17386144e8b289cb04195ae090aa7f324312b08220115e",
    ),
)


@register(
    "tensorflow/pitch/frozen-graph",
    "Pitch tracker of basic-pitch: its SavedModel, frozen in a session of TensorFlow 1",
    source=_GRAPH,
    suites=("full",),
    tags=("trained", "audio"),
    # As for onnx/pitch/trained.
    rtol=1e-3,
    atol=1e-4,
)
def _pitch() -> Sample:
    import tensorflow as tf

    v1 = tf.compat.v1
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "variables").mkdir()
        shutil.copy(fetch(_GRAPH), folder)
        for source in _VARIABLES:
            shutil.copy(fetch(source), Path(folder) / "variables")
        # tf.saved_model.load refuses this file (its optimizer state needs ``add_slot``).
        with v1.Session(graph=tf.Graph()) as session:
            loaded = v1.saved_model.load(session, ["serve"], folder)
            signature = loaded.signature_def["serving_default"]
            outputs = [signature.outputs[key].name for key in sorted(signature.outputs)]
            frozen = v1.graph_util.convert_variables_to_constants(
                session, session.graph.as_graph_def(), [name.split(":")[0] for name in outputs]
            )
    (entered,) = (tensor.name for tensor in signature.inputs.values())
    name = entered.split(":")[0]
    sound = pitch_input()
    return Sample(frozen, {name: sound}, {"outputs": outputs, "shape_dict": {name: sound.shape}})
