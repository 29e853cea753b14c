"""Which TensorFlow operators a stranger's graph may have: none that reaches outside the graph.

TensorFlow has some 1900 operators. One with state is allowed by name; one without is allowed
unless its name says that it reads, writes or runs something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

# Variables, tables, random numbers, control flow, and what reports a fault. Everything else with
# state (readers, datasets, queues, Python functions, networks, devices) has no place in inference.
_STATEFUL = re.compile(
    r"(Stateful)?PartitionedCall|_?(While|If)|Case|VarHandleOp|ReadVariableOp|"
    r"Assign(Add|Sub)?VariableOp|VarIsInitializedOp|VariableShape|Variable(V2)?|"
    r"TemporaryVariable|DestroyResourceOp|DisableCopyOnRead|IsResourceHandleRefCounting|"
    r"Resource(Gather|GatherNd|CountUpTo|StridedSliceAssign|Scatter\w+|Apply\w+|SparseApply\w+)|"
    r"TensorArray(Grad|GradV[23]|GradWithShape|V[23]|ReadV3|WriteV3|GatherV3|ScatterV3|ConcatV3|"
    r"SplitV3|SizeV3|CloseV3)?|Stack(V2|PushV2|PopV2|CloseV2)?|"
    r"(Stateful)?(Random|Uniform|Truncated|StandardNormal|NonDeterministic)\w*|Rng\w+|Multinomial|"
    r"ParameterizedTruncatedNormal|StatelessRandomGetAlg|\w*CandidateSampler|"
    r"(Mutable|MutableDense|Anonymous|AnonymousMutable|AnonymousMutableDense)?HashTable"
    r"(OfTensors)?(V2)?|LookupTable(Find|Insert|Remove|Size|Export|Import)V2|InitializeTableV2|"
    r"Assert|Print|PrintV2|CheckNumerics(V2)?|Empty|DeepCopy|GuaranteeConst|DummySeedGenerator|"
    r"CudnnRNN\w*|SampleDistortedBoundingBox(V2)?"
)
_NOT_RANDOM = re.compile(r"RandomDataset|RandomShuffleQueue")
_REACHES_OUT = re.compile(
    r"PyFunc|ReadFile|WriteFile|MatchingFiles|TextFile|Vocab|Dataset|(De|En)code\w*Proto|"
    r"^Reader|LookupTableExport$|RemoteCall|^_?(Send|Recv)$|Rpc|Summary(File|Db)Writer"
)
SAVING = frozenset(
    {"Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2", "MergeV2Checkpoints"}
)
_STREAMS = (b"stdout", b"stderr", b"log(info)", b"log(warning)", b"log(error)")


def reaches_out(nodes: Iterable[Any], find: Callable[[str], Any] | None = None) -> list[str]:
    """Name the operators that read, write or run what is not in the graph, each once, sorted.

    Saving and restoring is not looked at here: every SavedModel does that.

    Args:
        nodes: ``NodeDef`` messages.
        find: Gives the ``OpDef`` of an operator's name, or None; TensorFlow's own registry if
            left out.
    """
    if find is None:
        from tensorflow.python.framework import op_def_registry

        find = op_def_registry.get
    found = set()
    for node in nodes:
        name = node.op
        if name in SAVING:
            continue
        definition = find(name)
        stateful = definition is not None and definition.is_stateful
        allowed = _STATEFUL.fullmatch(name) and not _NOT_RANDOM.match(name)
        if (stateful and not allowed) or _REACHES_OUT.search(name):
            found.add(name)
        elif name == "PrintV2" and node.attr["output_stream"].s not in (*_STREAMS, b""):
            found.add(f"PrintV2 to {node.attr['output_stream'].s.decode(errors='replace')}")
    return sorted(found)
