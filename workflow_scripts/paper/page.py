"""The report as one HTML file: no network, no other file needed, the same bytes for the same results."""

import base64
import gzip
import io
import struct
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image  # which matplotlib, the maker of the figures, needs too

from workflow_scripts.core.clean_text import for_html, plain_lines
from workflow_scripts.core.files import write_text
from workflow_scripts.paper.chapters import Chapter
from workflow_scripts.paper.run import is_generated, tell_run
from workflow_scripts.render.numbers import Numbers, filled
from workflow_scripts.render.tables import ROWS_READ
from workflow_scripts.render.web.policy import policy

HERE = Path(__file__).parent / "templates"
WEB = Path(__file__).parents[1] / "render/web"
ROWS_OPEN = 12  # up to so many rows a table stands open
LONG_CELL = 60  # characters, from which on a cell is broken into lines
WIDE = 2000  # pixels; ten inches, as figures are saved
EMBEDDED = 400_000  # bytes; a larger file is linked, or the page would not open on a phone


def write_page(
    path: Path,
    chapters: list[Chapter],
    numbers: Numbers,
    provenance: dict[str, Any],
    missing: list[str],
    sources: list[dict[str, str]],
    links: dict[str, str],
) -> None:
    """`missing` says what a reader may look for and not find; `links` are other pages beside this one."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        # Markup is ours.
        finalize=lambda one: plain_lines(one) if type(one) is str else one,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = lambda sentence: _prose(sentence, numbers)
    environment.filters["picture"] = _picture
    environment.filters["embed"] = lambda file: _embedded(file, path.parent)
    environment.filters["packed"] = lambda file: _packed(file, path.parent)
    environment.filters["large"] = _is_large
    style = "".join(
        (WEB / name).read_text(encoding="utf-8") for name in ("colours.css", "report.css")
    )
    script = (WEB / "report.js").read_text(encoding="utf-8")
    text = environment.get_template("report.html.j2").render(
        policy=policy([script], [style], pictures=True),
        style=Markup(style),
        script=Markup(script),
        chapters=chapters,
        run=tell_run(numbers),
        miniature=is_generated(numbers),
        provenance=provenance,
        config=yaml.safe_dump(provenance["config"], sort_keys=False, allow_unicode=True),
        missing=missing,
        sources=sources,
        links=links,
        rows_shown=ROWS_READ,
        rows_open=ROWS_OPEN,
        long_cell=LONG_CELL,
    )
    write_text(path, text)


def _prose(sentence: str, numbers: Numbers) -> Markup:
    """Each number with what it is, for whoever points at it."""

    def show(name: str) -> str:
        number = numbers[name]
        return (
            f'<data value="{for_html(str(number.value))}" title="{for_html(number.about)}">'
            f"{for_html(number.text)}</data>"
        )

    return Markup(filled(sentence, show, for_html))


def _is_large(png: Path) -> bool:
    """Whether its letters could not be read at half the page's width: it is higher than wide, or very wide."""
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    return height > width or width > WIDE


def _picture(png: Path) -> str:
    """The same pixels as WebP, which takes two fifths of the room; the page's script makes a PNG of it again."""
    held = io.BytesIO()
    with Image.open(png) as picture:
        picture.save(held, "WEBP", lossless=True, exact=True)
    return _data("image/webp", held.getvalue())


def _packed(file: Path, folder: Path) -> str:
    """Text, packed; the page's script unpacks it when it is downloaded."""
    packed = gzip.compress(file.read_bytes(), mtime=0)
    return _data("application/gzip", packed) if len(packed) <= EMBEDDED else _way(file, folder)


def _embedded(file: Path, folder: Path) -> str:
    """A PDF as a link that holds it, or the way to it from the page where it is large."""
    held = file.read_bytes()
    return _data("application/pdf", held) if len(held) <= EMBEDDED else _way(file, folder)


def _way(file: Path, folder: Path) -> str:
    return f"../{file.relative_to(folder.parent).as_posix()}"


def _data(kind: str, held: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(held).decode()}"
