"""A report as table, JSON, CSV and page: everything is said, nothing breaks out of its place."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import faulty_device
import numpy as np
import pytest
from rich.console import Console
from test_diff_causes import compared

from npusim.diff import Dump, Side, diff, of_golden
from npusim.diff.gate import excesses, parse_gate
from npusim.diff.listing import COLUMNS, as_dict, csv_text
from npusim.diff.page import SHOWN, html
from npusim.diff.table import page, where
from npusim.golden import record

VOID = {"meta", "img", "br"}


@pytest.fixture(scope="module")
def report():
    """Two faults, with what the first one causes between them."""
    return compared(faulty_device.dump(1, "rounds down", "padding code"))


@pytest.fixture(scope="module")
def equal():
    graph = faulty_device.network(0)
    values = faulty_device.named(graph, faulty_device.healthy(graph, 0))
    return compared(faulty_device.Dumped(graph, values, {}))


class Page(HTMLParser):
    """Checks that elements nest, and gathers what a page shows and where it links."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.links, self.ids = [], [], [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id"))
        self.links += [v for k, v in attributes if k in ("href", "src") and v]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def text_of(report, width=80, gate=(), stopped=()):
    return page(report, gate, stopped, Console(width=width, color_system=None))


def test_table_has_a_line_for_every_tensor(report):
    lines = text_of(report).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("tensor "))
    for tensor, line in zip(report.tensors, lines[start + 1 :], strict=False):
        cells = line.split()
        assert (cells[0], cells[-1]) == (tensor.name, tensor.verdict)
        if tensor.verdict != "equal":
            assert cells[1] == f"{tensor.total.differing:,}"


def test_table_tells_the_first_departure_in_full(report):
    text = " ".join(text_of(report).split())
    first, second = report.departures
    assert f"first departure: {first.name}, made by {first.node}" in text
    assert f"cause {first.cause.sentence}" in text
    assert f"evidence {first.cause.evidence}" in text
    assert f"where {where(first)}" in text
    assert f"also departs: {second.name}: {second.cause.sentence}" in text
    assert text.endswith(f"tensors differ, {len(report.departures)} by their own fault")


@pytest.mark.parametrize("width", [30, 60, 80, 132])
def test_table_fits_the_terminal(report, width):
    tensors = tuple(replace(t, name=f"{'very/' * 30}{t.name}") for t in report.tensors)
    lines = text_of(replace(report, tensors=tensors), width).splitlines()
    table = [line for line in lines if re.search(r" (equal|departs|inherited)$", line)]
    assert len(table) == len(tensors)
    assert max(map(len, table)) <= width
    assert all(
        line.split()[0].endswith(t.label[-3:]) for line, t in zip(table, tensors, strict=True)
    )
    assert all(line == line.rstrip() for line in lines)


def test_pipe_shows_names_whole(report):
    tensors = tuple(replace(t, name=f"{'very/' * 30}{t.name}") for t in report.tensors)
    text = page(replace(report, tensors=tensors))
    assert all(t.label in text for t in tensors)
    assert any(len(t.label) > 150 for t in tensors)


def test_long_name_makes_way_for_its_nodes(report):
    """In the table and the page; programs and files of lines have the whole name."""
    first = report.first
    assert first.node
    long = "model/" + "block/" * 20 + first.name
    tensors = tuple(
        replace(t, name=long if t.name == first.name else t.name,
                judged_from=t.judged_from.replace(first.name, long))
        for t in report.tensors
    )  # fmt: skip
    named = replace(report, tensors=tensors)
    text = page(named, console=Console(width=400, color_system=None))
    assert long not in text
    assert f"first departure: {first.node}\n" in text
    assert any(line.startswith(f"{first.node}  ") for line in text.splitlines())
    assert named.first.label == first.node
    whole = html(named)
    assert f"<h1>{first.node} departs first</h1>" in whole
    assert whole.count(long) == 1  # in the head of its card
    assert as_dict(named, (), [])["first"] == long
    assert long in csv_text(named)


def test_table_of_equal_sides_says_so(equal):
    lines = text_of(equal).splitlines()
    elements = sum(t.total.elements for t in equal.tensors)
    assert lines[-1] == f"equal: {len(equal.tensors)} tensors, {elements:,} elements"
    assert "first departure" not in "\n".join(lines)


def test_gate_is_told_with_what_it_stops(report):
    gate = parse_gate("max_lsb=1")
    stopped = list(excesses(report, gate))
    lines = text_of(report, 80, gate, stopped).splitlines()
    assert [line for line in lines if line.startswith("gate: ")] == [f"gate: {e}" for e in stopped]
    assert any(line.startswith("outside the gate max_lsb=1: ") for line in lines)
    wide = parse_gate("max_lsb=255")
    assert any(line.startswith("within the gate max_lsb=255: ")
               for line in text_of(report, 80, wide, []).splitlines())  # fmt: skip


def test_json_holds_the_whole_report(report):
    gate = parse_gate("max_lsb=1")
    stopped = list(excesses(report, gate))
    facts = json.loads(json.dumps(as_dict(report, gate, stopped), allow_nan=False))
    first = report.first
    assert facts["first"] == first.name
    assert (facts["equal"], facts["within"], facts["gate"]) == (False, False, {"max_lsb": 1})
    assert [e["tensor"] for e in facts["stopped"]] == [e.tensor for e in stopped]
    assert [t["verdict"] for t in facts["tensors"]] == [t.verdict for t in report.tensors]
    told = next(t for t in facts["tensors"] if t["name"] == first.name)
    assert told["cause"]["sentence"] == first.cause.sentence
    assert told["own"]["differing"] == first.own.differing
    assert told["place"]["worst"] == first.place.worst
    assert sum(told["place"]["spreads"][0]["counts"]) == first.own.differing


