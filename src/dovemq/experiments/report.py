"""One page of all results in a directory: a table of claims for each paper, then each figure.

The page is self-contained: pictures are inside it, and it asks for nothing from elsewhere but the
data files beside it. It is made from the JSON files alone, so that results of several runs and
machines become one page.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from dovemq.experiments import catalogue
from dovemq.experiments.pictures import inline_picture
from dovemq.experiments.provenance import QUICK, Provenance
from dovemq.experiments.reasons import reason_of
from dovemq.experiments.results import ClaimCounts, FigureResult, VerdictResult, read_results

PAGE: Final = "report.html"
OWN: Final = "Figures of our own"
_CLASSES: Final = {True: "holds", False: "fails", None: "open"}
_INTRODUCTION: Final = (
    "Each claim is a sentence of a paper, or one of ours where a figure says so. A threshold turns "
    "it into a yes or no, and the verdict is computed from the data. It is “too short to tell” if "
    "an interval of 95 % crosses the threshold."
)


def write_report(folder: Path) -> Path:
    """Writes the page of all results in the directory."""
    path = folder / PAGE
    path.write_text(report_page(read_results(folder), folder), encoding="utf-8")
    return path


def report_page(results: Sequence[FigureResult], folder: Path) -> str:
    """`folder` has the pictures that the results name."""
    template = resources.files("dovemq.experiments").joinpath(PAGE).read_text(encoding="utf-8")
    body = [
        "<h1>DoveMQ: figures of the papers</h1>",
        f"<p>{escape(claims_text(results))}. {escape(_INTRODUCTION)}</p>",
        *_tables(results),
        _absent(results),
        '<h2 id="figures">Figures</h2>',
        *(_figure(each, folder, first=not place) for place, each in enumerate(results)),
    ]
    return Template(template).substitute(body="\n".join(body))


def claims_text(results: Iterable[FigureResult]) -> str:
    """Such as `3 of 5 claims hold, 1 does not hold, …`."""
    listed = list(results)
    counts = sum((each.claims for each in listed), ClaimCounts())
    total = counts.hold + counts.do_not_hold + counts.too_short_to_tell
    text = f"{counts.hold} of {total} claims hold" if total else "there are no claims to check"
    if missed := counts.do_not_hold:
        text += f", {missed} {'does' if missed == 1 else 'do'} not hold"
    if short := counts.too_short_to_tell:
        text += f", the run was too short to tell for {short}"
    if failed := sum(bool(each.failed) for each in listed):
        text += f"; {failed} figure{'' if failed == 1 else 's'} failed"
    return text


def _tables(results: Sequence[FigureResult]) -> Iterator[str]:
    papers = {paper: f"{paper}: {citation}" for paper, citation in catalogue.CITATIONS.items()}
    for place, (paper, title) in enumerate([*papers.items(), ("", OWN)]):
        own = [each for each in results if _paper(each.id) == paper]
        if own:
            first = ' class="first"' if not place else ""
            yield f"<h2{first}>{escape(title)}</h2>"
            yield f"<p>{escape(claims_text(own))}.</p>"
            yield _table(("figure", "claim", "found", "verdict"), _claim_rows(own))


def _paper(name: str) -> str:
    """The short name of the paper; empty for figures of our own."""
    paper, sign, _ = name.partition("-")
    return paper if sign else ""


def _claim_rows(results: Iterable[FigureResult]) -> Iterator[str]:
    for each in results:
        link = f'<td class="id"><a href="#{escape(each.id)}">{escape(each.id)}</a></td>'
        if each.failed:
            yield f'{link}<td colspan="2">{escape(each.title)}</td>{_failed_cell(each)}'
        elif not each.verdicts:
            yield f'{link}<td colspan="3">{escape(each.title)}: no claim</td>'
        for verdict in each.verdicts:
            cells = _cell(verdict.claim) + _cell(verdict.found)
            yield link + cells + _verdict_cell(each.id, verdict)


def _failed_cell(result: FigureResult) -> str:
    return f'<td class="verdict fails">failed<p class="reason">{escape(result.failed)}</p></td>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _verdict_cell(name: str, verdict: VerdictResult) -> str:
    """A claim that does not hold never stands without its reason."""
    reason = ""
    if verdict.holds is False:
        reason = f'<p class="reason">{escape(reason_of(name, verdict.claim))}</p>'
    kind = _CLASSES[verdict.holds]
    return f'<td class="verdict {kind}">{escape(verdict.verdict)}{reason}</td>'


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _absent(results: Iterable[FigureResult]) -> str:
    present = {each.id for each in results}
    absent = [name for name in catalogue.EXPERIMENTS if name not in present]
    if not absent:
        return ""
    return f'<p class="note">There are no results of {escape(", ".join(absent))}.</p>'


def _figure(result: FigureResult, folder: Path, *, first: bool) -> str:
    kind = "figure first" if first else "figure"
    parts = [
        f'<section class="{kind}" id="{escape(result.id)}">',
        f"<h3>{escape(result.id)}: {escape(result.title)}</h3>",
    ]
    if result.failed:
        parts.append(f'<p class="fails">Failed: {escape(result.failed)}</p>')
    if result.run is not None and result.run.form == QUICK:
        parts.append('<p class="note">Quick form: few and short runs.</p>')
    parts += _pictures(result, folder)
    parts += _claims(result)
    parts += _paper_points(result)
    if result.readings:
        parts.append("<h4>How it was read</h4>")
        parts.append(_list(escape(each) for each in result.readings))
    if result.run is not None:
        parts += ["<h4>How it was run</h4>", _run(result.run)]
    if result.files:
        links = (f'<a href="{escape(each)}">{escape(each)}</a>' for each in _data(result, folder))
        parts.append(f"<p>Data: {', '.join(links)}</p>")
    parts.append("</section>")
    return "\n".join(parts)


def _data(result: FigureResult, folder: Path) -> list[str]:
    """The data files that are there: some may be left out where results are kept."""
    return [each for each in (*result.files, f"{result.id}.json") if (folder / each).is_file()]


def _pictures(result: FigureResult, folder: Path) -> Iterator[str]:
    for name in result.files:
        if name.endswith(".svg") and (folder / name).is_file():
            picture = inline_picture((folder / name).read_text(encoding="utf-8"), name[:-4])
            yield f'<div class="picture">{picture}</div>'


def _claims(result: FigureResult) -> Iterator[str]:
    if not result.verdicts:
        return
    yield "<h4>Claims</h4>"
    rows = (
        _cell(each.claim)
        + _cell(each.threshold)
        + _cell(each.found)
        + _verdict_cell(result.id, each)
        for each in result.verdicts
    )
    yield _table(("claim", "threshold", "found", "verdict"), rows)


def _paper_points(result: FigureResult) -> Iterator[str]:
    points = [
        f"{escape(panel.title)}: {escape(point)} ({escape(panel.x_label)}; {escape(panel.y_label)})"
        for panel in result.panels
        for point in panel.paper_points
    ]
    if points:
        yield "<h4>What the paper's text gives</h4>"
        yield _list(points)


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{each}</li>' for each in items)}</ul>"


def _run(run: Provenance) -> str:
    machine = run.machine
    commit = f", commit {run.commit}" if run.commit else ""
    pairs = {
        "Form": f"{run.form}, seed {run.seed}, {run.replications} replications of simulations",
        "Made": f"{run.began}, in {run.duration_s:,.0f} s with {run.workers} worker(s)",
        "Version": f"DoveMQ {run.dovemq}{commit}, Python {run.python}",
        "Machine": (
            f"{machine.cpus} CPUs ({machine.cpu_model}), {machine.memory_bytes / 2**30:.0f} GiB "
            f"of memory, {machine.system}"
        ),
        "Load": f"{run.load_begin:g} at the begin, {run.load_end:g} at the end",
    }
    rows = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs.items())
    return f"<dl>{''.join(rows)}</dl>"
