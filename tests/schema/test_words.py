from c10cli.schema.words import DEVICE_NAME, SCALAR_TYPE_NUMBERS, SCALAR_TYPES, TORCH_WORDS


def test_both_spellings_of_an_element_type_name_the_same():
    assert SCALAR_TYPES["half"] == SCALAR_TYPES["float16"] == "float16"
    assert SCALAR_TYPES["long"] == "int64"
    assert set(SCALAR_TYPES.values()) == set(SCALAR_TYPE_NUMBERS)


def test_the_numbers_are_those_of_torch():
    known = {
        "uint8": 0,
        "int64": 4,
        "float32": 6,
        "bool": 11,
        "bfloat16": 15,
        "float8_e5m2": 23,
        "uint64": 29,
    }
    assert {name: SCALAR_TYPE_NUMBERS[name] for name in known} == known


def test_torch_reads_six_words_in_any_default():
    assert TORCH_WORDS == {
        "float": 6,
        "complex": 9,
        "long": 4,
        "strided": 0,
        "contiguous_format": 0,
        "Mean": 1,
    }


def test_a_device_is_a_name_and_perhaps_an_index():
    assert all(map(DEVICE_NAME.fullmatch, ["cpu", "cuda:0", "my_npu:12"]))
    assert not any(map(DEVICE_NAME.fullmatch, ["", "cuda:", ":0", "cuda:x", "cuda:0 "]))