def test_json_has_no_infinities():
    names = ("x",)
    sides = [
        Side(side, "archive", tuple(Dump(n, "", v) for n in names))
        for side, v in (("a", np.float32([[1, 2]])), ("b", np.float32([[np.inf, 2]])))
    ]
    facts = as_dict(diff(*sides), (), [])
    assert json.loads(json.dumps(facts, allow_nan=False))["tensors"][0]["place"]["actual"] is None


def test_csv_has_a_line_for_every_tensor(report):
    rows = list(csv.DictReader(io.StringIO(csv_text(report))))
    assert list(rows[0]) == list(COLUMNS)
    for row, tensor in zip(rows, report.tensors, strict=True):
        assert (row["tensor"], row["verdict"]) == (tensor.name, tensor.verdict)
        assert int(row["differing"]) == tensor.total.differing
        assert row["own_differing"] == ("" if tensor.own is None else str(tensor.own.differing))
        assert row["sentence"] == ("" if tensor.cause is None else tensor.cause.sentence)


def test_page_is_whole_and_needs_nothing_else(report):
    found = Page(html(report))
    assert all(link.startswith(("data:image/png;base64,", "#t")) for link in found.links)
    assert {link[1:] for link in found.links if link.startswith("#")} <= found.ids
    assert len([link for link in found.links if link.startswith("data:")]) == sum(
        len(t.maps) for t in report.tensors if t.verdict != "equal"
    )
    shown = " ".join(found.text)
    for tensor in report.departures:
        assert tensor.cause.sentence[1:] in shown
        assert where(tensor)[1:] in shown


def test_page_puts_many_departures_behind_a_click(report):
    first = report.first
    many = tuple(replace(first, name=f"t{k}") for k in range(SHOWN + 5))
    text = html(replace(report, tensors=many))
    found = Page(text)
    assert "5 more departures" in found.text
    assert {f"t{k}" for k in range(len(many))} <= found.ids
    assert f"t0, t1, t2, t3, t4, t5, t6, t7 and {len(many) - 8} more" in found.text


def test_page_of_equal_sides_says_so(equal):
    found = Page(html(equal))
    assert f"All {len(equal.tensors)} tensors are equal" in found.text
    assert "Departures" not in found.text


def test_page_holds_no_name_that_is_markup(report):
    evil = '<script src="http://x"></script>&amp;"\'>'
    tensors = tuple(replace(t, name=evil, node=evil, reason=evil) for t in report.tensors)
    parties = [
        replace(p, path=evil, kind=evil, profile=evil, accumulator=evil)
        for p in (report.a, report.b)
    ]
    spoiled = replace(report, a=parties[0], b=parties[1], tensors=tensors, missing=(evil,),
                      extra=(evil,), notes=(evil,))  # fmt: skip
    found = Page(html(spoiled))
    assert "script" not in found.open
    assert not any("http" in link for link in found.links)
    assert found.text.count(evil) >= len(tensors)


def test_report_is_reproducible(report):
    again = compared(faulty_device.dump(1, "rounds down", "padding code"))
    assert html(again) == html(report)
    assert csv_text(again) == csv_text(report)


def test_recorded_runs_say_what_they_state_differently():
    graph = faulty_device.network(0)
    inputs = faulty_device.codes(graph, 2)
    weights = next(
        i for i, t in enumerate(graph.tensors) if t.dtype == "int8" and t.kind == "constant"
    )
    tensors = list(graph.tensors)
    q = tensors[weights].quantization
    changed = replace(q, scale=q.scale * np.float32(0.5))
    tensors[weights] = replace(tensors[weights], data=-tensors[weights].data, quantization=changed)
    other = replace(graph, tensors=tuple(tensors))
    sides = [of_golden(name, record(g, inputs, 1)) for name, g in (("a", graph), ("b", other))]
    report = diff(*sides, graph)
    (told,) = [t for t in report.tensors if t.stated]
    assert told is report.first
    assert told.stated == (
        "parameters are not the same in A and B: scale, shift",
        f"the values of {tensors[weights].name} are not the same in A and B",
    )
    assert "stated    parameters are not the same in A and B: scale, shift" in text_of(report)


def test_missing_and_extra_tensors_are_named():
    dumped = faulty_device.dump(0, "rounds down")
    graph = dumped.graph
    inputs = {graph.tensors[i].name: dumped.tensors[graph.tensors[i].name] for i in graph.inputs}
    golden = record(graph, inputs, 1)
    (faulty,) = dumped.faults
    kept = {k: v for k, v in dumped.tensors.items() if k in (*inputs, faulty)}
    dumps = (
        *(Dump(k, f"{k}.npy", v) for k, v in kept.items()),
        Dump("z", "z.npy", np.zeros((9, 9))),
    )
    report = diff(of_golden("A", golden, graph), Side("B", "folder", dumps))
    assert report.extra == ("z.npy",)
    assert set(report.missing) == {t.name for t in golden.sequence()} - kept.keys()
    text = " ".join(text_of(report).split())
    assert "only in B: z.npy" in text
    assert f"not in B: {report.missing[0]}" in text
    assert report.first.name == faulty
