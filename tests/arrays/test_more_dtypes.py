import subprocess
import sys

import numpy as np
import pytest

from c10cli.arrays.more_dtypes import numpy_dtype, restored, storable


def test_numpys_own_dtypes_need_no_more_than_numpy():
    program = "import sys\nfrom c10cli.arrays.more_dtypes import numpy_dtype, storable\nimport numpy\n"
    program += "storable(numpy.ones(2, numpy_dtype('float16')))\nassert 'ml_dtypes' not in sys.modules\n"
    program += "sys.modules['ml_dtypes'] = None\nnumpy_dtype('bfloat16')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stderr.endswith("ImportError: bfloat16 needs the package ml_dtypes (extra `dtypes`)\n")


def test_a_dtype_that_ml_dtypes_does_not_have_either_is_refused(needs):
    needs("ml_dtypes")
    for name in ("float9_e9m9", "finfo", "__name__"):
        with pytest.raises(ImportError, match="needs the package ml_dtypes"):
            numpy_dtype(name)


def test_what_is_stored_is_restored_and_records_of_others_stay_records(needs):
    narrow = np.arange(6).reshape(2, 3).astype(needs("ml_dtypes").bfloat16).T
    assert storable(narrow).dtype.names == ("ml_dtypes.bfloat16",)
    back = restored(storable(narrow))
    assert (back.dtype, back.tolist()) == (narrow.dtype, narrow.tolist())
    for array in (np.ones(2), np.array(["a"]), np.zeros(2, [("x", "u2")]), np.zeros(2, "i4,f4")):
        assert storable(array) is array
        assert restored(array) is array
