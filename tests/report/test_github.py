from c10cli.errors import Span
from c10cli.report.github import annotation


def test_an_annotation_names_its_place_and_escapes_what_github_reads():
    span = Span("a,b.yaml", 3, 4, 9)
    assert annotation("error", "T: x", "50 %\nmore", span) == (
        "::error title=T%3A x,file=a%2Cb.yaml,line=3,col=4,endColumn=9::50 %25%0Amore"
    )


def test_without_a_place_only_the_title_is_left():
    assert annotation("notice", "t", "m", None) == "::notice title=t::m"
    assert annotation("notice", "t", "m", Span("<stdin>", 1, 1, 2)) == "::notice title=t::m"


def test_a_revision_is_dropped_and_the_path_made_plain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "file=sub/x.yaml," in annotation("notice", "t", "m", Span("HEAD:sub/../sub/x.yaml", 1, 1, 2))
    (tmp_path / "HEAD:x").touch()
    assert "file=HEAD%3Ax," in annotation("notice", "t", "m", Span("HEAD:x", 1, 1, 2))
