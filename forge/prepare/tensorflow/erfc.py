"""Write Erfc with Erf: tf2onnx 1.17 passes it through, and ONNX has no such operator.

See https://github.com/onnx/tensorflow-onnx/blob/main/tf2onnx/onnx_opset/math.py.
"""

from __future__ import annotations

from typing import Any

from forge.frameworks import require


def replace_erfc(model: Any) -> int:
    """Replace ``Erfc(x)`` by ``1 - Erf(x)`` in place and say how many there were.

    The absolute error is that of Erf; only far out, where Erfc is next to 0, it loses digits.
    """
    onnx: Any = require("onnx", "the ONNX route of forge.from_tensorflow")
    nodes = []
    count = 0
    for node in model.graph.node:
        if node.op_type != "Erfc":
            nodes.append(node)
            continue
        count += 1
        erf, one = f"{node.output[0]}__erf", f"{node.output[0]}__one"
        helper = onnx.helper
        nodes += [
            helper.make_node("Erf", [node.input[0]], [erf]),
            helper.make_node("CastLike", [f"{one}_f32", node.input[0]], [one]),
            helper.make_node("Sub", [one, erf], [node.output[0]], name=node.name),
        ]
        model.graph.initializer.append(
            helper.make_tensor(f"{one}_f32", onnx.TensorProto.FLOAT, [], [1.0])
        )
    if count:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return count
