import json

import numpy
import pytest

from c10cli.bench import probe
from c10cli.bench.environment import Environment, Peaks


def test_the_answer_is_this_machine_with_its_peaks(monkeypatch):
    peaks = Peaks(((4096, 1e9), (8192, 2e9)), 3e9)
    monkeypatch.setattr(probe, "measure_peaks", lambda: peaks)
    job = {"packages": ["numpy", "pytest", "no_such_package"]}
    environment = Environment.from_dict(json.loads(json.dumps(probe.prepare(job)(0))))
    assert environment.packages["pytest"] == pytest.__version__
    assert "no_such_package" not in environment.packages
    assert environment.peaks == peaks
    assert environment.packages["numpy"] == numpy.__version__
    assert environment.cpus >= 1
