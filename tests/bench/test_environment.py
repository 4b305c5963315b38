import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from c10cli.bench import environment as module
from c10cli.bench.clock import ClockQuality
from c10cli.bench.environment import (
    Commit,
    Environment,
    Peaks,
    max_rss_bytes,
    read_commit,
    read_environment,
    read_load,
)
from c10cli.bench.outcome import read_record

PEAKS = Peaks(copies=((1_000, 80e9), (10_000, 100e9), (1_000_000, 20e9)), matmul_flops_per_s=200e9)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return read_environment(tmp_path_factory.mktemp("no_repository"))


def test_the_facts_of_this_process(here):
    assert here.python == ".".join(map(str, sys.version_info[:3]))
    assert here.implementation == "CPython"
    assert 1 <= here.cpus <= here.cores
    assert here.cpu_model
    assert here.clock.resolution_ns > 0
    assert here.peaks is None


def test_the_environment_survives_json(here):
    full = replace(
        here,
        peaks=PEAKS,
        clock=ClockQuality(1, 50),
        commit=Commit("ab", "2025-01-01T00:00:00Z", "main", True),
        load=(0.5, 0.25, 0.125),
    )
    assert read_record(Environment, json.loads(json.dumps(asdict(full)))) == full


def test_optional_facts_may_be_missing_from_the_file(here):
    data = {name: value for name, value in asdict(here).items() if name not in ("peaks", "load", "commit")}
    assert read_record(Environment, data) == replace(here, load=(), commit=None)


def test_variables_that_change_times_are_kept_and_others_are_not(tmp_path, monkeypatch):
    variables = {"OMP_NUM_THREADS": "1", "C10_REGISTRY": "r.yaml", "HOME": "/x", "PYTHONHASHSEED": "0"}
    monkeypatch.setattr("os.environ", variables)
    assert read_environment(tmp_path).variables == {
        "C10_REGISTRY": "r.yaml",
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }


def test_the_cpu_model_comes_from_the_system_or_else_from_python(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Fast One @ 3 GHz\n")
    assert module._cpu_model(str(listing)) == "Fast One @ 3 GHz"
    assert module._cpu_model(str(tmp_path / "missing")) != ""


@pytest.mark.parametrize(
    ("boost", "no_turbo", "expected"),
    [("1", "", "on"), ("0", "", "off"), ("", "0", "on"), ("", "1", "off"), ("", "", "")],
)
def test_turbo_is_read_from_either_driver(monkeypatch, boost, no_turbo, expected):
    monkeypatch.setattr(module, "_read", lambda path: boost if path.endswith("boost") else no_turbo)
    assert module._turbo() == expected


def test_a_system_without_load_averages_has_none(monkeypatch):
    monkeypatch.delattr("os.getloadavg", raising=False)
    assert read_load() == ()


def test_a_folder_outside_a_repository_has_no_commit(tmp_path):
    assert read_commit(tmp_path / "missing") is None


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_commit(tmp_path) is None


def test_the_commit_of_a_repository(tmp_path, monkeypatch, needs_program):
    needs_program("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "-b", "trunk")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    commit = read_commit(tmp_path)
    assert (len(commit.id), commit.branch, commit.dirty) == (40, "trunk", False)
    (tmp_path / "file").write_text("2")
    assert read_commit(tmp_path) == replace(commit, dirty=True)


def test_the_most_memory_so_far_is_above_what_an_interpreter_needs():
    assert max_rss_bytes() > 4 << 20


@pytest.mark.parametrize(
    ("bytes_moved", "flops", "time_s", "percent"),
    [
        (2_000_000, None, 1e-4, 100.0),  # as fast as the copy in memory
        (50_000, None, 1e-6, 50.0),  # in the caches, half of 100 GB/s
        (100, None, 1e-9, 100.0),  # smaller than any copy: against the best of them
        (None, 2_000, 1e-7, 10.0),
        (50_000, 150_000, 1e-6, 75.0),  # flops need longer than bytes
        (0, None, 1e-6, 0.0),
        (None, None, 1.0, None),
    ],
)
def test_per_cent_of_peak_is_the_time_that_the_peaks_need(bytes_moved, flops, time_s, percent):
    assert PEAKS.percent(bytes_moved=bytes_moved, flops=flops, time_s=time_s) == (
        None if percent is None else pytest.approx(percent)
    )
