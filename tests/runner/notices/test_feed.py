"""The feed is a well-formed Atom file whatever the texts are, and keeps each event under one name."""

from xml.etree import ElementTree as ET

from tests.runner.notices.homes import event

ATOM = "{http://www.w3.org/2005/Atom}"


def entries(home):
    return ET.parse(home.path / "notices.atom").getroot().findall(f"{ATOM}entry")


def test_a_home_without_notices_has_an_empty_feed(home):
    home.look()
    root = ET.parse(home.path / "notices.atom").getroot()
    assert root.tag == f"{ATOM}feed"
    assert [root.find(f"{ATOM}{name}") is not None for name in ("id", "title", "updated", "author")] == [True] * 4
    assert entries(home) == []


def test_events_stand_there_newest_first_with_links_below_the_feeds_own_address(home):
    home.store = [event(1), event(2)]
    home.look()
    found = entries(home)
    assert [each.findtext(f"{ATOM}title") for each in found] == [event(2).title, event(1).title]
    assert found[0].find(f"{ATOM}link").get("href") == "model?run=r1&model=model2"
    assert found[0].find(f"{ATOM}category").get("term") == "newly failing"
    names = {each.findtext(f"{ATOM}id") for each in found}
    home.store = [event(3)]
    home.look()
    assert names < {each.findtext(f"{ATOM}id") for each in entries(home)}


def test_hostile_texts_are_text(home):
    evil = "<script>alert(1)</script>&\x00\x1b[31m ]]>"
    home.store = [event(1, title=evil, text=evil)]
    home.look()
    [entry] = entries(home)
    assert entry.findtext(f"{ATOM}title") == "<script>alert(1)</script>&\ufffd\ufffd[31m ]]>"
    assert b"<script>" not in (home.path / "notices.atom").read_bytes()


def test_a_feed_that_is_as_it_should_be_is_left_alone(home):
    home.store = [event(1)]
    home.look()
    before = (home.path / "notices.atom").stat().st_ino
    home.look()
    assert (home.path / "notices.atom").stat().st_ino == before
    (home.path / "notices.atom").write_text("torn")
    home.look()
    assert len(entries(home)) == 1
