"""The report as one HTML file: no network, no other file needed to read it, the same bytes for the same results."""

import base64
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow_scripts.core.clean_text import clean_lines, escape_html
from workflow_scripts.core.files import write_text
from workflow_scripts.render.numbers import Numbers, filled
from workflow_scripts.render.tables import ROWS_READ
from workflow_scripts.render.web.policy import policy

WEB = Path(__file__).parents[1] / "render/web"


def write_page(path: Path, content: dict[str, Any], numbers: Numbers) -> None:
    """Write the page; figures stand in it, and links lead to the files of tables and figures beside it."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        # Markup is ours.
        finalize=lambda value: clean_lines(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def show_number(name: str) -> str:
        """Show a number with what it is, for whoever points at it."""
        number = numbers[name]
        value, about, text = map(escape_html, (str(number.value), number.about, number.text))
        return f'<data value="{value}" title="{about}">{text}</data>'

    environment.filters["prose"] = lambda text: Markup(filled(text, show_number, escape_html))
    environment.filters["embed"] = lambda png: (
        f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"
    )
    environment.filters["link"] = lambda file, kind: f"../{file.parent.name}/{file.stem}.{kind}"
    style = "".join((WEB / f"{name}.css").read_text("utf-8") for name in ("colours", "report"))
    script = (WEB / "report.js").read_text(encoding="utf-8")
    config = content["provenance"]["config"]
    text = environment.get_template("report.html.j2").render(
        content,
        policy=policy([script], [style], pictures=True),
        style=Markup(style),
        script=Markup(script),
        config=yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
        rows_shown=ROWS_READ,
    )
    write_text(path, text)
