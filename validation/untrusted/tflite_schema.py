"""The layout of a TFLite file, as far as a check of its offsets needs it.

This is schema 3a, as of TensorFlow 2.21.

A table is one word a field, in the schema's order: a number is a scalar of that many bytes, ``s`` a
text, ``U`` a union whose kind stands in the field before it, ``[x]`` a list, ``-`` a field that is
no longer used, and anything else the table of that name. Tables without fields are left out.
"""

from __future__ import annotations

_CORE = {
    "Model": "4 [OperatorCode] [SubGraph] s [Buffer] [4] [Metadata] [SignatureDef] "
    "[ExternalBufferGroup] [ExternalBuffer]",
    "OperatorCode": "1 s 4 4",
    "SubGraph": "[Tensor] [4] [4] [Operator] s 4",
    "Tensor": "[4] 1 4 s QuantizationParameters 1 SparsityParameters [4] 1 [VariantSubType] 4",
    "QuantizationParameters": "[4] [4] [4] [8] 1 U 4",
    "CustomQuantization": "[1]",
    "BlockwiseQuantization": "4 4 4",
    "SparsityParameters": "[4] [4] [DimensionMetadata]",
    "DimensionMetadata": "1 4 1 U 1 U",
    "Int32Vector": "[4]",
    "Uint16Vector": "[2]",
    "Uint8Vector": "[1]",
    "VariantSubType": "[4] 1 1",
    "Operator": "4 [4] [4] 1 U [1] 1 [1] [4] 8 8 1 U 4",
    "Buffer": "[1] 8 8",
    "Metadata": "s 4",
    "SignatureDef": "[TensorMap] [TensorMap] s 1 4",
    "TensorMap": "s 4",
    "ExternalBufferGroup": "s",
    "ExternalBuffer": "4 4 8 1 s",
}
_WITH_FIELDS = {
    "Conv2DOptions": "1 4 4 1 4 4 1",
    "DepthwiseConv2DOptions": "1 4 4 4 1 4 4",
    "ConcatEmbeddingsOptions": "4 [4] [4]",
    "LSHProjectionOptions": "1",
    "Pool2DOptions": "1 4 4 4 4 1",
    "SVDFOptions": "4 1 1",
    "RNNOptions": "1 1",
    "FullyConnectedOptions": "1 1 1 1 1",
    "SoftmaxOptions": "4",
    "ConcatenationOptions": "4 1",
    "AddOptions": "1 1",
    "L2NormOptions": "1",
    "LocalResponseNormalizationOptions": "4 4 4 4",
    "LSTMOptions": "1 4 4 1 1",
    "ResizeBilinearOptions": "- - 1 1",
    "CallOptions": "4",
    "ReshapeOptions": "[4]",
    "SkipGramOptions": "4 4 1",
    "SpaceToDepthOptions": "4",
    "EmbeddingLookupSparseOptions": "1",
    "MulOptions": "1",
    "GatherOptions": "4 4",
    "ReducerOptions": "1",
    "SubOptions": "1 1",
    "DivOptions": "1",
    "SqueezeOptions": "[4]",
    "SequenceRNNOptions": "1 1 1",
    "StridedSliceOptions": "4 4 4 4 4 1",
    "SplitOptions": "4",
    "CastOptions": "1 1",
    "ArgMaxOptions": "1",
    "TransposeConvOptions": "1 4 4 1 1",
    "SparseToDenseOptions": "1",
    "ShapeOptions": "1",
    "ArgMinOptions": "1",
    "FakeQuantOptions": "4 4 4 1",
    "PackOptions": "4 4",
    "OneHotOptions": "4",
    "UnpackOptions": "4 4",
    "BidirectionalSequenceLSTMOptions": "1 4 4 1 1 1",
    "BidirectionalSequenceRNNOptions": "1 1 1 1",
    "UnidirectionalSequenceLSTMOptions": "1 4 4 1 1 1",
    "ResizeNearestNeighborOptions": "1 1",
    "LeakyReluOptions": "4",
    "MirrorPadOptions": "1",
    "SplitVOptions": "4",
    "UniqueOptions": "1",
    "ReverseSequenceOptions": "4 4",
    "IfOptions": "4 4",
    "WhileOptions": "4 4",
    "DepthToSpaceOptions": "4",
    "BatchMatMulOptions": "1 1 1",
    "CumsumOptions": "1 1",
    "CallOnceOptions": "4",
    "Conv3DOptions": "1 4 4 4 1 4 4 4",
    "HashtableOptions": "4 1 1",
    "VarHandleOptions": "s s",
    "RandomOptions": "8 8",
    "BucketizeOptions": "[4]",
    "GeluOptions": "1",
    "StablehloConcatenateOptions": "8",
    "StablehloBroadcastInDimOptions": "[8]",
    "StablehloSliceOptions": "[8] [8] [8]",
    "StablehloConvolutionOptions": "[8] [8] [8] [8] [1] 8 8 [8] 8 8 [8] 8 8 [8] 8 8 [4]",
    "StablehloCustomCallOptions": "s 1 s 4 [4] [1]",
    "StablehloReduceOptions": "[8] 4",
    "StablehloScatterOptions": "1 [8] [8] [8] 8 1 4",
    "StablehloCompareOptions": "4 4",
    "StablehloDynamicSliceOptions": "[8]",
    "StablehloPadOptions": "[8] [8] [8]",
    "StablehloIotaOptions": "8",
    "StablehloDotGeneralOptions": "[8] [8] [8] [8] [4]",
    "StablehloReduceWindowOptions": "[8] [8] [8] [8] [8] 4",
    "StablehloSortOptions": "8 1 4",
    "StablehloWhileOptions": "4 4",
    "StablehloGatherOptions": "[8] [8] [8] 8 [8] 1",
    "StablehloTransposeOptions": "[8]",
    "StablehloRngBitGeneratorOptions": "1",
    "ReduceWindowOptions": "4",
    "StableHLOCompositeOptions": "s 4 [1] 1 4",
    "StablehloCaseOptions": "[4]",
}
# In the order of the unions' numbers, from 1.
OPTIONS = """
    Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions
    Pool2DOptions SVDFOptions RNNOptions FullyConnectedOptions SoftmaxOptions
    ConcatenationOptions AddOptions L2NormOptions LocalResponseNormalizationOptions
    LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions
    SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions
    BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions
    DivOptions SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions
    TopKV2Options SplitOptions LogSoftmaxOptions CastOptions DequantizeOptions
    MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options GreaterOptions
    GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions TransposeConvOptions
    SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions
    ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions
    OneHotOptions LogicalAndOptions LogicalNotOptions UnpackOptions FloorDivOptions
    SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions
    BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions
    RangeOptions ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions
    MirrorPadOptions AbsOptions SplitVOptions UniqueOptions ReverseV2Options AddNOptions
    GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions
    MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions
    WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options
    ScatterNdOptions SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions
    CumsumOptions CallOnceOptions BroadcastToOptions Rfft2dOptions Conv3DOptions
    HashtableOptions HashtableFindOptions HashtableImportOptions HashtableSizeOptions
    VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions
    BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions
    UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions
    ATan2Options SignOptions BitcastOptions BitwiseXorOptions RightShiftOptions
""".split()
OPTIONS_2 = """
    StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions
    StablehloConvolutionOptions StablehloCustomCallOptions StablehloReduceOptions
    StablehloScatterOptions StablehloCompareOptions StablehloDynamicSliceOptions
    StablehloPadOptions StablehloIotaOptions StablehloDotGeneralOptions
    StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions
    StablehloGatherOptions StablehloTransposeOptions DilateOptions
    StablehloRngBitGeneratorOptions ReduceWindowOptions StableHLOCompositeOptions
    StablehloShiftLeftOptions StablehloCaseOptions
""".split()
_INDICES = ("Int32Vector", "Uint16Vector", "Uint8Vector")

TABLES = {name: tuple(fields.split()) for name, fields in {**_CORE, **_WITH_FIELDS}.items()}
# By table and field: what the union may hold.
UNIONS = {
    ("QuantizationParameters", 5): ("CustomQuantization", "BlockwiseQuantization"),
    ("DimensionMetadata", 3): _INDICES,
    ("DimensionMetadata", 5): _INDICES,
    ("Operator", 4): tuple(OPTIONS),
    ("Operator", 12): tuple(OPTIONS_2),
}
