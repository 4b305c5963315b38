from c10cli.schema.dtypes import ARRAY_FUNCTIONS, DTYPES, RESERVED_NAMES, is_exact


def test_integers_and_booleans_are_exact_and_nothing_else():
    assert [dtype for dtype in DTYPES if not is_exact(dtype)] == [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
    ]


def test_what_means_something_in_expressions_is_reserved():
    assert {*ARRAY_FUNCTIONS, "nbytes", "nan"} <= RESERVED_NAMES
