import json
import os
from datetime import datetime, timezone

import pytest

from c10cli.bench import journal as journal_module
from c10cli.bench.journal import (
    JOURNAL_NAME,
    append_record,
    find_run_folder,
    locked,
    make_run_folder,
    read_journal,
    write_latest,
)
from c10cli.errors import BenchError, ReportError


def test_what_was_appended_is_read_in_order(tmp_path):
    append_record(tmp_path, {"kind": "run", "µ": [1, 2.5, None]})
    append_record(tmp_path, {"kind": "case", "text": "two\nlines"})
    assert read_journal(tmp_path) == [
        {"kind": "run", "µ": [1, 2.5, None]},
        {"kind": "case", "text": "two\nlines"},
    ]


def test_a_record_is_on_the_disk_before_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    append_record(tmp_path, {"a": 1})
    assert synced == [len('{"a":1}\n')]
    assert read_journal(tmp_path) == [{"a": 1}]


def test_a_write_cut_short_is_continued(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    append_record(tmp_path, {"kind": "case", "id": "x"})
    assert read_journal(tmp_path) == [{"kind": "case", "id": "x"}]


def test_a_number_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        append_record(tmp_path, {"rate": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", range(1, len('{"kind":"case","id":"µ"}\n'.encode())))
def test_a_last_line_cut_anywhere_costs_at_most_itself(tmp_path, cut):
    whole, last = b'{"n":1}\n', '{"kind":"case","id":"µ"}\n'.encode()
    (tmp_path / JOURNAL_NAME).write_bytes(whole + last[:cut])
    expected = [{"n": 1}, {"kind": "case", "id": "µ"} if cut == len(last) - 1 else {}]
    assert read_journal(tmp_path) == expected
    append_record(tmp_path, {"n": 2})
    assert read_journal(tmp_path) == [*expected, {"n": 2}]


def test_continuing_a_whole_journal_changes_nothing_in_it(tmp_path):
    append_record(tmp_path, {"n": 1})
    before = (tmp_path / JOURNAL_NAME).read_bytes()
    append_record(tmp_path, {"n": 2})
    assert (tmp_path / JOURNAL_NAME).read_bytes() == before + b'{"n":2}\n'


@pytest.mark.parametrize(
    "line",
    [
        *("{broken", "[1, 2]", "12", "\0", '{"n": NaN}', '{"n": -Infinity}', '{"n": 1e999}'),
        *('{"n": 9223372036854775808}', '{"n": 9%s}' % ("0" * 5000), "[" * 100_000, '{"n":' * 100_000),
    ],
    ids=range(11),
)
def test_a_broken_line_costs_only_itself(tmp_path, line):
    (tmp_path / JOURNAL_NAME).write_text(f'{{"n":1}}\n{line}\n{{"n":2}}\n')
    assert read_journal(tmp_path) == [{"n": 1}, {}, {"n": 2}]


def test_two_do_not_write_to_one_run_at_once(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(ReportError, match="another `c10 bench` is measuring run"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):  # and after the end of one, another one may
        pass


def test_a_missing_journal_is_an_error(tmp_path):
    with pytest.raises(BenchError) as caught:
        read_journal(tmp_path)
    assert caught.value.code == "C10E603"


def test_a_journal_in_a_missing_folder_cannot_be_opened(tmp_path):
    with pytest.raises(ReportError, match=r"cannot write journal\.jsonl") as caught:
        append_record(tmp_path / "missing", {})
    assert caught.value.code == "C10E701"


def test_a_full_disk_is_reported_as_such(tmp_path, monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ReportError, match="No space left on device"):
        append_record(tmp_path, {"n": 1})


def test_a_run_folder_is_named_after_its_time_and_never_one_that_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(
        journal_module, "utc_now", lambda: datetime(2025, 1, 2, 12, 0, 5, tzinfo=timezone.utc)
    )
    monkeypatch.setattr("secrets.token_hex", lambda count: "00" * count)
    folder = make_run_folder(tmp_path / "reports")
    assert (folder.name, folder.is_dir()) == ("20250102-120005-00000000", True)
    with pytest.raises(ReportError, match="File exists"):
        make_run_folder(tmp_path / "reports")


def test_a_run_folder_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "reports").write_text("")
    with pytest.raises(ReportError) as caught:
        make_run_folder(tmp_path / "reports")
    assert caught.value.code == "C10E701"


def make_run(root, token):
    folder = root / f"20250102-120005-{token}"
    folder.mkdir()
    (folder / JOURNAL_NAME).write_text(json.dumps({"kind": "run"}) + "\n")
    return folder


def test_a_run_is_found_by_name_by_path_and_as_the_latest(tmp_path, monkeypatch):
    first, second = make_run(tmp_path, "aa"), make_run(tmp_path, "bb")
    write_latest(first)
    assert find_run_folder(tmp_path) == first
    assert find_run_folder(tmp_path, second.name) == second
    assert (tmp_path / "latest" / JOURNAL_NAME).is_file()
    write_latest(second)
    assert find_run_folder(tmp_path) == second
    monkeypatch.chdir(tmp_path)
    assert find_run_folder(tmp_path / "elsewhere", second.name).resolve() == second.resolve()


def test_a_run_named_by_its_link_is_the_run_itself(tmp_path):
    run = make_run_folder(tmp_path)
    append_record(run, {"kind": "run"})
    write_latest(run)
    found = find_run_folder(tmp_path, str(tmp_path / "latest"))
    write_latest(found)
    assert found == run.resolve()
    assert find_run_folder(tmp_path) == run


def test_where_there_are_no_links_the_latest_run_is_the_newest_by_name(tmp_path, monkeypatch):
    first, second = make_run(tmp_path, "aa"), make_run(tmp_path, "bb")

    def refuse(*_args, **_options):
        raise NotImplementedError

    monkeypatch.setattr("pathlib.Path.symlink_to", refuse)
    write_latest(first)
    assert sorted(tmp_path.iterdir()) == [first, second]
    assert find_run_folder(tmp_path) == second


def test_an_unknown_run_is_refused_with_the_newest_ones(tmp_path):
    make_run(tmp_path, "aa")
    with pytest.raises(BenchError, match="no run `nope`") as caught:
        find_run_folder(tmp_path, "nope")
    assert caught.value.diagnostics[0].notes == ("the newest runs here are 20250102-120005-aa",)


def test_half_a_surrogate_pair_in_a_kernels_words_is_kept(tmp_path):
    append_record(tmp_path, {"reason": "no \udc80 \ud800"})
    assert read_journal(tmp_path) == [{"reason": "no \udc80 \ud800"}]
    assert (tmp_path / JOURNAL_NAME).read_bytes().isascii()
