"""Settings for all tests."""

import os

# Set before anything imports TVM: its thread pool reads them once.
os.environ.setdefault("TVM_NUM_THREADS", "2")
os.environ.setdefault("TVM_BIND_THREADS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
