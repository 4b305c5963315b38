import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def torch():
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("C10_TESTS_REQUIRE_ALL") == "1":
            pytest.fail("torch is not installed, and C10_TESTS_REQUIRE_ALL is set")
        pytest.skip("torch is not installed")


def test_the_module_is_written_and_said_how_to_use(c10, demo, folder):
    ran = c10("export", "--to", "torch", "--save", "my_ops.py")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "my_ops.py: 2 operators with 2 CPU and 1 CUDA kernels",
        "`import my_ops` registers them under torch.ops",
        "without fake kernels, so that torch.compile breaks its graph there: "
        "demo::double: the domain has no `returns`; demo::add: the domain has no `returns`",
    ]
    text = (folder / "my_ops.py").read_text(encoding="utf-8")
    assert "'registry.yaml'" in text
    assert str(folder) not in text


def test_importing_the_module_makes_the_operators_torchs(torch, c10, demo):
    c10("export", "--to", "torch", "--save", "my_ops.py")
    program = (
        "import my_ops, torch; print(torch.ops.demo.add(torch.ones(2), torch.ones(2), alpha=3).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "[4.0, 4.0]\n"), done.stderr


def test_json_names_the_operators(c10, demo):
    ran = c10("export", "--to", "torch", "--save", "my_ops.py", "--select", "double", "--format", "json")
    assert ran.json == {
        "format": "c10.export/1",
        "to": "torch",
        "file": "my_ops.py",
        "operators": ["demo::double"],
        "kernels": {"CPU": 1, "CUDA": 1},
        "without_fake": {"demo::double": "the domain has no `returns`"},
        "registry": "registry.yaml",
        "disabled": [],
    }


def test_a_schema_that_torch_cannot_express_is_refused_by_name_and_nothing_is_written(c10, folder):
    (folder / "registry.yaml").write_text(
        'version: 1\noperators:\n  - schema: "demo::f(Tensor x, float y=inf) -> Tensor"\n'
    )
    ran = c10("export", "--to", "torch", "--save", "my_ops.py")
    assert ran.code == 1
    assert "error[C10E205]: `demo::f` cannot be registered with torch" in ran.err
    assert "registry.yaml:3:13" in ran.err
    assert not (folder / "my_ops.py").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--to", "torch"], 2, "Missing option '--save'"),
        (["--to", "jax", "--save", "x.py"], 2, "'jax' is not 'torch'"),
        (["--to", "torch", "--save", "my-ops.py"], 2, "`my-ops.py` is no name of a Python module"),
        (["--to", "torch", "--save", "ops.txt"], 2, "`ops.txt` is no name of a Python module"),
        (["--to", "torch", "--save", "x.py", "--select", "none"], 4, "no operator matches `none`"),
        (["--to", "torch", "--save", "no/such/x.py"], 3, "cannot write x.py"),
        (["--to", "torch", "--save", "class.py"], 2, "`class.py` is no name of a Python module"),
        (["--to", "torch", "--save", "json.py"], 2, "would hide the installed `json`"),
        (["--to", "torch", "--save", "click.py"], 2, "would hide the installed `click`"),
    ],
)
def test_what_cannot_be_is_said_without_a_traceback(c10, demo, folder, words, code, message):
    ran = c10("export", *words)
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not list(folder.glob("x.py"))


def test_a_module_that_c10_wrote_is_written_again_and_no_other_without_force(c10, demo, folder):
    words = ("export", "--to", "torch", "--save", "my_ops.py")
    assert [c10(*words).code, c10(*words).code] == [0, 0]
    (folder / "my_ops.py").write_text("precious = True\n")
    ran = c10(*words)
    assert (ran.code, ran.out) == (2, "")
    assert (
        "`my_ops.py` was not written by c10 export, or was edited since; name another file, or add --force"
        in ran.err
    )
    assert (folder / "my_ops.py").read_text() == "precious = True\n"
    assert c10(*words, "--force").code == 0
